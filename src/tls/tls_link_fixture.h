// For tests: an authority with its certificates, and two ends of a TLS link whose bytes are carried by hand.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "base/seeded_entropy.h"
#include "certs/authority.h"
#include "testing/test_folder.h"
#include "tls/tls_link.h"

namespace muster {

using Bytes = std::vector<std::byte>;

inline Bytes bytes_of(std::string_view text) {
    Bytes bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
}

// OpenSSL judges certificates by the machine's date.
inline std::int64_t today() {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}
inline constexpr std::int64_t day = 86'400;

struct Pki {
    explicit Pki(std::int64_t now = today()) : path((folder.path() / "pki").string()), authority(path, now) {
        authority.init({});
    }
    TlsFiles files() const { return {path + "/muster.crt", path + "/muster.key", path + "/ca.crt", ""}; }
    std::shared_ptr<const TlsServerContext> server(std::optional<PeerRole> role = PeerRole::server,
                                                   const std::string& revoked = "") const {
        TlsFiles all = files();
        all.revoked = revoked;
        return server_with(all, role);
    }
    std::shared_ptr<const TlsServerContext> server_with(const TlsFiles& all, std::optional<PeerRole> role,
                                                        const std::string& port = "servers") const {
        auto material = TlsMaterial::read(all);
        REQUIRE(material);
        auto made = TlsServerContext::make(*material, port, role, TlsServerContext::Proof::needed, tickets);
        REQUIRE(made);
        return *made;
    }
    std::shared_ptr<const TlsClientContext> client(const std::string& name = "") const {
        auto made = TlsClientContext::read({path + "/ca.crt", name.empty() ? "" : path + "/" + name + ".crt",
                                            name.empty() ? "" : path + "/" + name + ".key"});
        REQUIRE(made);
        return *made;
    }
    TestFolder folder;
    std::string path;
    Authority authority;
    SeededEntropy entropy{1};
    std::shared_ptr<TicketKeys> tickets = std::make_shared<TicketKeys>(entropy, today());
};

// One end, and what it has said and heard.
struct End {
    template <class... Arguments>
    explicit End(Arguments&&... arguments) : link(std::forward<Arguments>(arguments)...) {}

    void receive(std::span<const std::byte> sealed) {
        Bytes plain(sealed.size() + TlsLink::plain_extra);
        const std::size_t got = link.receive(sealed, plain, out);
        heard.append(reinterpret_cast<const char*>(plain.data()), got);
    }
    void send(std::string_view text) { REQUIRE(link.send(bytes_of(text), out)); }

    TlsLink link;
    Bytes out;
    std::string heard;
};

// Carries bytes to and fro, so many at a time, until neither has anything to say.
inline void exchange(End& client, End& server, std::size_t piece = 1 << 20) {
    for (int i = 0; i < 100'000 && (!client.out.empty() || !server.out.empty()); ++i) {
        for (auto [from, to] : {std::pair{&client, &server}, std::pair{&server, &client}}) {
            const Bytes all = std::exchange(from->out, {});
            for (std::size_t at = 0; at < all.size(); at += piece)
                to->receive(std::span(all).subspan(at, std::min(piece, all.size() - at)));
        }
    }
}

}  // namespace muster
