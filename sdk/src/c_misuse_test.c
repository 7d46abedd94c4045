/* What a C program does wrong is an outcome. C99, and compiled as such: -std=c99 -pedantic -Wall -Wextra -Werror. */
#include <muster/muster.h>
#include <string.h>

#include "sdk/src/c_interface_test.h"

#define CHECK(condition)                   \
    do {                                   \
        if (!(condition)) return __LINE__; \
    } while (0)

static muster_game_server_options server_options(void) {
    muster_game_server_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.ip = "127.0.0.1";
    options.port = 27017;
    options.region = 2;
    options.max_matches = 1;
    return options;
}

static void nothing(void* user) {
    (void)user;
}

static void done_players(void* user, int32_t lobby, int error, const char* text) {
    (void)lobby;
    (void)error;
    (void)text;
    ++*(int*)user;
}
static void done_request(void* user, const muster_allocation* allocation) {
    (void)allocation;
    ++*(int*)user;
}
static void done_validate(void* user, int32_t lobby, int32_t account, int error, const char* text) {
    (void)account;
    done_players(user, lobby, error, text);
}

static int refuses_null_client(void) {
    unsigned char byte = 0;
    muster_clock clock;
    CHECK(!muster_client_seed_jitter(NULL, 1));
    CHECK(!muster_client_wants_connection(NULL));
    CHECK(!muster_client_connected(NULL, 1));
    CHECK(!muster_client_disconnected(NULL, 1));
    CHECK(!muster_client_receive(NULL, &byte, 1, 1));
    CHECK(muster_client_take_output(NULL, &byte, 1) == 0);
    CHECK(!muster_client_tick(NULL, 1));
    CHECK(muster_client_next_tick(NULL) == MUSTER_NEVER);
    CHECK(!muster_client_clock(NULL, 1, &clock));
    CHECK(muster_client_link_state(NULL) == MUSTER_LEFT);
    return 0;
}

static int refuses_null_game_server(int* calls) {
    CHECK(muster_game_server_client(NULL) == NULL);
    CHECK(!muster_game_server_answer(NULL, 1, MUSTER_ACCEPT));
    CHECK(!muster_game_server_ready(NULL, 1));
    CHECK(!muster_game_server_start(NULL, 1));
    CHECK(!muster_game_server_end(NULL, 1));
    CHECK(!muster_game_server_validate(NULL, 1, 1, "t", done_validate, calls));
    CHECK(!muster_game_server_drain(NULL, true));
    CHECK(!muster_game_server_goodbye(NULL));
    CHECK(!muster_game_server_report_load(NULL, 1, 1));
    CHECK(muster_game_server_id(NULL) == 0);
    CHECK(muster_game_server_match_count(NULL) == 0);
    return 0;
}

static int refuses_null_matchmaker(int* calls) {
    const muster_match_request request = {1, 0, 0, 2, 1, 0};
    const int32_t account = 1;
    CHECK(muster_matchmaker_client(NULL) == NULL);
    CHECK(!muster_matchmaker_request(NULL, &request, done_request, calls));
    CHECK(!muster_matchmaker_cancel(NULL, 1));
    CHECK(!muster_matchmaker_players(NULL, 1, &account, 1, done_players, calls));
    CHECK(!muster_matchmaker_close(NULL));
    CHECK(muster_matchmaker_servers(NULL, NULL, 0) == 0);
    return 0;
}

static int refuses_null_player(void) {
    muster_world_time time;
    CHECK(muster_player_client(NULL) == NULL);
    CHECK(!muster_player_login(NULL, "ann", ""));
    CHECK(!muster_player_logout(NULL));
    CHECK(!muster_player_request_ping(NULL));
    CHECK(!muster_player_activity(NULL));
    CHECK(!muster_player_send(NULL, 1000, "x", 1));
    CHECK(muster_player_id(NULL) == 0);
    CHECK(!muster_player_world_time(NULL, &time));
    return 0;
}

