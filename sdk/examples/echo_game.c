/* A game server that links nothing of Muster: it echoes every datagram to its sender. An agent runs it as it is
 * (sdk = "none"): PORT says where to listen, SIGUSR1 and the file that MUSTER_MATCH_FILE names tell of a match, and
 * exit ends the match.
 *
 *     cc -o echo_game echo_game.c
 *     muster up --count 8 -- ./echo_game
 *
 * A datagram "end" ends the match, and with it this life of the server; "crash" is what it says.
 */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static volatile sig_atomic_t match_came = 0;
static volatile sig_atomic_t stop_came = 0;

static void on_signal(int number) {
    if (number == SIGUSR1)
        match_came = 1;
    else
        stop_came = 1;
}

static void tell_of_match(void) {
    const char* path = getenv("MUSTER_MATCH_FILE");
    FILE* file = path ? fopen(path, "r") : NULL;
    char text[512] = "";
    if (!file || !fgets(text, sizeof text, file)) strcpy(text, "unknown\n");
    if (file) fclose(file);
    printf("match: %s", text);
    fflush(stdout);
}

int main(int count, char** arguments) {
    const char* given = count > 1 ? arguments[1] : getenv("PORT");
    const int port = given ? atoi(given) : 0;
    if (port < 1 || port > 65535) {
        fprintf(stderr, "usage: echo_game PORT (or the variable PORT)\n");
        return 64;
    }

    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal; /* without SA_RESTART: a signal wakes recvfrom() */
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);

    const int game = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in here;
    memset(&here, 0, sizeof here);
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_ANY);
    here.sin_port = htons((unsigned short)port);
    if (game < 0 || bind(game, (const struct sockaddr*)&here, sizeof here) != 0) {
        perror("echo_game: cannot listen");
        return 69;
    }
    printf("listening on port %d\n", port);
    fflush(stdout);

    while (!stop_came) {
        char bytes[1500];
        struct sockaddr_in player;
        socklen_t size = sizeof player;
        if (match_came) {
            match_came = 0;
            tell_of_match();
        }
        const ssize_t got = recvfrom(game, bytes, sizeof bytes, 0, (struct sockaddr*)&player, &size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) break;
        if (got == 5 && memcmp(bytes, "crash", 5) == 0) {
            printf("asked to crash\n");
            fflush(stdout);
            abort();
        }
        if (got == 3 && memcmp(bytes, "end", 3) == 0) {
            printf("the match is over\n");
            return 0;
        }
        sendto(game, bytes, (size_t)got, 0, (const struct sockaddr*)&player, size);
    }
    printf("stopped\n");
    return 0;
}
