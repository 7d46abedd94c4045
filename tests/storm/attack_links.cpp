// Attackers that only need to connect: churn, drips, links that fall silent.
#include <array>
#include <deque>
#include <optional>

#include "attack.h"
#include "credential.h"
#include "protocol/codec.h"
#include "protocol/matchmaker_messages.h"
#include "protocol/player_messages.h"
#include "protocol/server_messages.h"
#include "raw_socket.h"

namespace muster::storm {
namespace {

constexpr std::int8_t far_region = 15;  // where no honest server is

// Connects and resets at once, or a little later, sometimes with half a handshake.
class Churn final : public Attack {
public:
    enum class Where : std::uint8_t { players, servers, everywhere };
    Churn(std::uint32_t address, std::uint64_t seed, Where where) : Attack(address, seed), where_(where) {}

    std::string step(const Target& target, Moment at) override {
        constexpr double per_second = 1'500;
        for (std::size_t i = due(at, per_second); i > 0; --i) {
            if (open_.size() >= 64 || (!open_.empty() && random_.chance(0.5))) open_.pop_front();
            RawSocket next(address_, port(target.ports));
            if (random_.chance(0.3)) next.send(std::string_view("\x20\x00\x00\x10\x05", 5));
            if (random_.chance(0.7)) open_.push_back(std::move(next));
        }
        return {};
    }

private:
    std::uint16_t port(const Ports& ports) {
        if (where_ == Where::players) return ports.players;
        if (where_ == Where::servers) return ports.servers;
        const std::array all{ports.players, ports.servers, ports.matchmakers, ports.http};
        return all[random_.below(all.size())];
    }

    Where where_;
    std::deque<RawSocket> open_;
};

// Registers or logs in as it should, and never says another word.
class HalfOpen final : public Attack {
public:
    using Attack::Attack;

    std::string step(const Target& target, Moment at) override {
        for (std::size_t i = due(at, 40); i > 0; --i) {
            constexpr std::size_t most = 200;
            if (open_.size() >= most) open_.pop_front();
            ++count_;
            std::vector<std::byte> hello;
            const bool player = random_.chance(0.5);
            if (player) {
                const std::string name = "ghost-" + std::to_string(count_);
                constexpr std::int64_t far_away = 4'000'000'000;
                const std::int32_t account = 500'000 + count_;
                encode(PlayerLogin{name, signed_credential(target.secrets.player_key, {name, account, far_away}), ""},
                       ByteOrder::big, hello);
            } else {
                encode(
                    ServerHandshake{
                        target.secrets.server_token, {"127.0.0.1", 30'000 + count_ % 20'000}, RegionId(far_region), 10},
                    ByteOrder::little, hello);
            }
            open_.push_back({RawSocket(address_, player ? target.ports.players : target.ports.servers), hello});
        }
        for (Link& link : open_) {
            if (link.hello.empty()) continue;
            const std::size_t sent = link.socket.send(std::span(link.hello));
            link.hello.erase(link.hello.begin(), link.hello.begin() + static_cast<std::ptrdiff_t>(sent));
        }
        return {};
    }

private:
    struct Link {
        RawSocket socket;
        std::vector<std::byte> hello;
    };
    std::deque<Link> open_;
    std::int32_t count_ = 0;
};

// One byte each now and then: of a handshake, or of a long frame that never ends.
class Drip final : public Attack {
public:
    using Attack::Attack;

    std::string step(const Target& target, Moment at) override {
        constexpr std::size_t sockets = 300;
        for (std::size_t i = due(at, 1'500); i > 0; --i) {
            if (open_.size() < sockets) {
                const std::array all{target.ports.players, target.ports.servers, target.ports.matchmakers,
                                     target.ports.http};
                open_.emplace_back(address_, all[random_.below(all.size())]);
                continue;
            }
            next_ = (next_ + 1) % open_.size();
            RawSocket& one = open_[next_];
            if (!one.open()) {
                open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(next_));
                continue;
            }
            one.receive();
            one.send(std::string_view("\x01", 1));
        }
        return {};
    }

private:
    std::deque<RawSocket> open_;
    std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Attack> make_link_attack(AttackKind kind, std::uint32_t address, std::uint64_t seed) {
    switch (kind) {
        case AttackKind::churn_players:
            return std::make_unique<Churn>(address, seed, Churn::Where::players);
        case AttackKind::churn_servers:
            return std::make_unique<Churn>(address, seed, Churn::Where::servers);
        case AttackKind::churn_everywhere:
            return std::make_unique<Churn>(address, seed, Churn::Where::everywhere);
        case AttackKind::half_open:
            return std::make_unique<HalfOpen>(address, seed);
        case AttackKind::drip:
            return std::make_unique<Drip>(address, seed);
        default:
            return nullptr;
    }
}

}  // namespace muster::storm
