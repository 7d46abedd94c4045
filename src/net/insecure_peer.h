// A peer that was refused for its TLS, as it is told to the log (fault 75).
#pragma once

#include <functional>
#include <string_view>

#include "base/ip_address.h"
#include "protocol/port.h"
#include "tls/tls_failure.h"

namespace muster {

struct InsecurePeer {
    Port port;
    IpAddress from;
    TlsFailure why;
    std::string_view details;  // OpenSSL's words, or empty
};

// Any worker's thread calls it; it does not block. Empty: nobody listens.
using OnInsecurePeer = std::function<void(const InsecurePeer&)>;

}  // namespace muster
