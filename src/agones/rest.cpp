#include "agones/rest.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <fmt/core.h>

namespace muster::agones {
namespace {

namespace json = boost::json;

// The body as an object, read field by field. Remembers the first thing that is wrong.
class Fields {
public:
    explicit Fields(std::string_view body) {
        if (body.empty()) return;
        boost::system::error_code error;
        json::value value = json::parse(body, error);
        if (error)
            wrong("the body is not JSON");
        else if (!value.is_object())
            wrong("the body is not a JSON object");
        else
            object_ = std::move(value.get_object());
    }

    std::string text(std::string_view name) {
        const json::value* value = find(name);
        if (!value) return {};
        if (value->is_string()) return std::string(value->get_string());
        wrong(fmt::format("{} is not a string", name));
        return {};
    }

    std::int64_t number(std::string_view name) { return optional_number(name).value_or(0); }

    std::optional<std::int64_t> optional_number(std::string_view name) {
        const json::value* value = find(name);
        if (!value) return std::nullopt;
        if (const auto found = to_number(*value)) return found;
        wrong(fmt::format("{} is not an integer", name));
        return std::nullopt;
    }

    std::vector<std::string> texts(std::string_view name) {
        std::vector<std::string> out;
        const json::value* value = find(name);
        if (!value) return out;
        if (!value->is_array()) {
            wrong(fmt::format("{} is not a list", name));
            return out;
        }
        for (const json::value& each : value->get_array()) {
            if (!each.is_string()) {
                wrong(fmt::format("{} is not a list of strings", name));
                return out;
            }
            out.emplace_back(each.get_string());
        }
        return out;
    }

    bool has(std::string_view name) const { return object_.if_contains(name) != nullptr; }

    // What is wrong, or the call.
    RestCall take(Call call) {
        if (error_) return Failure<Refused>(Refused{Code::invalid_argument, *error_});
        return std::variant<Call, WatchGameServer>(std::move(call));
    }

private:
    // Null is a field that was not set.
    const json::value* find(std::string_view name) const {
        const json::value* value = object_.if_contains(name);
        return value && !value->is_null() ? value : nullptr;
    }

    static std::optional<std::int64_t> to_number(const json::value& value) {
        if (value.is_int64()) return value.get_int64();
        if (value.is_double()) {
            const double real = value.get_double();
            // The greatest double below 2^63; beyond it the conversion has no meaning.
            if (std::trunc(real) != real || std::abs(real) > 9223372036854774784.0) return std::nullopt;
            return static_cast<std::int64_t>(real);
        }
        if (!value.is_string()) return std::nullopt;
        const std::string_view text = value.get_string();
        std::int64_t number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
        return number;
    }

    void wrong(std::string text) {
        if (!error_) error_ = std::move(text);
    }

    json::object object_;
    std::optional<std::string> error_;
};

std::optional<std::string> percent_decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        unsigned value = 0;
        if (i + 2 >= text.size()) return std::nullopt;
        const auto [end, error] = std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16);
        if (error != std::errc{} || end != text.data() + i + 3) return std::nullopt;
        out += static_cast<char>(value);
        i += 2;
    }
    return out;
}

// The update mask of a list: from the query, or else what the body names, as Agones' gateway does.
std::vector<std::string> list_mask(std::string_view query, const Fields& fields) {
    std::vector<std::string> mask;
    while (!query.empty()) {
        const std::string_view pair = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(query.size(), pair.size() + 1));
        const std::size_t equals = pair.find('=');
        const std::string_view name = pair.substr(0, equals);
        if (equals == std::string_view::npos || (name != "updateMask" && name != "update_mask")) continue;
        const std::string paths = percent_decoded(pair.substr(equals + 1)).value_or("");
        for (std::size_t begin = 0; begin < paths.size();) {
            const std::size_t end = std::min(paths.find(',', begin), paths.size());
            mask.push_back(paths.substr(begin, end - begin));
            begin = end + 1;
        }
    }
    if (!mask.empty()) return mask;
    for (const char* each : {"capacity", "values"})
        if (fields.has(each)) mask.emplace_back(each);
    return mask;
}

// What a route's decoder gets.
struct Asked {
    std::string name;  // what stood for {name} in the path
    std::string_view query;
    std::string_view body;
};

struct Route {
    std::string_view method;
    std::string_view begin;  // the path, up to {name}
    bool named;
    std::string_view end;  // the path after {name}
    RestCall (*decode)(const Asked&);
};

template <class Plain>
RestCall plain(const Asked& asked) {
    return Fields(asked.body).take(Plain{});
}

template <class Plain>
RestCall get(const Asked&) {
    return std::variant<Call, WatchGameServer>(Call{Plain{}});
}

RestCall health(const Asked& asked) {
    if (asked.body.empty()) return Failure<Refused>(Refused{Code::invalid_argument, "EOF"});
    return Fields(asked.body).take(HealthPing{});
}

