// The protocol reference, made from the declarations.
#pragma once

#include <string>

namespace muster {

// The whole protocol in Markdown: what `muster protocol` prints and docs/PROTOCOL.md holds.
std::string protocol_reference();

}  // namespace muster
