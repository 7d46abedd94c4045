#include "protocol/error_texts.h"

#include <array>
#include <cstddef>

#include "base/check.h"

namespace muster {

namespace {

template <class What>
struct Words {
    What what;
    std::string_view label;
    std::string_view text;
};

constexpr std::array refusals{
    Words{Refusal::invalid_token, "invalid_token", "Invalid token"},
    Words{Refusal::invalid_ip_address, "invalid_ip_address", "Invalid IP address"},
    Words{Refusal::invalid_port, "invalid_port", "Invalid port"},
    Words{Refusal::invalid_region, "invalid_region", "Invalid region"},
    Words{Refusal::invalid_capacity, "invalid_capacity", "Invalid capacity"},
    Words{Refusal::server_already_registered, "server_already_registered", "Server already registered"},
    Words{Refusal::invalid_matchmaker_id, "invalid_matchmaker_id", "Invalid Chat Server ID"},
    Words{Refusal::matchmaker_already_registered, "matchmaker_already_registered", "Chat Server already registered"},
    Words{Refusal::invalid_credential, "invalid_credential", "Invalid credential"},
    Words{Refusal::credential_expired, "credential_expired", "Credential expired"},
    Words{Refusal::invalid_name, "invalid_name", "Invalid name"},
    Words{Refusal::already_logged_in, "already_logged_in", "Already logged in"},
    Words{Refusal::too_many_logins, "too_many_logins", "Too many logins"},
    Words{Refusal::server_not_registered, "server_not_registered", "Server not registered"},
    Words{Refusal::matchmaker_not_registered, "matchmaker_not_registered", "Chat Server not registered"},
    Words{Refusal::not_logged_in, "not_logged_in", "Not logged in"},
    Words{Refusal::server_disconnected, "server_disconnected", "Server disconnected"},
    Words{Refusal::invalid_load_report, "invalid_load_report", "Invalid load report"},
    Words{Refusal::server_busy, "server_busy", "Server busy"},
    Words{Refusal::invalid_match_lobby_id, "invalid_match_lobby_id", "Invalid match lobby ID"},
    Words{Refusal::region_not_supported, "region_not_supported", "Region not supported"},
    Words{Refusal::invalid_player_count, "invalid_player_count", "Invalid player count"},
    Words{Refusal::no_servers_available, "no_servers_available", "No servers available"},
    Words{Refusal::server_allocation_timeout, "server_allocation_timeout", "Server allocation timeout"},
    Words{Refusal::allocation_cancelled, "allocation_cancelled", "Allocation cancelled"},
    Words{Refusal::match_not_found, "match_not_found", "Match not found"},
    Words{Refusal::server_not_allocated, "server_not_allocated", "Server not allocated to this match"},
    Words{Refusal::invalid_match_token, "invalid_match_token", "Invalid match token"},
    Words{Refusal::match_already_ended, "match_already_ended", "Match already ended"},
    Words{Refusal::match_token_expired, "match_token_expired", "Match token expired"},
    Words{Refusal::match_token_already_used, "match_token_already_used", "Match token already used"},
    Words{Refusal::store_unavailable, "store_unavailable", "Store unavailable"},
    Words{Refusal::server_shutting_down, "server_shutting_down", "Server shutting down"},
};

constexpr std::array reasons{
    Words{Reason::ping_timeout, "ping_timeout", "Ping timeout"},
    Words{Reason::idle_too_long, "idle_too_long", "Idle too long"},
    Words{Reason::heartbeat_failed, "heartbeat_failed", "Heartbeat failed"},
    Words{Reason::logged_in_elsewhere, "logged_in_elsewhere", "Logged in elsewhere"},
    Words{Reason::kicked, "kicked", "Kicked"},
    Words{Reason::server_shutting_down, "server_shutting_down", "Server shutting down"},
    Words{Reason::handshake_timeout, "handshake_timeout", "Handshake timeout"},
    Words{Reason::too_many_messages, "too_many_messages", "Too many messages"},
    Words{Reason::internal_error, "internal_error", "Internal error"},
    Words{Reason::cancelled, "cancelled", "Cancelled"},
    Words{Reason::match_not_found, "match_not_found", "Match not found"},
    Words{Reason::match_token_expired, "match_token_expired", "Match token expired"},
    Words{Reason::server_lost, "server_lost", "Server lost"},
    Words{Reason::server_left, "server_left", "Server left"},
    Words{Reason::lost_by_server, "lost_by_server", "Lost by server"},
    Words{Reason::reported_by_heartbeat, "reported_by_heartbeat", "Reported by heartbeat"},
    Words{Reason::offer_withdrawn, "offer_withdrawn", "Offer withdrawn"},
    Words{Reason::nobody_came, "nobody_came", "Nobody came"},
    Words{Reason::aborted_by_operator, "aborted_by_operator", "Aborted by operator"},
};

// A row stands at its enumerator's own place, so that looking it up is an index.
template <class Table, class What>
constexpr bool complete(const Table& table, What last) {
    for (std::size_t i = 0; i < table.size(); ++i) {
        if (static_cast<std::size_t>(table[i].what) != i) return false;
    }
    return table.size() == static_cast<std::size_t>(last) + 1;
}
static_assert(complete(refusals, last_refusal));
static_assert(complete(reasons, last_reason));

template <class Table, class What>
const Words<What>& row(const Table& table, What what) {
    const auto index = static_cast<std::size_t>(what);
    MUSTER_CHECK(index < table.size(), "an enumerator has its words");
    return table[index];
}

}  // namespace

std::string_view text(Refusal refusal) {
    return row(refusals, refusal).text;
}

std::string_view label(Refusal refusal) {
    return row(refusals, refusal).label;
}

std::string_view text(Reason reason) {
    return row(reasons, reason).text;
}

std::string_view label(Reason reason) {
    return row(reasons, reason).label;
}

}  // namespace muster
