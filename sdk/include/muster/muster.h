/* Muster's clients for C (C99), and for every language that can call C.
 *
 * The same clients as in game_server.h, matchmaker.h, player.h and tcp_runner.h, whose comments say more; this page
 * says what is different here.
 *
 * - Names: one handle type each for a game server, a matchmaker, a player and a runner. What _new() gives is taken back
 *   by _free(); NULL is fine there.
 * - Threads: a client belongs to the thread that drives it: that of muster_runner_run() or muster_runner_start(), else
 *   yours. Other threads reach it by muster_runner_post(). Only muster_runner_add(), _remove(), _post(), _post_after()
 *   and _stop() may be called from any thread, and a client in a runner may be freed on any.
 * - Callbacks: all are optional. They get the `user` pointer given with them. Strings and structs they are given live
 *   until they return. They may give commands, but not free their own client or runner: that ends the process with a
 *   message.
 * - Strings: UTF-8, terminated by zero. What is passed in is copied.
 * - Time: microseconds of any monotonic clock; with a runner it is that of muster_now_us().
 * - Errors: numbers of enum muster_error. Nothing is ever thrown through this interface.
 * - NULL: a NULL handle, list or function where there must be one changes nothing. The call then gives
 *   MUSTER_INVALID_ARGUMENT, false, 0 or NULL; what answers by a `done` gives false, and `done` is not called. So it is
 *   when memory is short.
 */
#ifndef MUSTER_MUSTER_H
#define MUSTER_MUSTER_H

/* NOLINTBEGIN: names and types as is the custom in C. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MUSTER_API __attribute__((visibility("default")))
#else
#define MUSTER_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0": of the library that is linked. */
MUSTER_API const char* muster_version(void);
/* The machine's monotonic clock. */
MUSTER_API int64_t muster_now_us(void);

/* ---- Errors ---- */

enum muster_error {
    MUSTER_OK = 0,

    /* Seen here. */
    MUSTER_CONNECTION_LOST = 1,
    MUSTER_NO_ANSWER = 2,
    MUSTER_ANSWER_LOST = 3,
    MUSTER_MALFORMED_MESSAGE = 4,
    MUSTER_INVALID_ARGUMENT = 5,
    MUSTER_ALREADY_ASKED = 6,
    MUSTER_CANCELLED = 7,
    MUSTER_CLOSED = 8,
    MUSTER_TOO_MANY_REQUESTS = 9,
    MUSTER_CALLBACK_FAILED = 10,
    MUSTER_REFUSED_UNKNOWN_TEXT = 11,
    MUSTER_ADDRESS_NOT_FOUND = 12,
    MUSTER_INVALID_CALL = 13,
    MUSTER_SYSTEM_ERROR = 14,
    MUSTER_TLS_UNTRUSTED = 15,
    MUSTER_TLS_EXPIRED = 16,
    MUSTER_TLS_WRONG_NAME = 17,
    MUSTER_TLS_REFUSED = 18,
    MUSTER_TLS_FAILED = 19,

