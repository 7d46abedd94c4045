/* C99, and compiled as such: -std=c99 -pedantic -Wall -Wextra -Werror. */
#include <muster/muster.h>
#include <stdio.h>
#include <string.h>

#include "sdk/src/c_interface_test.h"

#define CHECK(condition)                   \
    do {                                   \
        if (!(condition)) return __LINE__; \
    } while (0)

/* What the callbacks saw, in words. */
struct Diary {
    char seen[512];
    bool alive;
    muster_runner* runner;
    muster_player* player;
};

static void note(struct Diary* diary, const char* what, long number, const char* text) {
    const size_t used = strlen(diary->seen);
    snprintf(diary->seen + used, sizeof diary->seen - used, "%s %ld %s|", what, number, text);
}

/* Whether exactly this was seen since the last time. */
static bool saw(struct Diary* diary, const char* lines) {
    const bool same = strcmp(diary->seen, lines) == 0;
    if (!same) printf("saw: %s\nnot: %s\n", diary->seen, lines);
    diary->seen[0] = '\0';
    return same;
}

static void on_login(void* user, int32_t player, bool resumed) {
    note(user, "login", player, resumed ? "resumed" : "fresh");
}
static void on_refused(void* user, int error, const char* text) {
    note(user, "refused", error, text);
}
static void on_match_start(void* user, const muster_match_start* match) {
    note(user, match->ip, match->port, match->token);
    note(user, "match", match->lobby, "");
}
static void on_match_aborted(void* user, int32_t lobby, const char* reason) {
    note(user, "aborted", lobby, reason);
}
static void on_closed(void* user, const char* reason, bool comes_back) {
    note(user, "closed", comes_back, reason);
}
static void on_link(void* user, enum muster_link_state state) {
    note(user, "link", state, "");
}
static void on_time(void* user, const muster_world_time* time) {
    note(user, muster_day_name(time->day), time->hour * 100 + time->minute, "");
}
static void on_ping(void* user, int64_t round_trip_us) {
    note(user, "ping", (long)round_trip_us, "us");
}
static bool on_heartbeat(void* user) {
    return ((struct Diary*)user)->alive;
}
static void on_error(void* user, int error, const char* text) {
    note(user, "error", error, text);
}

static muster_player_options options_with(struct Diary* diary) {
    muster_player_options options;
    memset(diary, 0, sizeof *diary);
    memset(&options, 0, sizeof options);
    diary->alive = true;
    options.size = sizeof options;
    options.user = diary;
    options.on_login = on_login;
    options.on_refused = on_refused;
    options.on_match_start = on_match_start;
    options.on_match_aborted = on_match_aborted;
    options.on_closed = on_closed;
    options.on_link = on_link;
    options.on_time = on_time;
    options.on_ping = on_ping;
    options.on_heartbeat = on_heartbeat;
    options.on_error = on_error;
    return options;
}

int c_refuses_bad_player_options(void) {
    char why[64] = "";
    muster_player_options options;
    muster_player* player = NULL;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.ping_timeout_us = -1;
    CHECK(muster_player_new(&options, why, sizeof why) == NULL);
    CHECK(strcmp(why, "ping_timeout must be longer than 0") == 0);
    options.ping_timeout_us = 0;
    options.clock_sync_interval_us = -1;
    CHECK(muster_player_new(&options, why, sizeof why) == NULL);
    CHECK(strcmp(why, "clock_sync_interval must be longer than 0") == 0);

    /* A program that filled in no more than this has said nothing about its callbacks. */
    options.clock_sync_interval_us = 0;
    options.size = sizeof options.size;
    CHECK(muster_player_new(&options, why, sizeof why) == NULL);
    CHECK(strcmp(why, "size must be sizeof the struct") == 0);
    options.size = sizeof options;
    player = muster_player_new(&options, NULL, 0);
    CHECK(player != NULL);
    muster_player_free(player);
    muster_player_free(NULL);
    return 0;
}

/* ---- A network loop of one's own, by hand. ---- */

static const int64_t second = 1000000;

/* Whether the player now says exactly these bytes. */
static bool says(muster_player* player, const void* bytes, size_t count) {
    unsigned char said[256];
    const size_t size = muster_client_take_output(muster_player_client(player), said, sizeof said);
    return size == count && memcmp(said, bytes, count) == 0;
}

static void hears(muster_player* player, const void* bytes, size_t count, int64_t now_us) {
    muster_client_receive(muster_player_client(player), bytes, count, now_us);
}

