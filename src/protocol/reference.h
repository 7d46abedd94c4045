// The protocol reference, made from the declarations.
#pragma once

#include <string>

namespace muster {

// The whole protocol in Markdown: what `muster protocol` prints and docs/PROTOCOL.md holds.
std::string protocol_reference();

// What a program wants of it, as JSON: ports, messages with their codes and payloads, texts with their labels.
std::string protocol_json();

}  // namespace muster
