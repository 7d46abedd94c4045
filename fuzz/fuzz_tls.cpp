// The bytes before a TLS handshake is over: any, or those of a real client with a few of them changed; and the records
// after it, of a peer that knows its keys and says whatever it likes. A real client may come back by a ticket.
//
// An input says into which pieces the bytes are cut, which of them are changed, and how.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/seeded_entropy.h"
#include "certs/authority.h"
#include "fuzz/fuzz_input.h"
#include "fuzz/fuzz_target.h"
#include "tls/knowing_peer_fixture.h"
#include "tls/tls_link.h"

namespace muster::fuzz {
namespace {

using Bytes = std::vector<std::byte>;

struct Sides {
    std::shared_ptr<const TlsServerContext> server;
    std::shared_ptr<const TlsClientContext> client;
};

// Made once, in a folder that goes again.
Sides make_sides() {
    std::string folder = (std::filesystem::temp_directory_path() / "muster-fuzz-XXXXXX").string();
    MUSTER_CHECK(mkdtemp(folder.data()) != nullptr, "there is a folder for certificates");
    const std::string pki = folder + "/pki";
    Authority authority(pki, std::time(nullptr));
    const IssuedFiles daemon = authority.init({});
    const IssuedFiles peer = authority.issue("eu-1", PeerRole::server, {}, 30);
    auto material = TlsMaterial::read({daemon.certificate, daemon.key, pki + "/ca.crt", ""});
    MUSTER_CHECK(material.has_value(), "our own files can be read");
    static SeededEntropy entropy(1);
    auto server = TlsServerContext::make(*material, "servers", PeerRole::server, TlsServerContext::Proof::needed,
                                         std::make_shared<TicketKeys>(entropy, std::time(nullptr)));
    auto client = TlsClientContext::read({pki + "/ca.crt", peer.certificate, peer.key});
    MUSTER_CHECK(server && client, "our own certificates are good");
    std::filesystem::remove_all(folder);
    return {*server, *client};
}

// Room for what is heard. One memory for all, since a new one for each piece was most of a run; its last bytes, so that
// a byte too many is still seen.
std::span<std::byte> room(std::size_t size) {
    static Bytes all(std::size_t{1} << 16);
    if (size > all.size()) all = Bytes(size);
    const auto last = std::span(all).last(size);
    // What was heard before is not heard again.
    std::ranges::fill(last.first(std::min<std::size_t>(size, 256)), std::byte{});
    return last;
}

struct End {
    template <class... Arguments>
    explicit End(Arguments&&... arguments) : link(std::forward<Arguments>(arguments)...) {}

    void receive(const std::string& bytes, std::size_t piece) {
        const auto all = std::as_bytes(std::span(bytes));
        for (std::size_t at = 0; at < all.size(); at += piece) {
            const auto part = all.subspan(at, std::min(piece, all.size() - at));
            heard += link.receive(part, room(part.size() + TlsLink::plain_extra), out);
        }
    }
    std::string take_out() {
        std::string bytes(reinterpret_cast<const char*>(out.data()), out.size());
        out.clear();
        return bytes;
    }

    TlsLink link;
    Bytes out;
    std::size_t heard = 0;
};

const Sides& sides() {
    static const Sides made = make_sides();
    return made;
}

// What a client has that was here before.
OpenSslHandle<SSL_SESSION> make_session() {
    End server(sides().server);
    End client(sides().client, "127.0.0.1");
    client.link.begin(client.out);
    for (int flight = 0; flight < 2; ++flight) {
        server.receive(client.take_out(), 1 << 14);
        client.receive(server.take_out(), 1 << 14);
    }
    auto session = client.link.session();
    MUSTER_CHECK(session != nullptr, "a peer with a certificate gets a ticket");
    return session;
}

// A copy, since OpenSSL uses none again whose link failed.
OpenSslHandle<SSL_SESSION> session() {
    static const OpenSslHandle<SSL_SESSION> made = make_session();
    return OpenSslHandle<SSL_SESSION>(SSL_SESSION_dup(made.get()));
}

// What a play of records has come to.
struct Records {
    explicit Records(std::uint32_t suite, const TrafficSecret& secret)
        : forged(suite, secret), server(TlsRecords::begin({secret, secret, suite, 0, 0})) {}

    void give(std::string_view bytes, std::size_t piece) {
        const auto all = std::as_bytes(std::span(bytes));
        for (std::size_t at = 0; at < all.size(); at += piece) {
            const auto part = all.subspan(at, std::min(piece, all.size() - at));
            const std::span<std::byte> plain = room(part.size() + TlsRecords::partial_max);
            const std::size_t got = server->receive(part, plain, out);
            heard.append(reinterpret_cast<const char*>(plain.data()), got);
        }
    }

