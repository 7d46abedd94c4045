#include "agones/answer_json.h"

#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace muster::agones {
namespace {

namespace json = boost::json;

json::array to_array(const std::vector<std::string>& values) {
    return json::array(values.begin(), values.end());
}

json::object to_object(const TextMap& map) {
    json::object out;
    for (const auto& [key, value] : map) out[key] = value;
    return out;
}

json::object to_object(const GameServer& server) {
    json::object counters;
    for (const auto& [name, counter] : server.counters)
        counters[name] = {{"count", std::to_string(counter.count)}, {"capacity", std::to_string(counter.capacity)}};
    json::object lists;
    for (const auto& [name, list] : server.lists)
        lists[name] = {{"capacity", std::to_string(list.capacity)}, {"values", to_array(list.values)}};
    json::value players = nullptr;
    if (server.players)
        players = {{"count", std::to_string(server.players->ids.size())},
                   {"capacity", std::to_string(server.players->capacity)},
                   {"ids", to_array(server.players->ids)}};
    json::array addresses;
    if (!server.address.empty()) addresses.push_back(json::object{{"type", "ExternalIP"}, {"address", server.address}});

    json::object out;
    out["object_meta"] = json::object{{"name", server.name},
                                      {"namespace", server.namespace_name},
                                      {"uid", server.uid},
                                      {"resource_version", std::to_string(server.version)},
                                      {"generation", std::to_string(server.version)},
                                      {"creation_timestamp", std::to_string(server.created_at)},
                                      {"deletion_timestamp", std::to_string(server.deleted_at)},
                                      {"annotations", to_object(server.annotations)},
                                      {"labels", to_object(server.labels)}};
    out["spec"] =
        json::object{{"health", json::object{{"disabled", server.health.disabled},
                                             {"period_seconds", server.health.period_seconds},
                                             {"failure_threshold", server.health.failure_threshold},
                                             {"initial_delay_seconds", server.health.initial_delay_seconds}}}};
    json::array ports;
    ports.push_back(json::object{{"name", "default"}, {"port", server.port}});
    out["status"] = json::object{{"state", to_string(server.state)},  {"address", server.address},
                                 {"addresses", std::move(addresses)}, {"ports", std::move(ports)},
                                 {"players", std::move(players)},     {"counters", std::move(counters)},
                                 {"lists", std::move(lists)}};
    return out;
}

json::object to_object(const Empty&) {
    return {};
}
json::object to_object(const Flag& flag) {
    return {{"bool", flag.value}};
}
json::object to_object(const Count& count) {
    return {{"count", std::to_string(count.value)}};
}
json::object to_object(const PlayerIds& ids) {
    return {{"list", to_array(ids.values)}};
}
json::object to_object(const NamedCounter& named) {
    return {{"name", named.name},
            {"count", std::to_string(named.counter.count)},
            {"capacity", std::to_string(named.counter.capacity)}};
}
json::object to_object(const NamedList& named) {
    return {{"name", named.name},
            {"capacity", std::to_string(named.list.capacity)},
            {"values", to_array(named.list.values)}};
}
json::object to_object(const SharedGameServer& server) {
    return to_object(*server);
}

}  // namespace

std::string to_json(const Answer& answer) {
    return std::visit([](const auto& value) { return json::serialize(to_object(value)); }, answer);
}

std::string to_json(const Refused& refused) {
    return json::serialize(json::object{
        {"code", static_cast<int>(refused.code)}, {"message", refused.message}, {"details", json::array{}}});
}

std::string watch_json(const GameServer& server) {
    return json::serialize(json::object{{"result", to_object(server)}});
}

}  // namespace muster::agones
