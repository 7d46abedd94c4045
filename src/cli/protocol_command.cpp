#include "cli/protocol_command.h"

#include "cli/standard_output.h"
#include "protocol/reference.h"

namespace muster {

int protocol_command() {
    return to_int(print_result(protocol_reference()));
}

}  // namespace muster
