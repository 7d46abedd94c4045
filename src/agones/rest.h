// The Agones SDK's REST interface without its sockets: which call a request stands for.
#pragma once

#include <string_view>
#include <variant>

#include "agones/calls.h"

namespace muster::agones {

struct RestRequest {
    std::string_view method;  // "POST"
    std::string_view path;    // as it was sent
    std::string_view query;   // as it was sent
    std::string_view body;
};

struct WatchGameServer {};

using RestCall = Result<std::variant<Call, WatchGameServer>, Refused>;

// Refuses an unknown path with not_found, another method of a known one with unimplemented, and a body that is not what
// the call takes with invalid_argument. Fields that nobody knows are left out; names may be camelCase too; numbers may
// be texts.
RestCall rest_call(const RestRequest& request);

// The HTTP status that goes with it.
unsigned http_status(Code code);

}  // namespace muster::agones
