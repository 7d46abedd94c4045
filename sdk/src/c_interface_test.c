/* C99, and compiled as such: -std=c99 -pedantic -Wall -Wextra -Werror. */
#include "sdk/src/c_interface_test.h"

#include <muster/muster.h>
#include <stdio.h>
#include <string.h>

#define CHECK(condition)                   \
    do {                                   \
        if (!(condition)) return __LINE__; \
    } while (0)

int c_names_errors(void) {
    static const struct {
        int error;
        const char* name;
    } all[] = {
        {MUSTER_OK, "none"},
        {MUSTER_CONNECTION_LOST, "connection_lost"},
        {MUSTER_NO_ANSWER, "no_answer"},
        {MUSTER_ANSWER_LOST, "answer_lost"},
        {MUSTER_MALFORMED_MESSAGE, "malformed_message"},
        {MUSTER_INVALID_ARGUMENT, "invalid_argument"},
        {MUSTER_ALREADY_ASKED, "already_asked"},
        {MUSTER_CANCELLED, "cancelled"},
        {MUSTER_CLOSED, "closed"},
        {MUSTER_TOO_MANY_REQUESTS, "too_many_requests"},
        {MUSTER_CALLBACK_FAILED, "callback_failed"},
        {MUSTER_REFUSED_UNKNOWN_TEXT, "refused_unknown_text"},
        {MUSTER_ADDRESS_NOT_FOUND, "address_not_found"},
        {MUSTER_INVALID_CALL, "invalid_call"},
        {MUSTER_SYSTEM_ERROR, "system_error"},
        {MUSTER_INVALID_TOKEN, "invalid_token"},
        {MUSTER_INVALID_IP_ADDRESS, "invalid_ip_address"},
        {MUSTER_INVALID_PORT, "invalid_port"},
        {MUSTER_INVALID_REGION, "invalid_region"},
        {MUSTER_INVALID_CAPACITY, "invalid_capacity"},
        {MUSTER_SERVER_ALREADY_REGISTERED, "server_already_registered"},
        {MUSTER_INVALID_MATCHMAKER_ID, "invalid_matchmaker_id"},
        {MUSTER_MATCHMAKER_ALREADY_REGISTERED, "matchmaker_already_registered"},
        {MUSTER_INVALID_CREDENTIAL, "invalid_credential"},
        {MUSTER_CREDENTIAL_EXPIRED, "credential_expired"},
        {MUSTER_INVALID_NAME, "invalid_name"},
        {MUSTER_ALREADY_LOGGED_IN, "already_logged_in"},
        {MUSTER_SERVER_NOT_REGISTERED, "server_not_registered"},
        {MUSTER_MATCHMAKER_NOT_REGISTERED, "matchmaker_not_registered"},
        {MUSTER_NOT_LOGGED_IN, "not_logged_in"},
        {MUSTER_SERVER_DISCONNECTED, "server_disconnected"},
        {MUSTER_INVALID_LOAD_REPORT, "invalid_load_report"},
        {MUSTER_SERVER_BUSY, "server_busy"},
        {MUSTER_INVALID_MATCH_LOBBY_ID, "invalid_match_lobby_id"},
        {MUSTER_REGION_NOT_SUPPORTED, "region_not_supported"},
        {MUSTER_INVALID_PLAYER_COUNT, "invalid_player_count"},
        {MUSTER_NO_SERVERS_AVAILABLE, "no_servers_available"},
        {MUSTER_SERVER_ALLOCATION_TIMEOUT, "server_allocation_timeout"},
        {MUSTER_ALLOCATION_CANCELLED, "allocation_cancelled"},
        {MUSTER_MATCH_NOT_FOUND, "match_not_found"},
        {MUSTER_SERVER_NOT_ALLOCATED, "server_not_allocated"},
        {MUSTER_INVALID_MATCH_TOKEN, "invalid_match_token"},
        {MUSTER_MATCH_ALREADY_ENDED, "match_already_ended"},
        {MUSTER_MATCH_TOKEN_EXPIRED, "match_token_expired"},
        {MUSTER_MATCH_TOKEN_ALREADY_USED, "match_token_already_used"},
        {MUSTER_STORE_UNAVAILABLE, "store_unavailable"},
        {MUSTER_SERVER_SHUTTING_DOWN, "server_shutting_down"},
        {MUSTER_TOO_MANY_LOGINS, "too_many_logins"},
        {MUSTER_ADDRESS_NOT_ALLOWED, "address_not_allowed"},
        {MUSTER_ENDPOINT_OF_OTHER_NAME, "endpoint_of_other_name"},
        {MUSTER_BLOCKED, "blocked"},
    };
    size_t i = 0;
    for (i = 0; i < sizeof all / sizeof all[0]; ++i) CHECK(strcmp(muster_error_name(all[i].error), all[i].name) == 0);
    CHECK(strcmp(muster_error_name(-1), "unknown") == 0);
    CHECK(strcmp(muster_error_name(MUSTER_BLOCKED + 1), "unknown") == 0);
    CHECK(strlen(muster_version()) >= 5);
    return 0;
}

