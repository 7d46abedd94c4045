// `muster player-token`: makes a signed credential for a player.
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fields.h"
#include "base/system_clock.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/standard_output.h"
#include "config/config_load.h"
#include "config/config_units.h"
#include "daemon/player_credential.h"
#include "process/exit_code.h"
#include "protocol/text.h"

namespace muster {
namespace {

struct PlayerTokenArguments {
    std::string name;
    std::int64_t account = 0;
    std::string valid_for = "1h";
    std::optional<std::string> config;
    bool json = false;
};

int refuse(const std::string& why, ExitCode code) {
    print_problems(std::vector<std::string>{"muster player-token: " + why});
    return to_int(code);
}

int make(const PlayerTokenArguments& arguments) {
    const auto valid_for = parse_duration(arguments.valid_for);
    if (!valid_for || *valid_for < std::chrono::seconds(1))
        return refuse("--for wants a time such as 30s, 10m, 1h or 7d, not " + arguments.valid_for, ExitCode::usage);
    if (arguments.account < 1 || arguments.account > std::numeric_limits<std::int32_t>::max())
        return refuse("--account wants a number from 1 to 2147483647", ExitCode::usage);
    if (arguments.name.empty() || !NameText::fits(arguments.name) || !is_utf8(arguments.name))
        return refuse("a name has 1 to 32 bytes of UTF-8", ExitCode::usage);

    const auto loaded = load_config({arguments.config, process_environment()});
    if (!loaded) {
        print_problems(loaded.error());
        return to_int(ExitCode::config);
    }
    const Secrets& keys = loaded->config.auth.player_key;
    if (!keys.is_set()) {
        return refuse(
            "auth.player_key is not set; set MUSTER_AUTH_PLAYER_KEY, or name a file by auth.player_key_file in a "
            "config given with --config",
            ExitCode::config);
    }
    const std::int64_t now = SystemClock().wall().value / 1'000;
    const std::int64_t expires = now + std::chrono::duration_cast<std::chrono::seconds>(*valid_for).count();
    const AccountId account(static_cast<std::int32_t>(arguments.account));
    const std::string credential = make_player_credential(keys.first(), arguments.name, account, expires);
    if (!arguments.json) return to_int(print_result(credential + "\n"));
    JsonFields out;
    out.text("credential", credential);
    out.text("name", arguments.name);
    out.integer("account", account.value);
    out.integer("expires_at_ms", expires * 1'000);
    return print_json(out.finish());
}

}  // namespace

Command player_token_command() {
    const auto arguments = std::make_shared<PlayerTokenArguments>();
    CommandOption config{"--config", "FILE", "The config file that names the key's file", &arguments->config};
    config.is_file = true;
    return {"player-token",
            "Make a signed credential for a player",
            {{"NAME", "", "The player's name", &arguments->name, true},
             {"--account", "N", "The player's id, from 1 on", &arguments->account, true},
             {"--for", "TIME", "Lifetime: 30s, 10m, 1h, 7d", &arguments->valid_for},
             config,
             {"--json", "", "Print JSON with the fields and the expiry", &arguments->json}},
            "Signs with the daemon's own key: from MUSTER_AUTH_PLAYER_KEY, or from the file that the config "
            "names.\n  MUSTER_AUTH_PLAYER_KEY=… muster player-token Ann --account 7\n",
            [arguments] { return make(*arguments); }};
}

}  // namespace muster
