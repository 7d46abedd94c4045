// The bytes before a TLS handshake is over: any, or those of a real client with a few of them changed.
//
// An input says into which pieces the bytes are cut, which of the client's flights are changed, and how.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "certs/authority.h"
#include "fuzz/fuzz_input.h"
#include "fuzz/fuzz_target.h"
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
    auto server = TlsServerContext::make(*material, "servers", PeerRole::server);
    auto client = TlsClientContext::read({pki + "/ca.crt", peer.certificate, peer.key});
    MUSTER_CHECK(server && client, "our own certificates are good");
    std::filesystem::remove_all(folder);
    return {*server, *client};
}

const Sides& sides() {
    static const Sides made = make_sides();
    return made;
}

struct End {
    template <class... Arguments>
    explicit End(Arguments&&... arguments) : link(std::forward<Arguments>(arguments)...) {}

    void receive(const std::string& bytes, std::size_t piece) {
        const auto all = std::as_bytes(std::span(bytes));
        for (std::size_t at = 0; at < all.size(); at += piece) {
            const auto part = all.subspan(at, std::min(piece, all.size() - at));
            Bytes plain(part.size() + TlsLink::plain_extra);
            heard += link.receive(part, plain, out);
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

void play(FuzzInput& input) {
    const std::size_t piece = 1 + input.byte() * std::size_t{16};
    End server(sides().server);
    if (input.flag()) {
        // Whatever comes: it knows no key of ours.
        server.receive(std::string(input.rest()), piece);
        MUSTER_CHECK(server.link.state() != TlsLink::State::open, "nobody is let in without a certificate");
        MUSTER_CHECK(server.heard == 0, "nothing is heard before the handshake is over");
        return;
    }
    End client(sides().client, "127.0.0.1");
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
}

}  // namespace
}  // namespace muster::fuzz

FUZZ_TARGET("fault 75: bytes before a TLS handshake is over let nobody in and are never heard") {
    muster::fuzz::FuzzInput input(data, size);
    muster::fuzz::play(input);
    return 0;
}
