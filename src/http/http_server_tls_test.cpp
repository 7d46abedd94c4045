// HTTPS, and how long an operator's certificate is good for (S-2, S-5).
#include <atomic>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "certs/authority.h"
#include "http/http_server_fixture.h"
#include "testing/test_folder.h"
#include "tls/tls_link.h"

using namespace muster;
using namespace muster::testing;

namespace {

constexpr std::int64_t day = 86'400;

// The machine's date, which OpenSSL judges by, and what a test adds to it.
class MovedDate final : public Clock {
public:
    Time now() const override { return clock_.now(); }
    UnixMs wall() const override { return UnixMs(clock_.wall().value + added_seconds * 1'000); }
    Duration thread_cpu() const override { return clock_.thread_cpu(); }

    std::atomic<std::int64_t> added_seconds{0};

private:
    SystemClock clock_;
};

class OperatorPki {
public:
    OperatorPki() : path_((folder_.path() / "pki").string()) {
        Authority authority(path_, std::time(nullptr));
        authority.init({});
        serial = authority.issue("alice", PeerRole::operator_, {}, 30).facts.serial;
    }

    std::shared_ptr<const TlsServerContext> server(const std::string& revoked = "") const {
        TlsFiles files{path_ + "/muster.crt", path_ + "/muster.key", path_ + "/ca.crt", ""};
        if (!revoked.empty()) files.revoked = folder_.write("revoked", revoked).string();
        auto material = TlsMaterial::read(files);
        REQUIRE_MESSAGE(material, material.error());
        auto context =
            TlsServerContext::make(*material, "http", PeerRole::operator_, TlsServerContext::Proof::optional);
        REQUIRE_MESSAGE(context, context.error());
        return *context;
    }
    std::shared_ptr<const TlsClientContext> client(bool with_certificate) const {
        TlsClientFiles files{path_ + "/ca.crt", "", ""};
        if (with_certificate) {
            files.certificate = path_ + "/alice.crt";
            files.key = path_ + "/alice.key";
        }
        auto context = TlsClientContext::read(files);
        REQUIRE_MESSAGE(context, context.error());
        return *context;
    }

    std::string serial;  // alice's

private:
    TestFolder folder_;
    std::string path_;
};

// Asks over one connection.
class TlsTestClient {
public:
    TlsTestClient(TestClient socket, std::shared_ptr<const TlsClientContext> with)
        : socket_(std::move(socket)), link_(std::move(with), "127.0.0.1") {
        link_.begin(out_);
        flush();
        while (link_.state() == TlsLink::State::handshaking && turn()) {
        }
        REQUIRE(link_.state() == TlsLink::State::open);
    }

    // Empty when the server has ended the connection.
    std::string ask(std::string_view request) {
        send(request);
        while (heard_.find("\r\n\r\n") == std::string::npos && turn()) {
        }
        return std::exchange(heard_, {});
    }
    void send(std::string_view request) {
        REQUIRE(link_.send(std::as_bytes(std::span(request)), out_));
        flush();
    }
    // Until the server has ended the connection.
    void hear_all() {
        while (turn()) {
        }
    }

private:
    bool turn() {
        const std::string sealed = socket_.some();
        if (sealed.empty()) return false;
        std::vector<std::byte> plain(sealed.size() + TlsLink::plain_extra);
        const std::size_t got = link_.receive(std::as_bytes(std::span(sealed)), plain, out_);
        heard_.append(reinterpret_cast<const char*>(plain.data()), got);
        flush();
        return link_.state() != TlsLink::State::failed && link_.state() != TlsLink::State::ended;
    }
    void flush() {
        socket_.send({reinterpret_cast<const char*>(out_.data()), out_.size()});
        out_.clear();
    }

    TestClient socket_;
    TlsLink link_;
    std::vector<std::byte> out_;
    std::string heard_;
};

struct Https {
    OperatorPki pki;
    MovedDate date;
    Serving serving{HttpLimits{}, {*IpAddress::parse("127.0.0.1"), 0, {}, pki.server(), &date}};

    TlsTestClient connect(bool with_certificate) { return {serving.connect(), pki.client(with_certificate)}; }
    std::uint64_t failed(TlsFailure why) const {
        return serving.server->figures().tls_failed[static_cast<std::size_t>(why)];
    }
};

}  // namespace

TEST_CASE_FIXTURE(Https, "S-2, S-5: an operator's certificate is judged at each request, not at the handshake alone") {
    TlsTestClient with = connect(true);
    TlsTestClient without = connect(false);
    date.added_seconds = 30 * day - 60;
    CHECK(status(with.ask(get("/a"))) == 200);
    date.added_seconds = 30 * day + 60;
    CHECK(with.ask(get("/a")).empty());
    CHECK(failed(TlsFailure::expired) == 1);
    // Who shows none has nothing that expires.
    CHECK(status(without.ask(get("/a"))) == 200);
}

TEST_CASE_FIXTURE(Https, "S-2, S-5: a feed ends with the certificate of the operator that reads it") {
    TlsTestClient feed = connect(true);
    CHECK(status(feed.ask(get("/endless"))) == 200);
    date.added_seconds = 31 * day;
    feed.hear_all();
    CHECK(failed(TlsFailure::expired) == 1);
    CHECK(Serving::soon([&] { return serving.streams == 0; }));
}

TEST_CASE_FIXTURE(Https, "S-2: a revoked operator's open connection gets no further answer") {
    TlsTestClient client = connect(true);
    CHECK(status(client.ask(get("/a"))) == 200);
    serving.server->set_tls(pki.server(pki.serial + "\n"));
    CHECK(client.ask(get("/a")).empty());
    CHECK(failed(TlsFailure::revoked) == 1);
}
