// The program as a whole: its commands, and what its help says.
#pragma once

#include "cli/command.h"

namespace muster {

Program whole_program();

}  // namespace muster