/* "ann", "pw", then the token. */
static const unsigned char login[] = {0, 13, 0, 10, 0, 3, 'a', 'n', 'n', 0, 2, 'p', 'w', 0, 0};
static const unsigned char login_again[] = {0, 15, 0, 10, 0, 3, 'a', 'n', 'n', 0, 2, 'p', 'w', 0, 2, 'r', '1'};
/* Player 7, resume token "r1". */
static const unsigned char accepted[] = {0, 11, 0, 10, 1, 0, 0, 0, 7, 0, 2, 'r', '1'};
/* The client's time, 1 s. */
static const unsigned char clock_sync[] = {0, 10, 0, 201, 0, 0, 0, 0, 0, 0x0f, 0x42, 0x40};
static const unsigned char clock_reply[] = {0, 26,   0,    201,  0,    0,    0,    0,
                                            0, 0x0f, 0x42, 0x40,                       /* its time again, */
                                            0, 6,    0x0a, 0x24, 0x18, 0x1e, 0x40, 0,  /* 1.7e15, when it came, */
                                            0, 6,    0x0a, 0x24, 0x18, 0x1e, 0x40, 0}; /* and when this left */
static const unsigned char ping[] = {0, 2, 0, 9};
static const unsigned char ping_request[] = {0, 2, 0, 117};
static const unsigned char activity[] = {0, 2, 0, 204};
static const unsigned char logout[] = {0, 2, 0, 6};
static const unsigned char heartbeat[] = {0, 6, 0, 200, 0, 0, 0, 41};
static const unsigned char alive[] = {0, 7, 0, 200, 0, 0, 0, 41, 1};
static const unsigned char not_alive[] = {0, 7, 0, 200, 0, 0, 0, 41, 0};
static const unsigned char tuesday[] = {0, 5, 0, 74, 3, 14, 30};
static const unsigned char match_start[] = {0,   20,  0, 202, 0,    0,    0, 5, 0,   3,   ':',
                                            ':', '1', 0, 0,   0x69, 0x87, 0, 3, 'k', 'e', 'y'};
static const unsigned char match_aborted[] = {0, 11, 0, 203, 0, 0, 0, 5, 0, 3, 'o', 'f', 'f'};
static const unsigned char kicked[] = {0, 10, 0, 24, 0, 6, 'K', 'i', 'c', 'k', 'e', 'd'};
static const unsigned char expired[] = {0,   23,  0,   10,  0,   0,   18,  'C', 'r', 'e', 'd', 'e', 'n',
                                        't', 'i', 'a', 'l', ' ', 'e', 'x', 'p', 'i', 'r', 'e', 'd'};

static int session_of(muster_player* player, struct Diary* diary) {
    static const unsigned char own[] = {0, 4, 0x03, 0xe8, 'h', 'i'};
    muster_client* client = muster_player_client(player);
    muster_clock clock;
    muster_world_time time;
    unsigned char large[MUSTER_PLAYER_MESSAGE_SIZE_MAX + 1] = {0};

    hears(player, tuesday, sizeof tuesday, second);
    CHECK(muster_player_world_time(player, &time));
    CHECK(time.day == 3 && time.hour == 14 && time.minute == 30);
    CHECK(!muster_client_clock(client, second, &clock));
    hears(player, clock_reply, sizeof clock_reply, second + 4000);
    CHECK(muster_client_clock(client, second + 2000, &clock));
    CHECK(clock.server_time_us == 1700000000000000);
    CHECK(clock.error_bound_us >= 2000 && clock.error_bound_us < 2100);

    CHECK(!muster_player_request_ping(player));
    hears(player, ping, sizeof ping, second + 4000);
    CHECK(says(player, ping, sizeof ping));
    CHECK(muster_player_request_ping(player));
    CHECK(!muster_player_request_ping(player));
    muster_client_tick(client, second + 5000);
    CHECK(says(player, ping_request, sizeof ping_request));
    hears(player, ping_request, sizeof ping_request, second + 8000);
    CHECK(saw(diary, "Tue. 1430 |ping 3000 us|"));

    hears(player, heartbeat, sizeof heartbeat, second + 8000);
    CHECK(says(player, alive, sizeof alive));
    diary->alive = false;
    hears(player, heartbeat, sizeof heartbeat, second + 8000);
    CHECK(says(player, not_alive, sizeof not_alive));

    muster_player_activity(player);
    muster_client_tick(client, second + 8000);
    CHECK(says(player, activity, sizeof activity));
    CHECK(muster_player_send(player, 1000, "hi", 2));
    CHECK(says(player, own, sizeof own));
    CHECK(!muster_player_send(player, 999, "hi", 2));
    CHECK(!muster_player_send(player, 1000, large, sizeof large));
    CHECK(muster_player_send(player, 1000, NULL, 0));
    CHECK(muster_client_take_output(client, large, sizeof large) == 4);

    hears(player, match_start, sizeof match_start, second + 8000);
    hears(player, match_aborted, sizeof match_aborted, second + 8000);
    CHECK(saw(diary, "::1 27015 key|match 5 |aborted 5 off|"));
    return 0;
}

