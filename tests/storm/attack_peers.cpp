// Attackers that speak the protocol: floods, slow readers, broken frames, peers that come and go.
#include <array>
#include <deque>
#include <variant>

#include "hostile_peer.h"
#include "protocol/sample_frames.h"

namespace muster::storm {
namespace {

// Players, a server and a matchmaker that send far more than they may, and read what comes.
class Flood final : public Attack {
public:
    using Attack::Attack;

    std::string step(const Target& target, Moment at) override {
        constexpr std::array orders{ByteOrder::big, ByteOrder::little, ByteOrder::little};
        const std::array ports{target.ports.players, target.ports.servers, target.ports.matchmakers};
        for (std::size_t i = 0; i < peers_.size(); ++i) {
            if (!peers_[i].open()) {
                peers_[i] = HostilePeer(address_, ports[i], orders[i]);
                if (i == 0) peers_[i].log_in(target.secrets, "flood", 600'000);
                if (i == 1) peers_[i].register_server(target.secrets, 31'000);
                if (i == 2) peers_[i].register_matchmaker(target.secrets, "flood");
            }
        }
        constexpr std::size_t at_once = 200;
        for (std::size_t i = due(at, 20'000, at_once); i > 0; --i) {
            peers_[0].say(PingRequest{});
            peers_[1].say(SetDraining{ServerId(1), true});
            peers_[2].say(AllocationRequest{LobbyId(1'500'000'000), 6, 0, RegionId(HostilePeer::region), 5, 1'000});
        }
        for (HostilePeer& peer : peers_) {
            peer.flush();
            peer.read([](Code, std::span<const std::byte>) {});
        }
        return {};
    }

private:
    std::array<HostilePeer, 3> peers_;
};

// Asks, and reads nothing.
class SlowReader final : public Attack {
public:
    using Attack::Attack;

    std::string step(const Target& target, Moment at) override {
        constexpr std::size_t most = 30;
        if (peers_.size() < most && due(at, 20) > 0) {
            const bool player = peers_.size() % 2 == 0;
            HostilePeer peer(address_, player ? target.ports.players : target.ports.matchmakers,
                             player ? ByteOrder::big : ByteOrder::little);
            peer.socket().read_slowly();
            const auto number = static_cast<std::int32_t>(++count_);
            if (player) peer.log_in(target.secrets, "slow-" + std::to_string(number), 700'000 + number);
            if (!player) peer.register_matchmaker(target.secrets, "slow-" + std::to_string(number));
            peers_.emplace_back(std::move(peer), player);
        }
        for (auto& [peer, player] : peers_) {
            for (int i = 0; i < 8 && !peer.waits(); ++i) {
                if (player) peer.say(ClockSync{1});
                if (!player) peer.say(MatchmakerHeartbeat{});
            }
            peer.flush();
        }
        std::erase_if(peers_, [](const auto& each) { return !each.first.open(); });
        return {};
    }

private:
    std::deque<std::pair<HostilePeer, bool>> peers_;
    std::size_t count_ = 0;
};

// Frames of every message with bytes changed, cut off or added, and plain noise; with and without a handshake.
class Malformed final : public Attack {
public:
    using Attack::Attack;

    std::string step(const Target& target, Moment at) override {
        const auto& samples = sample_frames();
        for (std::size_t i = due(at, 600); i > 0; --i) {
            const SampleFrame& sample = samples[random_.below(samples.size())];
            HostilePeer peer(address_, port(target.ports, sample.port), sample.order);
            if (random_.chance(0.5)) greet(peer, target.secrets, sample.port);
            Bytes frame = sample.frame;
            for (std::uint64_t n = random_.below(4); n > 0; --n)
                frame[random_.below(frame.size())] = static_cast<std::byte>(random_.below(256));
            if (random_.chance(0.2)) frame.resize(1 + random_.below(frame.size()));
            peer.say_bytes(frame);
            if (peers_.size() >= 40) peers_.pop_front();
            peers_.push_back(std::move(peer));
        }
        for (HostilePeer& peer : peers_) peer.flush();
        return {};
    }

private:
    static std::uint16_t port(const Ports& ports, Port port) {
        if (port == Port::servers) return ports.servers;
        return port == Port::matchmakers ? ports.matchmakers : ports.players;
    }
    void greet(HostilePeer& peer, const Secrets& secrets, Port port) {
        const auto number = static_cast<std::int32_t>(random_.below(1'000));
        if (port == Port::servers) peer.register_server(secrets, 32'000 + number);
        if (port == Port::matchmakers) peer.register_matchmaker(secrets, "broken-" + std::to_string(number));
        if (port == Port::players) peer.log_in(secrets, "broken-" + std::to_string(number), 710'000 + number);
    }

    std::deque<HostilePeer> peers_;
};

// Valid peers that come and go at once: a server resumes, says goodbye or is cut; a matchmaker asks and is gone.
class ComeAndGo final : public Attack {
public:
    ComeAndGo(std::uint32_t address, std::uint64_t seed, bool servers) : Attack(address, seed), servers_(servers) {}

    std::string step(const Target& target, Moment at) override {
        for (std::size_t i = due(at, 150); i > 0; --i) {
            HostilePeer peer(address_, servers_ ? target.ports.servers : target.ports.matchmakers, ByteOrder::little);
            if (servers_) {
                peer.register_server(target.secrets, 33'000 + static_cast<std::int32_t>(random_.below(30)));
                if (random_.chance(0.3))
                    peer.say(ServerGoodbye{ServerId(static_cast<std::int32_t>(random_.below(500)))});
            } else {
                const auto lobby = static_cast<std::int32_t>(1'600'000'000 + random_.below(200));
                peer.register_matchmaker(target.secrets, "gone-" + std::to_string(random_.below(20)));
                peer.say(MatchPlayers{LobbyId(lobby), {{AccountId(1), AccountId(2)}}});
                peer.say(AllocationRequest{LobbyId(lobby), 6, 0, RegionId(HostilePeer::region), 5, 1'000});
                if (random_.chance(0.5)) peer.say(CancelMatch{LobbyId(lobby)});
            }
            if (peers_.size() >= 30) peers_.pop_front();
            peers_.push_back(std::move(peer));
        }
        for (HostilePeer& peer : peers_) peer.flush();
        return {};
    }

private:
    const bool servers_;
    std::deque<HostilePeer> peers_;
};

// Valid servers that drain and undrain as often as they may send. Each time is an event for the history, and is
// answered when it is on the disk.
class Restless final : public Attack {
public:
    using Attack::Attack;

    std::string step(const Target& target, Moment at) override {
        const std::size_t each = due(at, wishes_per_second / target.slowness);
        for (Server& server : servers_) {
            if (!server.peer.open() && at >= opens_) come(server, target, at);
            for (std::size_t i = 0; i < each && server.id != 0; ++i)
                server.peer.say(SetDraining{ServerId(server.id), server.drains = !server.drains});
            server.peer.flush();
            server.peer.read([&](Code code, std::span<const std::byte> payload) {
                if (code != ServerHandshakeResponse::code) return;
                const auto answer = decode<ServerHandshakeResponse>(payload, ByteOrder::little);
                if (const auto* yes = answer ? std::get_if<0>(&answer->answer) : nullptr) server.id = yes->server.value;
            });
        }
        return {};
    }

private:
    static constexpr double wishes_per_second = 1'800;  // of each; 2,000 are allowed
    struct Server {
        HostilePeer peer;
        std::int32_t id = 0;
        bool drains = false;
    };

    void come(Server& server, const Target& target, Moment at) {
        opens_ = at + 10ms;  // 200 connections a second are taken from one address
        server = {HostilePeer(address_, target.ports.servers, ByteOrder::little)};
        server.peer.register_server(target.secrets, 36'000 + static_cast<std::int32_t>(&server - servers_.data()));
    }

    std::array<Server, 30> servers_;
    Moment opens_{};
};

}  // namespace

std::unique_ptr<Attack> make_peer_attack(AttackKind kind, std::uint32_t address, std::uint64_t seed) {
    switch (kind) {
        case AttackKind::flood:
            return std::make_unique<Flood>(address, seed);
        case AttackKind::slow_reader:
            return std::make_unique<SlowReader>(address, seed);
        case AttackKind::malformed:
            return std::make_unique<Malformed>(address, seed);
        case AttackKind::server_churn:
            return std::make_unique<ComeAndGo>(address, seed, true);
        case AttackKind::matchmaker_churn:
            return std::make_unique<ComeAndGo>(address, seed, false);
        case AttackKind::restless_servers:
            return std::make_unique<Restless>(address, seed);
        default:
            return nullptr;
    }
}

}  // namespace muster::storm