    /* Said by Muster. */
    MUSTER_INVALID_TOKEN = 100,
    MUSTER_INVALID_IP_ADDRESS = 101,
    MUSTER_INVALID_PORT = 102,
    MUSTER_INVALID_REGION = 103,
    MUSTER_INVALID_CAPACITY = 104,
    MUSTER_SERVER_ALREADY_REGISTERED = 105,
    MUSTER_INVALID_MATCHMAKER_ID = 106,
    MUSTER_MATCHMAKER_ALREADY_REGISTERED = 107,
    MUSTER_INVALID_CREDENTIAL = 108,
    MUSTER_CREDENTIAL_EXPIRED = 109,
    MUSTER_INVALID_NAME = 110,
    MUSTER_ALREADY_LOGGED_IN = 111,
    MUSTER_SERVER_NOT_REGISTERED = 112,
    MUSTER_MATCHMAKER_NOT_REGISTERED = 113,
    MUSTER_NOT_LOGGED_IN = 114,
    MUSTER_SERVER_DISCONNECTED = 115,
    MUSTER_INVALID_LOAD_REPORT = 116,
    MUSTER_SERVER_BUSY = 117,
    MUSTER_INVALID_MATCH_LOBBY_ID = 118,
    MUSTER_REGION_NOT_SUPPORTED = 119,
    MUSTER_INVALID_PLAYER_COUNT = 120,
    MUSTER_NO_SERVERS_AVAILABLE = 121,
    MUSTER_SERVER_ALLOCATION_TIMEOUT = 122,
    MUSTER_ALLOCATION_CANCELLED = 123,
    MUSTER_MATCH_NOT_FOUND = 124,
    MUSTER_SERVER_NOT_ALLOCATED = 125,
    MUSTER_INVALID_MATCH_TOKEN = 126,
    MUSTER_MATCH_ALREADY_ENDED = 127,
    MUSTER_MATCH_TOKEN_EXPIRED = 128,
    MUSTER_MATCH_TOKEN_ALREADY_USED = 129,
    MUSTER_STORE_UNAVAILABLE = 130,
    MUSTER_SERVER_SHUTTING_DOWN = 131,
    MUSTER_TOO_MANY_LOGINS = 132,
    MUSTER_ADDRESS_NOT_ALLOWED = 133,
    MUSTER_ENDPOINT_OF_OTHER_NAME = 134,
    MUSTER_BLOCKED = 135
};

/* "no_servers_available"; "none" for MUSTER_OK, "unknown" for a number that is no error. */
MUSTER_API const char* muster_error_name(int error);

typedef void (*muster_on_error)(void* user, int error, const char* text);

/* ---- What a client is to a network loop ----
 *
 * Only for a program with a network loop of its own; see client.h for how it goes. */

typedef struct muster_client muster_client;

enum muster_link_state { MUSTER_CONNECTING = 0, MUSTER_ONLINE = 1, MUSTER_ISOLATED = 2, MUSTER_LEFT = 3 };

#define MUSTER_NEVER INT64_MAX

MUSTER_API bool muster_client_seed_jitter(muster_client* client, uint64_t seed);
MUSTER_API bool muster_client_wants_connection(const muster_client* client);
MUSTER_API bool muster_client_connected(muster_client* client, int64_t now_us);
MUSTER_API bool muster_client_disconnected(muster_client* client, int64_t now_us);
MUSTER_API bool muster_client_receive(muster_client* client, const void* bytes, size_t count, int64_t now_us);
/* Writes up to `size` bytes that are to be sent, and returns how many; 0 when there are none left. */
MUSTER_API size_t muster_client_take_output(muster_client* client, void* buffer, size_t size);
MUSTER_API bool muster_client_tick(muster_client* client, int64_t now_us);
/* MUSTER_NEVER when nothing is due. */
MUSTER_API int64_t muster_client_next_tick(const muster_client* client);

/* Muster's clock, as estimated from its answers. */
typedef struct muster_clock {
    int64_t server_time_us;  /* since 1970 UTC */
    int64_t error_bound_us;  /* never off by more */
    int64_t likely_error_us; /* off by less in 99 of 100 cases, on a route that is as quick there as back */
    double drift_ppm;
} muster_clock;

/* False, and `clock` untouched, before the first answer. */
MUSTER_API bool muster_client_clock(const muster_client* client, int64_t now_us, muster_clock* clock);
MUSTER_API enum muster_link_state muster_client_link_state(const muster_client* client);

/* ---- Game server ---- */

typedef struct muster_game_server muster_game_server;

typedef struct muster_offer {
    int32_t lobby;
    int8_t game_type;
    int8_t game_mode;
    const char* token;
} muster_offer;