int c_drives_a_player_itself(void) {
    struct Diary diary;
    const muster_player_options options = options_with(&diary);
    muster_player* player = muster_player_new(&options, NULL, 0);
    muster_client* client = NULL;
    muster_world_time time;
    int line = 0;
    CHECK(player != NULL);
    client = muster_player_client(player);
    muster_client_seed_jitter(client, 7);
    CHECK(!muster_client_wants_connection(client));
    CHECK(!muster_player_world_time(player, &time));

    muster_player_login(player, "ann", "pw");
    CHECK(muster_client_wants_connection(client));
    muster_client_connected(client, second);
    CHECK(says(player, login, sizeof login));
    CHECK(muster_player_id(player) == 0);
    hears(player, accepted, sizeof accepted, second);
    CHECK(says(player, clock_sync, sizeof clock_sync));
    CHECK(muster_player_id(player) == 7);
    CHECK(muster_client_link_state(client) == MUSTER_ONLINE);
    CHECK(saw(&diary, "login 7 fresh|link 1 |"));
    line = session_of(player, &diary);
    if (line != 0) return line;

    muster_client_disconnected(client, 3 * second);
    muster_client_tick(client, 4 * second);
    CHECK(muster_client_wants_connection(client));
    muster_client_connected(client, 4 * second);
    CHECK(says(player, login_again, sizeof login_again));
    hears(player, accepted, sizeof accepted, 4 * second);
    hears(player, kicked, sizeof kicked, 4 * second);
    CHECK(saw(&diary, "link 0 |login 7 resumed|link 1 |closed 0 Kicked|link 3 |"));
    CHECK(!muster_client_wants_connection(client));
    muster_client_disconnected(client, 4 * second);
    CHECK(muster_client_next_tick(client) == MUSTER_NEVER);

    muster_player_login(player, "ann", "pw");
    muster_client_connected(client, 5 * second);
    CHECK(says(player, login, sizeof login));
    hears(player, expired, sizeof expired, 5 * second);
    CHECK(saw(&diary, "refused 109 Credential expired|link 3 |"));
    muster_client_disconnected(client, 5 * second);

    muster_player_login(player, "ann", "pw");
    muster_client_connected(client, 6 * second);
    CHECK(says(player, login, sizeof login));
    muster_player_logout(player);
    CHECK(says(player, logout, sizeof logout));
    muster_client_tick(client, 6 * second);
    CHECK(saw(&diary, "link 3 |"));
    muster_player_free(player);
    return 0;
}

int c_knows_the_worlds_time(void) {
    CHECK(strcmp(muster_day_name(1), "Sun.") == 0);
    CHECK(strcmp(muster_day_name(7), "Sat.") == 0);
    CHECK(strcmp(muster_day_name(0), "") == 0);
    CHECK(strcmp(muster_day_name(8), "") == 0);
    CHECK(muster_is_night(20) && muster_is_night(8));
    CHECK(!muster_is_night(9) && !muster_is_night(19));
    CHECK(muster_frames_to_ping_ms(6, 60) == 100);
    CHECK(muster_frames_to_ping_ms(30, 60) == 500);
    CHECK(muster_frames_to_ping_ms(60, 60) == 1000);
    CHECK(muster_frames_to_ping_ms(UINT32_MAX, 1) == UINT32_MAX);
    CHECK(muster_frames_to_ping_ms(6, 0) == 0);
    return 0;
}

/* ---- Over TCP. ---- */

static void leave(void* user) {
    struct Diary* diary = user;
    muster_player_logout(diary->player);
    muster_runner_stop(diary->runner);
}

static void leave_when_timed(void* user, const muster_world_time* time) {
    struct Diary* diary = user;
    note(diary, "time", time->hour, "");
    muster_runner_post(diary->runner, leave, diary);
}

static void give_up(void* user) {
    struct Diary* diary = user;
    note(diary, "too late", 0, "");
    muster_runner_stop(diary->runner);
}

int c_logs_a_player_in(const char* players_address) {
    const int64_t patience_us = 20 * second;
    struct Diary diary;
    muster_player_options options = options_with(&diary);
    options.on_time = leave_when_timed;
    diary.runner = muster_runner_new(NULL, NULL);
    diary.player = muster_player_new(&options, NULL, 0);
    CHECK(diary.runner && diary.player);
    muster_player_login(diary.player, "ann", "secret");
    CHECK(muster_runner_add(diary.runner, muster_player_client(diary.player), players_address) == MUSTER_OK);
    CHECK(muster_runner_post_after(diary.runner, patience_us, give_up, &diary));
    muster_runner_run(diary.runner);
    CHECK(saw(&diary, "login 1 fresh|link 1 |time 14 |link 3 |"));
    muster_runner_free(diary.runner);
    muster_player_free(diary.player);
    return 0;
}
