#include "muster/outcome.h"

#include "sdk/src/refusals.h"

namespace muster::sdk {

std::string_view to_string(ErrorCode code) {
    switch (code) {
        case ErrorCode::none:
            return "none";
        case ErrorCode::connection_lost:
            return "connection_lost";
        case ErrorCode::no_answer:
            return "no_answer";
        case ErrorCode::answer_lost:
            return "answer_lost";
        case ErrorCode::malformed_message:
            return "malformed_message";
        case ErrorCode::invalid_argument:
            return "invalid_argument";
        case ErrorCode::already_asked:
            return "already_asked";
        case ErrorCode::cancelled:
            return "cancelled";
        case ErrorCode::closed:
            return "closed";
        case ErrorCode::too_many_requests:
            return "too_many_requests";
        case ErrorCode::callback_failed:
            return "callback_failed";
        case ErrorCode::refused_unknown_text:
            return "refused_unknown_text";
        case ErrorCode::address_not_found:
            return "address_not_found";
        case ErrorCode::invalid_call:
            return "invalid_call";
        case ErrorCode::system_error:
            return "system_error";
        case ErrorCode::tls_untrusted:
            return "tls_untrusted";
        case ErrorCode::tls_expired:
            return "tls_expired";
        case ErrorCode::tls_wrong_name:
            return "tls_wrong_name";
        case ErrorCode::tls_refused:
            return "tls_refused";
        case ErrorCode::tls_failed:
            return "tls_failed";
        default:
            break;
    }
    if (const auto refusal = refusal_of(code)) return label(*refusal);
    return "unknown";
}

}  // namespace muster::sdk
