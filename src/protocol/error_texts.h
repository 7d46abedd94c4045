// Every "no" that a peer is told, and every reason for a close or a lost match: the code here, its words in one table.
#pragma once

#include <cstdint>
#include <string_view>

namespace muster {

// Why a request is refused. The text goes into the answer's `error`.
enum class Refusal : std::uint8_t {
    // Handshakes and logins, in the order of their checks (F-1, A-1, P-1).
    invalid_token,
    invalid_ip_address,
    invalid_port,
    invalid_region,
    invalid_capacity,
    server_already_registered,
    invalid_matchmaker_id,
    matchmaker_already_registered,
    invalid_credential,
    credential_expired,
    invalid_name,
    already_logged_in,
    too_many_logins,
    address_not_allowed,     // S-6: fleet.addresses does not have it
    endpoint_of_other_name,  // S-2: registered under another certificate's name
    blocked,                 // S-6
    // A message before its handshake or login, or for an id that the link does not hold.
    server_not_registered,
    matchmaker_not_registered,
    not_logged_in,
    // Heartbeats (F-3, F-4).
    server_disconnected,
    invalid_load_report,
    // Allocation (A-2, A-3, A-6, 2007).
    server_busy,
    invalid_match_lobby_id,
    region_not_supported,
    invalid_player_count,
    no_servers_available,
    server_allocation_timeout,
    allocation_cancelled,
    // Matches and tokens (A-10, K-2).
    match_not_found,
    server_not_allocated,
    invalid_match_token,
    match_already_ended,
    match_token_expired,
    match_token_already_used,
    // Any request.
    store_unavailable,
    server_shutting_down,
};
inline constexpr auto last_refusal = Refusal::server_shutting_down;

// What the peer reads.
std::string_view text(Refusal refusal);
// The enumerator's own name: stable, for metric labels.
std::string_view label(Refusal refusal);

// Why the agent of a host is refused: in 0x1021, or for a process in 0x1011. The SDK never hears these.
enum class HostRefusal : std::uint8_t {
    invalid_name,
    invalid_address,
    already_registered,
    too_many_hosts,
    invalid_process,
    too_many_processes,
    name_of_other_certificate,
};
inline constexpr auto last_host_refusal = HostRefusal::name_of_other_certificate;

std::string_view text(HostRefusal refusal);
std::string_view label(HostRefusal refusal);

// Why a link is closed, or what became of a match. The text goes into a `reason`.
enum class Reason : std::uint8_t {
    // MSG_SERVER_CLOSE (P-5); a malformed frame's reason is malformed_text().
    ping_timeout,
    idle_too_long,
    heartbeat_failed,
    logged_in_elsewhere,
    kicked,
    server_shutting_down,
    handshake_timeout,
    too_many_messages,
    internal_error,
    blocked,  // S-6
    // ABORT_MATCH, MATCH_EVENT, MSG_MATCH_ABORTED.
    cancelled,              // 2007
    match_not_found,        // 2007 for a lobby that has no match
    match_token_expired,    // nobody came
    server_lost,            // F-2, F-6, A-11: the server was removed
    server_left,            // F-12
    server_crashed,         // G-21: its process has crashed
    lost_by_server,         // F-7: the server came back without it
    reported_by_heartbeat,  // F-7: the server's count says that it ended
    offer_withdrawn,        // not acknowledged in time, or by now another server's
    nobody_came,            // ready, and no player and no start for too long
    aborted_by_operator,    // unless the operator gave a reason
};
inline constexpr auto last_reason = Reason::aborted_by_operator;

std::string_view text(Reason reason);
std::string_view label(Reason reason);

}  // namespace muster
