// Why a link has no TLS, by the name that metrics show (fault 75).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace muster {

enum class TlsFailure : std::uint8_t {
    not_tls,          // the first bytes are none of TLS
    unexpected_tls,   // the first bytes are TLS, and the port has none
    version,          // no version that both sides speak: here only TLS 1.3
    no_certificate,   // the peer showed none
    expired,          // its certificate was valid once
    not_yet_valid,    // its certificate will be valid
    unknown_ca,       // its certificate is of an authority that is not known here
    self_signed,      // its certificate is its own authority
    wrong_role,       // its certificate is good, but not for this port
    wrong_name,       // its certificate is for another address or name
    revoked,          // its certificate was revoked
    bad_certificate,  // its certificate is wrong in another way
    refused_by_peer,  // the peer said that it will not have it; most often it does not trust our certificate
    incomplete,       // the peer went before the handshake was over
    timed_out,        // the handshake took too long
    broken,           // bytes that do not fit, or that were changed on the way
};
inline constexpr std::array tls_failures{
    TlsFailure::not_tls,         TlsFailure::unexpected_tls, TlsFailure::version,    TlsFailure::no_certificate,
    TlsFailure::expired,         TlsFailure::not_yet_valid,  TlsFailure::unknown_ca, TlsFailure::self_signed,
    TlsFailure::wrong_role,      TlsFailure::wrong_name,     TlsFailure::revoked,    TlsFailure::bad_certificate,
    TlsFailure::refused_by_peer, TlsFailure::incomplete,     TlsFailure::timed_out,  TlsFailure::broken};

constexpr std::string_view to_string(TlsFailure failure) {
    switch (failure) {
        case TlsFailure::not_tls:
            return "not_tls";
        case TlsFailure::unexpected_tls:
            return "unexpected_tls";
        case TlsFailure::version:
            return "version";
        case TlsFailure::no_certificate:
            return "no_certificate";
        case TlsFailure::expired:
            return "expired";
        case TlsFailure::not_yet_valid:
            return "not_yet_valid";
        case TlsFailure::unknown_ca:
            return "unknown_ca";
        case TlsFailure::self_signed:
            return "self_signed";
        case TlsFailure::wrong_role:
            return "wrong_role";
        case TlsFailure::wrong_name:
            return "wrong_name";
        case TlsFailure::revoked:
            return "revoked";
        case TlsFailure::bad_certificate:
            return "bad_certificate";
        case TlsFailure::refused_by_peer:
            return "refused_by_peer";
        case TlsFailure::incomplete:
            return "incomplete";
        case TlsFailure::timed_out:
            return "timed_out";
        case TlsFailure::broken:
            return "broken";
    }
    return "";
}

}  // namespace muster
