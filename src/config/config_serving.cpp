#include "config/config_serving.h"

#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/check.h"
#include "config/config_keys.h"

namespace muster {
namespace {

struct Door {
    std::string_view port;
    const ListenAddress& address;
    std::string_view secret_key;
    const Secrets& secret;
};

void add_tls_problems(const Config::Tls& tls, std::vector<std::string>& problems) {
    const std::pair<std::string_view, const std::string&> files[] = {{"tls.certificate_file", tls.certificate_file},
                                                                     {"tls.key_file", tls.key_file}};
    for (const auto& [key, file] : files) {
        if (!tls.ports.empty() && file.empty())
            problems.push_back(fmt::format("{} is not set, but tls.ports names ports; `muster certs` makes one", key));
    }
    for (const auto& [port, own] : tls.own()) {
        if (own.certificate_file.empty() != own.key_file.empty())
            problems.push_back(fmt::format("tls.{0}_certificate_file and tls.{0}_key_file belong together", port));
    }
}

// The node port is there only with a store that several nodes share.
void add_node_problems(const Config& config, std::vector<std::string>& problems) {
    const ListenAddress& listen = config.cluster.listen;
    if (config.tls.at("nodes") && config.tls.client_ca_file.empty())
        problems.emplace_back(
            "tls.client_ca_file is not set, but tls.ports names nodes: they prove each other who they are");
    if (config.store.url.empty() || listen.host.is_loopback()) return;
    if (!config.tls.at("nodes") && !config.tls.insecure)
        problems.push_back(fmt::format(
            "tls.insecure is false, but cluster.listen = {} is not on loopback and has no TLS; add \"nodes\" to "
            "tls.ports, or set tls.insecure = true where nobody else can read the traffic",
            listen.to_string()));
    if (!config.auth.node_token.is_set() && !config.tls.proves_peers_at("nodes"))
        problems.push_back(
            fmt::format("auth.node_token is not set, but cluster.listen = {} is not on loopback; set "
                        "MUSTER_AUTH_NODE_TOKEN or auth.node_token_file",
                        listen.to_string()));
    if (listen.host.is_unspecified() && config.cluster.advertise.empty())
        problems.push_back(fmt::format(
            "cluster.advertise is not set, but cluster.listen = {} names no address that other nodes could reach",
            listen.to_string()));
}

}  // namespace

std::vector<std::string> problems_of_serving(const Config& config) {
    const bool open = config.players.credentials == Credentials::open;
    const bool players_off_loopback = !config.listen.players.host.is_loopback();
    const Door doors[] = {
        {"servers", config.listen.servers, "auth.server_token", config.auth.server_token},
        {"matchmakers", config.listen.matchmakers, "auth.matchmaker_token", config.auth.matchmaker_token},
        {"players", config.listen.players, "auth.player_key", config.auth.player_key},
        {"http", config.listen.http, "auth.admin_token", config.auth.admin_token},
    };

    std::vector<std::string> problems;
    add_tls_problems(config.tls, problems);
    for (const Door& door : doors) {
        if (door.address.host.is_loopback()) continue;
        if (!config.tls.at(door.port) && !config.tls.insecure)
            problems.push_back(fmt::format(
                "tls.insecure is false, but listen.{} = {} is not on loopback and has no TLS; add \"{}\" to "
                "tls.ports, or set tls.insecure = true where nobody else can read the traffic",
                door.port, door.address.to_string(), door.port));
        if (door.secret.is_set()) continue;
        if (&door.secret == &config.auth.player_key && open) continue;
        // A certificate says more than a token that all share.
        const bool asks_for_certificates = door.port == "servers" || door.port == "matchmakers";
        if (asks_for_certificates && config.tls.proves_peers_at(door.port)) continue;
        const ConfigKey* key = find_key_by_full_name(door.secret_key);
        MUSTER_CHECK(key != nullptr, "doors speak of keys that exist");
        problems.push_back(fmt::format("{} is not set, but listen.{} = {} is not on loopback; set {} or {}_file",
                                       door.secret_key, door.port, door.address.to_string(),
                                       key->environment_variable(), door.secret_key));
    }
    add_node_problems(config, problems);
    if (open && players_off_loopback)
        problems.push_back(
            fmt::format("players.credentials = \"open\" is for loopback only, but listen.players = {} is not on it",
                        config.listen.players.to_string()));
    return problems;
}

std::vector<std::string> warnings_of_serving(const Config& config) {
    if (config.players.credentials == Credentials::open || config.auth.player_key.is_set()) return {};
    return {
        "auth.player_key is not set: players can log in under any name without a credential; set "
        "MUSTER_AUTH_PLAYER_KEY or auth.player_key_file to require one"};
}

Credentials effective_credentials(const Config& config) {
    return config.auth.player_key.is_set() ? config.players.credentials : Credentials::open;
}

}  // namespace muster
