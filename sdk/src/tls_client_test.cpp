#include "sdk/src/tls_client.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "certs/authority.h"
#include "testing/test_folder.h"
#include "tls/tls_link.h"

namespace muster::sdk {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::int64_t day = 86'400;

// OpenSSL judges certificates by the machine's date.
std::int64_t today() {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

struct Pki {
    explicit Pki(std::int64_t now = today()) : path((folder.path() / "pki").string()), authority(path, now) {
        authority.init({});
    }
    std::shared_ptr<const TlsServerContext> server(std::optional<PeerRole> role) const {
        auto material = TlsMaterial::read({path + "/muster.crt", path + "/muster.key", path + "/ca.crt", ""});
        REQUIRE(material);
        auto context = TlsServerContext::make(*material, "servers", role);
        REQUIRE(context);
        return *context;
    }
    TlsOptions options(const std::string& name = "") const {
        if (name.empty()) return {.ca_file = path + "/ca.crt"};
        return {path + "/ca.crt", path + "/" + name + ".crt", path + "/" + name + ".key"};
    }

    TestFolder folder;
    std::string path;
    Authority authority;
};

// What becomes of a client that meets this server.
Outcome met(const std::shared_ptr<const TlsServerContext>& context, const TlsOptions& options,
            const std::string& host = "127.0.0.1") {
    TlsLink server(context);
    TlsClient client(read_tls_settings(options), host, nullptr);
    Bytes to_server;
    Bytes to_client;
    client.begin(to_server);
    for (int i = 0; i < 10 && client.state() != TlsClient::State::failed; ++i) {
        Bytes plain(to_server.size() + TlsLink::plain_extra);
        server.receive(std::exchange(to_server, {}), plain, to_client);
        client.receive(std::exchange(to_client, {}), to_server);
    }
    return client.state() == TlsClient::State::failed ? client.failure() : Outcome{};
}

}  // namespace

TEST_CASE("S-1, S-2: each way in which TLS fails has a code of its own, and says what is wrong") {
    Pki pki;
    Pki other;
    pki.authority.issue("eu-1", PeerRole::server, {}, 30);
    pki.authority.issue("mm", PeerRole::matchmaker, {}, 30);
    const auto mutual = pki.server(PeerRole::server);
    const auto one_sided = pki.server(std::nullopt);

    CHECK(met(mutual, pki.options("eu-1")));
    CHECK(met(one_sided, pki.options(), "localhost"));
    CHECK(met(one_sided, other.options()).code == ErrorCode::tls_untrusted);
    CHECK(met(one_sided, pki.options(), "elsewhere.example").code == ErrorCode::tls_wrong_name);
    CHECK(met(mutual, pki.options()).code == ErrorCode::tls_refused);
    CHECK(met(mutual, pki.options()).text == "Muster wants a certificate, and none is set");
    CHECK(met(mutual, pki.options("mm")).code == ErrorCode::tls_refused);
    CHECK(met(mutual, pki.options("mm")).text == "Muster refuses the certificate: its role is not that of this port");

    Pki old(today() - 400 * day);
    CHECK(met(old.server(std::nullopt), old.options()).code == ErrorCode::tls_expired);
    Pki young(today() - 10 * day);
    young.authority.issue("expired", PeerRole::server, {}, 5);
    CHECK(met(young.server(PeerRole::server), young.options("expired")).text ==
          "Muster refuses the certificate: it has expired");
}

TEST_CASE("S-1: files that cannot be used are refused when the client is added") {
    const Pki pki;
    CHECK_THROWS_AS(read_tls_settings({.ca_file = "/nowhere"}), std::invalid_argument);
    CHECK_THROWS_AS(read_tls_settings({.ca_file = pki.path + "/ca.key"}), std::invalid_argument);
    CHECK_THROWS_AS(read_tls_settings({pki.path + "/ca.crt", pki.path + "/muster.crt", ""}), std::invalid_argument);
    CHECK_THROWS_AS(read_tls_settings({pki.path + "/ca.crt", pki.path + "/muster.crt", pki.path + "/ca.key"}),
                    std::invalid_argument);
}

TEST_CASE("S-1: files that are read again count for connections to come, and bad ones leave the old in force") {
    Pki pki;
    pki.authority.issue("eu-1", PeerRole::server, {}, 30);
    TlsSource source(pki.options("eu-1"));
    const auto first = source.latest();
    source.reload();
    const auto second = source.latest();
    CHECK(first != second);
    std::filesystem::rename(pki.path + "/eu-1.key", pki.path + "/elsewhere");
    CHECK_THROWS_AS(source.reload(), std::invalid_argument);
    CHECK(source.latest() == second);

    TlsCredentials credentials(pki.options());
    CHECK(credentials.reload());
    std::filesystem::remove(pki.path + "/ca.crt");
    const Outcome refused = credentials.reload();
    CHECK(refused.code == ErrorCode::invalid_argument);
    CHECK(refused.text == "cannot read " + pki.path + "/ca.crt: No such file or directory");
}

TEST_CASE("S-1: an answer that is no TLS is told as such") {
    const Pki pki;
    TlsClient client(read_tls_settings(pki.options()), "localhost", nullptr);
    Bytes out;
    client.begin(out);
    const std::string plain = "HTTP/1.1 400 Bad Request\r\n\r\n";
    client.receive(std::as_bytes(std::span(plain)), out);
    REQUIRE(client.state() == TlsClient::State::failed);
    CHECK(client.failure().code == ErrorCode::tls_failed);
}

}  // namespace muster::sdk
