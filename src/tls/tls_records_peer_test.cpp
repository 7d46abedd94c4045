// What a peer that knows its keys may say after the handshake: our records answer as OpenSSL does, and where they do
// not it is said here.
#include <ctime>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "certs/authority.h"
#include "testing/test_folder.h"
#include "tls/client_link.h"
#include "tls/knowing_peer_fixture.h"
#include "tls/tls_link.h"

using namespace muster;

namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint8_t ccs = 20;
constexpr std::uint8_t alert = 21;
constexpr std::uint8_t handshake = 22;
constexpr std::uint8_t data = 23;

constexpr int no_alert = -1;

// What became of a link, as its peer sees it.
struct Outcome {
    std::string heard;
    enum class End : std::uint8_t { open, ended, failed } end = End::open;
    int told = no_alert;  // the alert that the peer got

    friend bool operator==(const Outcome&, const Outcome&) = default;
    friend std::ostream& operator<<(std::ostream& to, const Outcome& outcome) {
        static constexpr const char* names[] = {"open", "ended", "failed"};
        return to << names[static_cast<int>(outcome.end)] << ", alert " << outcome.told << ", heard "
                  << outcome.heard.size() << " bytes";
    }
};

struct Contexts {
    explicit Contexts(const char* suite = nullptr) {
        Authority authority((folder.path() / "pki").string(), std::time(nullptr));
        const IssuedFiles own = authority.init({});
        auto material = TlsMaterial::read({own.certificate, own.key, "", ""});
        REQUIRE(material);
        server = *TlsServerContext::make(*material, "servers", std::nullopt);
        client = *TlsClientContext::read({(folder.path() / "pki/ca.crt").string(), "", ""});
        tell_secrets(client->native());
        if (suite) REQUIRE(SSL_CTX_set_ciphersuites(&client->native(), suite) == 1);
    }
    TestFolder folder;
    std::shared_ptr<const TlsServerContext> server;
    std::shared_ptr<const TlsClientContext> client;
};

// A server, ours or OpenSSL's: takes bytes, and gives what it answers.
struct Server {
    virtual ~Server() = default;
    virtual void take(std::span<const std::byte> bytes) = 0;
    Bytes out;
    Outcome outcome;
};

struct OurServer final : Server {
    explicit OurServer(const Contexts& contexts) : link(contexts.server) {}
    void take(std::span<const std::byte> bytes) override {
        Bytes plain(bytes.size() + TlsLink::plain_extra);
        const std::size_t got = link.receive(bytes, plain, out);
        outcome.heard.append(reinterpret_cast<const char*>(plain.data()), got);
        if (link.state() == TlsLink::State::ended) outcome.end = Outcome::End::ended;
        if (link.state() == TlsLink::State::failed) outcome.end = Outcome::End::failed;
    }
    TlsLink link;
};