    ForgedRecords forged;
    std::unique_ptr<TlsRecords> server;
    Bytes out;
    std::string said;  // what has to be heard
    std::string heard;
};

std::string text_of(const Bytes& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void play_records(FuzzInput& input, std::size_t piece) {
    constexpr std::array suites{TLS1_3_CK_AES_128_GCM_SHA256, TLS1_3_CK_AES_256_GCM_SHA384,
                                TLS1_3_CK_CHACHA20_POLY1305_SHA256};
    const std::uint32_t suite = suites[input.below(suites.size())];
    const TrafficSecret secret(std::string(suite == TLS1_3_CK_AES_256_GCM_SHA384 ? 96 : 64, 'a'));
    Records play(suite, secret);
    bool proper = true;  // so far a peer might have said all of it
    for (int step = 0; step < 40 && !input.empty(); ++step) {
        switch (input.below(5)) {
            case 0: {  // data
                const std::string content(input.text());
                play.give(text_of(play.forged.record(23, content, input.byte())), piece);
                if (proper) play.said += content;
                break;
            }
            case 1: {  // a change of keys
                play.give(text_of(play.forged.record(22, std::string("\x18\0\0\1", 4) + (input.flag() ? '\1' : '\0'))),
                          piece);
                play.forged.take_next_key();
                break;
            }
            case 2: {  // anything, sealed well
                const auto type = input.byte();
                play.give(text_of(play.forged.record(type, input.text(), input.byte())), piece);
                proper = false;
                break;
            }
            case 3: {  // a record that was changed on the way
                const std::string sealed = text_of(play.forged.record(23, input.text()));
                const std::string arrived = edited(sealed, input);
                play.give(arrived, piece);
                // Once bytes do not fit, nothing that follows may be heard.
                proper = false;
                break;
            }
            default:  // anything
                play.give(input.text(), piece);
                proper = false;
        }
        MUSTER_CHECK(play.heard.starts_with(play.said) || play.said.starts_with(play.heard), "what is heard was said");
        // A flood of records that say nothing is ended, and so is one of changes of keys; else all is heard.
        if (proper && play.server->state() == TlsRecords::State::open)
            MUSTER_CHECK(play.heard == play.said, "what was said well is heard");
    }
    MUSTER_CHECK(play.server->partial() <= TlsRecords::partial_max, "what is kept has a limit");
}

enum class Play : std::uint8_t { handshake, any, records, resumption };

// A whole handshake takes fifty times as long as the others, so fewer inputs are one.
constexpr std::array plays{Play::handshake, Play::any,     Play::records,    Play::resumption,
                           Play::any,       Play::records, Play::any,        Play::records,
                           Play::any,       Play::records, Play::resumption, Play::records,
                           Play::any,       Play::records, Play::any,        Play::records};

void play(FuzzInput& input) {
    const std::size_t piece = 1 + input.byte() * std::size_t{16};
    const Play kind = plays[input.below(plays.size())];
    if (kind == Play::records) return play_records(input, piece);
    End server(sides().server);
    if (kind == Play::any) {
        // Whatever comes: it knows no key of ours.
        server.receive(std::string(input.rest()), piece);
        MUSTER_CHECK(server.link.state() != TlsLink::State::open, "nobody is let in without a certificate");
        MUSTER_CHECK(server.heard == 0, "nothing is heard before the handshake is over");
        return;
    }
    const auto shown = kind == Play::resumption ? session() : nullptr;
    End client(sides().client, "127.0.0.1", shown.get());
    client.link.begin(client.out);
    bool changed = false;
    for (int flight = 0; flight < 4; ++flight) {
        const std::string said = client.take_out();
        const std::string arrived = edited(said, input);
        changed = changed || arrived != said;
        server.receive(arrived, piece);
        const std::string answer = server.take_out();
        const std::string answer_arrived = edited(answer, input);
        changed = changed || answer_arrived != answer;
        client.receive(answer_arrived, piece);
    }
    MUSTER_CHECK(server.heard == 0 && client.heard == 0, "a handshake says nothing to those above it");
    if (changed) return;
    MUSTER_CHECK(server.link.state() == TlsLink::State::open, "what nobody changed is good");
    MUSTER_CHECK(server.link.peer()->name == "eu-1", "and says who it is");
    MUSTER_CHECK(server.link.was_resumed() == (kind == Play::resumption), "and comes back by its ticket");
}

}  // namespace
}  // namespace muster::fuzz

FUZZ_INPUTS_UP_TO(1'024);

FUZZ_TARGET("fault 75: bytes before a TLS handshake is over let nobody in, and after it only sealed ones are heard") {
    if (size > size_max) return -1;
    muster::fuzz::FuzzInput input(data, size);
    muster::fuzz::play(input);
    return 0;
}
