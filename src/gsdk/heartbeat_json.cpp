#include "gsdk/heartbeat_json.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace muster::gsdk {
namespace {

namespace json = boost::json;

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& each : out) each = static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
    return out;
}

std::string_view text_of(const json::value& value) {
    return value.is_string() ? std::string_view(value.get_string()) : std::string_view();
}

std::string_view name_of(Operation operation) {
    switch (operation) {
        case Operation::active:
            return "Active";
        case Operation::terminate:
            return "Terminate";
        case Operation::carry_on:
            break;
    }
    return "Continue";
}

}  // namespace

std::optional<Heartbeat> heartbeat_of(std::string_view body) {
    boost::system::error_code error;
    const json::value value = json::parse(body, error);
    if (error || !value.is_object()) return std::nullopt;
    Heartbeat beat;
    for (const auto& [key, each] : value.get_object()) {
        const std::string name = lower(key);
        if (name == "currentgamestate") beat.state = game_state_named(text_of(each));
        if (name == "currentgamehealth") beat.healthy = lower(text_of(each)) != "unhealthy";
        if (name == "currentplayers" && each.is_array()) beat.players = each.get_array().size();
    }
    return beat;
}

std::string to_json(const HeartbeatAnswer& answer) {
    json::object out{{"operation", name_of(answer.operation)}, {"nextHeartbeatIntervalMs", heartbeat_interval_ms}};
    if (answer.config) {
        json::object metadata{{"muster.dev/lobby", std::to_string(answer.config->lobby.value)},
                              {"muster.dev/game-type", std::to_string(answer.config->game_type)},
                              {"muster.dev/game-mode", std::to_string(answer.config->game_mode)}};
        json::array players;
        for (const AccountId each : answer.config->initial_players)
            players.push_back(json::string(std::to_string(each.value)));
        out["sessionConfig"] = json::object{{"sessionId", answer.config->session_id},
                                            {"sessionCookie", answer.config->session_cookie},
                                            {"initialPlayers", std::move(players)},
                                            {"metadata", std::move(metadata)}};
    }
    return json::serialize(out);
}

std::string to_json(const ConfigFile& file) {
    const std::string port = std::to_string(file.port);
    json::array ports;
    ports.push_back(
        json::object{{"name", "default"}, {"serverListeningPort", file.port}, {"clientConnectionPort", file.port}});
    const json::object out{{"heartbeatEndpoint", file.heartbeat_endpoint},
                           {"sessionHostId", file.session_host_id},
                           {"vmId", file.vm_id},
                           {"logFolder", file.log_folder},
                           {"sharedContentFolder", file.shared_folder},
                           {"certificateFolder", file.certificate_folder},
                           {"gameCertificates", json::object{}},
                           {"buildMetadata", json::object{}},
                           {"gamePorts", json::object{{"default", port}}},
                           {"publicIpV4Address", file.address},
                           {"fullyQualifiedDomainName", file.domain_name},
                           {"serverInstanceNumber", file.instance_number},
                           // Clients read the misspelt key; the right one stands beside it.
                           {"gameServerConnectionInfo", json::object{{"publicIpV4Adress", file.address},
                                                                     {"publicIpV4Address", file.address},
                                                                     {"gamePortsConfiguration", std::move(ports)}}}};
    return json::serialize(out);
}

}  // namespace muster::gsdk