struct BareServer final : Server {
    explicit BareServer(const Contexts& contexts) : link(SSL_new(&contexts.server->native())) {
        SSL_set_bio(link.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
        SSL_set_accept_state(link.get());
    }
    void take(std::span<const std::byte> bytes) override {
        BIO_write(SSL_get_rbio(link.get()), bytes.data(), static_cast<int>(bytes.size()));
        ERR_clear_error();
        int got = 0;
        std::array<char, 20'000> some{};
        while ((got = SSL_read(link.get(), some.data(), some.size())) > 0)
            outcome.heard.append(some.data(), static_cast<std::size_t>(got));
        const int why = SSL_get_error(link.get(), got);
        if (why == SSL_ERROR_ZERO_RETURN) outcome.end = Outcome::End::ended;
        if (why == SSL_ERROR_SSL) outcome.end = Outcome::End::failed;
        char* said = nullptr;
        const auto size = static_cast<std::size_t>(BIO_get_mem_data(SSL_get_wbio(link.get()), &said));
        const auto all = std::as_bytes(std::span(said, size));
        out.insert(out.end(), all.begin(), all.end());
        (void)BIO_reset(SSL_get_wbio(link.get()));
    }
    OpenSslHandle<SSL> link;
};

// Shakes hands as a client, and then plays a script of forged records.
using Script = std::function<void(ForgedRecords&, const std::function<void(const Bytes&)>&)>;

Outcome played(Server& server, const Contexts& contexts, const Script& script, std::size_t piece) {
    const OpenSslHandle<SSL> client = new_client_link(*contexts.client, "127.0.0.1");
    TlsRecords::Start start;
    hear_secrets(*client, start);
    SSL_set_bio(client.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    const auto carry_back = [&] {
        if (!server.out.empty())
            BIO_write(SSL_get_rbio(client.get()), server.out.data(), static_cast<int>(server.out.size()));
        server.out.clear();
    };
    for (int i = 0; i < 3; ++i) {
        SSL_do_handshake(client.get());
        char* said = nullptr;
        const auto size = static_cast<std::size_t>(BIO_get_mem_data(SSL_get_wbio(client.get()), &said));
        if (size > 0) server.take(std::as_bytes(std::span(said, size)));
        (void)BIO_reset(SSL_get_wbio(client.get()));
        carry_back();
    }
    REQUIRE(SSL_is_init_finished(client.get()) == 1);
    REQUIRE(server.outcome.end == Outcome::End::open);
    ForgedRecords forged(static_cast<std::uint32_t>(SSL_CIPHER_get_id(SSL_get_current_cipher(client.get()))),
                         start.client);
    script(forged, [&](const Bytes& bytes) {
        for (std::size_t at = 0; at < bytes.size() && server.outcome.end == Outcome::End::open; at += piece)
            server.take(std::span(bytes).subspan(at, std::min(piece, bytes.size() - at)));
    });
    carry_back();
    std::array<char, 1'000> some{};
    ERR_clear_error();
    if (SSL_read(client.get(), some.data(), some.size()) <= 0) {
        const unsigned long error = ERR_peek_error();
        if (ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) >= SSL_AD_REASON_OFFSET)
            server.outcome.told = ERR_GET_REASON(error) - SSL_AD_REASON_OFFSET;
    }
    ERR_clear_error();
    return server.outcome;
}

struct Both {
    Outcome ours;
    Outcome theirs;
};

Both both(const Contexts& contexts, const Script& script, std::size_t piece = std::size_t{1} << 20) {
    OurServer ours(contexts);
    BareServer bare(contexts);
    return {played(ours, contexts, script, piece), played(bare, contexts, script, piece)};
}

const std::string not_asked{"\x18\0\0\1\0", 5};
const std::string asked{"\x18\0\0\1\1", 5};

Script says(std::uint8_t type, const std::string& content, std::size_t padding = 0) {
    return [=](ForgedRecords& forged, const auto& give) {
        give(forged.record(data, "before"));
        give(forged.record(type, content, padding));
        give(forged.record(data, "behind"));
    };
}
Script says_raw(const Bytes& bytes) {
    return [=](ForgedRecords&, const auto& give) { give(bytes); };
}
Script changes_key(const std::string& update, int times) {
    return [=](ForgedRecords& forged, const auto& give) {
        for (int i = 0; i < times; ++i) {
            give(forged.record(handshake, update));
            forged.take_next_key();
        }
        give(forged.record(data, "behind"));
    };
}
Script empty_records(int count) {
    return [=](ForgedRecords& forged, const auto& give) {
        Bytes all;
        for (int i = 0; i < count; ++i) {
            const Bytes one = forged.record(data, "");
            all.insert(all.end(), one.begin(), one.end());
        }
        give(all);
        give(forged.record(data, "behind"));
    };
}

struct Case {
    const char* what;
    Script script;
};

std::vector<Case> cases() {
    const std::string full(16'384, 'x');
    const auto plain_record = [](std::uint8_t type, std::string_view content) {
        Bytes bytes{std::byte{type}, std::byte{3}, std::byte{3}, std::byte{0}, static_cast<std::byte>(content.size())};
        const auto rest = std::as_bytes(std::span(content));
        bytes.insert(bytes.end(), rest.begin(), rest.end());
        return bytes;
    };
    return {
        {"data", says(data, "hello")},
        {"data with padding", says(data, "hello", 100)},
        {"a full record", says(data, full)},
        {"one byte more than a full record", says(data, full + "x")},
        {"a record of padding up to the limit", says(data, "x", 16'383)},
        {"nothing but zeros",
         [](ForgedRecords& forged, const auto& give) { give(forged.sealed(std::string(5, '\0'))); }},
        {"an empty inside", [](ForgedRecords& forged, const auto& give) { give(forged.sealed("")); }},
        {"an empty record", says(data, "")},
        {"32 empty records", empty_records(32)},
        {"33 empty records", empty_records(33)},
        {"a type that is none", says(99, "x")},
        {"type 0x80", says(0x80, "x")},
        {"heartbeat of TLS 1.2", says(24, std::string("\1\xff\xff", 3))},
        {"sealed change_cipher_spec", says(ccs, "\1")},
        {"close_notify", says(alert, std::string("\1\0", 2))},
        {"close_notify as fatal", says(alert, std::string("\2\0", 2))},
        {"user_canceled", says(alert, "\1\x5a")},
        {"a fatal alert", says(alert, "\2\x2a")},
        {"a warning that TLS 1.3 has not", says(alert, "\1\x64")},
        {"an alert without a meaning", says(alert, "\2\xf0")},
        {"an empty alert", says(alert, "")},
        {"half an alert", says(alert, "\1")},
        {"two alerts in one", says(alert, "\1\x5a\1\x5a")},
        {"KeyUpdate", changes_key(not_asked, 1)},
        {"KeyUpdate that asks for ours", changes_key(asked, 1)},
        {"20 of them", changes_key(asked, 20)},
        {"KeyUpdate with another request", says(handshake, std::string("\x18\0\0\1\2", 5))},
        {"KeyUpdate too long", says(handshake, std::string("\x18\0\0\2\0\0", 6))},
        {"KeyUpdate without its byte", says(handshake, std::string("\x18\0\0\0", 4))},
        {"KeyUpdate and more in one record", says(handshake, not_asked + not_asked)},
        {"KeyUpdate, and then the old key", says(handshake, not_asked)},
        {"an empty handshake record", says(handshake, "")},
        {"ClientHello: renegotiation", says(handshake, std::string("\1\0\0\2\3\3", 6))},
        {"NewSessionTicket", says(handshake, std::string("\4\0\0\4\0\0\0\0", 8))},
        {"CertificateRequest", says(handshake, std::string("\x0d\0\0\3\0\0\0", 7))},
        {"Certificate that nobody asked for", says(handshake, std::string("\x0b\0\0\4\0\0\0\0", 8))},
        {"Finished again", says(handshake, std::string("\x14\0\0\x20", 4) + std::string(32, 'f'))},
        {"EndOfEarlyData", says(handshake, std::string("\5\0\0\0", 4))},
        {"a huge handshake message", says(handshake, std::string("\x18\xff\xff\xff", 4))},
        {"a plain change_cipher_spec", says_raw(plain_record(ccs, "\1"))},
        {"a plain close_notify", says_raw(plain_record(alert, std::string("\1\0", 2)))},
        {"a plain fatal alert", says_raw(plain_record(alert, "\2\x2a"))},
        {"a plain handshake record", says_raw(plain_record(handshake, not_asked))},
        {"plain data", says_raw(plain_record(data, "hello"))},
        {"a longer record than there may be",
         says_raw({std::byte{23}, std::byte{3}, std::byte{3}, std::byte{0x41}, std::byte{1}})},
    };
}

}  // namespace

TEST_CASE("S-1, fault 75: a peer that knows its keys is answered as OpenSSL answers it") {
    for (const char* suite : {"TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}) {
        const Contexts contexts(suite);
        for (const Case& one : cases()) {
            for (const std::size_t piece : {std::size_t{7}, std::size_t{1} << 20}) {
                CAPTURE(std::string(suite));
                CAPTURE(std::string(one.what));
                CAPTURE(piece);
                const Both outcomes = both(contexts, one.script, piece);
                CHECK(outcomes.ours == outcomes.theirs);
            }
        }
    }
}

TEST_CASE("S-1: where our records are stricter than OpenSSL's, it is here and nowhere else") {
    const Contexts contexts;
    // A KeyUpdate in two records: RFC 8446 allows it, and nobody does it.
    const Both cut_up = both(contexts, [](ForgedRecords& forged, const auto& give) {
        give(forged.record(handshake, not_asked.substr(0, 4)));
        give(forged.record(handshake, not_asked.substr(4)));
        forged.take_next_key();
        give(forged.record(data, "behind"));
    });
    CHECK(cut_up.ours == Outcome{"", Outcome::End::failed, SSL_AD_UNEXPECTED_MESSAGE});
    CHECK(cut_up.theirs == Outcome{"behind", Outcome::End::open, no_alert});
    // Padding beyond what a record may hold: RFC 8446 (5.4) forbids it.
    const Both padded = both(contexts, says(data, "x", 16'384));
    CHECK(padded.ours == Outcome{"before", Outcome::End::failed, SSL_AD_RECORD_OVERFLOW});
    CHECK(padded.theirs == Outcome{"beforexbehind", Outcome::End::open, no_alert});
}

TEST_CASE("S-1, fault 75: changes of keys cost a peer more than us, or they end the link") {
    const Contexts contexts;
    const auto flood = [](int changes, std::string_view between) {
        return [=](ForgedRecords& forged, const auto& give) {
            Bytes all;
            const auto add = [&](const Bytes& record) { all.insert(all.end(), record.begin(), record.end()); };
            for (int i = 0; i < changes; ++i) {
                add(forged.record(handshake, not_asked));
                forged.take_next_key();
                if (!between.empty()) add(forged.record(data, between));
            }
            give(all);
            give(forged.record(data, "."));
        };
    };
    OurServer as_many(contexts);
    CHECK(played(as_many, contexts, flood(TlsRecords::key_changes_max, "x"), 1 << 20).end == Outcome::End::open);
    CHECK(as_many.outcome.heard == std::string(TlsRecords::key_changes_max, 'x') + ".");
    OurServer too_many(contexts);
    CHECK(played(too_many, contexts, flood(TlsRecords::key_changes_max + 1, "x"), 1 << 20) ==
          Outcome{std::string(TlsRecords::key_changes_max, 'x'), Outcome::End::failed, SSL_AD_UNEXPECTED_MESSAGE});
    OurServer silent(contexts);
    CHECK(played(silent, contexts, flood(TlsRecords::empty_records_max + 1, ""), 1 << 20).end == Outcome::End::failed);
    CHECK(silent.outcome.heard.empty());
}

TEST_CASE("S-1: any mixture of what a peer may say is heard as OpenSSL hears it") {
    const Contexts contexts;
    const unsigned seed = 13;
    std::mt19937 random(seed);
    for (int round = 0; round < 60; ++round) {
        CAPTURE(round);
        const std::uint32_t play = static_cast<std::uint32_t>(random());
        const std::size_t piece = 1 + random() % 3'000;
        const auto script = [play](ForgedRecords& forged, const auto& give) {
            std::mt19937 chance(play);
            for (int step = 0; step < 20; ++step) {
                switch (chance() % 8) {
                    case 0:
                        give(forged.record(handshake, chance() % 2 == 0 ? asked : not_asked));
                        forged.take_next_key();
                        break;
                    case 1:
                        give(forged.record(alert, "\1\x5a"));
                        give(forged.record(data, "y"));
                        break;
                    case 2:
                        give(forged.record(data, "", chance() % 50));
                        break;
                    default:
                        give(forged.record(data, std::string(1 + chance() % 5'000, 'x'), chance() % 300));
                }
            }
        };
        const Both outcomes = both(contexts, script, piece);
        CHECK(outcomes.ours == outcomes.theirs);
        CHECK(outcomes.ours.end == Outcome::End::open);
    }
}
