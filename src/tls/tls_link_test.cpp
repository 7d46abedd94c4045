#include "tls/tls_link.h"

#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <openssl/ssl.h>

#include "tls/tls_link_fixture.h"

using namespace muster;

namespace {

TlsFailure refused(const Pki& pki, const std::shared_ptr<const TlsClientContext>& with, TlsFailure told,
                   const std::string& revoked = "") {
    End server(pki.server(PeerRole::server, revoked));
    End client(with, "127.0.0.1");
    client.link.begin(client.out);
    exchange(client, server);
    CHECK(server.link.state() == TlsLink::State::failed);
    CHECK(client.link.state() == TlsLink::State::failed);
    CHECK(client.link.failure() == told);
    CHECK(server.heard.empty());
    return server.link.failure();
}

}  // namespace

TEST_CASE("S-1, S-2: two ends shake hands, know each other, and talk both ways") {
    Pki pki;
    pki.authority.issue("eu-1", PeerRole::server, {}, 30);
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{1} << 20}) {
        CAPTURE(piece);
        End server(pki.server());
        End client(pki.client("eu-1"), "127.0.0.1");
        client.link.begin(client.out);
        exchange(client, server, piece);
        REQUIRE(server.link.state() == TlsLink::State::open);
        REQUIRE(client.link.state() == TlsLink::State::open);
        REQUIRE(server.link.peer());
        CHECK(server.link.peer()->name == "eu-1");
        CHECK(server.link.peer()->role() == PeerRole::server);

        const std::string large(300'000, 'x');
        client.send("hello");
        server.send(large);
        exchange(client, server, piece);
        CHECK(server.heard == "hello");
        CHECK(client.heard == large);

        client.link.close(client.out);
        exchange(client, server, piece);
        CHECK(server.link.state() == TlsLink::State::ended);
        server.send("last words");
        exchange(client, server, piece);
        CHECK(client.heard == large + "last words");
    }
}

TEST_CASE("S-1: a client says what is wrong with the server's certificate") {
    Pki pki;
    Pki other;
    const auto outcome = [&](const std::shared_ptr<const TlsClientContext>& with, const std::string& name) {
        End server(pki.server(std::nullopt));
        End client(with, name);
        client.link.begin(client.out);
        exchange(client, server);
        CHECK(server.link.state() == TlsLink::State::failed);
        CHECK(server.link.failure() == TlsFailure::refused_by_peer);
        REQUIRE(client.link.state() == TlsLink::State::failed);
        return client.link.failure();
    };
    CHECK(outcome(other.client(), "127.0.0.1") == TlsFailure::unknown_ca);
    CHECK(outcome(pki.client(), "203.0.113.9") == TlsFailure::wrong_name);
    CHECK(outcome(pki.client(), "elsewhere.example") == TlsFailure::wrong_name);
}

TEST_CASE("S-1: an expired server is refused by its clients") {
    Pki pki(today() - 400 * day);
    End server(pki.server(std::nullopt));
    End client(pki.client(), "localhost");
    client.link.begin(client.out);
    exchange(client, server);
    CHECK(client.link.failure() == TlsFailure::expired);
    CHECK(server.link.failure() == TlsFailure::refused_by_peer);
}

TEST_CASE("S-2, G-12: an agent's certificate is good at the port of game servers, and at no other") {
    Pki pki;
    pki.authority.issue("host-1", PeerRole::agent, {}, 30);
    End client(pki.client("host-1"), "127.0.0.1");
    End server(pki.server(PeerRole::server));
    client.link.begin(client.out);
    exchange(client, server);
    CHECK(server.link.state() == TlsLink::State::open);
    End other(pki.client("host-1"), "127.0.0.1");
    End matchmakers(pki.server(PeerRole::matchmaker));
    other.link.begin(other.out);
    exchange(other, matchmakers);
    CHECK(matchmakers.link.failure() == TlsFailure::wrong_role);
}

