// `muster protocol`: the messages of the game ports, byte by byte.
#include <memory>

#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/standard_output.h"
#include "protocol/reference.h"

namespace muster {

Command protocol_command() {
    const auto json = std::make_shared<bool>(false);
    return {"protocol",
            "Show the messages of the game ports, byte by byte",
            {{"--json", "", "JSON instead of Markdown", json.get()}},
            {},
            [json] { return *json ? print_json(protocol_json()) : to_int(print_result(protocol_reference())); }};
}

}  // namespace muster