enum muster_offer_answer { MUSTER_ACCEPT = 0, MUSTER_DECLINE = 1, MUSTER_LATER = 2 };
enum muster_server_status { MUSTER_AVAILABLE = 0, MUSTER_FULL = 1, MUSTER_DRAINING = 2, MUSTER_OFFLINE = 3 };

/* Set all to zero, then `size` and what you need; a `size` of less than the options of 0.1 is refused. A time of 0
 * stands for the default. */
typedef struct muster_game_server_options {
    size_t size;       /* sizeof(muster_game_server_options) */
    const char* token; /* NULL where Muster asks for none */
    const char* ip;
    uint16_t port;
    int8_t region;
    int32_t max_matches;
    int64_t heartbeat_interval_us;
    int64_t heartbeat_timeout_us;
    int64_t offer_timeout_us;
    int64_t validate_timeout_us;

    void* user;
    enum muster_offer_answer (*on_offer)(void* user, const muster_offer* offer);
    void (*on_abort)(void* user, int32_t lobby, const char* reason);
    void (*on_link)(void* user, enum muster_link_state state);
    void (*on_status)(void* user, enum muster_server_status status);
    void (*on_load)(void* user, float* cpu_percent, float* memory_percent);
    muster_on_error on_error;
    int64_t goodbye_timeout_us; /* so long goodbye waits for answers to the ends of matches */
} muster_game_server_options;

/* NULL when an option can never be right, or memory is short; then `why` (of `why_size` bytes, or NULL) says what. */
MUSTER_API muster_game_server* muster_game_server_new(const muster_game_server_options* options, char* why,
                                                      size_t why_size);
MUSTER_API void muster_game_server_free(muster_game_server* server);
/* For the functions above and for a runner. Lives as long as the server. */
MUSTER_API muster_client* muster_game_server_client(muster_game_server* server);

MUSTER_API bool muster_game_server_answer(muster_game_server* server, int32_t lobby, enum muster_offer_answer answer);
MUSTER_API bool muster_game_server_ready(muster_game_server* server, int32_t lobby);
MUSTER_API bool muster_game_server_start(muster_game_server* server, int32_t lobby);
MUSTER_API bool muster_game_server_end(muster_game_server* server, int32_t lobby);
/* `done` is called once; MUSTER_OK: let the player in. */
MUSTER_API bool muster_game_server_validate(
    muster_game_server* server, int32_t lobby, int32_t account, const char* token,
    void (*done)(void* user, int32_t lobby, int32_t account, int error, const char* text), void* user);
MUSTER_API bool muster_game_server_drain(muster_game_server* server, bool draining);
/* Waits for Muster's answers to the ends of matches first; on_link hears MUSTER_LEFT when it is over. */
MUSTER_API bool muster_game_server_goodbye(muster_game_server* server);
MUSTER_API bool muster_game_server_report_load(muster_game_server* server, float cpu_percent, float memory_percent);
/* 0 before the first registration. */
MUSTER_API int32_t muster_game_server_id(const muster_game_server* server);
MUSTER_API int32_t muster_game_server_match_count(const muster_game_server* server);

/* ---- Matchmaker ---- */

typedef struct muster_matchmaker muster_matchmaker;

typedef struct muster_match_request {
    int32_t lobby;
    int8_t game_type;
    int8_t game_mode;
    int8_t region;
    int8_t player_count;
    int32_t average_rating;
} muster_match_request;

typedef struct muster_allocation {
    int error;        /* MUSTER_OK, or why there is no server: then only lobby and text are set */
    const char* text; /* empty when fine */
    int32_t lobby;
    int32_t server;
    const char* ip;
    uint16_t port;
    const char* token;
    int64_t allocated_at_ms; /* since 1970 UTC, by Muster's clock */
} muster_allocation;

enum muster_match_event { MUSTER_READY = 1, MUSTER_STARTED = 2, MUSTER_ENDED = 3, MUSTER_ABORTED = 4 };

