#include "cli/player_token_command.h"

#include <limits>
#include <string>
#include <vector>

#include "base/system_clock.h"
#include "base/utf8.h"
#include "cli/standard_output.h"
#include "daemon/config_load.h"
#include "daemon/config_units.h"
#include "daemon/exit_code.h"
#include "daemon/player_credential.h"
#include "protocol/text.h"

namespace muster {
namespace {

int refuse(const std::string& why, ExitCode code) {
    print_problems(std::vector<std::string>{"muster player-token: " + why});
    return to_int(code);
}

}  // namespace

int player_token_command(const PlayerTokenArguments& arguments) {
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
    const Secret& key = loaded->config.auth.player_key;
    if (!key.is_set()) {
        return refuse(
            "auth.player_key is not set; set MUSTER_AUTH_PLAYER_KEY, or name a file by auth.player_key_file in a "
            "config given with --config",
            ExitCode::config);
    }
    const std::int64_t now = SystemClock().wall().value / 1'000;
    const std::int64_t expires = now + std::chrono::duration_cast<std::chrono::seconds>(*valid_for).count();
    const AccountId account(static_cast<std::int32_t>(arguments.account));
    return to_int(print_result(make_player_credential(key, arguments.name, account, expires) + "\n"));
}

}  // namespace muster
