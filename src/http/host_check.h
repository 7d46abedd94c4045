// Whether the Host that a request names is ours. A page from elsewhere that had its name resolved to this machine
// (DNS rebinding) still names itself there (fault 70).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace muster {

// True for localhost, for any IP literal, which no name server can point elsewhere, and for the `further` names, given
// in lower case. A port may follow; which one does not matter, since it may have been forwarded.
bool host_is_known(std::string_view host, std::span<const std::string> further);

}  // namespace muster
