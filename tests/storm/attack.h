// One attacker: what it does to the daemon, a little at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "daemon_process.h"
#include "moment.h"
#include "stage.h"

namespace muster::storm {

enum class AttackKind : std::uint8_t {
    churn_players,     // connect and reset, without a word
    churn_servers,     // the same on the server port, some with half a handshake
    churn_everywhere,  // on all four ports in turn
    half_open,         // registered, logged in, and silent for ever
    drip,              // one byte now and then, before and inside a frame
    flood,             // logged in, and far over the messages that it may send
    slow_reader,       // asks for much and reads nothing
    guessed_tokens,    // a registered game server that tries tokens of others, guessed and seen
    false_reports,     // the same, which reports others' matches as taken, begun and ended
    wrong_secrets,     // handshakes, logins and actions with wrong secrets
    malformed,         // broken frames, before and after the handshake
    hostile_http,      // takes all HTTP connections: requests that never rest, slow headers, unread answers
    garbled_http,      // requests that are none
    login_churn,       // one account that logs in and out
    resume_theft,      // logins of a real account's name with wrong resume tokens and signatures
    server_churn,      // valid game servers that come and go at once
    matchmaker_churn,  // valid matchmakers that ask, and are gone before the answer
    restless_servers,  // valid game servers that drain and undrain as often as they may
};
inline constexpr int attack_count = static_cast<int>(AttackKind::restless_servers) + 1;
std::string_view to_string(AttackKind kind);

// A token that an honest peer was given; attackers try it too.
struct SeenToken {
    std::int32_t lobby = 0;
    std::int32_t account = 0;
    std::string token;
};

// What attackers know.
struct Target {
    Ports ports{};  // 0 while the daemon is away
    Secrets secrets{};
    std::vector<SeenToken> seen{};
    int slowness = 1;  // of the daemon; who goes to its limit asks for less
};

// The raid's thread only.
class Attack {
public:
    virtual ~Attack() = default;
    // Does what is due by `at`. What it reports is an objection: something that no attacker may ever be told.
    virtual std::string step(const Target& target, Moment at) = 0;

    // Each attacker has an address of its own.
    Attack(std::uint32_t address, std::uint64_t seed) : address_(address), random_(seed) {}

protected:
    // How many deeds are due at that rate since the last call, at most `most`.
    std::size_t due(Moment at, double per_second, std::size_t most = 50);

    const std::uint32_t address_;
    Random random_;

private:
    Moment last_{};
    double owed_ = 0;
};

std::unique_ptr<Attack> make_attack(AttackKind kind, std::uint32_t address, std::uint64_t seed);
// By family; null when the kind is another family's.
std::unique_ptr<Attack> make_link_attack(AttackKind kind, std::uint32_t address, std::uint64_t seed);
std::unique_ptr<Attack> make_peer_attack(AttackKind kind, std::uint32_t address, std::uint64_t seed);
std::unique_ptr<Attack> make_secret_attack(AttackKind kind, std::uint32_t address, std::uint64_t seed);
std::unique_ptr<Attack> make_http_attack(AttackKind kind, std::uint32_t address, std::uint64_t seed);

}  // namespace muster::storm
