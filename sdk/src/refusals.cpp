#include "sdk/src/refusals.h"

#include <string>

namespace muster::sdk {

namespace {

// Calls `wanted` with each refusal until it says yes.
template <class Wanted>
std::optional<Refusal> find(Wanted wanted) {
    for (int i = 0; i <= static_cast<int>(last_refusal); ++i) {
        const auto refusal = static_cast<Refusal>(i);
        if (wanted(refusal)) return refusal;
    }
    return std::nullopt;
}

// What to do about a handshake that was refused; empty where we know nothing.
std::string_view remedy(ErrorCode code) {
    switch (code) {
        case ErrorCode::invalid_token:
            return "give it the token that this Muster was given (server_token or matchmaker_token)";
        case ErrorCode::invalid_ip_address:
            return "give it the IP address that players connect to, not a host name and not 0.0.0.0";
        case ErrorCode::invalid_port:
            return "give it a port from 1024 on";
        case ErrorCode::invalid_region:
            return "give it a region of fleet.regions in Muster's config";
        case ErrorCode::invalid_capacity:
            return "max_matches must be 1 to 10000";
        case ErrorCode::server_already_registered:
            return "another process holds this address: stop it, or give this one another port";
        case ErrorCode::invalid_matchmaker_id:
            return "an id has letters, digits, '-', '_' and '.'; one with a certificate has its name, or begins with "
                   "it "
                   "and a dot";
        case ErrorCode::matchmaker_already_registered:
            return "another matchmaker is connected under this id: stop it, or give this one another id";
        case ErrorCode::address_not_allowed:
            return "fleet.addresses in Muster's config does not have this address: give it the one that it has, or add "
                   "it";
        case ErrorCode::endpoint_of_other_name:
            return "a server with another certificate holds this address until its heartbeats are overdue";
        case ErrorCode::blocked:
            return "an operator has blocked this address: `muster blocks` lists them";
        default:
            return {};
    }
}

}  // namespace

std::optional<Refusal> refusal_of(ErrorCode code) {
    return find([code](Refusal refusal) { return code_of(refusal) == code; });
}

Outcome refused(std::string_view words) {
    const auto refusal = find([words](Refusal each) { return text(each) == words; });
    return {refusal ? code_of(*refusal) : ErrorCode::refused_unknown_text, std::string(words)};
}

Outcome handshake_refused(std::string_view words, std::string_view who) {
    Outcome outcome = refused(words);
    outcome.text += " (" + std::string(who) + ")";
    if (const std::string_view helps = remedy(outcome.code); !helps.empty()) outcome.text += ": " + std::string(helps);
    return outcome;
}

ErrorCode code_of(Refusal refusal) {
    switch (refusal) {
        case Refusal::invalid_token:
            return ErrorCode::invalid_token;
        case Refusal::invalid_ip_address:
            return ErrorCode::invalid_ip_address;
        case Refusal::invalid_port:
            return ErrorCode::invalid_port;
        case Refusal::invalid_region:
            return ErrorCode::invalid_region;
        case Refusal::invalid_capacity:
            return ErrorCode::invalid_capacity;
        case Refusal::server_already_registered:
            return ErrorCode::server_already_registered;
        case Refusal::invalid_matchmaker_id:
            return ErrorCode::invalid_matchmaker_id;
        case Refusal::matchmaker_already_registered:
            return ErrorCode::matchmaker_already_registered;
        case Refusal::invalid_credential:
            return ErrorCode::invalid_credential;
        case Refusal::credential_expired:
            return ErrorCode::credential_expired;
        case Refusal::invalid_name:
            return ErrorCode::invalid_name;
        case Refusal::already_logged_in:
            return ErrorCode::already_logged_in;
        case Refusal::too_many_logins:
            return ErrorCode::too_many_logins;
        case Refusal::address_not_allowed:
            return ErrorCode::address_not_allowed;
        case Refusal::endpoint_of_other_name:
            return ErrorCode::endpoint_of_other_name;
        case Refusal::blocked:
            return ErrorCode::blocked;
        case Refusal::server_not_registered:
            return ErrorCode::server_not_registered;
        case Refusal::matchmaker_not_registered:
            return ErrorCode::matchmaker_not_registered;
        case Refusal::not_logged_in:
            return ErrorCode::not_logged_in;
        case Refusal::server_disconnected:
            return ErrorCode::server_disconnected;
        case Refusal::invalid_load_report:
            return ErrorCode::invalid_load_report;
        case Refusal::server_busy:
            return ErrorCode::server_busy;
        case Refusal::invalid_match_lobby_id:
            return ErrorCode::invalid_match_lobby_id;
        case Refusal::region_not_supported:
            return ErrorCode::region_not_supported;
        case Refusal::invalid_player_count:
            return ErrorCode::invalid_player_count;
        case Refusal::no_servers_available:
            return ErrorCode::no_servers_available;
        case Refusal::server_allocation_timeout:
            return ErrorCode::server_allocation_timeout;
        case Refusal::allocation_cancelled:
            return ErrorCode::allocation_cancelled;
        case Refusal::match_not_found:
            return ErrorCode::match_not_found;
        case Refusal::server_not_allocated:
            return ErrorCode::server_not_allocated;
        case Refusal::invalid_match_token:
            return ErrorCode::invalid_match_token;
        case Refusal::match_already_ended:
            return ErrorCode::match_already_ended;
        case Refusal::match_token_expired:
            return ErrorCode::match_token_expired;
        case Refusal::match_token_already_used:
            return ErrorCode::match_token_already_used;
        case Refusal::store_unavailable:
            return ErrorCode::store_unavailable;
        case Refusal::server_shutting_down:
            return ErrorCode::server_shutting_down;
    }
    return ErrorCode::refused_unknown_text;
}

}  // namespace muster::sdk
