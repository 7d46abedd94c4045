// The calls of the Agones SDK as gRPC carries them: method names, and bytes of the messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agones/calls.h"

namespace muster::agones {

// One method of one of the three services.
struct GrpcMethod {
    enum class Kind : unsigned char { unary, health, watch };

    std::string_view path;  // "/agones.dev.sdk.SDK/Ready"
    Kind kind = Kind::unary;
    // None when the bytes are not the method's message.
    std::optional<Call> (*decode)(const std::string& bytes) = nullptr;
};

// None when there is no such method.
const GrpcMethod* grpc_method(std::string_view path);

std::string grpc_bytes(const Answer& answer);

}  // namespace muster::agones