int c_refuses_bad_options(void) {
    char why[64] = "";
    muster_game_server_options server_options;
    muster_matchmaker_options matchmaker_options;
    memset(&server_options, 0, sizeof server_options);
    server_options.size = sizeof server_options;
    CHECK(muster_game_server_new(&server_options, why, sizeof why) == NULL);
    CHECK(strcmp(why, "max_matches must be 1 or more") == 0);
    CHECK(muster_game_server_new(&server_options, NULL, 0) == NULL);
    CHECK(muster_game_server_new(&server_options, why, 4) == NULL);
    CHECK(strcmp(why, "max") == 0);

    memset(&matchmaker_options, 0, sizeof matchmaker_options);
    matchmaker_options.size = sizeof matchmaker_options;
    CHECK(muster_matchmaker_new(&matchmaker_options, why, sizeof why) == NULL);
    CHECK(strcmp(why, "matchmaker_id must be 1 to 64 letters, digits, - _ or .") == 0);

    muster_game_server_free(NULL);
    muster_matchmaker_free(NULL);
    muster_runner_free(NULL);
    return 0;
}

/* ---- A network loop of one's own, by hand. ---- */

static enum muster_offer_answer decide_later(void* user, const muster_offer* offer) {
    *(int32_t*)user = offer->lobby;
    return MUSTER_LATER;
}

