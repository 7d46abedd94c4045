#include "protocol/error_texts.h"

#include <array>
#include <cstddef>

#include "base/check.h"

namespace muster {

namespace {

template <class What>
struct TextEntry {
    What what;
    std::string_view label;
    std::string_view text;
};

constexpr std::array refusals{
    TextEntry{Refusal::invalid_token, "invalid_token", "Invalid token"},
    TextEntry{Refusal::invalid_ip_address, "invalid_ip_address", "Invalid IP address"},
    TextEntry{Refusal::invalid_port, "invalid_port", "Invalid port"},
    TextEntry{Refusal::invalid_region, "invalid_region", "Invalid region"},
    TextEntry{Refusal::invalid_capacity, "invalid_capacity", "Invalid capacity"},
    TextEntry{Refusal::server_already_registered, "server_already_registered", "Server already registered"},
    TextEntry{Refusal::invalid_matchmaker_id, "invalid_matchmaker_id", "Invalid Chat Server ID"},
    TextEntry{Refusal::matchmaker_already_registered, "matchmaker_already_registered",
              "Chat Server already registered"},
    TextEntry{Refusal::invalid_credential, "invalid_credential", "Invalid credential"},
    TextEntry{Refusal::credential_expired, "credential_expired", "Credential expired"},
    TextEntry{Refusal::invalid_name, "invalid_name", "Invalid name"},
    TextEntry{Refusal::already_logged_in, "already_logged_in", "Already logged in"},
    TextEntry{Refusal::too_many_logins, "too_many_logins", "Too many logins"},
    TextEntry{Refusal::address_not_allowed, "address_not_allowed", "Server address not allowed"},
    TextEntry{Refusal::endpoint_of_other_name, "endpoint_of_other_name", "Server registered under another name"},
    TextEntry{Refusal::blocked, "blocked", "Blocked"},
    TextEntry{Refusal::server_not_registered, "server_not_registered", "Server not registered"},
    TextEntry{Refusal::matchmaker_not_registered, "matchmaker_not_registered", "Chat Server not registered"},
    TextEntry{Refusal::not_logged_in, "not_logged_in", "Not logged in"},
    TextEntry{Refusal::server_disconnected, "server_disconnected", "Server disconnected"},
    TextEntry{Refusal::invalid_load_report, "invalid_load_report", "Invalid load report"},
    TextEntry{Refusal::server_busy, "server_busy", "Server busy"},
    TextEntry{Refusal::invalid_match_lobby_id, "invalid_match_lobby_id", "Invalid match lobby ID"},
    TextEntry{Refusal::region_not_supported, "region_not_supported", "Region not supported"},
    TextEntry{Refusal::invalid_player_count, "invalid_player_count", "Invalid player count"},
    TextEntry{Refusal::no_servers_available, "no_servers_available", "No servers available"},
    TextEntry{Refusal::server_allocation_timeout, "server_allocation_timeout", "Server allocation timeout"},
    TextEntry{Refusal::allocation_cancelled, "allocation_cancelled", "Allocation cancelled"},
    TextEntry{Refusal::match_not_found, "match_not_found", "Match not found"},
    TextEntry{Refusal::server_not_allocated, "server_not_allocated", "Server not allocated to this match"},
    TextEntry{Refusal::invalid_match_token, "invalid_match_token", "Invalid match token"},
    TextEntry{Refusal::match_already_ended, "match_already_ended", "Match already ended"},
    TextEntry{Refusal::match_token_expired, "match_token_expired", "Match token expired"},
    TextEntry{Refusal::match_token_already_used, "match_token_already_used", "Match token already used"},
    TextEntry{Refusal::store_unavailable, "store_unavailable", "Store unavailable"},
    TextEntry{Refusal::server_shutting_down, "server_shutting_down", "Server shutting down"},
};

constexpr std::array host_refusals{
    TextEntry{HostRefusal::invalid_name, "invalid_name", "Invalid host name"},
    TextEntry{HostRefusal::invalid_address, "invalid_address", "Invalid host address"},
    TextEntry{HostRefusal::already_registered, "already_registered", "Host already registered"},
    TextEntry{HostRefusal::too_many_hosts, "too_many_hosts", "Too many hosts"},
    TextEntry{HostRefusal::invalid_process, "invalid_process", "Invalid process name"},
    TextEntry{HostRefusal::too_many_processes, "too_many_processes", "Too many processes"},
    TextEntry{HostRefusal::name_of_other_certificate, "name_of_other_certificate",
              "Host name is not that of the certificate"},
};

constexpr std::array reasons{
    TextEntry{Reason::ping_timeout, "ping_timeout", "Ping timeout"},
    TextEntry{Reason::idle_too_long, "idle_too_long", "Idle too long"},
    TextEntry{Reason::heartbeat_failed, "heartbeat_failed", "Heartbeat failed"},
    TextEntry{Reason::logged_in_elsewhere, "logged_in_elsewhere", "Logged in elsewhere"},
    TextEntry{Reason::kicked, "kicked", "Kicked"},
    TextEntry{Reason::server_shutting_down, "server_shutting_down", "Server shutting down"},
    TextEntry{Reason::handshake_timeout, "handshake_timeout", "Handshake timeout"},
    TextEntry{Reason::too_many_messages, "too_many_messages", "Too many messages"},
    TextEntry{Reason::internal_error, "internal_error", "Internal error"},
    TextEntry{Reason::blocked, "blocked", "Blocked"},
    TextEntry{Reason::cancelled, "cancelled", "Cancelled"},
    TextEntry{Reason::match_not_found, "match_not_found", "Match not found"},
    TextEntry{Reason::match_token_expired, "match_token_expired", "Match token expired"},
    TextEntry{Reason::server_lost, "server_lost", "Server lost"},
    TextEntry{Reason::server_left, "server_left", "Server left"},
    TextEntry{Reason::server_crashed, "server_crashed", "Server crashed"},
    TextEntry{Reason::lost_by_server, "lost_by_server", "Lost by server"},
    TextEntry{Reason::reported_by_heartbeat, "reported_by_heartbeat", "Reported by heartbeat"},
    TextEntry{Reason::offer_withdrawn, "offer_withdrawn", "Offer withdrawn"},
    TextEntry{Reason::nobody_came, "nobody_came", "Nobody came"},
    TextEntry{Reason::aborted_by_operator, "aborted_by_operator", "Aborted by operator"},
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
static_assert(complete(host_refusals, last_host_refusal));
static_assert(complete(reasons, last_reason));

template <class Table, class What>
const TextEntry<What>& row(const Table& table, What what) {
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

std::string_view text(HostRefusal refusal) {
    return row(host_refusals, refusal).text;
}

std::string_view label(HostRefusal refusal) {
    return row(host_refusals, refusal).label;
}

std::string_view text(Reason reason) {
    return row(reasons, reason).text;
}

std::string_view label(Reason reason) {
    return row(reasons, reason).label;
}

}  // namespace muster
