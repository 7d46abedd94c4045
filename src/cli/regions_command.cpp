// `muster regions`: the fleet by region.
#include <memory>

#include "cli/api_client.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/region_table.h"
#include "cli/standard_output.h"
#include "cli/terminal.h"

namespace muster {

Command regions_command() {
    const auto json = std::make_shared<bool>(false);
    return {"regions",
            "List regions with servers, matches and load",
            {json_option(*json)},
            "MATCHES is current/maximum.\n",
            [json] {
                ApiClient api = ApiClient::from_environment();
                const JsonValue answer = api.get("/regions");
                if (*json) return print_json(answer.to_json());
                return to_int(print_result(region_table(answer["regions"]).to_text(colours_wanted())));
            }};
}

}  // namespace muster
