// `muster protocol`: the messages of the game ports, byte by byte.
#include "cli/commands.h"
#include "cli/standard_output.h"
#include "protocol/reference.h"

namespace muster {

Command protocol_command() {
    return {"protocol", "Show the messages of the game ports, byte by byte", {}, {}, [] {
                return to_int(print_result(protocol_reference()));
            }};
}

}  // namespace muster