static int refuses_null_runner(void) {
    const muster_game_server_options options = server_options();
    muster_game_server* server = muster_game_server_new(&options, NULL, 0);
    muster_runner* runner = muster_runner_new(NULL, NULL);
    CHECK(server && runner);
    CHECK(muster_runner_add(NULL, muster_game_server_client(server), "127.0.0.1:1") == MUSTER_INVALID_ARGUMENT);
    CHECK(muster_runner_add(runner, NULL, "127.0.0.1:1") == MUSTER_INVALID_ARGUMENT);
    CHECK(muster_runner_add(runner, muster_game_server_client(server), NULL) == MUSTER_INVALID_ARGUMENT);
    CHECK(muster_runner_remove(NULL, muster_game_server_client(server)) == MUSTER_INVALID_ARGUMENT);
    CHECK(muster_runner_remove(runner, NULL) == MUSTER_INVALID_ARGUMENT);
    CHECK(muster_runner_run(NULL) == MUSTER_INVALID_ARGUMENT);
    CHECK(muster_runner_start(NULL) == MUSTER_INVALID_ARGUMENT);
    CHECK(muster_runner_wait(NULL) == MUSTER_INVALID_ARGUMENT);
    muster_runner_stop(NULL);
    CHECK(!muster_runner_post(NULL, nothing, NULL));
    CHECK(!muster_runner_post(runner, NULL, NULL));
    CHECK(!muster_runner_post_after(runner, 1, NULL, NULL));
    muster_runner_free(runner);
    muster_game_server_free(server);
    return 0;
}

static int refuses_null_lists(int* calls) {
    static const int8_t regions[] = {2};
    const muster_game_server_options options = server_options();
    muster_player_options player_options;
    muster_matchmaker_options matchmaker_options;
    muster_game_server* server = muster_game_server_new(&options, NULL, 0);
    muster_matchmaker* matchmaker = NULL;
    muster_player* player = NULL;
    char why[64] = "";
    memset(&player_options, 0, sizeof player_options);
    player_options.size = sizeof player_options;
    memset(&matchmaker_options, 0, sizeof matchmaker_options);
    matchmaker_options.size = sizeof matchmaker_options;
    matchmaker_options.matchmaker_id = "m";
    matchmaker_options.region_count = 1;
    CHECK(muster_matchmaker_new(&matchmaker_options, why, sizeof why) == NULL);
    CHECK(strcmp(why, "regions must not be NULL while region_count is above 0") == 0);
    matchmaker_options.regions = regions;
    matchmaker = muster_matchmaker_new(&matchmaker_options, NULL, 0);
    player = muster_player_new(&player_options, NULL, 0);
    CHECK(server && matchmaker && player);

    CHECK(!muster_client_receive(muster_game_server_client(server), NULL, 1, 1));
    CHECK(muster_client_take_output(muster_game_server_client(server), NULL, 1) == 0);
    CHECK(!muster_client_clock(muster_game_server_client(server), 1, NULL));
    CHECK(!muster_matchmaker_request(matchmaker, NULL, done_request, calls));
    CHECK(!muster_matchmaker_players(matchmaker, 1, NULL, 1, done_players, calls));
    CHECK(muster_matchmaker_servers(matchmaker, NULL, 4) == 0);
    CHECK(!muster_player_send(player, 1000, NULL, 1));
    CHECK(!muster_player_world_time(player, NULL));
    muster_client_tick(muster_matchmaker_client(matchmaker), 1); /* where what is owed would be called */

    /* None of these is told of what it asked for; they need not be. */
    CHECK(muster_matchmaker_players(matchmaker, 1, NULL, 0, NULL, NULL));
    CHECK(muster_game_server_validate(server, 1, 1, NULL, NULL, NULL));
    muster_player_free(player);
    muster_matchmaker_free(matchmaker);
    muster_game_server_free(server);
    return 0;
}

int c_refuses_null(void) {
    char why[64] = "";
    int calls = 0;
    CHECK(muster_game_server_new(NULL, why, sizeof why) == NULL);
    CHECK(strcmp(why, "options must not be NULL") == 0);
    CHECK(muster_matchmaker_new(NULL, why, sizeof why) == NULL);
    CHECK(muster_player_new(NULL, NULL, 0) == NULL);
    int line = refuses_null_client();
    if (line == 0) line = refuses_null_game_server(&calls);
    if (line == 0) line = refuses_null_matchmaker(&calls);
    if (line == 0) line = refuses_null_player();
    if (line == 0) line = refuses_null_runner();
    if (line == 0) line = refuses_null_lists(&calls);
    if (line != 0) return line;
    CHECK(calls == 0);
    return 0;
}

int c_refuses_short_options(void) {
    char why[64] = "";
    muster_game_server* made = NULL;
    muster_game_server_options server = server_options();
    muster_matchmaker_options matchmaker;
    muster_player_options player;
    server.size = 0;
    CHECK(muster_game_server_new(&server, why, sizeof why) == NULL);
    CHECK(strcmp(why, "size must be sizeof the struct") == 0);
    server.size = offsetof(muster_game_server_options, on_error);
    CHECK(muster_game_server_new(&server, NULL, 0) == NULL);
    /* Those of 0.1 are enough. */
    server.size = offsetof(muster_game_server_options, goodbye_timeout_us);
    server.goodbye_timeout_us = -1;
    made = muster_game_server_new(&server, NULL, 0);
    CHECK(made != NULL);
    muster_game_server_free(made);
    server.size = sizeof server;
    CHECK(muster_game_server_new(&server, why, sizeof why) == NULL);
    CHECK(strcmp(why, "goodbye_timeout must be longer than 0") == 0);

    memset(&matchmaker, 0, sizeof matchmaker);
    CHECK(muster_matchmaker_new(&matchmaker, why, sizeof why) == NULL);
    CHECK(strcmp(why, "size must be sizeof the struct") == 0);
    memset(&player, 0, sizeof player);
    CHECK(muster_player_new(&player, why, sizeof why) == NULL);
    CHECK(strcmp(why, "size must be sizeof the struct") == 0);
    return 0;
}

