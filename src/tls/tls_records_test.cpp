#include "tls/tls_records.h"

#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <malloc.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>

#include "certs/authority.h"
#include "testing/test_folder.h"
#include "tls/client_link.h"
#include "tls/tls_link.h"

using namespace muster;

namespace {

using Bytes = std::vector<std::byte>;

std::span<const std::byte> view_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

// A server of ours and a client that is OpenSSL's alone.
struct Sides {
    explicit Sides(const char* suite = nullptr, bool mutual = true) {
        authority.init({});
        const IssuedFiles peer = authority.issue("eu-1", PeerRole::server, {}, 30);
        auto material = TlsMaterial::read({path + "/muster.crt", path + "/muster.key", path + "/ca.crt", ""});
        REQUIRE(material);
        auto made =
            TlsServerContext::make(*material, "servers", mutual ? std::optional(PeerRole::server) : std::nullopt);
        REQUIRE(made);
        server_context = *made;
        auto with = TlsClientContext::read({path + "/ca.crt", peer.certificate, peer.key});
        REQUIRE(with);
        client_context = *with;
        if (suite) REQUIRE(SSL_CTX_set_ciphersuites(&client_context->native(), suite) == 1);
    }

    TestFolder folder;
    std::string path = (folder.path() / "pki").string();
    Authority authority{path, std::time(nullptr)};
    std::shared_ptr<const TlsServerContext> server_context;
    std::shared_ptr<const TlsClientContext> client_context;
};

struct Pair {
    explicit Pair(const Sides& sides)
        : server(sides.server_context), client(new_client_link(*sides.client_context, "127.0.0.1")) {
        SSL_set_bio(client.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
        for (int i = 0; i < 4; ++i) {
            SSL_do_handshake(client.get());
            carry();
        }
        REQUIRE(server.state() == TlsLink::State::open);
        REQUIRE(SSL_is_init_finished(client.get()) == 1);
    }

    // To the server, so many bytes at a time, and what it says back to the client.
    void carry(std::size_t piece = 1 << 20) {
        char* data = nullptr;
        const auto size = static_cast<std::size_t>(BIO_get_mem_data(SSL_get_wbio(client.get()), &data));
        const std::string sealed(data, size);
        (void)BIO_reset(SSL_get_wbio(client.get()));
        for (std::size_t at = 0; at < sealed.size(); at += piece)
            to_server(view_of(sealed).subspan(at, std::min(piece, sealed.size() - at)));
        to_client();
    }
    void to_server(std::span<const std::byte> sealed) {
        Bytes plain(sealed.size() + TlsLink::plain_extra);
        const std::size_t got = server.receive(sealed, plain, out);
        heard.append(reinterpret_cast<const char*>(plain.data()), got);
    }
    void to_client() {
        if (!out.empty()) BIO_write(SSL_get_rbio(client.get()), out.data(), static_cast<int>(out.size()));
        out.clear();
    }
    void say(std::string_view text) {
        REQUIRE(SSL_write(client.get(), text.data(), static_cast<int>(text.size())) > 0);
    }
    std::string client_hears() {
        std::string all;
        std::array<char, 20'000> some{};
        for (int got = 0; (got = SSL_read(client.get(), some.data(), some.size())) > 0;)
            all.append(some.data(), static_cast<std::size_t>(got));
        return all;
    }

    TlsLink server;
    OpenSslHandle<SSL> client;
    Bytes out;
    std::string heard;
};

}  // namespace

TEST_CASE("S-1: the records of each suite are OpenSSL's, however they are cut") {
    for (const char* suite : {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}) {
        CAPTURE(suite);
        const Sides sides(suite);
        for (const std::size_t piece : {std::size_t{1}, std::size_t{1'000}, std::size_t{1} << 20}) {
            Pair pair(sides);
            CHECK(std::string_view(SSL_get_cipher_name(pair.client.get())) == suite);
            const std::string large(40'000, 'x');
            for (const std::string& text : {std::string("hello"), large, std::string(16'384, 'y')}) {
                pair.heard.clear();
                pair.say(text);
                pair.carry(piece);
                CHECK(pair.heard == text);
                REQUIRE(pair.server.send(view_of(text), pair.out));
                pair.to_client();
                CHECK(pair.client_hears() == text);
            }
        }
    }
}

TEST_CASE("S-1: either side may change its keys, and is asked to once however often") {
    const Sides sides;
    Pair pair(sides);
    for (int round = 0; round < 5; ++round) {
        for (const int how : {SSL_KEY_UPDATE_NOT_REQUESTED, SSL_KEY_UPDATE_REQUESTED, SSL_KEY_UPDATE_REQUESTED}) {
            REQUIRE(SSL_key_update(pair.client.get(), how) == 1);
            pair.say("after it");
        }
        pair.heard.clear();
        pair.carry();
        CHECK(pair.heard == "after itafter itafter it");
        REQUIRE(pair.server.send(view_of("and back"), pair.out));
        pair.to_client();
        CHECK(pair.client_hears() == "and back");
    }
}

TEST_CASE("S-1, fault 75: records that are changed, cut off, replayed or too long end the link, and are never heard") {
    const Sides sides;
    const auto sealed = [](Pair& pair) {
        pair.say("hello");
        char* data = nullptr;
        const auto size = static_cast<std::size_t>(BIO_get_mem_data(SSL_get_wbio(pair.client.get()), &data));
        const auto all = std::as_bytes(std::span(data, size));
        return Bytes(all.begin(), all.end());
    };
    for (std::size_t at = 0; at < 5 + 5 + 1 + 16; ++at) {
        CAPTURE(at);
        Pair pair(sides);
        Bytes record = sealed(pair);
        record[at] ^= std::byte{1};
        record.resize(record.size() + 300);  // so that a longer length is there
        pair.to_server(record);
        CHECK(pair.heard.empty());
        CHECK(pair.server.state() == TlsLink::State::failed);
        CHECK(pair.server.failure() == TlsFailure::broken);
        CHECK_FALSE(pair.server.send(view_of("x"), pair.out));
        // The client is told by an alert that it can read.
        pair.to_client();
        CHECK(pair.client_hears().empty());
        CHECK((SSL_get_shutdown(pair.client.get()) & SSL_RECEIVED_SHUTDOWN) != 0);
    }
    Pair twice(sides);
    const Bytes record = sealed(twice);
    twice.to_server(record);
    CHECK(twice.heard == "hello");
    twice.to_server(record);
    CHECK(twice.heard == "hello");
    CHECK(twice.server.state() == TlsLink::State::failed);

    Pair longer(sides);
    longer.to_server(Bytes{std::byte{23}, std::byte{3}, std::byte{3}, std::byte{0x41}, std::byte{1}});
    CHECK(longer.server.state() == TlsLink::State::failed);
    CHECK(longer.server.failure_text() == "encrypted length too long");
}

TEST_CASE("S-1: an end and an alert of the peer are told apart") {
    const Sides sides;
    Pair ends(sides);
    ends.say("last");
    SSL_shutdown(ends.client.get());
    ends.carry();
    CHECK(ends.heard == "last");
    CHECK(ends.server.state() == TlsLink::State::ended);
    REQUIRE(ends.server.send(view_of("words"), ends.out));
    ends.server.close(ends.out);
    ends.to_client();
    CHECK(ends.client_hears() == "words");
    CHECK((SSL_get_shutdown(ends.client.get()) & SSL_RECEIVED_SHUTDOWN) != 0);

    // A broken record to the client makes it send a fatal alert.
    Pair alerts(sides);
    REQUIRE(alerts.server.send(view_of("x"), alerts.out));
    alerts.out.back() ^= std::byte{1};
    alerts.to_client();
    CHECK(alerts.client_hears().empty());
    alerts.carry();
    CHECK(alerts.server.state() == TlsLink::State::failed);
    CHECK(alerts.server.failure() == TlsFailure::refused_by_peer);
    CHECK(alerts.server.failure_text() == "bad record mac");
}

TEST_CASE("S-1: secrets are read as the key log writes them, and others fit no suite") {
    CHECK(TrafficSecret(std::string(64, 'a')).size == 32);
    CHECK(TrafficSecret("00ffA1").bytes[2] == 0xa1);
    CHECK(TrafficSecret("abc").size == 0);
    CHECK(TrafficSecret("zz").size == 0);
    CHECK(TrafficSecret(std::string(98, '0')).size == 0);
    TlsRecords::Start start;
    start.client = start.server = TrafficSecret(std::string(64, 'a'));
    start.cipher = TLS1_3_CK_AES_128_GCM_SHA256;
    CHECK(TlsRecords::begin(start));
    start.cipher = TLS1_3_CK_AES_256_GCM_SHA384;
    CHECK_FALSE(TlsRecords::begin(start));
    start.cipher = TLS1_3_CK_AES_128_CCM_SHA256;
    CHECK_FALSE(TlsRecords::begin(start));
}

TEST_CASE("S-1: after half of what a key may seal the server takes its next one by itself") {
    TlsRecords::Start start;
    start.client = start.server = TrafficSecret(std::string(64, 'a'));
    start.cipher = TLS1_3_CK_CHACHA20_POLY1305_SHA256;
    start.records_sent = TlsRecords::records_per_key - 1;
    const auto records = TlsRecords::begin(start);
    Bytes out;
    records->send(view_of("last"), out);
    CHECK(out.size() == 5 + 4 + 1 + 16);
    out.clear();
    records->send(view_of("next"), out);
    CHECK(out.size() == 5 + 5 + 1 + 16 + 5 + 4 + 1 + 16);
    out.clear();
    records->send(view_of("then"), out);
    CHECK(out.size() == 5 + 4 + 1 + 16);
}

TEST_CASE("S-1: after half of what a key may seal the peer is asked for its next one, once") {
    TlsRecords::Start start;
    start.client = start.server = TrafficSecret(std::string(64, 'a'));
    start.cipher = TLS1_3_CK_AES_128_GCM_SHA256;
    // A twin with the same keys the other way round is the peer; both count alike.
    start.records_heard = start.records_sent = TlsRecords::records_per_key - 1;
    const auto server = TlsRecords::begin(start);
    const auto peer = TlsRecords::begin(start);
    Bytes plain(1'000 + TlsRecords::partial_max);
    Bytes to_server;
    Bytes to_peer;
    peer->send(view_of("x"), to_server);
    CHECK(server->receive(to_server, plain, to_peer) == 1);
    CHECK(to_peer.size() == 5 + 5 + 1 + 16);
    // It changes its key, and changes it back no further.
    to_server.clear();
    CHECK(peer->receive(to_peer, plain, to_server) == 0);
    CHECK(to_server.size() == 5 + 5 + 1 + 16);
    peer->send(view_of("y"), to_server);
    to_peer.clear();
    CHECK(server->receive(to_server, plain, to_peer) == 1);
    CHECK(to_peer.empty());
    CHECK(server->state() == TlsRecords::State::open);
}

TEST_CASE("S-1: the end is said once, however often") {
    const Sides sides;
    Pair pair(sides);
    pair.server.close(pair.out);
    const std::size_t said = pair.out.size();
    CHECK(said == 5 + 2 + 1 + 16);
    pair.server.close(pair.out);
    CHECK(pair.out.size() == said);
}

// Not where a sanitizer counts memory in its own way.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
TEST_CASE("S-1: a link at rest holds at most 12 KiB, with a certificate of the peer or without") {
    for (const bool mutual : {false, true}) {
        CAPTURE(mutual);
        const Sides sides(nullptr, mutual);
        constexpr std::size_t count = 100;
        std::vector<std::unique_ptr<Pair>> warm;
        warm.push_back(std::make_unique<Pair>(sides));
        const auto in_use = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
        const std::size_t before = in_use();
        for (std::size_t i = 0; i < count; ++i) warm.push_back(std::make_unique<Pair>(sides));
        const std::size_t both = in_use() - before;
        for (auto& pair : warm) pair->client.reset();
        const std::size_t ours = in_use() > before ? in_use() - before : 0;
        MESSAGE("bytes a link: ", ours / count, ", with its client ", both / count);
        CHECK(ours / count <= std::size_t{12} * 1024);
    }
}
#endif
