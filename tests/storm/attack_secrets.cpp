// Attackers after what is not theirs: tokens, matches, accounts and secrets.
#include <algorithm>
#include <deque>
#include <variant>

#include <fmt/core.h>

#include "hostile_peer.h"

namespace muster::storm {
namespace {

// A game server with a valid secret that tries the tokens of others' matches, or reports their matches as its own.
class Usurper final : public Attack {
public:
    Usurper(std::uint32_t address, std::uint64_t seed, bool tokens) : Attack(address, seed), tokens_(tokens) {}

    std::string step(const Target& target, Moment at) override {
        if (!peer_.open()) {
            peer_ = HostilePeer(address_, target.ports.servers, ByteOrder::little);
            peer_.register_server(target.secrets, 34'000 + static_cast<std::int32_t>(tokens_));
            id_ = 0;
        }
        std::string objection;
        peer_.read([&](Code code, std::span<const std::byte> payload) { heard(code, payload, objection); });
        for (std::size_t i = due(at, 300); i > 0 && id_ != 0 && !target.seen.empty(); --i) {
            if (tokens_) {
                try_token(some_seen(target.seen));
            } else {
                const SeenToken& seen = target.seen[random_.below(target.seen.size())];
                report(LobbyId(seen.lobby), seen.token);
            }
        }
        peer_.flush();
        return objection;
    }

private:
    // Mostly those whose players may not have come yet.
    const SeenToken& some_seen(const std::vector<SeenToken>& seen) {
        constexpr std::size_t newest = 4;
        const std::size_t among = random_.chance(0.7) ? std::min(newest, seen.size()) : seen.size();
        return seen[seen.size() - 1 - random_.below(among)];
    }
    void try_token(const SeenToken& seen) {
        std::string token = seen.token;
        if (random_.chance(0.7)) token[random_.below(token.size())] = static_cast<char>('a' + random_.below(26));
        peer_.say(ValidateToken{ServerId(id_), LobbyId(seen.lobby), AccountId(seen.account), token});
    }
    void report(LobbyId lobby, const std::string& token) {
        switch (random_.below(4)) {
            case 0:
                return peer_.say(AllocateMatchAck{true, lobby});
            case 1:
                return peer_.say(ReadyForMatch{ServerId(id_), lobby, token});
            case 2:
                return peer_.say(MatchStartedReport{ServerId(id_), lobby});
            default:
                return peer_.say(MatchEndedReport{ServerId(id_), lobby});
        }
    }
    template <class M>
    static bool accepted(std::span<const std::byte> payload) {
        const auto message = decode<M>(payload, ByteOrder::little);
        return message && std::holds_alternative<typename M::Accepted>(message->answer);
    }
    void heard(Code code, std::span<const std::byte> payload, std::string& objection) {
        if (code == ServerHandshakeResponse::code) {
            const auto answer = decode<ServerHandshakeResponse>(payload, ByteOrder::little);
            if (const auto* yes = answer ? std::get_if<0>(&answer->answer) : nullptr) id_ = yes->server.value;
        } else if (code == ValidateTokenResponse::code && accepted<ValidateTokenResponse>(payload)) {
            objection = "a server that was not given a match used its token";
        } else if (code == ReadyForMatchResponse::code && accepted<ReadyForMatchResponse>(payload)) {
            objection = "a server reported another's match as ready, and was believed";
        } else if (code == MatchResponse::code && accepted<MatchResponse>(payload)) {
            objection = "a server reported another's match as begun or ended, and was believed";
        }
    }

    const bool tokens_;
    HostilePeer peer_;
    std::int32_t id_ = 0;
};

// Wrong secrets on every port. Beyond ten a minute the answers are held back, so hardly any comes before it has hung
// up.
class WrongSecrets final : public Attack {
public:
    using Attack::Attack;

