#include <memory>
#include <utility>

#include "sdk/src/c_client.h"

using namespace muster::sdk;

namespace {

GameServerOptions options_of(const muster_game_server_options& given) {
    GameServerOptions options{.token = c_string(given.token),
                              .ip = c_string(given.ip),
                              .port = given.port,
                              .region = RegionId{given.region},
                              .max_matches = given.max_matches};
    set_time(options.heartbeat_interval, given.heartbeat_interval_us);
    set_time(options.heartbeat_timeout, given.heartbeat_timeout_us);
    set_time(options.offer_timeout, given.offer_timeout_us);
    set_time(options.validate_timeout, given.validate_timeout_us);
    set_time(options.goodbye_timeout, given.goodbye_timeout_us);
    return options;
}

GameServerCallbacks callbacks_of(const muster_game_server_options& given) {
    void* const user = given.user;
    GameServerCallbacks callbacks{.on_error = c_on_error(given.on_error, user)};
    if (const auto function = given.on_offer) {
        callbacks.on_offer = [function, user](const Offer& offer) {
            const muster_offer shown{offer.lobby.value, offer.game_type, offer.game_mode, offer.token.c_str()};
            switch (function(user, &shown)) {
                case MUSTER_ACCEPT:
                    return OfferAnswer::accept;
                case MUSTER_LATER:
                    return OfferAnswer::later;
                default:
                    return OfferAnswer::decline;
            }
        };
    }
    if (const auto function = given.on_abort) {
        callbacks.on_abort = [function, user](LobbyId lobby, std::string_view reason) {
            function(user, lobby.value, std::string(reason).c_str());
        };
    }
    if (const auto function = given.on_link) {
        callbacks.on_link = [function, user](LinkState state) {
            function(user, static_cast<enum muster_link_state>(state));
        };
    }
    if (const auto function = given.on_status) {
        callbacks.on_status = [function, user](ServerStatus status) {
            function(user, static_cast<enum muster_server_status>(status));
        };
    }
    if (const auto function = given.on_load) {
        callbacks.on_load = [function, user] {
            Load load;
            function(user, &load.cpu_percent, &load.memory_percent);
            return load;
        };
    }
    return callbacks;
}

}  // namespace

muster_game_server* muster_game_server_new(const muster_game_server_options* options, char* why, size_t why_size) {
    const auto make = [&] {
        const auto known = known_part(options);
        return std::make_unique<muster_game_server>(options_of(known), callbacks_of(known)).release();
    };
    return made_or_null(make, why, why_size);
}

void muster_game_server_free(muster_game_server* server) {
    delete server;
}

muster_client* muster_game_server_client(muster_game_server* server) {
    return server;
}

bool muster_game_server_answer(muster_game_server* server, int32_t lobby, enum muster_offer_answer answer) {
    const OfferAnswer given = answer == MUSTER_ACCEPT  ? OfferAnswer::accept
                              : answer == MUSTER_LATER ? OfferAnswer::later
                                                       : OfferAnswer::decline;
    return attempt_on(server, [&](auto& it) { return it.server.answer(LobbyId{lobby}, given); });
}

bool muster_game_server_ready(muster_game_server* server, int32_t lobby) {
    return attempt_on(server, [&](auto& it) { return it.server.ready(LobbyId{lobby}); });
}

bool muster_game_server_start(muster_game_server* server, int32_t lobby) {
    return attempt_on(server, [&](auto& it) { return it.server.start(LobbyId{lobby}); });
}

bool muster_game_server_end(muster_game_server* server, int32_t lobby) {
    return attempt_on(server, [&](auto& it) { return it.server.end(LobbyId{lobby}); });
}

bool muster_game_server_validate(muster_game_server* server, int32_t lobby, int32_t account, const char* token,
                                 void (*done)(void* user, int32_t lobby, int32_t account, int error, const char* text),
                                 void* user) {
    const auto judged = [=](const Outcome& outcome) {
        if (done) done(user, lobby, account, static_cast<int>(outcome.code), outcome.text.c_str());
    };
    return attempt_on(
        server, [&](auto& it) { it.server.validate(LobbyId{lobby}, AccountId{account}, c_string(token), judged); });
}

bool muster_game_server_drain(muster_game_server* server, bool draining) {
    return attempt_on(server, [&](auto& it) { it.server.drain(draining); });
}

bool muster_game_server_goodbye(muster_game_server* server) {
    return attempt_on(server, [&](auto& it) { it.server.goodbye(); });
}

bool muster_game_server_report_load(muster_game_server* server, float cpu_percent, float memory_percent) {
    const Load load{.cpu_percent = cpu_percent, .memory_percent = memory_percent};
    return attempt_on(server, [&](auto& it) { it.server.report_load(load); });
}

int32_t muster_game_server_id(const muster_game_server* server) {
    return server ? server->server.id().value_or(ServerId{}).value : 0;
}

int32_t muster_game_server_match_count(const muster_game_server* server) {
    return server ? server->server.match_count() : 0;
}
