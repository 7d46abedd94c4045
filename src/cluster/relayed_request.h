// A request of the HTTP API and its answer on their way between two nodes: a node that does not own the cell has
// the owner answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/http_message.h"

namespace muster {

// With all that the owner judges it by: who asks, from where, with which token.
std::string packed_request(const HttpRequest& request);
// A live feed cannot be packed: the answer then says so.
std::string packed_response(const HttpResponse& response);

// Nothing when the bytes are not what the above makes.
std::optional<HttpRequest> unpacked_request(std::string_view bytes);
std::optional<HttpResponse> unpacked_response(std::string_view bytes);

}  // namespace muster
