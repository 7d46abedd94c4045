// A session as text and back, for an agent that takes over from another (G-7).
#include <chrono>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "agones/session.h"

namespace muster::agones {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

json::object to_object(const TextMap& map) {
    json::object out;
    for (const auto& [key, value] : map) out[key] = value;
    return out;
}

json::array to_array(const std::vector<std::string>& values) {
    return json::array(values.begin(), values.end());
}

TextMap text_map(const json::value& value) {
    TextMap out;
    for (const auto& [key, each] : value.as_object()) out.emplace(key, std::string_view(each.as_string()));
    return out;
}

std::vector<std::string> texts(const json::value& value) {
    std::vector<std::string> out;
    for (const json::value& each : value.as_array()) out.emplace_back(std::string_view(each.as_string()));
    return out;
}

std::string text(const json::object& object, std::string_view name) {
    return std::string(object.at(name).as_string());
}

std::int64_t number(const json::object& object, std::string_view name) {
    return object.at(name).to_number<std::int64_t>();
}

}  // namespace

std::string Session::saved() const {
    json::object counters;
    for (const auto& [name, counter] : object_.counters)
        counters[name] = {{"count", counter.count}, {"capacity", counter.capacity}};
    json::object lists;
    for (const auto& [name, list] : object_.lists)
        lists[name] = {{"capacity", list.capacity}, {"values", to_array(list.values)}};

    json::object out{{"uid", object_.uid},
                     {"state", to_string(object_.state)},
                     {"version", object_.version},
                     {"created_at", object_.created_at},
                     {"deleted_at", object_.deleted_at},
                     {"annotations", to_object(object_.annotations)},
                     {"labels", to_object(object_.labels)},
                     {"counters", std::move(counters)},
                     {"lists", std::move(lists)}};
    if (object_.players)
        out["players"] = {{"capacity", object_.players->capacity}, {"ids", to_array(object_.players->ids)}};
    if (match_)
        out["match"] = {{"lobby", match_->lobby.value},
                        {"game_type", match_->game_type},
                        {"game_mode", match_->game_mode},
                        {"token", match_->token}};
    // As a date: the monotonic clock may begin anew with the machine.
    if (reserved_until_) out["reserved_until"] = unix_seconds(*reserved_until_);
    out["pings_singly"] = pings_singly_;
    if (abort_due_) out["aborted"] = true;
    return json::serialize(out);
}

std::optional<Session> Session::restored(Process process, Time now, UnixMs wall, std::string_view saved) {
    try {
        const json::value parsed = json::parse(saved);
        const json::object& in = parsed.as_object();
        Session session(std::move(process), Life{now, wall, text(in, "uid")});
        GameServer& object = session.object_;
        const auto state = state_named(text(in, "state"));
        if (!state) return std::nullopt;
        object.state = *state;
        object.version = number(in, "version");
        object.created_at = number(in, "created_at");
        object.deleted_at = number(in, "deleted_at");
        object.annotations = text_map(in.at("annotations"));
        object.labels = text_map(in.at("labels"));
        for (const auto& [name, each] : in.at("counters").as_object())
            object.counters[std::string(name)] = {number(each.as_object(), "count"),
                                                  number(each.as_object(), "capacity")};
        for (const auto& [name, each] : in.at("lists").as_object())
            object.lists[std::string(name)] = {number(each.as_object(), "capacity"),
                                               texts(each.as_object().at("values"))};
        if (const auto* players = in.if_contains("players"); players && object.players)
            object.players = Players{number(players->as_object(), "capacity"), texts(players->as_object().at("ids"))};
        if (const auto* match = in.if_contains("match")) {
            const json::object& of = match->as_object();
            session.match_ = SdkMatch{LobbyId{static_cast<std::int32_t>(number(of, "lobby"))},
                                      static_cast<std::int8_t>(number(of, "game_type")),
                                      static_cast<std::int8_t>(number(of, "game_mode")), text(of, "token")};
        }
        if (in.contains("reserved_until"))
            session.reserved_until_ =
                now + std::max(milliseconds(0), milliseconds(number(in, "reserved_until") * 1000 - wall.value));
        if (in.contains("aborted")) session.abort_due_ = now + session.process_.abort_grace;
        // Unless it is known to ping by single requests, it may have a stream: its first ping may not be written down.
        const auto* singly = in.if_contains("pings_singly");
        session.pings_singly_ = singly && singly->as_bool();
        if (session.health_due_ && !session.pings_singly_) {
            session.health_due_.reset();
            session.pings_lost_ = true;
            session.lose_touch(now);
        }
        session.present_ = std::make_shared<const GameServer>(object);
        return session;
    } catch (const std::exception&) {
        return std::nullopt;  // not what saved() wrote
    }
}

}  // namespace muster::agones
