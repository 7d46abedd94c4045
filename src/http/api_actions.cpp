// What an operator can do, and a matchmaker.
#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include "base/json_fields.h"
#include "http/api.h"
#include "http/json_body.h"
#include "http/page_query.h"
#include "http/row_json.h"
#include "protocol/error_texts.h"
#include "protocol/text.h"

namespace muster {
namespace {

template <class Number>
Number narrow(std::int64_t value) {
    return static_cast<Number>(value);
}

// The number in the path; none when it cannot be an id.
template <class Id>
std::optional<Id> id_in_path(const HttpRequest& request, std::string_view name) {
    const auto value = parse_number(request.path_value(name));
    if (!value || *value < 1 || *value > std::numeric_limits<typename Id::number_type>::max()) return std::nullopt;
    return Id(narrow<typename Id::number_type>(*value));
}

// A matchmaker reads the text; a program on HTTP reads the status, too.
unsigned status_of(Refusal refusal) {
    switch (refusal) {
        case Refusal::region_not_supported:
        case Refusal::invalid_player_count:
            return 400;
        case Refusal::invalid_match_lobby_id:
        case Refusal::allocation_cancelled:
            return 409;
        default:
            return 503;
    }
}

constexpr std::size_t drain_many_max = 5'000;
constexpr std::size_t drain_addresses_max = 256;  // each is compared with each server
constexpr std::size_t address_bytes_max = 64;
constexpr std::size_t region_name_bytes_max = 32;
constexpr std::size_t accounts_max = 127;  // as many as 0x2008 can list

// 10.0.0.7, 10.0.0.7:7777, ::1, [::1] or [::1]:7777.
std::optional<action::ServerAddress> address_of(std::string_view text) {
    if (const auto ip = IpAddress::parse(text)) return action::ServerAddress{*ip, std::nullopt};
    const bool bracketed = text.starts_with('[');
    const std::size_t end = bracketed ? text.find(']') : text.rfind(':');
    if (end == std::string_view::npos) return std::nullopt;
    const auto ip = IpAddress::parse(bracketed ? text.substr(1, end - 1) : text.substr(0, end));
    const std::string_view rest = text.substr(bracketed ? end + 1 : end);
    if (!ip || ip->is_v4() == bracketed) return std::nullopt;
    if (rest.empty()) return action::ServerAddress{*ip, std::nullopt};
    const auto port = parse_number(rest.substr(1));
    if (rest[0] != ':' || !port || *port < 1 || *port > std::numeric_limits<std::uint16_t>::max()) return std::nullopt;
    return action::ServerAddress{*ip, narrow<std::uint16_t>(*port)};
}

}  // namespace

void Api::add_action_routes(Routes& routes) {
    add_action(routes, "POST", "/servers/{id}/drain", [this](HttpRequest&& request, HttpResponder&& responder) {
        drain(std::move(request), std::move(responder));
    });
    add_action(routes, "POST", "/servers/{id}/remove", [this](HttpRequest&& request, HttpResponder&& responder) {
        remove(std::move(request), std::move(responder));
    });
    add_action(routes, "POST", "/servers/{id}/abort", [this](HttpRequest&& request, HttpResponder&& responder) {
        abort_all(std::move(request), std::move(responder));
    });
    add_action(routes, "POST", "/regions/{id}/drain", [this](HttpRequest&& request, HttpResponder&& responder) {
        drain_region(std::move(request), std::move(responder));
    });
    add_action(routes, "POST", "/servers/drain", [this](HttpRequest&& request, HttpResponder&& responder) {
        drain_many(std::move(request), std::move(responder));
    });
    add_matchmaker_action(
        routes, "POST", "/matches/{lobby}/abort",
        [this](HttpRequest&& request, HttpResponder&& responder) { abort(std::move(request), std::move(responder)); });
    add_matchmaker_action(routes, "PUT", "/matches/{lobby}/players",
                          [this](HttpRequest&& request, HttpResponder&& responder) {
                              set_players(std::move(request), std::move(responder));
                          });
    add_action(routes, "POST", "/players/{id}/kick", [this](HttpRequest&& request, HttpResponder&& responder) {
        kick(std::move(request), std::move(responder));
    });
    add_action(routes, "PUT", "/clock", [this](HttpRequest&& request, HttpResponder&& responder) {
        set_clock(std::move(request), std::move(responder));
    });
    add_matchmaker_action(routes, "POST", "/matches", [this](HttpRequest&& request, HttpResponder&& responder) {
        allocate(std::move(request), std::move(responder));
    });
}

void Api::drain(HttpRequest&& request, HttpResponder&& responder) {
    const auto server = id_in_path<ServerId>(request, "id");
    if (!server) return responder.send(http_error(400, "A server's id is a positive number"));
    JsonBody body(request.body);
    const bool draining = body.flag("draining");
    std::string reason = body.optional_text("reason", ReasonText::size_max);
    if (const auto error = body.error()) return responder.send(http_error(400, *error));
    actions_.act(action::Drain{*server, draining, std::move(reason)}, request, std::move(responder), action_limit,
                 [server = *server, draining](const ActionOutcome& outcome) {
                     if (outcome.kind == ActionOutcome::Kind::not_found) return http_error(404, "No such server");
                     JsonFields out;
                     out.integer("id", server.value);
                     out.flag("draining", draining);
                     return json_answer(out.finish() + "\n");
                 });
}

void Api::drain_many(HttpRequest&& request, HttpResponder&& responder) {
    JsonBody body(request.body);
    action::DrainMany wish;
    wish.draining = body.flag("draining");
    wish.reason = body.optional_text("reason", ReasonText::size_max);
    const auto ids = body.optional_integers("servers", 1, std::numeric_limits<std::int32_t>::max(), drain_many_max);
    const auto addresses = body.optional_texts("addresses", address_bytes_max, drain_addresses_max);
    if (const auto error = body.error()) return responder.send(http_error(400, *error));
    if (ids.empty() && addresses.empty())
        return responder.send(http_error(400, "Give servers (ids), or addresses such as 10.0.0.7 or 10.0.0.7:7777"));
    for (const std::int64_t id : ids) wish.servers.emplace_back(narrow<std::int32_t>(id));
    for (const std::string& text : addresses) {
        const auto address = address_of(text);
        if (!address)
            return responder.send(
                http_error(400, "An address is an IP, or one with a port: 10.0.0.7:7777, [::1]:7777"));
        wish.addresses.push_back(*address);
    }
    const bool draining = wish.draining;
    actions_.act(std::move(wish), request, std::move(responder), action_limit,
                 [draining](const ActionOutcome& outcome) {
                     if (outcome.count == 0) return http_error(404, "None of these servers is registered");
                     JsonFields out;
                     out.flag("draining", draining);
                     out.integer("servers", outcome.count);
                     out.begin_list("missing");
                     for (const std::int64_t id : outcome.missing) out.integer({}, id);
                     out.end_list();
                     return json_answer(out.finish() + "\n");
                 });
}

void Api::drain_region(HttpRequest&& request, HttpResponder&& responder) {
    action::RegionWish region;
    const auto number = parse_number(request.path_value("id"));
    if (number && (*number < 0 || *number > std::numeric_limits<std::int8_t>::max()))
        return responder.send(http_error(400, "A region is a name, or a number from 0 to 127"));
    if (number) region.id = RegionId(narrow<std::int8_t>(*number));
    if (!number) region.name = request.path_value("id");
    JsonBody body(request.body);
    const bool draining = body.flag("draining");
    std::string reason = body.optional_text("reason", ReasonText::size_max);
    if (const auto error = body.error()) return responder.send(http_error(400, *error));
    actions_.act(action::DrainRegion{region, draining, std::move(reason)}, request, std::move(responder), action_limit,
                 [draining](const ActionOutcome& outcome) {
                     if (outcome.kind == ActionOutcome::Kind::not_found) return http_error(404, "No such region");
                     JsonFields out;
                     out.integer("region", outcome.region_id.value);
                     out.flag("draining", draining);
                     out.integer("servers", outcome.count);
                     return json_answer(out.finish() + "\n");
                 });
}

void Api::remove(HttpRequest&& request, HttpResponder&& responder) {
    const auto server = id_in_path<ServerId>(request, "id");
    if (!server) return responder.send(http_error(400, "A server's id is a positive number"));
    JsonBody body(request.body);
    std::string reason = body.optional_text("reason", ReasonText::size_max);
    if (const auto error = body.error()) return responder.send(http_error(400, *error));
    actions_.act(action::Remove{*server, std::move(reason)}, request, std::move(responder), action_limit,
                 [server = *server](const ActionOutcome& outcome) {
                     if (outcome.kind == ActionOutcome::Kind::not_found) return http_error(404, "No such server");
                     JsonFields out;
                     out.integer("id", server.value);
                     out.flag("removed", true);
                     return json_answer(out.finish() + "\n");
                 });
}

void Api::abort_all(HttpRequest&& request, HttpResponder&& responder) {
    const auto server = id_in_path<ServerId>(request, "id");
    if (!server) return responder.send(http_error(400, "A server's id is a positive number"));
    JsonBody body(request.body);
    std::string reason = body.optional_text("reason", ReasonText::size_max);
    if (const auto error = body.error()) return responder.send(http_error(400, *error));
    actions_.act(action::AbortAll{*server, std::move(reason)}, request, std::move(responder), action_limit,
                 [server = *server](const ActionOutcome& outcome) {
                     if (outcome.kind == ActionOutcome::Kind::not_found) return http_error(404, "No such server");
                     JsonFields out;
                     out.integer("id", server.value);
                     out.integer("aborted", outcome.count);
                     return json_answer(out.finish() + "\n");
                 });
}

void Api::abort(HttpRequest&& request, HttpResponder&& responder) {
    const auto lobby = id_in_path<LobbyId>(request, "lobby");
    if (!lobby) return responder.send(http_error(400, "A lobby's id is a positive number"));
    JsonBody body(request.body);
    std::string reason = body.optional_text("reason", ReasonText::size_max);
    if (const auto error = body.error()) return responder.send(http_error(400, *error));
    if (parts_.over.find(*lobby)) return responder.send(http_error(409, "The match is over already"));
    actions_.act(action::Abort{*lobby, std::move(reason)}, request, std::move(responder), action_limit,
                 [lobby = *lobby, role = request.role](const ActionOutcome& outcome) {
                     if (outcome.kind == ActionOutcome::Kind::not_found)
                         return http_error(
                             404, role == Role::matchmaker ? "No such match of this matchmaker" : "No such match");
                     JsonFields out;
                     out.integer("lobby_id", lobby.value);
                     out.text("state", "aborted");
                     return json_answer(out.finish() + "\n");
                 });
}

void Api::set_players(HttpRequest&& request, HttpResponder&& responder) {
    const auto lobby = id_in_path<LobbyId>(request, "lobby");
    if (!lobby) return responder.send(http_error(400, "A lobby's id is a positive number"));
    JsonBody body(request.body);
    const bool given = body.given("accounts");
    const auto accounts = body.optional_integers("accounts", 1, std::numeric_limits<std::int32_t>::max(), accounts_max);
    if (const auto error = body.error()) return responder.send(http_error(400, *error));
    if (!given) return responder.send(http_error(400, "accounts is missing; it must be a list of account ids"));
    action::Players wish{*lobby, {}};
    for (const std::int64_t account : accounts) wish.accounts.emplace_back(narrow<std::int32_t>(account));
    actions_.act(std::move(wish), request, std::move(responder), allocation_limit,
                 [lobby = *lobby, count = accounts.size()](const ActionOutcome& outcome) {
                     if (outcome.kind != ActionOutcome::Kind::done)
                         return http_error(status_of(outcome.refusal), text(outcome.refusal));
                     JsonFields out;
                     out.integer("lobby_id", lobby.value);
                     out.integer("accounts", static_cast<std::int64_t>(count));
                     return json_answer(out.finish() + "\n");
                 });
}

void Api::kick(HttpRequest&& request, HttpResponder&& responder) {
    const auto player = id_in_path<AccountId>(request, "id");
    if (!player) return responder.send(http_error(400, "A player's id is a positive number"));
    JsonBody body(request.body);
    std::string reason = body.optional_text("reason", ReasonText::size_max);
    if (const auto error = body.error()) return responder.send(http_error(400, *error));
    actions_.act(action::Kick{*player, std::move(reason)}, request, std::move(responder), action_limit,
                 [player = *player](const ActionOutcome& outcome) {
                     if (outcome.kind == ActionOutcome::Kind::not_found) return http_error(404, "No such player");
                     JsonFields out;
                     out.integer("id", player.value);
                     out.flag("kicked", true);
                     return json_answer(out.finish() + "\n");
                 });
}

// The time is given whole or not at all: a day without an hour could mean two things.
void Api::set_clock(HttpRequest&& request, HttpResponder&& responder) {
    JsonBody body(request.body);
    const auto day = body.optional_integer("day", 1, 7);
    const auto hour = body.optional_integer("hour", 0, 23);
    const auto minute = body.optional_integer("minute", 0, 59);
    const auto speed = body.optional_integer("speed", 1, 3600);
    if (const auto error = body.error()) return responder.send(http_error(400, *error));
    const bool some = day || hour || minute;
    if (some && !(day && hour && minute))
        return responder.send(http_error(400, "day, hour and minute are given together"));
    if (!some && !speed) return responder.send(http_error(400, "Give day, hour and minute, or speed, or all of them"));
    action::SetClock wish;
    wish.time = some;
    if (some) wish.to = {narrow<int>(*day), narrow<int>(*hour), narrow<int>(*minute), 0};
    if (speed) wish.speed = narrow<std::int32_t>(*speed);
    actions_.act(wish, request, std::move(responder), action_limit, [](const ActionOutcome& outcome) {
        JsonFields out;
        describe(outcome.clock, out);
        return json_answer(out.finish() + "\n");
    });
}

void Api::allocate(HttpRequest&& request, HttpResponder&& responder) {
    constexpr auto i32 = std::numeric_limits<std::int32_t>();
    constexpr auto i8 = std::numeric_limits<std::int8_t>();
    JsonBody body(request.body);
    AllocationRequest wish;
    wish.lobby = LobbyId(narrow<std::int32_t>(body.integer("lobby_id", 1, i32.max())));
    const auto region = body.number_or_text("region", 0, i8.max(), region_name_bytes_max);
    std::string region_name;
    if (const auto* name = std::get_if<std::string>(&region)) region_name = *name;
    if (const auto* number = std::get_if<std::int64_t>(&region)) wish.region = RegionId(narrow<std::int8_t>(*number));
    wish.player_count = narrow<std::int8_t>(body.integer("player_count", 1, i8.max()));
    wish.game_type = narrow<std::int8_t>(body.optional_integer("game_type", i8.min(), i8.max()).value_or(0));
    wish.game_mode = narrow<std::int8_t>(body.optional_integer("game_mode", i8.min(), i8.max()).value_or(0));
    wish.average_rating =
        narrow<std::int32_t>(body.optional_integer("average_rating", i32.min(), i32.max()).value_or(0));
    if (const auto error = body.error()) return responder.send(http_error(400, *error));
    actions_.act(action::Allocate{wish, std::move(region_name)}, request, std::move(responder), allocation_limit,
                 [lobby = wish.lobby](const ActionOutcome& outcome) {
                     if (outcome.kind != ActionOutcome::Kind::done)
                         return http_error(status_of(outcome.refusal), text(outcome.refusal));
                     JsonFields out;
                     out.integer("lobby_id", lobby.value);
                     out.integer("server_id", outcome.allocated.server.value);
                     out.text("ip", outcome.allocated.endpoint.ip.view());
                     out.integer("port", outcome.allocated.endpoint.port);
                     out.text("token", outcome.allocated.token.view());
                     out.integer("allocated_at_ms", outcome.allocated.time.value);
                     return json_answer(out.finish() + "\n");
                 });
}

}  // namespace muster
