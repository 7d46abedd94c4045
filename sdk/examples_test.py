#!/usr/bin/env python3
"""Runs the example game servers, matchmaker and player against a Muster, and checks that matches are allocated, readied,
started and ended, that the player hears of them, that Ctrl-C leaves cleanly, that a request without a server is
refused, that a player who is sent away stays away, and that each example tells how it is used.

    examples_test.py MUSTER EXAMPLES_DIR        MUSTER is the daemon's program, or the fake_muster of the tests
"""

import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
from muster_peer import PATIENCE_S, Daemon

REGION = "2"
MATCHES = 3


class Program:
    """A program with its output read line by line."""

    def __init__(self, name, *command, **options):
        self.name = name
        self.lines = []
        self.grown = threading.Condition()
        self.ended = False
        self.process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, **options)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            with self.grown:
                self.lines.append(line.rstrip())
                self.grown.notify_all()
        with self.grown:
            self.ended = True
            self.grown.notify_all()

    def wait_for(self, pattern):
        """The first match of the pattern in the output so far or to come."""
        until = time.monotonic() + PATIENCE_S
        with self.grown:
            while True:
                for line in self.lines:
                    if found := re.search(pattern, line):
                        return found
                if self.ended or not self.grown.wait(until - time.monotonic()):
                    fail(f"{self.name} never said {pattern!r}")

    def wait(self):
        try:
            code = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            fail(f"{self.name} did not end")
        with self.grown:
            self.grown.wait_for(lambda: self.ended, PATIENCE_S)
        return code

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


programs = []


def start(name, *command, **options):
    programs.append(Program(name, *command, **options))
    return programs[-1]


def fail(why):
    for program in programs:
        print(f"---- {program.name}", *program.lines, sep="\n")
    sys.exit(f"failed: {why}")


def check(what, condition):
    if not condition:
        fail(what)
    print(f"ok: {what}")


def play(muster, is_fake, examples):
    ports = muster.ports

    alone = start("matchmaker without servers", examples / "matchmaker", ports["matchmakers"], REGION, "1", "100")
    check("without a server the request is refused", alone.wait() == 1 and alone.wait_for("no server: No servers"))

    server = start("game_server", examples / "game_server", ports["servers"], "27015", REGION, "0.5")
    server_id = server.wait_for(r"online as server (\d+)")[1]
    player = start("player", examples / "player", ports["players"], "ann")
    check("the player is account 1, which the matchmaker lists", player.wait_for(r"logged in as player (\d+)$")[1] == "1")
    check("the player knows the world's time", player.wait_for(r"^\w{3}\. \d\d:\d\d, (day|night)$"))
    matchmaker = start("matchmaker", examples / "matchmaker", ports["matchmakers"], REGION, str(MATCHES), "500")
    check("the matchmaker ends well", matchmaker.wait() == 0)
    for lobby in range(500, 500 + MATCHES):
        for said in (rf"server {server_id} at 127\.0\.0\.1:27015", "ready", "started", "ended"):
            check(f"the matchmaker saw lobby {lobby}: {said}", matchmaker.wait_for(rf"lobby {lobby}: {said}"))
        for said in ("offered", "player 1 is in", "started", "ended"):
            check(f"the game server saw lobby {lobby}: {said}", server.wait_for(rf"lobby {lobby}: {said}"))
        check(f"the player was sent to lobby {lobby}", player.wait_for(rf"lobby {lobby}: play at 127\.0\.0\.1:27015$"))
    everybody = (server, matchmaker, player)
    check("nobody had a problem", not [line for each in everybody for line in each.lines if "problem" in line])

    in_c = start("c_game_server", examples / "c_game_server", ports["servers"], "27016", "0")
    in_c.wait_for("online as server")
    other = start("matchmaker of another region", examples / "matchmaker", ports["matchmakers"], "0", "1", "600")
    check("a match is played on the game server in C", other.wait() == 0 and other.wait_for("at 127.0.0.1:27016"))
    check("the game server in C saw it end", in_c.wait_for("lobby 600: ended"))

    looped = start("game_loop", examples / "game_loop", ports["servers"], "27017", "9", "0.2")
    looped.wait_for("online as server")
    third = start("matchmaker of a third region", examples / "matchmaker", ports["matchmakers"], "9", "2", "700")
    check("matches are played by a game loop of its own", third.wait() == 0 and third.wait_for("at 127.0.0.1:27017"))
    check("the game loop saw them end", looped.wait_for("lobby 700: ended") and looped.wait_for("lobby 701: ended"))
    if not is_fake:  # which refuses nobody
        twice = start("game_loop, a second time", examples / "game_loop", ports["servers"], "27017", "9", "0.2")
        check("a second one on its port is told why and what helps", twice.wait_for(
            r"problem: Server already registered \(game server 127\.0\.0\.1:27017\): another process holds this address"))
        twice.process.send_signal(signal.SIGINT)
        check("and leaves on Ctrl-C all the same", twice.wait() == 0 and twice.wait_for("^left$"))
    looped.process.send_signal(signal.SIGTERM)
    check("the game loop leaves cleanly", looped.wait() == 0 and looped.wait_for("^left$"))
    check("and had no problem", not [line for line in looped.lines if "problem" in line])

    elsewhere = start("player elsewhere", examples / "player", ports["players"], "ann")
    check("a player logged in elsewhere is told", player.wait_for("^closed: Logged in elsewhere$"))
    check("and stays away", player.wait() == 1 and player.wait_for("^sent away$"))
    elsewhere.wait_for("logged in as player 1$")
    elsewhere.process.send_signal(signal.SIGINT)
    check("Ctrl-C logs the player out", elsewhere.wait() == 0 and elsewhere.wait_for("^logged out$"))

    server.process.send_signal(signal.SIGINT)
    check("Ctrl-C leaves cleanly", server.wait() == 0 and server.wait_for("^left$"))
    staying = start("player who stays", examples / "player", ports["players"], "bob")
    check("another name is another player", staying.wait_for(r"logged in as player (\d+)$")[1] == "2")
    muster.process.send_signal(signal.SIGTERM)
    check("a player hears that Muster shuts down", staying.wait_for("^closed: Server shutting down, trying again$"))
    check("Muster ends", muster.stop() == 0)


def usage(examples):
    for name in ("game_server", "game_loop", "c_game_server", "matchmaker", "player"):
        asked = start(f"{name} --help", examples / name, "--help")
        check(f"{name} --help tells the usage", asked.wait() == 0 and asked.lines[0].startswith(f"usage: {name} ["))
        bad = [["nowhere"], ["127.0.0.1:1", "1", "1", "1", "1", "1"]]
        if name in ("game_server", "game_loop", "c_game_server", "matchmaker"):
            bad += [["127.0.0.1:1", "many"], ["127.0.0.1:1", "70000"]]
        for arguments in bad:
            wrong = start(f"{name} {arguments}", examples / name, *arguments)
            check(f"{name} {arguments} is exit code 64, with the usage", wrong.wait() == 64 and wrong.wait_for(f"^usage: {name} "))


def main():
    muster_program, examples = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        try:
            usage(examples)
            muster = Daemon(muster_program, folder)
            try:
                play(muster, muster_program.name == "fake_muster", examples)
            finally:
                muster.end()
        finally:
            for program in programs:
                program.stop()


if __name__ == "__main__":
    main()