int c_survives_huge_times(void) {
    static const int64_t times[] = {INT64_MIN, INT64_MIN + 1, -1, INT64_MAX - 1, INT64_MAX};
    size_t i = 0;
    for (i = 0; i < sizeof times / sizeof times[0]; ++i) {
        muster_game_server_options options = server_options();
        muster_game_server* server = NULL;
        muster_client* client = NULL;
        muster_clock clock;
        options.heartbeat_interval_us = INT64_MAX;
        options.heartbeat_timeout_us = INT64_MAX;
        options.offer_timeout_us = INT64_MAX;
        options.validate_timeout_us = INT64_MAX;
        server = muster_game_server_new(&options, NULL, 0);
        CHECK(server != NULL);
        client = muster_game_server_client(server);
        CHECK(muster_client_tick(client, times[i]));
        CHECK(muster_client_connected(client, times[i]));
        CHECK(muster_game_server_validate(server, 1, 1, "t", NULL, NULL));
        CHECK(muster_client_next_tick(client) != 0);
        CHECK(!muster_client_clock(client, times[i], &clock));
        CHECK(muster_client_disconnected(client, times[i]));
        muster_game_server_free(server);

        options.heartbeat_interval_us = INT64_MIN;
        CHECK(muster_game_server_new(&options, NULL, 0) == NULL);
    }
    return 0;
}

struct Runs {
    muster_runner* runner;
    int ran;
    int waited;
    int started;
};

static void runs_again(void* user) {
    struct Runs* runs = user;
    runs->ran = muster_runner_run(runs->runner);
    runs->waited = muster_runner_wait(runs->runner);
    runs->started = muster_runner_start(runs->runner);
    muster_runner_stop(runs->runner);
}

static void must_not_run(void* user) {
    *(int*)user = 1;
}

int c_refuses_to_run_twice(void) {
    struct Runs runs = {NULL, 0, 0, 0};
    int too_early = 0;
    runs.runner = muster_runner_new(NULL, NULL);
    CHECK(runs.runner != NULL);
    CHECK(muster_runner_post_after(runs.runner, INT64_MAX, must_not_run, &too_early));
    CHECK(muster_runner_post_after(runs.runner, INT64_MIN, runs_again, &runs));
    CHECK(muster_runner_run(runs.runner) == MUSTER_OK);
    CHECK(runs.ran == MUSTER_INVALID_CALL);
    CHECK(runs.waited == MUSTER_INVALID_CALL);
    CHECK(runs.started == MUSTER_INVALID_CALL);
    CHECK(too_early == 0);

    CHECK(muster_runner_start(runs.runner) == MUSTER_OK);
    CHECK(muster_runner_start(runs.runner) == MUSTER_INVALID_CALL);
    CHECK(muster_runner_run(runs.runner) == MUSTER_INVALID_CALL);
    muster_runner_stop(runs.runner);
    CHECK(muster_runner_wait(runs.runner) == MUSTER_OK);
    CHECK(muster_runner_wait(runs.runner) == MUSTER_OK);
    muster_runner_free(runs.runner);
    return 0;
}

int c_frees_in_any_order(const char* servers_address) {
    int i = 0;
    for (i = 0; i < 20; ++i) {
        const muster_game_server_options options = server_options();
        muster_game_server* first = muster_game_server_new(&options, NULL, 0);
        muster_game_server* last = muster_game_server_new(&options, NULL, 0);
        muster_runner* runner = muster_runner_new(NULL, NULL);
        CHECK(first && last && runner);
        CHECK(muster_runner_add(runner, muster_game_server_client(first), servers_address) == MUSTER_OK);
        CHECK(muster_runner_add(runner, muster_game_server_client(last), servers_address) == MUSTER_OK);
        CHECK(muster_runner_add(runner, muster_game_server_client(last), servers_address) == MUSTER_INVALID_ARGUMENT);
        CHECK(muster_runner_start(runner) == MUSTER_OK);
        muster_game_server_free(first);
        muster_runner_free(runner);
        muster_game_server_free(last);
    }
    return 0;
}