RestCall watch(const Asked&) {
    return std::variant<Call, WatchGameServer>(WatchGameServer{});
}

template <class KeyValue>
RestCall key_value(const Asked& asked) {
    Fields fields(asked.body);
    KeyValue call{fields.text("key"), fields.text("value")};
    return fields.take(std::move(call));
}

RestCall reserve(const Asked& asked) {
    Fields fields(asked.body);
    Reserve call{fields.number("seconds")};
    return fields.take(call);
}

template <class PlayerCall>
RestCall player(const Asked& asked) {
    Fields fields(asked.body);
    PlayerCall call{fields.text("playerID")};
    return fields.take(std::move(call));
}

RestCall set_player_capacity(const Asked& asked) {
    Fields fields(asked.body);
    SetPlayerCapacity call{fields.number("count")};
    return fields.take(call);
}

template <class Named>
RestCall get_named(const Asked& asked) {
    return std::variant<Call, WatchGameServer>(Call{Named{asked.name}});
}

RestCall update_counter(const Asked& asked) {
    Fields fields(asked.body);
    UpdateCounter call{asked.name, fields.optional_number("count"), fields.optional_number("capacity"),
                       fields.number("countDiff")};
    return fields.take(std::move(call));
}

RestCall update_list(const Asked& asked) {
    Fields fields(asked.body);
    UpdateList call{asked.name, List{fields.number("capacity"), fields.texts("values")},
                    list_mask(asked.query, fields)};
    return fields.take(std::move(call));
}

template <class ValueCall>
RestCall list_value(const Asked& asked) {
    Fields fields(asked.body);
    ValueCall call{asked.name, fields.text("value")};
    return fields.take(std::move(call));
}

constexpr Route routes[] = {
    {"POST", "/ready", false, "", plain<Ready>},
    {"POST", "/allocate", false, "", plain<Allocate>},
    {"POST", "/shutdown", false, "", plain<Shutdown>},
    {"POST", "/health", false, "", health},
    {"GET", "/gameserver", false, "", get<GetGameServer>},
    {"GET", "/watch/gameserver", false, "", watch},
    {"PUT", "/metadata/label", false, "", key_value<SetLabel>},
    {"PUT", "/metadata/annotation", false, "", key_value<SetAnnotation>},
    {"POST", "/reserve", false, "", reserve},
    {"POST", "/alpha/player/connect", false, "", player<PlayerConnect>},
    {"POST", "/alpha/player/disconnect", false, "", player<PlayerDisconnect>},
    {"PUT", "/alpha/player/capacity", false, "", set_player_capacity},
    {"GET", "/alpha/player/capacity", false, "", get<GetPlayerCapacity>},
    {"GET", "/alpha/player/count", false, "", get<GetPlayerCount>},
    {"GET", "/alpha/player/connected", false, "", get<GetConnectedPlayers>},
    {"GET", "/alpha/player/connected/", true, "", get_named<IsPlayerConnected>},
    {"GET", "/v1beta1/counters/", true, "", get_named<GetCounter>},
    {"PATCH", "/v1beta1/counters/", true, "", update_counter},
    {"POST", "/v1beta1/lists/", true, ":addValue", list_value<AddListValue>},
    {"POST", "/v1beta1/lists/", true, ":removeValue", list_value<RemoveListValue>},
    {"GET", "/v1beta1/lists/", true, "", get_named<GetList>},
    {"PATCH", "/v1beta1/lists/", true, "", update_list},
};

// What stands for {name}; none when the path is not the route's.
std::optional<std::string> matched(const Route& route, std::string_view path) {
    if (!route.named) return path == route.begin ? std::optional<std::string>("") : std::nullopt;
    if (!path.starts_with(route.begin) || !path.ends_with(route.end)) return std::nullopt;
    path.remove_prefix(route.begin.size());
    if (path.size() <= route.end.size()) return std::nullopt;
    path.remove_suffix(route.end.size());
    if (path.find('/') != std::string_view::npos) return std::nullopt;
    return percent_decoded(path);
}

}  // namespace

RestCall rest_call(const RestRequest& request) {
    bool known_path = false;
    for (const Route& route : routes) {
        auto name = matched(route, request.path);
        if (!name) continue;
        known_path = true;
        if (route.method == request.method) return route.decode(Asked{std::move(*name), request.query, request.body});
    }
    if (known_path) return Failure<Refused>(Refused{Code::unimplemented, "Method Not Allowed"});
    return Failure<Refused>(Refused{Code::not_found, "Not Found"});
}

unsigned http_status(Code code) {
    switch (code) {
        case Code::invalid_argument:
            return 400;
        case Code::not_found:
            return 404;
        case Code::resource_exhausted:
            return 429;
        case Code::unimplemented:
            return 501;
        case Code::unavailable:
            return 503;
        case Code::unknown:
            break;
    }
    return 500;
}

}  // namespace muster::agones
