#include "http/api.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/json_fields.h"
#include "http/overview.h"
#include "http/page_query.h"
#include "http/row_json.h"

namespace muster {
namespace {

constexpr const char* base = "/api/v1";

// {"<name>": [rows…], "next": …}: the first `limit` of `rows`, which come as far as they fit the question; the last id
// is `next` when one more than that was found.
template <class Row, class IdOf>
HttpResponse list_answer(std::string_view name, const std::vector<const Row*>& rows, std::size_t limit, IdOf id_of,
                         const std::function<void(const Row&, FieldSink&)>& more = {}) {
    JsonFields out;
    out.begin_list(name);
    for (std::size_t i = 0; i < rows.size() && i < limit; ++i) {
        out.begin_object({});
        describe(*rows[i], out);
        if (more) more(*rows[i], out);
        out.end_object();
    }
    out.end_list();
    if (rows.size() > limit) {
        id_of(*rows[limit - 1], out);
    } else {
        null_field(out, "next");
    }
    return json_answer(out.finish() + "\n");
}

template <class Row>
HttpResponse row_answer(const Row& row, const std::function<void(FieldSink&)>& more = {}) {
    JsonFields out;
    describe(row, out);
    if (more) more(out);
    return json_answer(out.finish() + "\n");
}

const ServerRow* find_server(const FleetView& view, std::int64_t id) {
    const auto found =
        std::lower_bound(view.servers.begin(), view.servers.end(), id,
                         [](const ServerRow& row, std::int64_t wanted) { return row.id.value < wanted; });
    return found != view.servers.end() && found->id.value == id ? &*found : nullptr;
}

HttpResponse matchmakers(const HttpRequest& request, const FleetView& view) {
    QueryReader query(request);
    const std::size_t limit = query.limit();
    const std::string after = query.text("after");
    if (const auto error = query.error()) return http_error(400, *error);
    std::vector<const MatchmakerRow*> rows;
    for (const MatchmakerRow& row : view.matchmakers)
        if (row.id > after && rows.size() <= limit) rows.push_back(&row);
    return list_answer("matchmakers", rows, limit,
                       [](const MatchmakerRow& last, FieldSink& out) { out.text("next", last.id); });
}

// ?region=, by number or by name; none when it is not given.
std::optional<std::int64_t> region_of(QueryReader& query, const FleetView& view) {
    const std::string given = query.text("region");
    if (given.empty()) return std::nullopt;
    for (const RegionRow& region : view.regions)
        if (region.name == given) return region.id.value;
    return query.number("region", 0);
}

bool is_over(MatchState state) {
    return state == MatchState::ended || state == MatchState::aborted;
}

// What ?state= may name, in this order: the six states, and two groups of them.
constexpr std::size_t live_choice = 6;

bool in_state(MatchState state, std::optional<std::size_t> choice) {
    if (!choice) return true;
    if (*choice < live_choice) return static_cast<std::size_t>(state) == *choice;
    return is_over(state) == (*choice != live_choice);
}

}  // namespace

HttpResponse json_answer(std::string body) {
    return {200, "application/json", std::move(body)};
}

Api::Api(const Parts& parts)
    : parts_(parts),
      fleet_(parts_.clock, *parts_.thread, [this](auto... question) { return parts_.game.ask_for_fleet(question...); }),
      players_(parts_.clock, *parts_.thread,
               [this](auto... question) { return parts_.game.ask_for_players(question...); }),
      hosts_(parts_.clock, *parts_.thread, [this](auto... question) { return parts_.game.ask_for_hosts(question...); }),
      actions_(parts_.game, parts_.clock, *parts_.thread),
      feeds_(std::make_shared<HttpQuota>(parts.feeds)) {}

void Api::add_routes(Routes& routes) {
    add_view_read(routes, "/servers", fleet_, [this](const auto&... asked) { return servers(asked...); });
    add_view_read(routes, "/servers/{id}", fleet_, [this](const auto&... asked) { return server(asked...); });
    add_view_read(routes, "/matches", fleet_, [this](const auto&... asked) { return matches(asked...); });
    add_view_read(routes, "/matches/{lobby}", fleet_, [this](const auto&... asked) { return match(asked...); });
    add_view_read(routes, "/players", players_, [this](const auto&... asked) { return players(asked...); });
    add_view_read(routes, "/players/{id}", players_, [this](const auto&... asked) { return player(asked...); });
    add_view_read(routes, "/matchmakers", fleet_, [](const auto&... asked) { return matchmakers(asked...); });
    add_view_read(routes, "/regions", fleet_, [](const HttpRequest& request, const FleetView& view) {
        if (const auto error = QueryReader(request).error()) return http_error(400, *error);
        JsonFields out;
        describe_regions(view, out);
        null_field(out, "next");
        return json_answer(out.finish() + "\n");
    });
    add_view_read(routes, "/clock", fleet_,
                  [](const HttpRequest&, const FleetView& view) { return row_answer(view.clock); });
    add_view_read(routes, "/overview", fleet_, [this](const HttpRequest&, const FleetView& view) {
        return json_answer(overview_json(view, parts_.game.figures(), failures_));
    });
    add_read(routes, "/overview/history",
             [this](HttpRequest&&, HttpResponder&& responder) { responder.send(json_answer(history_.json())); });
    add_event_routes(routes);
    add_action_routes(routes);
    add_host_routes(routes);
    add_operator_routes(routes);
    add_block_routes(routes);
}

void Api::add_read(Routes& routes, std::string path, HttpHandler handler) {
    routes.add("GET", base + std::move(path),
               [this, handler = std::move(handler)](HttpRequest&& request, HttpResponder&& responder) {
                   if (auto refusal = parts_.gate.refusal_of_read(request)) return responder.send(std::move(*refusal));
                   handler(std::move(request), std::move(responder));
               });
}

void Api::add_action(Routes& routes, std::string method, std::string path, HttpHandler handler, Right right) {
    routes.add(std::move(method), base + std::move(path),
               [this, handler = std::move(handler), right](HttpRequest&& request, HttpResponder&& responder) {
                   if (auto refusal = parts_.gate.refusal_of_action(request, right))
                       return responder.send(std::move(*refusal));
                   handler(std::move(request), std::move(responder));
               });
}

void Api::start_sampling() {
    parts_.thread->after(ServerSamples::every, [this] {
        fleet_.with_sample([this](const FleetView* view) {
            if (!view) return;
            samples_.add(*view);
            failures_.add(*view);
        });
        start_sampling();
    });
}

void Api::start_history() {
    parts_.thread->after(OverviewHistory::every, [this] {
        fleet_.with_sample([this](const FleetView* view) {
            if (view) history_.add(*view, parts_.game.figures());
        });
        start_history();
    });
}

void Api::acted(std::uint64_t number, const ActionOutcome& outcome) {
    if (outcome.kind == ActionOutcome::Kind::done) {
        fleet_.outdated();
        players_.outdated();
        hosts_.outdated();
    }
    actions_.acted(number, outcome);
}

HttpResponse Api::servers(const HttpRequest& request, const FleetView& view) const {
    QueryReader query(request);
    const std::size_t limit = query.limit();
    const std::int64_t after = query.number("after", 0).value_or(0);
    const auto region = region_of(query, view);
    const auto status = query.choice("status", {"available", "full", "draining", "offline"});
    if (const auto error = query.error()) return http_error(400, *error);

    const auto fits = [&](const ServerRow& row) {
        return (!region || row.region.value == *region) && (!status || static_cast<std::size_t>(row.status) == *status);
    };
    std::vector<const ServerRow*> rows;
    auto row = std::upper_bound(view.servers.begin(), view.servers.end(), after,
                                [](std::int64_t id, const ServerRow& one) { return id < one.id.value; });
    for (; row != view.servers.end() && rows.size() <= limit; ++row)
        if (fits(*row)) rows.push_back(&*row);
    return list_answer("servers", rows, limit,
                       [](const ServerRow& last, FieldSink& out) { out.integer("next", last.id.value); });
}

HttpResponse Api::server(const HttpRequest& request, const FleetView& view) const {
    const auto id = parse_number(request.path_value("id"));
    if (!id) return http_error(400, "A server's id is a number");
    const ServerRow* row = find_server(view, *id);
    if (!row) return http_error(404, "No such server");
    return row_answer(*row, [&](FieldSink& out) {
        out.begin_list("lobbies");
        for (const MatchRow& match : view.matches)
            if (match.server == row->id) out.integer({}, match.lobby.value);
        out.end_list();
        samples_.describe(row->id, out);
    });
}

HttpResponse Api::matches(const HttpRequest& request, const FleetView& view) const {
    QueryReader query(request);
    const std::size_t limit = query.limit();
    const std::int64_t after = query.number("after", 0).value_or(0);
    const auto region = region_of(query, view);
    const auto server = query.number("server", 1);
    const auto state =
        query.choice("state", {"offering", "allocated", "ready", "started", "ended", "aborted", "live", "over"});
    if (const auto error = query.error()) return http_error(400, *error);

    const auto fits = [&](const MatchRow& row) {
        return row.lobby.value > after && in_state(row.state, state) && (!region || row.region.value == *region) &&
               (!server || row.server.value == *server);
    };
    // Two lists by ascending lobby become one. A match in both is over: its row in the view is older.
    const auto over = parts_.over.all();
    std::vector<const MatchRow*> rows;
    auto live = view.matches.begin();
    auto past = over.begin();
    while (rows.size() <= limit && (live != view.matches.end() || past != over.end())) {
        const bool take_past = past != over.end() && (live == view.matches.end() || (*past)->lobby <= live->lobby);
        if (take_past && live != view.matches.end() && (*past)->lobby == live->lobby) ++live;
        const MatchRow& row = take_past ? **past++ : *live++;
        if (fits(row)) rows.push_back(&row);
    }
    return list_answer("matches", rows, limit,
                       [](const MatchRow& last, FieldSink& out) { out.integer("next", last.lobby.value); });
}

HttpResponse Api::match(const HttpRequest& request, const FleetView& view) const {
    const auto lobby = parse_number(request.path_value("lobby"));
    if (!lobby || *lobby < 1 || *lobby > std::numeric_limits<std::int32_t>::max())
        return http_error(400, "A lobby's id is a positive number");
    const LobbyId id(static_cast<std::int32_t>(*lobby));
    const auto add_players = [&](FieldSink& out) {
        out.begin_list("players");
        for (const OverMatches::Joined& joined : parts_.over.joined(id)) {
            out.begin_object({});
            out.integer("id", joined.account.value);
            moment_field(out, "joined_at_ms", joined.at);
            out.end_object();
        }
        out.end_list();
    };
    if (const auto over = parts_.over.find(id)) return row_answer(*over, add_players);
    const auto found = std::lower_bound(view.matches.begin(), view.matches.end(), id,
                                        [](const MatchRow& row, LobbyId wanted) { return row.lobby < wanted; });
    if (found == view.matches.end() || found->lobby != id) return http_error(404, "No such match");
    return row_answer(*found, add_players);
}

HttpResponse Api::players(const HttpRequest& request, const PlayersView& view) const {
    QueryReader query(request);
    const std::size_t limit = query.limit();
    const std::int64_t after = query.number("after", 0).value_or(0);
    const auto connected = query.choice("connected", {"false", "true"});
    const auto idle = query.choice("idle", {"false", "true"});
    if (const auto error = query.error()) return http_error(400, *error);

    std::vector<const PlayerRow*> rows;
    auto row = std::upper_bound(view.players.begin(), view.players.end(), after,
                                [](std::int64_t id, const PlayerRow& one) { return id < one.id.value; });
    for (; row != view.players.end() && rows.size() <= limit; ++row) {
        if (connected && row->connected != (*connected == 1)) continue;
        if (idle && row->idle != (*idle == 1)) continue;
        rows.push_back(&*row);
    }
    return list_answer(
        "players", rows, limit, [](const PlayerRow& last, FieldSink& out) { out.integer("next", last.id.value); },
        std::function<void(const PlayerRow&, FieldSink&)>(
            [this](const PlayerRow& one, FieldSink& out) { add_lobby(one, out); }));
}

HttpResponse Api::player(const HttpRequest& request, const PlayersView& view) const {
    const auto id = parse_number(request.path_value("id"));
    if (!id) return http_error(400, "A player's id is a number");
    const auto found =
        std::lower_bound(view.players.begin(), view.players.end(), *id,
                         [](const PlayerRow& row, std::int64_t wanted) { return row.id.value < wanted; });
    if (found == view.players.end() || found->id.value != *id) return http_error(404, "No such player");
    return row_answer(*found, [&](FieldSink& out) { add_lobby(*found, out); });
}

// The match it is in.
void Api::add_lobby(const PlayerRow& player, FieldSink& out) const {
    const LobbyId lobby = parts_.over.lobby_of(player.id);
    if (lobby.value == 0) return null_field(out, "lobby_id");
    out.integer("lobby_id", lobby.value);
}

}  // namespace muster