/* Set all to zero, then `size` and what you need. A time of 0 stands for the default. */
typedef struct muster_matchmaker_options {
    size_t size;       /* sizeof(muster_matchmaker_options) */
    const char* token; /* NULL where Muster asks for none */
    const char* matchmaker_id;
    const int8_t* regions;
    size_t region_count;
    int64_t heartbeat_interval_us;
    int64_t request_timeout_us;

    void* user;
    void (*on_event)(void* user, int32_t lobby, enum muster_match_event event, const char* reason);
    void (*on_link)(void* user, enum muster_link_state state);
    muster_on_error on_error;
} muster_matchmaker_options;

MUSTER_API muster_matchmaker* muster_matchmaker_new(const muster_matchmaker_options* options, char* why,
                                                    size_t why_size);
MUSTER_API void muster_matchmaker_free(muster_matchmaker* matchmaker);
MUSTER_API muster_client* muster_matchmaker_client(muster_matchmaker* matchmaker);

/* `done` is called once. MUSTER_NO_ANSWER after 30 s: tell the players that there is no match. */
MUSTER_API bool muster_matchmaker_request(muster_matchmaker* matchmaker, const muster_match_request* match,
                                          void (*done)(void* user, const muster_allocation* allocation), void* user);
MUSTER_API bool muster_matchmaker_cancel(muster_matchmaker* matchmaker, int32_t lobby);
MUSTER_API bool muster_matchmaker_players(muster_matchmaker* matchmaker, int32_t lobby, const int32_t* accounts,
                                          size_t account_count,
                                          void (*done)(void* user, int32_t lobby, int error, const char* text),
                                          void* user);
MUSTER_API bool muster_matchmaker_close(muster_matchmaker* matchmaker);

typedef struct muster_known_server {
    int32_t server;
    const char* ip; /* lives until the next handshake: copy it */
    uint16_t port;
    int8_t region;
    int32_t max_matches;
} muster_known_server;

/* Available servers of the regions, as of the last handshake: writes up to `size` of them, and returns how many there
 * are. */
MUSTER_API size_t muster_matchmaker_servers(const muster_matchmaker* matchmaker, muster_known_server* servers,
                                            size_t size);

/* ---- Player: a game client ---- */

typedef struct muster_player muster_player;

typedef struct muster_match_start {
    int32_t lobby;
    const char* ip;
    uint16_t port;
    const char* token;
} muster_match_start;

typedef struct muster_world_time {
    uint8_t day; /* 1 Sunday to 7 Saturday */
    uint8_t hour;
    uint8_t minute;
} muster_world_time;

/* Set all to zero, then `size` and what you need. A time of 0 stands for the default. */
typedef struct muster_player_options {
    size_t size;        /* sizeof(muster_player_options) */
    bool little_endian; /* as Muster's players.byte_order; false is big-endian, the default there, too */
    int64_t ping_timeout_us;
    int64_t resume_grace_us;
    int64_t clock_sync_interval_us;

    void* user;
    void (*on_login)(void* user, int32_t player, bool resumed);
    muster_on_error on_refused; /* not tried again until the next muster_player_login() */
    void (*on_match_start)(void* user, const muster_match_start* match);
    void (*on_match_aborted)(void* user, int32_t lobby, const char* reason);
    void (*on_closed)(void* user, const char* reason, bool comes_back);
    void (*on_link)(void* user, enum muster_link_state state);
    void (*on_time)(void* user, const muster_world_time* time);
    void (*on_ping)(void* user, int64_t round_trip_us);
    bool (*on_heartbeat)(void* user); /* without it, all heartbeats are answered with success */
    muster_on_error on_error;
} muster_player_options;

MUSTER_API muster_player* muster_player_new(const muster_player_options* options, char* why, size_t why_size);
MUSTER_API void muster_player_free(muster_player* player);
MUSTER_API muster_client* muster_player_client(muster_player* player);