int c_drives_a_client_itself(void) {
    /* length 15, code 0x1001, success, server 42, time_ms 1700000000000 */
    static const unsigned char accepted[] = {15, 0, 1, 0x10, 1, 42, 0, 0, 0, 0x00, 0x68, 0xe5, 0xcf, 0x8b, 1, 0, 0};
    /* length 11, code 0x1004, lobby 5, game type 6, mode 3, token "t" */
    static const unsigned char offer[] = {11, 0, 4, 0x10, 5, 0, 0, 0, 6, 3, 1, 0, 't'};
    /* length 7, code 0x1005, accepted, lobby 5 */
    static const unsigned char acknowledged[] = {7, 0, 5, 0x10, 1, 5, 0, 0, 0};
    const int64_t second = 1000000;
    unsigned char bytes[512];
    size_t count = 0;
    int32_t offered = 0;
    muster_clock clock;
    muster_client* client = NULL;
    muster_game_server* server = NULL;
    muster_game_server_options options;

    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.ip = "10.0.0.7";
    options.port = 27015;
    options.region = 2;
    options.max_matches = 1;
    options.user = &offered;
    options.on_offer = decide_later;
    server = muster_game_server_new(&options, NULL, 0);
    CHECK(server != NULL);
    client = muster_game_server_client(server);

    muster_client_seed_jitter(client, 7);
    muster_client_tick(client, second);
    CHECK(muster_client_wants_connection(client));
    CHECK(!muster_client_clock(client, second, &clock));
    muster_client_connected(client, second);
    /* The handshake, through a buffer that is too small for it at once. */
    count = muster_client_take_output(client, bytes, 2);
    CHECK(count == 2);
    CHECK(bytes[1] == 0);
    count = bytes[0];
    CHECK(muster_client_take_output(client, bytes, sizeof bytes) == count);
    CHECK(bytes[0] == 0x00 && bytes[1] == 0x10);
    CHECK(muster_client_take_output(client, bytes, sizeof bytes) == 0);

    muster_client_receive(client, accepted, sizeof accepted, second + 2000);
    CHECK(muster_game_server_id(server) == 42);
    CHECK(muster_client_link_state(client) == MUSTER_ONLINE);
    CHECK(muster_client_clock(client, second + 2000, &clock));
    CHECK(clock.server_time_us == 1700000000000 * 1000 + 1500);
    CHECK(clock.error_bound_us >= 1500 && clock.error_bound_us < 3000);
    CHECK(muster_client_take_output(client, bytes, sizeof bytes) == 9 + 20); /* it is not drained; a heartbeat */
    CHECK(muster_client_next_tick(client) == 11 * second + 2000);

    muster_client_receive(client, offer, sizeof offer, 2 * second);
    CHECK(offered == 5);
    CHECK(muster_game_server_match_count(server) == 0);
    CHECK(muster_game_server_answer(server, 5, MUSTER_ACCEPT));
    CHECK(!muster_game_server_answer(server, 5, MUSTER_ACCEPT));
    CHECK(muster_game_server_match_count(server) == 1);
    CHECK(muster_client_take_output(client, bytes, sizeof bytes) == sizeof acknowledged);
    CHECK(memcmp(bytes, acknowledged, sizeof acknowledged) == 0);
    CHECK(muster_game_server_ready(server, 5));
    CHECK(muster_game_server_start(server, 5));
    CHECK(muster_game_server_end(server, 5));
    CHECK(!muster_game_server_end(server, 5));

    muster_client_disconnected(client, 3 * second);
    CHECK(muster_client_take_output(client, bytes, sizeof bytes) == 0);
    CHECK(!muster_client_wants_connection(client));
    muster_game_server_goodbye(server);
    /* The end of the match is not answered: that is waited for, for two seconds. */
    muster_client_tick(client, 4 * second);
    CHECK(muster_client_link_state(client) != MUSTER_LEFT);
    muster_client_tick(client, 5 * second);
    CHECK(muster_client_link_state(client) == MUSTER_LEFT);
    muster_client_tick(client, 5 * second);
    CHECK(muster_client_next_tick(client) == MUSTER_NEVER);
    muster_game_server_free(server);
    return 0;
}

/* ---- A whole match, over TCP. ---- */

struct Match {
    muster_runner* runner;
    muster_game_server* server;
    muster_matchmaker* matchmaker;
    char seen[256];
};

static void note(struct Match* match, const char* what) {
    const size_t used = strlen(match->seen);
    snprintf(match->seen + used, sizeof match->seen - used, "%s ", what);
}

static void player_judged(void* user, int32_t lobby, int32_t account, int error, const char* text) {
    struct Match* match = user;
    note(match, error == MUSTER_OK && account == 1001 ? "joined" : text);
    muster_game_server_start(match->server, lobby);
    muster_game_server_end(match->server, lobby);
}

static enum muster_offer_answer offered(void* user, const muster_offer* offer) {
    struct Match* match = user;
    note(match, "offer");
    muster_game_server_ready(match->server, offer->lobby);
    muster_game_server_validate(match->server, offer->lobby, 1001, offer->token, player_judged, match);
    return MUSTER_ACCEPT;
}

static void load(void* user, float* cpu_percent, float* memory_percent) {
    (void)user;
    *cpu_percent = 12.5F;
    *memory_percent = 50.0F;
}

