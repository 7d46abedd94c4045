// How a command is called, on a line: `muster drain (ID… | --region REGION) [--reason TEXT] [--json]`.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace muster {

// Arguments by their place first, with the flags that may stand in their place, then the flags, then what follows `--`.
// One entry each.
std::vector<std::string> usage_parts(const Command& command);

// All of it after `muster NAME`, in lines of at most 100 columns; further lines are indented by four.
std::string usage_line(const Command& command);

}  // namespace muster
