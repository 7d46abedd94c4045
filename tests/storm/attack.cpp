#include "attack.h"

#include <algorithm>

namespace muster::storm {

std::string_view to_string(AttackKind kind) {
    switch (kind) {
        case AttackKind::churn_players:
            return "churn_players";
        case AttackKind::churn_servers:
            return "churn_servers";
        case AttackKind::churn_everywhere:
            return "churn_everywhere";
        case AttackKind::half_open:
            return "half_open";
        case AttackKind::drip:
            return "drip";
        case AttackKind::flood:
            return "flood";
        case AttackKind::slow_reader:
            return "slow_reader";
        case AttackKind::guessed_tokens:
            return "guessed_tokens";
        case AttackKind::false_reports:
            return "false_reports";
        case AttackKind::wrong_secrets:
            return "wrong_secrets";
        case AttackKind::malformed:
            return "malformed";
        case AttackKind::hostile_http:
            return "hostile_http";
        case AttackKind::garbled_http:
            return "garbled_http";
        case AttackKind::login_churn:
            return "login_churn";
        case AttackKind::resume_theft:
            return "resume_theft";
        case AttackKind::server_churn:
            return "server_churn";
        case AttackKind::matchmaker_churn:
            return "matchmaker_churn";
        case AttackKind::restless_servers:
            return "restless_servers";
    }
    return "";
}

std::size_t Attack::due(Moment at, double per_second, std::size_t most) {
    if (last_ == Moment{}) last_ = at;
    owed_ = std::min(owed_ + per_second * seconds(at - last_), static_cast<double>(most));
    last_ = at;
    const auto deeds = static_cast<std::size_t>(owed_);
    owed_ -= static_cast<double>(deeds);
    return deeds;
}

std::unique_ptr<Attack> make_attack(AttackKind kind, std::uint32_t address, std::uint64_t seed) {
    for (const auto make : {make_link_attack, make_peer_attack, make_secret_attack, make_http_attack}) {
        if (auto made = make(kind, address, seed)) return made;
    }
    return nullptr;
}

}  // namespace muster::storm