static void players_listed(void* user, int32_t lobby, int error, const char* text) {
    note(user, error == MUSTER_OK && lobby == 9 ? "listed" : text);
}

static void allocated(void* user, const muster_allocation* allocation) {
    note(user, allocation->error == MUSTER_OK && allocation->port == 27016 && strlen(allocation->token) > 0
                   ? "allocated"
                   : allocation->text);
}

static void happened(void* user, int32_t lobby, enum muster_match_event event, const char* reason) {
    struct Match* match = user;
    (void)lobby;
    (void)reason;
    note(match, event == MUSTER_READY ? "ready" : event == MUSTER_STARTED ? "started" : "ended");
    if (event == MUSTER_ENDED) muster_runner_stop(match->runner);
}

static void ask(void* user) {
    struct Match* match = user;
    const int32_t accounts[] = {1001};
    muster_match_request request;
    memset(&request, 0, sizeof request);
    request.lobby = 9;
    request.region = 2;
    request.player_count = 1;
    muster_matchmaker_players(match->matchmaker, 9, accounts, 1, players_listed, match);
    muster_matchmaker_request(match->matchmaker, &request, allocated, match);
}

/* The game server is there: the matchmaker may ask. */
static void linked(void* user, enum muster_link_state state) {
    struct Match* match = user;
    if (state == MUSTER_ONLINE) muster_runner_post(match->runner, ask, match);
}

static void gives_up(void* user) {
    struct Match* match = user;
    note(match, "too late");
    muster_runner_stop(match->runner);
}

int c_plays_a_match(const char* servers_address, const char* matchmakers_address) {
    static const int8_t regions[] = {2};
    const int64_t patience_us = 20000000;
    struct Match match;
    muster_known_server known[4];
    muster_game_server_options server_options;
    muster_matchmaker_options matchmaker_options;

    memset(&match, 0, sizeof match);
    memset(&server_options, 0, sizeof server_options);
    server_options.size = sizeof server_options;
    server_options.ip = "127.0.0.1";
    server_options.port = 27016;
    server_options.region = 2;
    server_options.max_matches = 2;
    server_options.user = &match;
    server_options.on_offer = offered;
    server_options.on_link = linked;
    server_options.on_load = load;

    memset(&matchmaker_options, 0, sizeof matchmaker_options);
    matchmaker_options.size = sizeof matchmaker_options;
    matchmaker_options.matchmaker_id = "matchmaker-c";
    matchmaker_options.regions = regions;
    matchmaker_options.region_count = 1;
    matchmaker_options.user = &match;
    matchmaker_options.on_event = happened;

    match.runner = muster_runner_new(NULL, NULL);
    match.server = muster_game_server_new(&server_options, NULL, 0);
    match.matchmaker = muster_matchmaker_new(&matchmaker_options, NULL, 0);
    CHECK(match.runner && match.server && match.matchmaker);
    CHECK(muster_runner_add(match.runner, muster_game_server_client(match.server), "nonsense") ==
          MUSTER_INVALID_ARGUMENT);
    CHECK(muster_runner_add(match.runner, muster_matchmaker_client(match.matchmaker), matchmakers_address) ==
          MUSTER_OK);
    CHECK(muster_runner_add(match.runner, muster_game_server_client(match.server), servers_address) == MUSTER_OK);
    CHECK(muster_runner_post_after(match.runner, patience_us, gives_up, &match));
    muster_runner_run(match.runner);

    CHECK(strstr(match.seen, "offer ") && strstr(match.seen, "allocated ready "));
    CHECK(strstr(match.seen, "joined ") && strstr(match.seen, "listed ") && strstr(match.seen, "started ended "));
    CHECK(!strstr(match.seen, "too late"));
    CHECK(muster_matchmaker_servers(match.matchmaker, known, 4) <= 1);
    muster_runner_free(match.runner);
    muster_matchmaker_free(match.matchmaker);
    muster_game_server_free(match.server);
    return 0;
}