TEST_CASE("S-2, fault 75: each bad certificate is refused for its own reason, and the client hears why") {
    Pki pki(today() - 10 * day);
    Pki other;
    pki.authority.issue("expired", PeerRole::server, {}, 5);
    pki.authority.issue("matchmaker", PeerRole::matchmaker, {}, 30);
    const IssuedFiles revoked = pki.authority.issue("revoked", PeerRole::server, {}, 30);
    Authority(pki.path, today() + 10 * day).issue("tomorrow", PeerRole::server, {}, 30);
    other.authority.issue("foreign", PeerRole::server, {}, 30);
    const std::string list =
        pki.folder.write("revoked", "# gone\n\n  " + revoked.facts.serial + "  # stolen\n").string();

    CHECK(refused(pki, pki.client(), TlsFailure::no_certificate) == TlsFailure::no_certificate);
    CHECK(refused(pki, pki.client("expired"), TlsFailure::expired) == TlsFailure::expired);
    CHECK(refused(pki, pki.client("tomorrow"), TlsFailure::refused_by_peer) == TlsFailure::not_yet_valid);
    CHECK(refused(pki, pki.client("matchmaker"), TlsFailure::wrong_role) == TlsFailure::wrong_role);
    CHECK(refused(pki, pki.client("revoked"), TlsFailure::revoked, list) == TlsFailure::revoked);
    const auto foreign =
        TlsClientContext::read({pki.path + "/ca.crt", other.path + "/foreign.crt", other.path + "/foreign.key"});
    REQUIRE(foreign);
    CHECK(refused(pki, *foreign, TlsFailure::unknown_ca) == TlsFailure::unknown_ca);
    // The authority's own certificate is one that signed itself.
    const auto itself = TlsClientContext::read({pki.path + "/ca.crt", other.path + "/ca.crt", other.path + "/ca.key"});
    REQUIRE(itself);
    CHECK(refused(pki, *itself, TlsFailure::unknown_ca) == TlsFailure::self_signed);
}

TEST_CASE("fault 75: bytes that are no TLS are told apart, whatever they are") {
    Pki pki;
    for (const std::string_view text :
         {std::string_view("GET / HTTP/1.1\r\n\r\n"), std::string_view("\x0c\x01\x02\x10hello"),
          std::string_view("\x16\x00hello", 7)}) {
        End server(pki.server());
        server.receive(bytes_of(text));
        CHECK(server.link.state() == TlsLink::State::failed);
        CHECK(server.link.failure() == TlsFailure::not_tls);
    }
    End garbage(pki.server());
    garbage.receive(bytes_of(std::string("\x16\x03\x01\x00\x05", 5) + "\x01\xff\xff\xff\xff"));
    CHECK(garbage.link.state() == TlsLink::State::failed);
    CHECK(garbage.link.failure() == TlsFailure::broken);
    // What follows a failure changes nothing.
    garbage.receive(bytes_of("more"));
    CHECK(garbage.heard.empty());
}

TEST_CASE("fault 75: a byte that was changed on the way ends the link, and is never heard") {
    Pki pki;
    End server(pki.server(std::nullopt));
    End client(pki.client(), "localhost");
    client.link.begin(client.out);
    exchange(client, server);
    client.send("hello");
    client.out.back() ^= std::byte{1};
    exchange(client, server);
    CHECK(server.heard.empty());
    CHECK(server.link.state() == TlsLink::State::failed);
    CHECK(server.link.failure() == TlsFailure::broken);
}

TEST_CASE("S-1: what a reload changes is told, file by file") {
    Pki pki;
    const auto read = [](const TlsFiles& files) { return TlsMaterial::read(files).value(); };
    TlsFiles files = pki.files();
    const auto first = read(files);
    CHECK(first->changes_to(*read(files)).empty());
    files.revoked = pki.folder.write("revoked", "AB12\n").string();
    const auto second = read(files);
    CHECK(first->changes_to(*second) == std::vector<std::string>{"tls.revoked_file: 0 -> 1 revoked certificates"});
    files.revoked = pki.folder.write("other", "AB13\n").string();
    CHECK(second->changes_to(*read(files)).size() == 1);
    pki.authority.renew("muster");
    CHECK(second->changes_to(*read(pki.files())).size() == 2);
    const Pki other;
    files = pki.files();
    const auto before = read(files);
    files.client_ca = other.path + "/ca.crt";
    const auto changes = before->changes_to(*read(files));
    REQUIRE(changes.size() == 1);
    CHECK(changes.front().starts_with("tls.client_ca_file: "));
}

TEST_CASE("S-1: files that do not fit are refused by the key of the config and the file") {
    Pki pki;
    Pki other;
    const auto why = [](const TlsFiles& files) {
        const auto read = TlsMaterial::read(files);
        REQUIRE_FALSE(read);
        return read.error();
    };
    TlsFiles files = pki.files();
    files.key = other.path + "/muster.key";
    CHECK(why(files).find("tls.key_file: " + files.key + " does not belong to the certificate in " +
                          files.certificate) == 0);
    files = pki.files();
    files.certificate = "/nowhere.crt";
    CHECK(why(files) == "tls.certificate_file: cannot read /nowhere.crt: No such file or directory");
    files = pki.files();
    files.client_ca = pki.path + "/muster.crt";
    CHECK(why(files).find("may not sign others") != std::string::npos);
    files = pki.files();
    const IssuedFiles client = pki.authority.issue("eu-1", PeerRole::server, {}, 30);
    files.certificate = client.certificate;
    files.key = client.key;
    CHECK(why(files).find("is for clients only") != std::string::npos);
    files = pki.files();
    files.revoked = pki.folder.write("revoked", "AB12\nnonsense\n").string();
    CHECK(why(files).find("line 2: a serial number is wanted") != std::string::npos);
}