/* Nothing is connected before the first login. */
MUSTER_API bool muster_player_login(muster_player* player, const char* name, const char* credential);
MUSTER_API bool muster_player_logout(muster_player* player);
/* False while one is under way, and before Muster's first ping on this link. */
MUSTER_API bool muster_player_request_ping(muster_player* player);
MUSTER_API bool muster_player_activity(muster_player* player);

#define MUSTER_PLAYER_MESSAGE_SIZE_MAX 8190

/* `code` is 1000 to 4095, `count` at most MUSTER_PLAYER_MESSAGE_SIZE_MAX; false when not, or when nobody is logged in.
 */
MUSTER_API bool muster_player_send(muster_player* player, uint16_t code, const void* bytes, size_t count);
/* 0 before the first login and after a logout. */
MUSTER_API int32_t muster_player_id(const muster_player* player);
/* False, and `time` untouched, before Muster said it. */
MUSTER_API bool muster_player_world_time(const muster_player* player, muster_world_time* time);

/* "Sun." for day 1 to "Sat." for day 7; "" for any other number. */
MUSTER_API const char* muster_day_name(int day);
/* From 20:00 on, and up to 8:59. */
MUSTER_API bool muster_is_night(int hour);
/* A round trip counted in frames; 0 frames per second give 0. */
MUSTER_API uint32_t muster_frames_to_ping_ms(uint32_t frames, uint32_t fps);

/* ---- Runner ---- */

typedef struct muster_runner muster_runner;

/* NULL when the system is out of memory or file descriptors. `on_error` may be NULL. */
MUSTER_API muster_runner* muster_runner_new(muster_on_error on_error, void* user);
/* Stops, and waits for its thread. Clients may be freed before it or after it. */
MUSTER_API void muster_runner_free(muster_runner* runner);

/* `address` is "host:port", an IPv6 literal in brackets. MUSTER_INVALID_ARGUMENT when it is not, or the client is in a
 * runner already. From any thread. Several addresses with commas between are those of nodes that share a store: the
 * next one is tried as soon as one refuses, and after a connection was lost. */
MUSTER_API int muster_runner_add(muster_runner* runner, muster_client* client, const char* address);
/* The same over TLS: with the authority that Muster's certificate is of (NULL: those of the machine), and, where Muster
 * wants one, a certificate and its key (NULL: none); files of PEM. MUSTER_INVALID_ARGUMENT too when a file cannot be
 * used, or the library was built without TLS. "muster-tls://host:port" as the address of muster_runner_add() takes
 * the files from the environment: MUSTER_CA_FILE, MUSTER_CERTIFICATE_FILE, MUSTER_KEY_FILE. */
MUSTER_API int muster_runner_add_tls(muster_runner* runner, muster_client* client, const char* address,
                                     const char* ca_file, const char* certificate_file, const char* key_file);
MUSTER_API int muster_runner_remove(muster_runner* runner, muster_client* client);

/* On this thread, until muster_runner_stop(). MUSTER_INVALID_CALL when the runner runs already: twice, or from within a
 * callback. */
MUSTER_API int muster_runner_run(muster_runner* runner);
/* On a thread of the runner's own. MUSTER_SYSTEM_ERROR when there can be none. */
MUSTER_API int muster_runner_start(muster_runner* runner);
/* Until it has stopped. MUSTER_INVALID_CALL from within a callback. */
MUSTER_API int muster_runner_wait(muster_runner* runner);

/* From any thread; stop also from a signal handler. */
MUSTER_API void muster_runner_stop(muster_runner* runner);
MUSTER_API bool muster_runner_post(muster_runner* runner, void (*function)(void* user), void* user);
/* At once for a delay below 0, never for one that no clock can count. */
MUSTER_API bool muster_runner_post_after(muster_runner* runner, int64_t delay_us, void (*function)(void* user),
                                         void* user);

#ifdef __cplusplus
}
#endif

/* NOLINTEND */

#endif /* MUSTER_MUSTER_H */
