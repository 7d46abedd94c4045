#include "tls/tls_ticket.h"

#include <array>
#include <memory>
#include <string>

#include <doctest/doctest.h>
#include <openssl/ssl.h>

#include "tls/tls_link_fixture.h"

using namespace muster;

namespace {

// One visit to the server, which must be let in. `session` is shown if there is one, and is the next one afterwards.
struct Visit {
    Visit(const std::shared_ptr<const TlsServerContext>& at, const std::shared_ptr<const TlsClientContext>& with,
          OpenSslHandle<SSL_SESSION>& session, std::size_t piece = 1 << 20)
        : server(at), client(with, "127.0.0.1", session.get()) {
        client.link.begin(client.out);
        exchange(client, server, piece);
        REQUIRE(server.link.state() == TlsLink::State::open);
        client.send("hello");
        server.send("and back");
        exchange(client, server, piece);
        CHECK(server.heard == "hello");
        CHECK(client.heard == "and back");
        session = client.link.session();
        REQUIRE(session);
    }
    bool was_resumed() const { return server.link.was_resumed(); }

    End server;
    End client;
};

}  // namespace

TEST_CASE("S-1: a client comes back with a ticket, also to another life of the server that has the keys") {
    Pki pki;
    const auto with = pki.client();
    OpenSslHandle<SSL_SESSION> session;
    CHECK_FALSE(Visit(pki.server(std::nullopt), with, session).was_resumed());
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{1} << 20}) {
        CAPTURE(piece);
        const Visit again(pki.server(std::nullopt), with, session, piece);
        CHECK(again.was_resumed());
        CHECK_FALSE(again.server.link.peer());
    }
    // Tickets of keys that nobody has any more cost a full handshake and no more.
    pki.tickets = std::make_shared<TicketKeys>(pki.entropy, today());
    CHECK_FALSE(Visit(pki.server(std::nullopt), with, session).was_resumed());
    CHECK(Visit(pki.server(std::nullopt), with, session).was_resumed());
}

TEST_CASE("S-1, S-2: a peer with a certificate comes back with a ticket, and is known as before") {
    Pki pki;
    const auto issued = pki.authority.issue("eu-1", PeerRole::server, {}, 30);
    const auto with = pki.client("eu-1");
    OpenSslHandle<SSL_SESSION> session;
    CHECK_FALSE(Visit(pki.server(), with, session).was_resumed());
    for (int i = 0; i < 3; ++i) {
        const Visit again(pki.server(), with, session);
        CHECK(again.was_resumed());
        REQUIRE(again.server.link.peer());
        CHECK(again.server.link.peer()->name == "eu-1");
        CHECK(again.server.link.peer()->role() == PeerRole::server);
        CHECK(again.server.link.peer()->serial == issued.facts.serial);
        CHECK(again.server.link.peer()->not_after == issued.facts.not_after);
    }
}

TEST_CASE("S-2: whoever comes with a ticket is judged by what is known now") {
    Pki pki;
    const auto issued = pki.authority.issue("eu-1", PeerRole::server, {}, 30);
    const auto with = pki.client("eu-1");
    OpenSslHandle<SSL_SESSION> session;
    CHECK_FALSE(Visit(pki.server(), with, session).was_resumed());
    SUBCASE("revoked meanwhile: refused, and told why") {
        End server(pki.server(PeerRole::server, pki.folder.write("revoked", issued.facts.serial).string()));
        End client(with, "127.0.0.1", session.get());
        client.link.begin(client.out);
        exchange(client, server);
        CHECK(server.link.failure() == TlsFailure::revoked);
        CHECK(client.link.failure() == TlsFailure::revoked);
    }
    SUBCASE("another authority meanwhile: refused") {
        const Pki other;
        TlsFiles files = pki.files();
        files.client_ca = other.path + "/ca.crt";
        End server(pki.server_with(files, PeerRole::server));
        End client(with, "127.0.0.1", session.get());
        client.link.begin(client.out);
        exchange(client, server);
        CHECK(server.link.failure() == TlsFailure::unknown_ca);
    }
    SUBCASE("certificates are not wanted any more: nobody is taken for the one it was") {
        TlsFiles files = pki.files();
        files.client_ca.clear();
        const Visit again(pki.server_with(files, PeerRole::server), with, session);
        CHECK_FALSE(again.was_resumed());
        CHECK_FALSE(again.server.link.peer());
        // And they are wanted again: the ticket of one that has shown none is worth nothing.
        const Visit last(pki.server(), with, session);
        CHECK_FALSE(last.was_resumed());
        CHECK(last.server.link.peer());
    }
    SUBCASE("another port: its role is not the one that was judged") {
        End server(pki.server_with(pki.files(), PeerRole::matchmaker, "matchmakers"));
        End client(with, "127.0.0.1", session.get());
        client.link.begin(client.out);
        exchange(client, server);
        CHECK(server.link.state() == TlsLink::State::failed);
        CHECK(server.link.failure() == TlsFailure::wrong_role);
    }
    SUBCASE("a ticket without its secret: refused") {
        const OpenSslHandle<SSL_SESSION> stolen(SSL_SESSION_dup(session.get()));
        std::array<unsigned char, 32> guessed{};
        REQUIRE(SSL_SESSION_set1_master_key(stolen.get(), guessed.data(), guessed.size()) == 1);
        End server(pki.server());
        End client(with, "127.0.0.1", stolen.get());
        client.link.begin(client.out);
        exchange(client, server);
        CHECK(server.link.state() == TlsLink::State::failed);
        CHECK(server.link.failure() == TlsFailure::broken);
    }
}

TEST_CASE("S-2: a certificate that has expired since is not renewed by its ticket") {
    Pki past(today() - 40 * day);
    const auto issued = past.authority.issue("eu-1", PeerRole::server, {}, 30);
    const auto server = past.server();
    CHECK_FALSE(server->admits({server->material().authorities(), issued.facts}));
    CertificateFacts good = issued.facts;
    good.not_after = today() + day;
    CHECK(server->admits({server->material().authorities(), good}));
    CHECK_FALSE(server->admits({"others", good}));
    CHECK_FALSE(server->admits({server->material().authorities(), std::nullopt}));
}

TEST_CASE("S-1: without keys for them, no tickets are given") {
    Pki pki;
    pki.tickets = nullptr;
    End server(pki.server(std::nullopt));
    End client(pki.client(), "127.0.0.1");
    client.link.begin(client.out);
    exchange(client, server);
    REQUIRE(server.link.state() == TlsLink::State::open);
    CHECK_FALSE(client.link.session());
}