TEST_CASE("S-1, fault 75: a first message that is too long or cut up is refused before memory is taken for it") {
    const Pki pki;
    const auto refuses = [&](std::string_view said, std::size_t piece) {
        End server(pki.server());
        const Bytes all = bytes_of(said);
        for (std::size_t at = 0; at < all.size(); at += piece)
            server.receive(std::span(all).subspan(at, std::min(piece, all.size() - at)));
        return server.link.state() == TlsLink::State::failed && server.link.failure() == TlsFailure::broken;
    };
    using namespace std::string_view_literals;
    for (const std::size_t piece : {std::size_t{1}, std::size_t{100}}) {
        CAPTURE(piece);
        CHECK_FALSE(refuses("\x16\3\1\x40\0\1\0\x40\0"sv, piece));  // 16 KiB: it waits for the rest
        CHECK(refuses("\x16\3\1\x40\0\1\0\x40\1"sv, piece));
        CHECK(refuses("\x16\3\1\0\3\1\0\0\x16\3"sv, piece));
    }
}

TEST_CASE("S-1, fault 75: a handshake of more bytes than any needs is given up") {
    const Pki pki;
    End server(pki.server());
    // It begins with a key that the server does not want, and is asked for another.
    const auto with = pki.client();
    REQUIRE(SSL_CTX_set1_groups_list(&with->native(), "P-384:X25519") == 1);
    End client(with, "127.0.0.1");
    client.link.begin(client.out);
    server.receive(client.out);
    REQUIRE(server.link.state() == TlsLink::State::handshaking);
    // Its second hello says that it has 128 KiB.
    std::string piece(16'384, '\0');
    piece[0] = 1;
    piece[1] = 2;
    for (int i = 0; i < 4; ++i) {
        CHECK(server.link.state() == TlsLink::State::handshaking);
        server.receive(bytes_of(std::string("\x16\3\3\x40\0", 5) + piece));
        piece[0] = piece[1] = 0;
    }
    CHECK(server.link.state() == TlsLink::State::failed);
    CHECK(server.link.failure_text() == "the handshake is too long");
}

TEST_CASE("S-1: a peer that asks for short records gets no longer ones") {
    const Pki pki;
    for (const auto& [mode, bytes] :
         {std::pair{TLSEXT_max_fragment_length_512, 512U}, std::pair{TLSEXT_max_fragment_length_1024, 1024U},
          std::pair{TLSEXT_max_fragment_length_4096, 4096U}, std::pair{TLSEXT_max_fragment_length_DISABLED, 16'384U}}) {
        CAPTURE(bytes);
        const auto with = pki.client();
        REQUIRE(SSL_CTX_set_tlsext_max_fragment_length(&with->native(), static_cast<std::uint8_t>(mode)) == 1);
        End server(pki.server(std::nullopt));
        End client(with, "127.0.0.1");
        client.link.begin(client.out);
        exchange(client, server);
        REQUIRE(server.link.state() == TlsLink::State::open);
        const std::string text(40'000, 'x');
        server.send(text);
        std::size_t longest = 0;
        for (std::size_t at = 0; at + 5 <= server.out.size();) {
            const std::size_t size =
                static_cast<std::size_t>(server.out[at + 3]) << 8 | static_cast<std::size_t>(server.out[at + 4]);
            longest = std::max(longest, size);
            at += 5 + size;
        }
        CHECK(longest == bytes + 1 + 16);  // its type, and the tag
        exchange(client, server);
        CHECK(client.link.state() == TlsLink::State::open);
        CHECK(client.heard == text);
    }
}

TEST_CASE("S-1, fault 75: hands are shaken with keys that are cheap for the server, and with no others") {
    const Pki pki;
    for (const char* group : {"X25519", "P-256", "P-384", "P-521", "X448", "ffdhe8192"}) {
        CAPTURE(std::string(group));
        const auto with = pki.client();
        REQUIRE(SSL_CTX_set1_groups_list(&with->native(), group) == 1);
        End server(pki.server(std::nullopt));
        End client(with, "127.0.0.1");
        client.link.begin(client.out);
        exchange(client, server);
        const bool is_cheap = std::string_view(group) == "X25519" || std::string_view(group) == "P-256";
        CHECK((server.link.state() == TlsLink::State::open) == is_cheap);
    }
}
