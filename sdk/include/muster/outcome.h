// The outcome of a request: success, or a code to act on and a text to show.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace muster::sdk {

// The numbers are part of the C interface and never change.
enum class ErrorCode : std::uint16_t {
    none = 0,

    // Seen here.
    connection_lost = 1,    // the link went away, or never came up
    no_answer = 2,          // Muster did not answer in time
    answer_lost = 3,        // the link was lost before the answer; Muster handled the request, the outcome is unknown
    malformed_message = 4,  // bytes that are no message; the link is dropped
    invalid_argument = 5,   // a text too long or not UTF-8, a list too long
    already_asked = 6,      // the lobby has a request under way, or one that is being withdrawn
    cancelled = 7,          // withdrawn by cancel()
    closed = 8,             // this client has left for good
    too_many_requests = 9,  // more requests under way than the client keeps
    callback_failed = 10,   // a callback of yours threw; the text is what it said
    refused_unknown_text = 11,  // Muster refused with a text that this version does not know
    address_not_found = 12,     // the runner cannot resolve the host name
    invalid_call = 13,          // the runner runs already, or a callback waits for the thread that it is on
    system_error = 14,          // the system has no thread left; the text is what it said
    // TLS (TlsOptions): the link does not come up, and is tried again.
    tls_untrusted = 15,   // Muster's certificate is of an authority that is not in ca_file
    tls_expired = 16,     // Muster's certificate has expired, or is not valid yet
    tls_wrong_name = 17,  // Muster's certificate is for another address or name
    tls_refused = 18,     // Muster refuses your certificate: none, expired, revoked, of another authority or role
    tls_failed = 19,      // Muster speaks no TLS there, or not TLS 1.3, or the bytes were changed on the way

    // Said by Muster: the words of its protocol.
    invalid_token = 100,
    invalid_ip_address = 101,
    invalid_port = 102,
    invalid_region = 103,
    invalid_capacity = 104,
    server_already_registered = 105,
    invalid_matchmaker_id = 106,
    matchmaker_already_registered = 107,
    invalid_credential = 108,
    credential_expired = 109,
    invalid_name = 110,
    already_logged_in = 111,
    server_not_registered = 112,
    matchmaker_not_registered = 113,
    not_logged_in = 114,
    server_disconnected = 115,
    invalid_load_report = 116,
    server_busy = 117,
    invalid_match_lobby_id = 118,
    region_not_supported = 119,
    invalid_player_count = 120,
    no_servers_available = 121,
    server_allocation_timeout = 122,
    allocation_cancelled = 123,
    match_not_found = 124,
    server_not_allocated = 125,
    invalid_match_token = 126,
    match_already_ended = 127,
    match_token_expired = 128,
    match_token_already_used = 129,
    store_unavailable = 130,
    server_shutting_down = 131,
    too_many_logins = 132,
    address_not_allowed = 133,
    endpoint_of_other_name = 134,
    blocked = 135,
};

// The enumerator's own name, such as "no_servers_available"; "unknown" for a number that is none.
std::string_view to_string(ErrorCode code);

struct Outcome {
    ErrorCode code = ErrorCode::none;
    std::string text{};  // for people; Muster's own words when it was Muster who refused

    explicit operator bool() const { return code == ErrorCode::none; }
    friend bool operator==(const Outcome&, const Outcome&) = default;
};

}  // namespace muster::sdk
