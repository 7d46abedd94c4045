// HTTPS: how long an operator's certificate is good for (S-2, S-5), and newcomers in a flood of handshakes (fault 75).
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <openssl/ssl.h>

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
    // How far it goes by itself.
    enum class Until : std::uint8_t { hello, open };
    TlsTestClient(TestClient socket, const std::shared_ptr<const TlsClientContext>& with, Until until = Until::open)
        : socket_(std::move(socket)), link_(with, "127.0.0.1") {
        link_.begin(out_);
        flush();
        if (until == Until::open) REQUIRE(shake_hands());
    }

    // False when the server has ended the connection.
    bool shake_hands() {
        while (link_.state() == TlsLink::State::handshaking && turn()) {
        }
        return link_.state() == TlsLink::State::open;
    }

    // The server has not said anything yet.
    bool is_unheard() const { return !socket_.has_something(); }

    // Empty when the server has ended the connection.
    std::string ask(std::string_view request) {
        send(request);
        return hear();
    }
    std::string hear() {
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
    std::shared_ptr<const TlsServerContext> context = pki.server();
    std::shared_ptr<const TlsClientContext> plain_client = pki.client(false);
    Serving serving;

    explicit Https(const HttpLimits& limits = {})
        : serving(limits, {*IpAddress::parse("127.0.0.1"), 0, {}, context, &date}) {}

    TlsTestClient connect(bool with_certificate) { return {serving.connect(), pki.client(with_certificate)}; }
    // From 127.0.0.`host`; has said hello and no more.
    std::unique_ptr<TlsTestClient> newcomer(std::uint8_t host) {
        return std::make_unique<TlsTestClient>(serving.connect(host), plain_client, TlsTestClient::Until::hello);
    }
    std::vector<std::unique_ptr<TlsTestClient>> newcomers(std::size_t count, std::uint8_t host) {
        std::vector<std::unique_ptr<TlsTestClient>> all;
        for (std::size_t i = 0; i < count; ++i) all.push_back(newcomer(host));
        return all;
    }
    // Until the returned object goes, the HTTP thread does nothing.
    class Stopped {
    public:
        explicit Stopped(HttpServer& server) {
            server.thread()->post([stopped = stopped_] { stopped->wait(); });
        }
        ~Stopped() { stopped_->count_down(); }
        Stopped(const Stopped&) = delete;
        Stopped& operator=(const Stopped&) = delete;

    private:
        std::shared_ptr<std::latch> stopped_ = std::make_shared<std::latch>(1);
    };
    // Handshakes that OpenSSL has begun.
    long begun() const { return SSL_CTX_sess_accept(&context->native()); }
    std::uint64_t failed(TlsFailure why) const {
        return serving.server->figures().tls_failed[static_cast<std::size_t>(why)];
    }
};

// At its limit with few connections.
struct FullHttps : Https {
    static constexpr std::size_t room = 20;

    FullHttps() : Https(limits()) {}
    static HttpLimits limits() {
        HttpLimits few;
        few.quota.connections = room;
        return few;
    }
};

std::size_t count_unheard(const std::vector<std::unique_ptr<TlsTestClient>>& clients) {
    return static_cast<std::size_t>(
        std::count_if(clients.begin(), clients.end(), [](const auto& client) { return client->is_unheard(); }));
}

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
    CHECK(soon([&] { return serving.streams == 0; }));
}

TEST_CASE_FIXTURE(Https, "S-2: a revoked operator's open connection gets no further answer") {
    TlsTestClient client = connect(true);
    CHECK(status(client.ask(get("/a"))) == 200);
    serving.server->set_tls(pki.server(pki.serial + "\n"));
    CHECK(client.ask(get("/a")).empty());
    CHECK(failed(TlsFailure::revoked) == 1);
}

TEST_CASE_FIXTURE(Https, "fault 75: over HTTP a newcomer does not wait for the handshakes that others have sent") {
    TlsTestClient up = connect(false);
    constexpr std::size_t each = 60;
    std::optional<Stopped> stopped(std::in_place, *serving.server);
    auto flood = newcomers(each, 2);
    for (std::uint8_t host = 3; host < 8; ++host) {
        for (auto& client : newcomers(each, host)) flood.push_back(std::move(client));
    }
    const auto late = newcomer(9);
    up.send(get("/a"));
    stopped.reset();

    REQUIRE(late->shake_hands());
    const std::size_t unheard = count_unheard(flood);
    CHECK(status(late->ask(get("/a"))) == 200);
    CHECK(unheard > flood.size() / 2);
    // Whoever is up is served in between, and who waited is served in the end.
    CHECK(status(up.hear()) == 200);
    for (auto& client : flood) CHECK(client->shake_hands());
}

TEST_CASE_FIXTURE(Https, "fault 75: over HTTP no handshake is begun for a peer that has left while it waited") {
    constexpr std::size_t peers = 60;
    {
        const Stopped stopped(*serving.server);
        newcomers(peers, 2);
    }
    CHECK(soon([&] { return failed(TlsFailure::incomplete) == peers; }));
    CHECK(begun() == 0);
    connect(false);
    CHECK(begun() == 1);
    CHECK(soon([&] { return serving.server->figures().connections == 0; }));
}

TEST_CASE_FIXTURE(FullHttps, "fault 75: over HTTP, those that have proved nothing give way to other addresses") {
    TlsTestClient up = connect(false);
    CHECK(status(up.ask(get("/a"))) == 200);  // and now it rests
    std::vector<TestClient> flood;
    for (std::size_t i = 0; i < 2 * room; ++i) flood.push_back(serving.connect(2));
    CHECK(soon([&] { return serving.server->figures().refused_per_port >= room; }));
    std::vector<std::unique_ptr<TlsTestClient>> others;
    for (std::uint8_t host = 3; host < 8; ++host) {
        others.push_back(newcomer(host));
        REQUIRE(others.back()->shake_hands());
        CHECK(status(others.back()->ask(get("/a"))) == 200);
    }
    CHECK(serving.server->figures().let_go >= 5);
    CHECK(status(up.ask(get("/a"))) == 200);
}

TEST_CASE_FIXTURE(FullHttps, "fault 75, S-7: over HTTP, those that rest make room when no flood is the reason") {
    auto resting = newcomers(room, 2);
    for (auto& client : resting) {
        REQUIRE(client->shake_hands());
        CHECK(status(client->ask(get("/a"))) == 200);
    }
    const auto other = newcomer(3);
    REQUIRE(other->shake_hands());
    CHECK(status(other->ask(get("/a"))) == 200);
    CHECK(serving.server->figures().refused_per_port == 0);
}
