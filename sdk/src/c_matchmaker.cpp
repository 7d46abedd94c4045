#include <chrono>
#include <memory>
#include <utility>

#include "sdk/src/c_client.h"

using namespace muster::sdk;

namespace {

MatchmakerOptions options_of(const muster_matchmaker_options& given) {
    MatchmakerOptions options{.token = c_string(given.token), .matchmaker_id = c_string(given.matchmaker_id)};
    if (!is_list(given.regions, given.region_count))
        throw std::invalid_argument("regions must not be NULL while region_count is above 0");
    for (std::size_t i = 0; i < given.region_count; ++i) options.regions.emplace_back(given.regions[i]);
    set_time(options.heartbeat_interval, given.heartbeat_interval_us);
    set_time(options.request_timeout, given.request_timeout_us);
    return options;
}

MatchmakerCallbacks callbacks_of(const muster_matchmaker_options& given) {
    void* const user = given.user;
    MatchmakerCallbacks callbacks{.on_error = c_on_error(given.on_error, user)};
    if (const auto function = given.on_event) {
        callbacks.on_event = [function, user](const MatchEvent& event) {
            function(user, event.lobby.value, static_cast<enum muster_match_event>(event.kind), event.reason.c_str());
        };
    }
    if (const auto function = given.on_link) {
        callbacks.on_link = [function, user](LinkState state) {
            function(user, static_cast<enum muster_link_state>(state));
        };
    }
    return callbacks;
}

}  // namespace

muster_matchmaker* muster_matchmaker_new(const muster_matchmaker_options* options, char* why, size_t why_size) {
    const auto make = [&] {
        const auto known = known_part(options);
        return std::make_unique<muster_matchmaker>(options_of(known), callbacks_of(known)).release();
    };
    return made_or_null(make, why, why_size);
}

void muster_matchmaker_free(muster_matchmaker* matchmaker) {
    delete matchmaker;
}

muster_client* muster_matchmaker_client(muster_matchmaker* matchmaker) {
    return matchmaker;
}

bool muster_matchmaker_request(muster_matchmaker* matchmaker, const muster_match_request* match,
                               void (*done)(void* user, const muster_allocation* allocation), void* user) {
    if (!match) return false;
    const MatchRequest request{.lobby = LobbyId{match->lobby},
                               .game_type = match->game_type,
                               .game_mode = match->game_mode,
                               .region = RegionId{match->region},
                               .player_count = match->player_count,
                               .average_rating = match->average_rating};
    const auto answered = [done, user](const Allocation& allocation) {
        if (!done) return;
        const auto since = allocation.allocated_at.time_since_epoch();
        const muster_allocation shown{
            .error = static_cast<int>(allocation.outcome.code),
            .text = allocation.outcome.text.c_str(),
            .lobby = allocation.lobby.value,
            .server = allocation.server.value,
            .ip = allocation.ip.c_str(),
            .port = allocation.port,
            .token = allocation.token.c_str(),
            .allocated_at_ms = std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
        done(user, &shown);
    };
    return attempt_on(matchmaker, [&](auto& it) { it.matchmaker.request(request, answered); });
}

bool muster_matchmaker_cancel(muster_matchmaker* matchmaker, int32_t lobby) {
    return attempt_on(matchmaker, [&](auto& it) { it.matchmaker.cancel(LobbyId{lobby}); });
}

bool muster_matchmaker_players(muster_matchmaker* matchmaker, int32_t lobby, const int32_t* accounts,
                               size_t account_count,
                               void (*done)(void* user, int32_t lobby, int error, const char* text), void* user) {
    if (!is_list(accounts, account_count)) return false;
    return attempt_on(matchmaker, [&](auto& it) {
        std::vector<AccountId> list;
        list.reserve(account_count);
        for (std::size_t i = 0; i < account_count; ++i) list.emplace_back(accounts[i]);
        it.matchmaker.players(LobbyId{lobby}, list, [=](const Outcome& outcome) {
            if (done) done(user, lobby, static_cast<int>(outcome.code), outcome.text.c_str());
        });
    });
}

bool muster_matchmaker_close(muster_matchmaker* matchmaker) {
    return attempt_on(matchmaker, [&](auto& it) { it.matchmaker.close(); });
}

size_t muster_matchmaker_servers(const muster_matchmaker* matchmaker, muster_known_server* servers, size_t size) {
    if (!matchmaker) return 0;
    if (!servers) size = 0;
    const auto& known = matchmaker->matchmaker.servers();
    for (std::size_t i = 0; i < std::min(size, known.size()); ++i) {
        servers[i] = {.server = known[i].server.value,
                      .ip = known[i].ip.c_str(),
                      .port = known[i].port,
                      .region = known[i].region.value,
                      .max_matches = known[i].max_matches};
    }
    return known.size();
}
