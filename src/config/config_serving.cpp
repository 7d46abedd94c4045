#include "config/config_serving.h"

#include <string_view>

#include <fmt/core.h>

#include "base/check.h"
#include "config/config_keys.h"

namespace muster {
namespace {

struct Door {
    std::string_view listen_key;
    const ListenAddress& address;
    std::string_view secret_key;
    const Secrets& secret;
};

}  // namespace

std::vector<std::string> problems_of_serving(const Config& config) {
    const bool open = config.players.credentials == Credentials::open;
    const bool players_off_loopback = !config.listen.players.host.is_loopback();
    const Door doors[] = {
        {"listen.servers", config.listen.servers, "auth.server_token", config.auth.server_token},
        {"listen.matchmakers", config.listen.matchmakers, "auth.matchmaker_token", config.auth.matchmaker_token},
        {"listen.players", config.listen.players, "auth.player_key", config.auth.player_key},
        {"listen.http", config.listen.http, "auth.admin_token", config.auth.admin_token},
    };

    std::vector<std::string> problems;
    for (const Door& door : doors) {
        if (door.address.host.is_loopback() || door.secret.is_set()) continue;
        if (&door.secret == &config.auth.player_key && open) continue;
        const ConfigKey* key = find_key_by_full_name(door.secret_key);
        MUSTER_CHECK(key != nullptr, "doors speak of keys that exist");
        problems.push_back(fmt::format("{} is not set, but {} = {} is not on loopback; set {} or {}_file",
                                       door.secret_key, door.listen_key, door.address.to_string(),
                                       key->environment_variable(), door.secret_key));
    }
    if (open && players_off_loopback)
        problems.push_back(
            fmt::format("players.credentials = \"open\" is for loopback only, but listen.players = {} is not on it",
                        config.listen.players.to_string()));
    return problems;
}

std::vector<std::string> warnings_of_serving(const Config& config) {
    if (config.players.credentials == Credentials::open || config.auth.player_key.is_set()) return {};
    return {"auth.player_key is not set: credentials act as open, any player may log in under any name"};
}

Credentials effective_credentials(const Config& config) {
    return config.auth.player_key.is_set() ? config.players.credentials : Credentials::open;
}

}  // namespace muster
