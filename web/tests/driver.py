#!/usr/bin/env python3
"""Drives a real daemon for page_test.ts: starts it, makes peers join, stops it.

    web/tests/driver.py PROGRAM

Prints {"url": …, "token": …} and then takes commands from standard input, one a line, each answered by a line of JSON;
they are those of web/mock/main.mjs:

    join           a game server registers in region EU: {"server": id}
    match          a matchmaker asks for a match in EU and gets it: {"lobby": id}
    refused        it asks for one where there is no game server: {"reason": text}
    player NAME    a player logs in: {"player": id}
    stop, start    the daemon ends, and comes back on the same ports

Ends with its standard input.
"""

import contextlib
import json
import pathlib
import struct
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tests"))
from muster_peer import EU, Daemon, Player, Reader, allocation

ADMIN_TOKEN = "a-token-for-the-page-test"
HEARTBEAT_S = 5
A_LONG_TIME_S = 3600
AU = 11
ALLOCATE_MATCH, ABORT_MATCH, ALLOCATED = 0x1004, 0x100D, 0x2003


def serve_matches(server):
    """Until the link ends: heartbeats, and every match that is offered is taken."""
    matches = 0
    beat_at = time.monotonic()
    with contextlib.suppress(OSError):
        while True:
            if time.monotonic() >= beat_at:
                server.heartbeat(matches=matches, cpu=12.0, memory=34.0)
                beat_at += HEARTBEAT_S
            try:
                frame = server.receive(max(0.01, beat_at - time.monotonic()))
            except TimeoutError:
                continue
            if frame is None:
                return
            code, payload = frame
            if code == ALLOCATE_MATCH:
                matches += 1
                server.acknowledge(struct.unpack_from("<i", payload)[0])
            elif code == ABORT_MATCH:
                matches -= 1


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
        self.lobbies = 0
        self.matchmaker = None

    def obey(self, command, rest):
        if command == "join":
            self.joined += 1
            server = self.daemon.game_server(27015 + self.joined)
            assert server.refused is None, server.refused
            threading.Thread(target=serve_matches, args=(server,), daemon=True).start()
            return {"server": server.id}
        if command == "match":
            lobby, error = self.ask(EU)
            assert error == "", error
            return {"lobby": lobby}
        if command == "refused":
            _, error = self.ask(AU)
            assert error != "", "there was a server"
            return {"reason": error}
        if command == "player":
            player = self.daemon.keep(Player(self.daemon.ports["players"], rest))
            assert player.refused is None, player.refused
            threading.Thread(target=answer_pings, args=(player,), daemon=True).start()
            return {"player": player.id}
        if command == "stop":
            self.matchmaker = None
            self.daemon.stop()
            return {}
        if command == "start":
            self.daemon.start()
            return {}
        raise ValueError(f"there is no command {command!r}")

    def ask(self, region):
        """Lobby and error of a new request; what the matchmaker is told of matches before it is passed over."""
        self.matchmaker = self.matchmaker or self.daemon.matchmaker(regions=(EU, AU))
        self.lobbies += 1
        self.matchmaker.request(self.lobbies, region)
        while frame := self.matchmaker.receive():
            if frame[0] == ALLOCATED:
                lobby, error, _, _ = allocation(Reader(frame[1]))
                return lobby, error
        raise ConnectionError("the daemon closed the matchmaker's link")

    def end(self):
        self.daemon.stop()
        self.daemon.close()


def say(answer):
    print(json.dumps(answer), flush=True)


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 64
    with tempfile.TemporaryDirectory() as folder:
        driver = Driver(pathlib.Path(sys.argv[1]).resolve(), folder)
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
