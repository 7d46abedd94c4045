// Whether the Host that a request names is ours. A page from elsewhere that had its name resolved to this machine
// (DNS rebinding) still names itself there (fault 70).
#pragma once

#include <string_view>

#include "base/ip_address.h"

namespace muster {

// True for localhost, and for the literals of `listening` and of `reached`, the address the connection came in on. A
// port may follow; which one does not matter, since it may have been forwarded.
bool host_is_known(std::string_view host, const IpAddress& listening, const IpAddress& reached);

}  // namespace muster