    std::string step(const Target& target, Moment at) override {
        for (std::size_t i = due(at, 200); i > 0; --i) {
            Secrets wrong = target.secrets;
            const std::string guess = fmt::format("{:016x}", random_.next());
            wrong.server_token = wrong.matchmaker_token = wrong.player_key = guess;
            const std::uint64_t where = random_.below(4);
            if (where == 3) {
                ask_http(target, guess);
                continue;
            }
            const bool player = where == 2;
            HostilePeer peer(address_,
                             where == 0   ? target.ports.servers
                             : where == 1 ? target.ports.matchmakers
                                          : target.ports.players,
                             player ? ByteOrder::big : ByteOrder::little);
            if (where == 0) peer.register_server(wrong, 35'000);
            if (where == 1) peer.register_matchmaker(wrong, "guest");
            if (where == 2) peer.log_in(wrong, "guest", 800'000);
            if (peers_.size() >= 40) peers_.pop_front();
            peers_.push_back(std::move(peer));
        }
        std::string objection;
        for (HostilePeer& peer : peers_) {
            peer.flush();
            peer.read([&](Code code, std::span<const std::byte> payload) { heard(code, payload, objection); });
        }
        return objection;
    }

private:
    void heard(Code code, std::span<const std::byte> payload, std::string& objection) {
        const bool answer = code == ServerHandshakeResponse::code || code == MatchmakerHandshakeResponse::code ||
                            code == PlayerLoginResponse::code;
        if (!answer || payload.empty()) return;
        constexpr std::size_t at_once_most = 50;
        if (++answers_ > at_once_most) objection = "wrong secrets are answered as fast as they are guessed";
        if (payload[0] == std::byte{1}) objection = "a wrong secret was let in";
    }
    void ask_http(const Target& target, const std::string& guess) {
        asks_.emplace_back(address_, target.ports.http);
        if (asks_.size() > 10) asks_.pop_front();
        asks_.front().send(
            fmt::format("POST /api/v1/matches HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n"
                        "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}",
                        guess));
    }

    std::deque<HostilePeer> peers_;
    std::deque<RawSocket> asks_;
    std::size_t answers_ = 0;  // of the game ports
};

// One account, in and out, as fast as it is let.
class LoginChurn final : public Attack {
public:
    using Attack::Attack;

    std::string step(const Target& target, Moment at) override {
        for (std::size_t i = due(at, 500); i > 0; --i) {
            HostilePeer peer(address_, target.ports.players, ByteOrder::big);
            peer.log_in(target.secrets, "churn", 900'000);
            peer.say(PlayerLogout{});
            if (peers_.size() >= 30) peers_.pop_front();
            peers_.push_back(std::move(peer));
        }
        for (HostilePeer& peer : peers_) {
            peer.flush();
            peer.read([this](Code code, std::span<const std::byte> payload) {
                if (code == PlayerLoginResponse::code && !payload.empty() && payload[0] == std::byte{1}) ++let_in_;
            });
        }
        constexpr std::size_t a_minute_most = 30;  // an act takes less than a minute
        return let_in_ > a_minute_most ? "an account may log in as often as it likes" : "";
    }

private:
    std::deque<HostilePeer> peers_;
    std::size_t let_in_ = 0;
};

// Wants to be a real player: its name, an expired or foreign credential, and guessed resume tokens.
class ResumeTheft final : public Attack {
public:
    using Attack::Attack;

    std::string step(const Target& target, Moment at) override {
        for (std::size_t i = due(at, 150); i > 0; --i) {
            HostilePeer peer(address_, target.ports.players, ByteOrder::big);
            const auto account = static_cast<std::int32_t>(1'000 + random_.below(50));
            const std::string name = fmt::format("storm-player-{}", account);
            const bool old = random_.chance(0.5);
            const std::string credential =
                old ? signed_credential(target.secrets.player_key, {name, account, 1})
                    : signed_credential(target.secrets.player_key, {"thief", 900'001, 4'000'000'000});
            peer.say(PlayerLogin{name, credential, fmt::format("{:016x}{:016x}", random_.next(), random_.next())});
            if (peers_.size() >= 30) peers_.pop_front();
            peers_.push_back(std::move(peer));
        }
        std::string objection;
        for (HostilePeer& peer : peers_) {
            peer.flush();
            peer.read([&](Code code, std::span<const std::byte> payload) {
                if (code == PlayerLoginResponse::code && !payload.empty() && payload[0] == std::byte{1})
                    objection = "a thief was let in as another player";
            });
        }
        return objection;
    }

private:
    std::deque<HostilePeer> peers_;
};

}  // namespace

std::unique_ptr<Attack> make_secret_attack(AttackKind kind, std::uint32_t address, std::uint64_t seed) {
    switch (kind) {
        case AttackKind::guessed_tokens:
            return std::make_unique<Usurper>(address, seed, true);
        case AttackKind::false_reports:
            return std::make_unique<Usurper>(address, seed, false);
        case AttackKind::wrong_secrets:
            return std::make_unique<WrongSecrets>(address, seed);
        case AttackKind::login_churn:
            return std::make_unique<LoginChurn>(address, seed);
        case AttackKind::resume_theft:
            return std::make_unique<ResumeTheft>(address, seed);
        default:
            return nullptr;
    }
}

}  // namespace muster::storm
