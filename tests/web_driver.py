#!/usr/bin/env python3
"""Drives a real daemon for tests/web_page_test.ts: starts it, makes peers join, stops it.

    tests/web_driver.py PROGRAM

Prints {"url": …, "token": …} and then takes commands from standard input, one a line, each answered by a line of JSON;
they are those of web/mock/main.mjs:

    join           a game server registers in region EU: {"server": id}
    player NAME    a player logs in: {"player": id}
    stop, start    the daemon ends, and comes back on the same ports

Ends with its standard input.
"""

import contextlib
import json
import sys
import tempfile
import threading

from muster_peer import Daemon, Player

ADMIN_TOKEN = "a-token-for-the-page-test"
HEARTBEAT_S = 5
A_LONG_TIME_S = 3600


def answer_pings(player):
    """Until the link ends, as a client does."""
    with contextlib.suppress(OSError, AssertionError):
        player.closed_for(echo=True, timeout=A_LONG_TIME_S)


class Driver:
    def __init__(self, program, folder):
        self.daemon = Daemon(program, folder, MUSTER_AUTH_ADMIN_TOKEN=ADMIN_TOKEN, MUSTER_PLAYERS_CREDENTIALS="open")
        # The page must find it where it was before.
        for port, address in self.daemon.ports.items():
            self.daemon.env[f"MUSTER_LISTEN_{port.upper()}"] = address
        self.joined = 0
        self.servers = []
        self.ended = threading.Event()
        threading.Thread(target=self.heartbeats, daemon=True).start()

    def heartbeats(self):
        while not self.ended.wait(HEARTBEAT_S):
            for server in list(self.servers):
                try:
                    server.heartbeat(matches=0, cpu=12.0, memory=34.0)
                except OSError:
                    self.servers.remove(server)

    def obey(self, command, rest):
        if command == "join":
            self.joined += 1
            server = self.daemon.game_server(27015 + self.joined)
            assert server.refused is None, server.refused
            server.heartbeat(matches=0, cpu=12.0, memory=34.0)
            self.servers.append(server)
            return {"server": server.id}
        if command == "player":
            player = self.daemon.keep(Player(self.daemon.ports["players"], rest))
            assert player.refused is None, player.refused
            threading.Thread(target=answer_pings, args=(player,), daemon=True).start()
            return {"player": player.id}
        if command == "stop":
            self.servers.clear()
            self.daemon.stop()
            return {}
        if command == "start":
            self.daemon.start()
            return {}
        raise ValueError(f"there is no command {command!r}")

    def end(self):
        self.ended.set()
        self.daemon.stop()
        self.daemon.close()


def say(answer):
    print(json.dumps(answer), flush=True)


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 64
    with tempfile.TemporaryDirectory() as folder:
        driver = Driver(sys.argv[1], folder)
        try:
            say({"url": f"http://{driver.daemon.ports['http']}/", "token": ADMIN_TOKEN})
            for line in sys.stdin:
                command, _, rest = line.rstrip("\n").partition(" ")
                try:
                    say(driver.obey(command, rest))
                except Exception as error:  # the test is told, and decides
                    say({"error": f"{type(error).__name__}: {error}"})
        finally:
            driver.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
