/* The example game server again, in C99: takes every match, plays it for a second, ends it.
 *
 *     c_game_server [HOST:PORT] [PORT] [REGION]        c_game_server 127.0.0.1:11032 27016 2
 */
#include <muster/muster.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static muster_runner* runner;
static muster_game_server* server;

static void end_match(void* user) {
    const int32_t lobby = *(int32_t*)user;
    free(user);
    if (muster_game_server_end(server, lobby)) printf("lobby %d: ended\n", (int)lobby);
}

static enum muster_offer_answer on_offer(void* user, const muster_offer* offer) {
    const int64_t second = 1000000;
    int32_t* lobby = malloc(sizeof *lobby);
    (void)user;
    if (!lobby) return MUSTER_DECLINE;
    *lobby = offer->lobby;
    muster_game_server_ready(server, offer->lobby); /* accepts it, and has the players sent */
    muster_game_server_start(server, offer->lobby);
    printf("lobby %d: started\n", (int)offer->lobby);
    muster_runner_post_after(runner, second, end_match, lobby);
    return MUSTER_ACCEPT;
}

static void on_link(void* user, enum muster_link_state state) {
    (void)user;
    if (state == MUSTER_ONLINE) printf("online as server %d\n", (int)muster_game_server_id(server));
}

static void on_error(void* user, int error, const char* text) {
    (void)user;
    printf("problem: %s (%s)\n", text, muster_error_name(error));
}

static int usage(FILE* to, int code) {
    fprintf(to, "usage: c_game_server [HOST:PORT] [PORT] [REGION]\n");
    return code;
}

/* A whole number from 0 to `most`; -1 for anything else. */
static long number(const char* text, long most) {
    char* end = NULL;
    const long value = strtol(text, &end, 10);
    return end != text && *end == '\0' && value >= 0 && value <= most ? value : -1;
}

int main(int count, char** arguments) {
    const long port = count > 2 ? number(arguments[2], 65535) : 27016;
    const long region = count > 3 ? number(arguments[3], 127) : 2;
    muster_game_server_options options = {.size = sizeof options};
    char why[64] = "out of memory";
    if (count > 1 && strcmp(arguments[1], "--help") == 0) return usage(stdout, 0);
    if (count > 4 || port < 0 || region < 0) return usage(stderr, 64);
    options.token = getenv("MUSTER_AUTH_SERVER_TOKEN");
    options.ip = "127.0.0.1";
    options.port = (uint16_t)port;
    options.region = (int8_t)region;
    options.max_matches = 8;
    options.on_offer = on_offer;
    options.on_link = on_link;
    options.on_error = on_error;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);

    server = muster_game_server_new(&options, why, sizeof why);
    runner = muster_runner_new(on_error, NULL);
    if (!server || !runner) return fprintf(stderr, "c_game_server: %s\n", why), 1;
    if (muster_runner_add(runner, muster_game_server_client(server), count > 1 ? arguments[1] : "127.0.0.1:11032"))
        return usage(stderr, 64);
    if (muster_runner_run(runner)) return 1; /* until the process is ended */
    muster_runner_free(runner);
    muster_game_server_free(server);
    return 0;
}
