// For tests: a worker whose server port speaks TLS, certificates for it, and a peer that speaks TLS.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "certs/authority.h"
#include "net/net_fixture.h"
#include "testing/test_folder.h"
#include "tls/tls_link.h"

namespace muster {

// OpenSSL judges certificates by the machine's date.
inline std::int64_t today() {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

class Pki {
public:
    Pki() : path_((folder_.path() / "pki").string()), authority_(path_, today()) {
        authority_.init({});
        for (const char* name : {"eu-1", "eu-2"}) serials_[name] = issue(name, PeerRole::server);
        issue("mm", PeerRole::matchmaker);
    }

    std::shared_ptr<const TlsServerContext> server(const std::string& revoked = "") const {
        TlsFiles files{path_ + "/muster.crt", path_ + "/muster.key", path_ + "/ca.crt", ""};
        if (!revoked.empty()) files.revoked = folder_.write("revoked", revoked).string();
        auto material = TlsMaterial::read(files);
        REQUIRE(material);
        auto context = TlsServerContext::make(*material, "servers", PeerRole::server);
        REQUIRE(context);
        return *context;
    }
    std::shared_ptr<const TlsClientContext> client(const std::string& name) const {
        auto context =
            TlsClientContext::read({path_ + "/ca.crt", path_ + "/" + name + ".crt", path_ + "/" + name + ".key"});
        REQUIRE(context);
        return *context;
    }
    const std::string& serial(const std::string& name) const { return serials_.at(name); }

private:
    std::string issue(const std::string& name, PeerRole role) {
        return authority_.issue(name, role, {}, 30).facts.serial;
    }

    TestFolder folder_;
    std::string path_;
    Authority authority_;
    std::map<std::string, std::string> serials_;
};

// A game server that speaks TLS.
class TlsPeer {
public:
    TlsPeer(const SocketAddress& to, const std::shared_ptr<const TlsClientContext>& with, std::uint8_t host = 0)
        : socket(to, 0, host), link(with, "127.0.0.1") {
        link.begin(out_);
        flush();
    }

    void send(const Bytes& plain) {
        REQUIRE(link.send(plain, out_));
        flush();
    }
    // What has come by now.
    void turn() {
        const Bytes sealed = socket.receive();
        Bytes plain(sealed.size() + TlsLink::plain_extra);
        const std::size_t got = link.receive(sealed, plain, out_);
        heard.insert(heard.end(), plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(got));
        flush();
    }
    void flush() {
        if (!out_.empty()) socket.send(std::exchange(out_, {}));
    }

    Peer socket;
    TlsLink link;
    Bytes heard;

private:
    Bytes out_;
};

struct TlsFixture {
    Pki pki;
    WorkerFixture net{{}, default_total_buffers, pki.server()};

    TlsPeer knock(const std::string& name) { return {net.address(Port::servers), pki.client(name)}; }
    template <class Holds>
    void turn_until(TlsPeer& peer, Holds holds) {
        net.turn_until([&] {
            peer.turn();
            return holds();
        });
    }
    ConnectionId join(TlsPeer& peer) {
        const std::size_t before = net.count(InboundKind::opened);
        turn_until(peer, [&] { return net.count(InboundKind::opened) > before; });
        const ConnectionId link = net.last(InboundKind::opened).item.connection;
        net.links->greeted(link);
        net.turn();
        return link;
    }
    std::uint64_t failed(TlsFailure why) { return net.counts().tls_failed[why].value(); }
};

}  // namespace muster
