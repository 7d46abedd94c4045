#!/usr/bin/env python3
"""The commands of `muster` that ask a running daemon, the demo, and what is printed for shells and for man (O-3).

    cli_client_test.py PATH_TO_MUSTER [unittest arguments]
"""

import contextlib
import fcntl
import glob
import http.server
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest

import served
from served import Served

PATIENCE_S = 30  # what only a broken program needs
ESCAPE = "\x1b"
USUAL_URL = "http://127.0.0.1:11030"
COMMANDS = ("serve demo status top servers server drain undrain regions managers matches allocate abort players kick clock events "
            "config protocol player-token simulate bench completion man").split()


def environment(**more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_") and k not in ("JOURNAL_STREAM", "NO_COLOR")}
    return {**kept, **more}


def muster(*arguments, **more):
    """Runs it with `more` in the environment."""
    return subprocess.run([Served.muster, *arguments], env=environment(**more), capture_output=True, text=True, timeout=PATIENCE_S,
                          stdin=subprocess.DEVNULL)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Terminal:
    """A program on a terminal of its own, of which all that it wrote is kept. Ours, unless another is named."""

    def __init__(self, arguments, rows=40, columns=140, program=None, **more):
        self.ours, theirs = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(theirs)
        self.theirs = theirs
        self.process = subprocess.Popen([program or Served.muster, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
                                        env=environment(**{"TERM": "xterm-256color", **more}),
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.text = ""

    def resize(self, rows, columns):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        """What comes within so long."""
        end = time.monotonic() + seconds
        got = ""
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.ours], [], [], left)[0]:
                break
            try:
                got += os.read(self.ours, 65536).decode(errors="replace")
            except OSError:
                break
        self.text += got
        return got

    def read_until(self, wanted):
        end = time.monotonic() + PATIENCE_S
        start = len(self.text)
        while wanted not in self.text[start:]:
            if time.monotonic() > end or (self.process.poll() is not None and not self.read(0.2)):
                raise AssertionError(f"{wanted!r} is not in {self.text[start:]!r}")
            self.read(0.05)

    def type(self, keys):
        os.write(self.ours, keys.encode())

    def end(self):
        code = self.process.wait(PATIENCE_S)
        self.read(0.1)
        return code

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.ours)
        os.close(self.theirs)


class FakeDaemon:
    """Answers every request by what it is told, however wrong: (status, body), or what makes it of the query."""

    def __init__(self, test, answers):
        seen = self.seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                size = int(self.headers.get("Content-Length") or 0)
                seen.append((self.command, self.path, dict(self.headers), self.rfile.read(size).decode()))
                path, _, query = self.path.removeprefix("/api/v1").partition("?")
                answer = answers.get(path, (404, '{"error":"Not found"}'))
                status, body = answer(query) if callable(answer) else answer
                if status == 0:  # takes the question and goes
                    self.close_connection = True
                    return
                data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = answer

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        # Looks often whether it is to end: each fake is waited for.
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        test.addCleanup(self.server.server_close)
        test.addCleanup(self.server.shutdown)


class WithDaemon(Served):
    def setUp(self):
        super().setUp()
        self.url = "http://" + self.daemon.ports["http"]

    def run_muster(self, *arguments, **more):
        return muster(*arguments, MUSTER_URL=self.url, **more)

    def ok(self, *arguments, **more):
        """What it prints; it must go well, and without a colour."""
        result = self.run_muster(*arguments, **more)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertNotIn(ESCAPE, result.stdout + result.stderr)
        return result.stdout

    def json(self, *arguments):
        return json.loads(self.ok(*arguments, "--json"))

    def shown(self, wanted, *arguments):
        """Runs it until `wanted` is there: the API's views are up to a second old."""
        self.soon(lambda: wanted in self.ok(*arguments), f"{wanted} is not shown by {arguments}")

    def played(self, server):
        """Takes every offer, on a thread, until the link ends."""
        def play():
            with contextlib.suppress(OSError, AssertionError, ValueError):
                while frame := server.receive():
                    if frame[0] == 0x1004:
                        server.acknowledge(struct.unpack_from("<i", frame[1])[0])
        threading.Thread(target=play, daemon=True).start()


class Reads(WithDaemon):
    def test_status_tells_health_and_regions_and_fails_when_it_is_bad_O_3(self):
        text = self.ok("status")
        for wanted in ("health        ok", "clock         Sun. 00:", "REGION", "EU", "loop", "store         up"):
            self.assertIn(wanted, text)
        server = self.daemon.game_server(27000)
        server.heartbeat()
        self.assertEqual(self.json("status")["health"]["status"], "ok")
        server.close()
        self.soon(lambda: self.run_muster("status").returncode == 1, "a region without servers is bad")
        self.assertIn("All servers of EU are offline", self.run_muster("status").stdout)

    def test_servers_are_listed_filtered_and_sorted_and_one_is_shown_whole_O_3(self):
        small = self.daemon.game_server(27000, max_matches=4)
        large = self.daemon.game_server(27001, max_matches=40)
        west = self.daemon.game_server(27002, max_matches=8, region=1)
        for server, load in ((small, 3), (large, 1), (west, 8)):
            server.heartbeat(matches=load, cpu=50)
            server.expect(0x1003)
        self.shown("127.0.0.1:27002", "servers")
        lines = self.ok("servers").splitlines()
        self.assertEqual(lines[0].split()[:5], ["ID", "ADDRESS", "REGION", "STATUS", "MATCHES"])
        self.assertEqual(len({line.index(word) for line, word in zip(lines[1:], ("EU", "EU", "USW"))}), 1, "aligned")
        self.assertEqual([row["id"] for row in self.json("servers", "--region", "eu")["servers"]], [small.id, large.id])
        self.assertEqual([row["id"] for row in self.json("servers", "--region", "1")["servers"]], [west.id])
        self.assertEqual([row["id"] for row in self.json("servers", "--status", "full")["servers"]], [west.id])
        self.assertEqual([row["id"] for row in self.json("servers", "--sort", "load")["servers"]], [west.id, small.id, large.id])
        cut = self.json("servers", "--sort", "load", "--limit", "1")
        self.assertEqual(([row["id"] for row in cut["servers"]], cut["next"]), ([west.id], west.id))
        self.assertIn("--limit 0 shows all", self.run_muster("servers", "--limit", "1").stderr)
        self.assertIn("4: reports 3", self.ok("server", str(small.id)))
        self.assertEqual(self.json("server", str(small.id))["max_matches"], 4)
        missing = self.run_muster("server", "999")
        self.assertEqual((missing.returncode, missing.stderr), (1, "muster: no server 999; `muster servers` lists them\n"))
        letters = self.run_muster("server", "abc")
        self.assertEqual(letters.returncode, 64)
        self.assertIn("ID: a whole number is wanted", letters.stderr)
        wrong = self.run_muster("servers", "--region", "Atlantis")
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("EU (2)", wrong.stderr)
        self.assertEqual(self.run_muster("servers", "--status", "happy").returncode, 64)

    def test_what_nobody_has_measured_is_a_dash_and_regions_tell_matches_of_how_many_O_3(self):
        self.daemon.game_server(27000, max_matches=4)
        self.shown("27000", "servers")
        self.assertRegex(self.ok("servers"), r" MATCHES +LOAD +CPU +MEMORY +HEARD +RTT\n.* 0/4 +0 % +- +- +\S+ m?s ago +(-|\S+ ms)\n$")
        for command in ("regions", "status"):
            text = self.ok(command)
            self.assertRegex(text, r"\nEU +1 +0 +0 +0 +0/4 +0 % +- +- +0 +0\n")
            self.assertNotIn("ROOM", text)

    def test_lists_of_more_than_a_page_are_whole(self):
        for port in range(27000, 27012):
            self.daemon.game_server(port)
        self.soon(lambda: len(self.json("servers")["servers"]) == 12, "all are listed")
        rows = self.json("servers", "--limit", "5")
        self.assertEqual((len(rows["servers"]), rows["next"]), (5, rows["servers"][-1]["id"]))
        self.assertEqual(len(self.json("servers", "--limit", "0")["servers"]), 12)

    def test_regions_and_managers_are_listed(self):
        self.daemon.chat_server("lobby-7", regions=(2, 9))
        self.shown("lobby-7", "managers")
        self.assertRegex(self.ok("managers"), r"lobby-7 .*EU RU")
        self.assertEqual(self.json("managers")["managers"][0]["regions"], [2, 9])
        self.assertEqual([row["name"] for row in self.json("regions")["regions"]], ["USE", "USW", "EU", "RU", "AU", "BR"])
        self.assertIn("BR", self.ok("regions"))

    def test_fault_45_a_name_that_turns_text_is_shown_escaped(self):
        self.daemon.player("\u202eevil")
        self.shown("\\u202eevil", "players")
        self.assertNotIn("\u202e", self.ok("players") + self.ok("events"))

    def test_events_are_shown_filtered_and_followed_O_3(self):
        self.daemon.player("Ann")
        self.shown("player.login", "events")
        self.assertIn("name=Ann", self.ok("events", "--type", "player."))
        self.assertEqual(self.ok("events", "--type", "match."), "")
        self.assertEqual(self.json("events", "--since", "1h")["events"][-1]["type"], "player.login")
        self.assertEqual(self.run_muster("events", "--since", "yesterday").returncode, 64)
        for wrong, meant in (("nope", "server., match."), ("login", "player.login"), ("macth.", "match.?"), ("match.,server.offlne", "server.offline")):
            refused = self.run_muster("events", "--type", wrong)
            self.assertEqual(refused.returncode, 64)
            self.assertIn(f"no event is of type {wrong.split(',')[-1]}; ", refused.stderr)
            self.assertIn(meant, refused.stderr)
        with open(os.path.join(os.path.dirname(__file__), "../src/core/events.h"), encoding="utf-8") as source:
            types = re.findall(r'string_view name = "([a-z.]+)"', source.read())
        self.assertGreater(len(types), 20)
        for some in (types[:16], types[16:]):  # every type that there is can be asked for
            self.ok("events", "--type", ",".join(some))
        with subprocess.Popen([Served.muster, "events", "--follow", "--type", "server.", "--json"], stdout=subprocess.PIPE,
                              env=environment(MUSTER_URL=self.url), text=True) as follower:
            self.addCleanup(follower.kill)
            time.sleep(0.3)
            server = self.daemon.game_server(27000)
            event = json.loads(follower.stdout.readline())
            self.assertEqual((event["type"], event["server_id"]), ("server.registered", server.id))
            self.daemon.stop()
            self.daemon.env["MUSTER_LISTEN_HTTP"] = self.daemon.ports["http"]
            self.daemon.start()
            again = self.daemon.game_server(27001)
            seen = [json.loads(follower.stdout.readline())]
            while seen[-1].get("server_id") != again.id:
                seen.append(json.loads(follower.stdout.readline()))
            self.assertEqual(seen[-1]["type"], "server.registered", "the feed is taken up again after a restart")
            self.assertEqual(len({one["id"] for one in seen}), len(seen), "nothing twice")
            follower.kill()


class Actions(WithDaemon):
    def test_drain_and_undrain_O_3(self):
        server = self.daemon.game_server(27000)
        self.assertIn("takes no new matches", self.ok("drain", str(server.id)))
        self.assertEqual(server.expect(0x100F).take("i"), server.id)
        self.shown("draining", "servers")
        self.assertEqual(self.json("undrain", str(server.id)), {"id": server.id, "draining": False})
        other = self.daemon.game_server(27001)
        several = self.run_muster("drain", str(server.id), "999", str(other.id))
        self.assertEqual((several.returncode, several.stderr), (1, "muster: no server 999; `muster servers` lists them\n"))
        for each in (server, other):
            self.assertIn(f"server {each.id} takes no new matches", several.stdout)
            self.assertEqual(each.expect(0x100F).take("i"), each.id)
        self.shown("server.registered  server_id=1 region=EU endpoint=127.0.0.1:27000", "events")

    def test_allocate_waits_for_the_answer_and_abort_ends_the_match_O_3(self):
        server = self.daemon.game_server(27000)
        self.played(server)
        answer = self.json("allocate", "EU", "--lobby", "42", "--players", "4", "--game-type", "6", "--rating", "1650")
        self.assertEqual((answer["lobby_id"], answer["server_id"], answer["port"]), (42, server.id, 27000))
        self.assertEqual(self.json("allocate", "EU", "--lobby", "42", "--players", "4")["token"], answer["token"])
        self.assertIn("token", self.ok("allocate", "2"))
        self.shown("allocated", "matches", "--state", "live")
        row = self.json("matches", "--region", "EU", "--server", str(server.id))["matches"][0]
        self.assertEqual((row["lobby_id"], row["player_count"], row["average_rating"]), (42, 4, 1650))
        self.assertEqual(self.ok("abort", "42", "--reason", "by hand"),
                         f"the match of lobby 42 is aborted; server {server.id} will be told\n")
        self.shown("by hand", "matches", "--state", "over")
        again = self.run_muster("abort", "42")
        self.assertEqual(again.returncode, 1)
        self.assertIn("lobby 42: The match is over already", again.stderr)
        unknown = self.run_muster("abort", "4242")
        self.assertEqual((unknown.returncode, unknown.stderr), (1, "muster: no match of lobby 4242; `muster matches` lists them\n"))
        self.daemon.chat_server("lobby-7").request(43)
        self.shown("lobby-7", "matches")
        self.assertEqual(self.ok("abort", "43"), f"the match of lobby 43 is aborted; server {server.id} and chat server lobby-7 will be told\n")
        nowhere = self.run_muster("allocate", "BR")
        self.assertEqual((nowhere.returncode, nowhere.stderr), (1, "muster: No servers available\n"))

    def test_matches_are_those_that_run_the_newest_first_unless_others_are_asked_for_O_3(self):
        self.played(self.daemon.game_server(27000))
        for lobby in (9, 7, 8):
            self.ok("allocate", "EU", "--lobby", str(lobby))
        self.ok("abort", "9")

        def lobbies(*arguments):
            return [line.split()[0] for line in self.ok("matches", *arguments).splitlines()[1:]]

        self.soon(lambda: lobbies() == ["8", "7"], "what is over is not shown")
        self.assertIn("--state over shows the others", self.run_muster("matches").stderr)
        self.assertEqual(lobbies("--state", "all"), ["8", "7", "9"])
        self.assertEqual(lobbies("--state", "over"), ["9"])
        self.assertEqual(lobbies("--limit", "1"), ["8"])
        self.assertEqual([row["lobby_id"] for row in self.json("matches")["matches"]], [7, 8])
        self.assertNotIn("shows the others", self.run_muster("matches", "--state", "all").stderr)

    def test_kick_closes_the_session_and_is_in_the_history_O_3(self):
        player = self.daemon.player("Ann")
        self.shown("Ann", "players")
        self.assertEqual(self.json("players")["players"][0]["id"], player.id)
        self.assertIn("out", self.ok("kick", str(player.id), "--reason", "too loud"))
        self.assertEqual(player.closed_for(), "Kicked")
        self.shown(f"who=127.0.0.1 action=kick target=\"player {player.id}\" reason=\"too loud\"", "events", "--type", "operator.action")
        self.assertEqual(self.json("events", "--player", str(player.id))["events"][-1]["action"], "kick")
        nobody = self.run_muster("kick", "9999")
        self.assertEqual((nobody.returncode, nobody.stderr), (1, "muster: no player 9999 is here; `muster players` lists them\n"))

    def test_the_clock_is_shown_and_set_C_3(self):
        self.assertRegex(self.ok("clock"), r"^Sun\. 00:0\d, speed 1\n$")
        self.assertEqual(self.ok("clock", "set", "3", "14:30"), "Tue. 14:30, speed 1\n")
        self.assertEqual(self.ok("clock", "set", "sat", "23:59", "--speed", "2"), "Sat. 23:59, speed 2\n")
        self.assertEqual(self.json("clock", "--speed", "1")["speed"], 1)
        for bad in (["set"], ["set", "8", "1:00"], ["set", "3", "24:00"], ["set", "3"], ["stop"], ["--speed", "0"], ["set", "3", "1430"]):
            self.assertEqual(self.run_muster("clock", *bad).returncode, 64, bad)


class Guarded(WithDaemon):
    settings = {"MUSTER_AUTH_ADMIN_TOKEN": "open-sesame"}

    def test_x2_without_the_admin_token_it_is_77_and_says_what_to_set(self):
        refused = self.run_muster("clock", "--speed", "2")
        self.assertEqual(refused.returncode, 77)
        self.assertIn("set MUSTER_ADMIN_TOKEN", refused.stderr)
        wrong = self.run_muster("clock", "--speed", "2", MUSTER_ADMIN_TOKEN="guess")
        self.assertEqual(wrong.returncode, 77)
        self.assertNotIn("guess", wrong.stderr)
        self.assertIn("speed 2", self.ok("clock", "--speed", "2", MUSTER_ADMIN_TOKEN="open-sesame"))


class Unreachable(unittest.TestCase):
    def test_no_daemon_is_69_with_where_it_looked_and_how_to_start_one_O_3(self):
        url = f"http://127.0.0.1:{free_port()}"
        for command in (["status"], ["top"], ["servers"], ["events", "--follow"], ["allocate", "EU"], ["drain", "1"], ["clock"]):
            result = muster(*command, MUSTER_URL=url)
            self.assertEqual((result.returncode, result.stdout), (69, ""), command)
            for wanted in (url, "muster serve", "MUSTER_URL", "muster demo"):
                self.assertIn(wanted, result.stderr)
        self.assertEqual(muster("status", MUSTER_URL="http://nowhere.invalid:1").returncode, 69)

    def test_a_bad_address_is_64_and_says_how_it_looks(self):
        for url in ("127.0.0.1:11030", "https://127.0.0.1", "http://", "http://[::1", "http://a:b", "http://a/b", "http://a:1:2x"):
            result = muster("status", MUSTER_URL=url)
            self.assertEqual(result.returncode, 64, url)
            self.assertIn("http://127.0.0.1:11030", result.stderr)

    def test_a_token_on_the_command_line_is_refused_and_not_repeated_X_2(self):
        result = muster("status", "--admin-token=hunter2")
        self.assertEqual(result.returncode, 64)
        self.assertNotIn("hunter2", result.stdout + result.stderr)


class Hostile(unittest.TestCase):
    """A daemon that is none, or that means harm."""

    NAME = "\x1b[2J\x07evil\r\n\u009b31m"
    REGIONS = (200, {"regions": [{"id": 2, "name": "E\x1b[1mU"}], "next": None})

    def test_fault_45_names_cannot_drive_the_terminal(self):
        rows = {"players": [{"id": 1, "name": self.NAME}], "next": None}
        fake = FakeDaemon(self, {
            "/players": (200, rows), "/regions": self.REGIONS,
            "/matches": (200, {"matches": [{"lobby_id": 1, "chat_server": self.NAME, "reason": self.NAME, "state": self.NAME}], "next": None}),
            "/managers": (200, {"managers": [{"id": self.NAME, "regions": [2]}], "next": None}),
            "/servers": (200, {"servers": [{"id": 1, "ip": self.NAME, "status": self.NAME, "region": 2}], "next": None}),
            "/servers/1": (200, {"id": 1, "ip": self.NAME, "status": self.NAME, "region": 2}),
            "/events": (200, {"events": [{"id": 1, "time_ms": 1, "type": self.NAME, self.NAME: self.NAME}], "next": None}),
            "/overview": (200, {"health": {"status": self.NAME, "reasons": [self.NAME]}, "version": self.NAME,
                                "regions": [{"name": self.NAME}], "allocations": {"failures": {self.NAME: 1}}}),
            "/servers/1/drain": (409, {"error": self.NAME}),
        })
        for command in ("players", "matches", "managers", "servers", "server 1", "events", "status", "regions", "drain 1"):
            for flag in ([], ["--json"]):
                result = muster(*command.split(), *flag, MUSTER_URL=fake.url)
                told = result.stdout + result.stderr
                self.assertIn("evil", told.replace("\\", ""), command) if command != "regions" else None
                for control in ("\x1b", "\x07", "\r", "\u009b"):
                    self.assertNotIn(control, told, command)
        self.assertIn("\\x1b[2J\\x07evil\\x0d\\x0a\\x9b31m", muster("players", MUSTER_URL=fake.url).stdout)

    def test_what_is_not_muster_is_an_error_and_no_crash(self):
        for status, body in ((200, "<html>"), (200, "[" * 100000), (500, ""), (200, "null"), (301, "{}")):
            fake = FakeDaemon(self, {"/overview": (status, body), "/servers": (status, body), "/regions": (200, "[]")})
            for command in ("status", "servers"):
                result = muster(command, MUSTER_URL=fake.url)
                self.assertIn(result.returncode, (0, 1), (command, status, body[:10], result.stderr))
                if status != 200 or body != "null":
                    self.assertEqual(result.returncode, 1, (command, status, body[:10]))
                    self.assertTrue(result.stderr.startswith("muster: "))

    def test_the_token_goes_in_its_header_and_nowhere_else_X_2(self):
        fake = FakeDaemon(self, {"/clock": (200, {"day": 1, "hour": 0, "minute": 0, "speed": 1})})
        self.assertEqual(muster("clock", "--speed", "3", MUSTER_URL=fake.url + "/", MUSTER_ADMIN_TOKEN="s3cret").returncode, 0)
        method, path, headers, body = fake.seen[0]
        self.assertEqual((method, path, headers["Authorization"], json.loads(body)), ("PUT", "/api/v1/clock", "Bearer s3cret", {"speed": 3}))
        self.assertEqual((headers["Content-Type"], headers["Host"]), ("application/json", fake.url.removeprefix("http://")))
        self.assertEqual(muster("clock", MUSTER_URL=fake.url, MUSTER_ADMIN_TOKEN="two\nlines").returncode, 64)

    def test_an_allocation_whose_answer_was_lost_can_be_asked_for_again_A_8(self):
        fake = FakeDaemon(self, {"/regions": self.REGIONS, "/matches": (0, "")})
        result = muster("allocate", "2", MUSTER_URL=fake.url)
        self.assertEqual(result.returncode, 69, result.stderr)
        lobby = json.loads(fake.seen[-1][3])["lobby_id"]
        self.assertIn(f"--lobby {lobby}", result.stderr)

    def test_a_daemon_that_never_ends_its_list_is_left(self):
        fake = FakeDaemon(self, {"/regions": self.REGIONS, "/servers": (200, {"servers": [], "next": 7})})
        self.assertEqual(muster("servers", "--limit", "0", MUSTER_URL=fake.url).returncode, 0)


class TopOfMany(unittest.TestCase):
    def test_the_fullest_server_is_shown_however_many_there_are_O_3(self):
        def servers(query):
            if "after=1000" in query:
                return 200, {"servers": [{"id": 1001, "ip": "10.9.9.9", "port": 1, "matches": 9, "max_matches": 10}], "next": None}
            return 200, {"servers": [{"id": i, "ip": "10.0.0.1", "port": i, "matches": 1, "max_matches": 10} for i in range(1, 1001)], "next": 1000}

        fake = FakeDaemon(self, {"/servers": servers, "/regions": Hostile.REGIONS, "/events": (200, {"events": []}),
                                 "/overview": (200, {"time_ms": 1, "health": {"status": "ok"}, "regions": []})})
        terminal = Terminal(["top"], MUSTER_URL=fake.url)
        self.addCleanup(terminal.close)
        terminal.read_until("10.9.9.9:1")
        terminal.read_until("\x1b[H")  # a second look
        terminal.type("q")
        self.assertEqual(terminal.end(), 0)
        self.assertEqual(sum("after=1000" in path for _, path, _, _ in fake.seen), 1, "a large fleet is not read each second")


class Top(WithDaemon):
    def terminal(self, *arguments, **more):
        terminal = Terminal(arguments, MUSTER_URL=self.url, **more)
        self.addCleanup(terminal.close)
        return terminal

    def restored(self, terminal):
        self.assertTrue(terminal.text.endswith("\x1b[?25h\x1b[?1049l"), terminal.text[-40:])
        self.assertEqual(termios.tcgetattr(terminal.theirs), terminal.before)

    def test_top_draws_redraws_resizes_and_q_restores_the_terminal_O_3(self):
        self.daemon.game_server(27000).heartbeat(matches=2, cpu=42)
        self.shown("27000", "servers")
        terminal = self.terminal("top")
        terminal.read_until("127.0.0.1:27000")
        for wanted in ("\x1b[?1049h", "\x1b[?25l", "health", "REGION", "Allocations", "Loop", "servers by load"):
            self.assertIn(wanted, terminal.text)
        self.daemon.game_server(27001)
        terminal.read_until("127.0.0.1:27001")
        terminal.type("s")
        terminal.read_until("servers by matches")
        terminal.resize(8, 30)
        terminal.read_until("\x1b[H")
        terminal.read(0.3)
        frame = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.text.rsplit("\x1b[H", 1)[1])
        lines = frame.replace("\r", "").split("\n")
        self.assertLessEqual(len(lines), 8)
        self.assertLessEqual(max(map(len, lines)), 30)
        terminal.type("q")
        self.assertEqual(terminal.end(), 0)
        self.restored(terminal)

    def test_a_small_top_keeps_what_matters_most_and_marks_what_is_cut_O_3(self):
        self.daemon.game_server(27000).heartbeat(matches=2, cpu=42)
        self.shown("42 %", "servers")

        def frame(rows, columns):
            terminal = self.terminal("top", rows=rows, columns=columns)
            terminal.read_until("REGION")
            terminal.read(0.3)
            lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.text.rsplit("\x1b[H", 1)[1]).replace("\r", "").split("\n")
            self.assertLessEqual(max(map(len, lines)), columns)
            terminal.type("q")
            self.assertEqual(terminal.end(), 0)
            return lines

        title = r"REGION +AVAILABLE +FULL.* MATCHES .*REQUESTS +FAILED$"
        wide = frame(40, 140)
        self.assertTrue(any("CPU" in line and re.match(title, line) for line in wide), wide)
        usual = frame(24, 80)
        self.assertTrue(any("CPU" not in line and re.match(title, line) for line in usual), usual)
        self.assertTrue(any(len(line) == 80 and line.endswith("…") for line in usual), usual)
        small = frame(12, 60)
        self.assertRegex(small[0], r"^muster .*health \w+  servers by load  q quits, s sorts$")
        self.assertTrue(any(re.match(title, line) for line in small), small)

    def test_ctrl_c_ends_top_and_restores_the_terminal(self):
        terminal = self.terminal("top")
        terminal.read_until("Loop")
        terminal.type("\x03")
        self.assertEqual(terminal.end(), 0)
        self.restored(terminal)

    def test_top_waits_for_a_daemon_that_is_gone_and_sigterm_restores_the_terminal(self):
        terminal = self.terminal("top")
        terminal.read_until("Loop")
        self.daemon.stop()
        terminal.read_until("trying again")
        terminal.process.send_signal(signal.SIGTERM)
        self.assertEqual(terminal.end(), 0)
        self.restored(terminal)

    def test_top_without_a_terminal_is_64_and_names_status(self):
        result = self.run_muster("top")
        self.assertEqual(result.returncode, 64)
        self.assertIn("muster status", result.stderr)

    def test_status_wraps_at_the_width_of_the_terminal(self):
        narrow = self.terminal("status", columns=50, NO_COLOR="1")
        narrow.read_until("REGION")
        self.assertEqual(narrow.end(), 0)
        facts = narrow.text.replace("\r", "").split("\n\n")[0]
        self.assertLessEqual(max(map(len, facts.split("\n"))), 50)
        self.assertRegex(facts, r"\n {14}in flight|\n {14}\S+.*none failed")
        self.assertEqual(len(self.ok("status").split("\n\n")[0].split("\n")), 10, "whole lines where it is no terminal")

    def test_colours_are_for_terminals_and_not_with_no_color(self):
        coloured = self.terminal("status")
        coloured.read_until("REGION")
        self.assertEqual(coloured.end(), 0)
        self.assertIn("\x1b[32mok\x1b[0m", coloured.text)
        for more in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            plain = self.terminal("status", **more)
            plain.read_until("REGION")
            self.assertEqual(plain.end(), 0)
            self.assertNotIn(ESCAPE, plain.text)


class Simulate(unittest.TestCase):
    def test_a_seed_plays_the_same_run_again_and_tells_a_summary_O_3(self):
        runs = [muster("simulate", "--scenario", "calm", "--seed", "7", "--minutes", "1", "--servers", "2", "--chat-servers", "1", "--json")
                for _ in range(2)]
        self.assertEqual(runs[0].returncode, 0, runs[0].stderr)
        self.assertEqual(runs[0].stdout, runs[1].stdout)
        report = json.loads(runs[0].stdout)
        self.assertTrue(report["kept"])
        self.assertGreater(report["virtual_seconds"], 60)
        crowd = json.loads(muster("simulate", "--scenario", "calm", "--seed", "7", "--minutes", "1", "--players", "12", "--json").stdout)
        self.assertTrue(crowd["kept"])
        self.assertGreaterEqual(crowd["player_logins"], 12)
        text = muster("simulate", "--scenario", "calm", "--seeds", "2", "--minutes", "1", "--slots", "2", "--asks", "6")
        self.assertEqual(text.returncode, 0, text.stderr)
        self.assertRegex(text.stdout, r"played +2 runs, ")
        self.assertEqual(text.stderr, "", "no progress where there is no terminal")

    def test_the_help_says_what_each_scenario_does_O_3(self):
        text = muster("simulate", "--help").stdout
        told = dict(re.findall(r"^  ([a-z_]+) +(\S.*)$", text.split("in each scenario:")[1], re.M))
        choices = re.search(r"\{(calm,[a-z_,]+)\}", muster("simulate", "--scenario", "sunny").stderr)[1].split(",")
        self.assertEqual(list(told), choices)
        self.assertEqual(len(told), 11)

    def test_the_summary_wraps_at_the_width_of_the_terminal_O_3(self):
        terminal = Terminal(["simulate", "--seed", "3"], columns=60, NO_COLOR="1")
        self.addCleanup(terminal.close)
        self.assertEqual(terminal.end(), 0)
        summary = terminal.text.rsplit("\x1b[K", 1)[-1].replace("\r", "")
        self.assertLessEqual(max(map(len, summary.split("\n"))), 60)
        self.assertRegex(summary, r"refusals +\d+ × .*\n {13}\S")

    def test_what_cannot_be_played_is_64(self):
        for bad in (["--scenario", "sunny"], ["--minutes", "0"], ["--servers", "0"], ["--seeds", "0"], ["--asks", "-1"], ["--players", "0"], ["--hours", "9999"]):
            self.assertEqual(muster("simulate", *bad).returncode, 64, bad)


class Bench(unittest.TestCase):
    def test_the_yardsticks_are_listed_and_one_that_is_not_built_says_how_O_3(self):
        listed = json.loads(muster("bench", "--json").stdout)["yardsticks"]
        self.assertIn("fleet_load", [one["name"] for one in listed])
        with open(os.path.join(os.path.dirname(__file__), "../bench/README.md"), encoding="utf-8") as readme:
            self.assertEqual(re.findall(r"^\| `(\w+)`", readme.read(), re.M), [one["name"] for one in listed], "the README has them all")
        self.assertIn("MEASURES", muster("bench").stdout)
        self.assertEqual(muster("bench", "nothing_bench").returncode, 64)
        with tempfile.TemporaryDirectory() as folder:
            alone = shutil.copy(Served.muster, folder)
            result = subprocess.run([alone, "bench", "idle_bench"], capture_output=True, text=True, timeout=PATIENCE_S, env=environment())
            self.assertEqual(result.returncode, 1)
            self.assertIn("cmake --preset release", result.stderr)
            os.mkdir(f"{folder}/bench")
            fake = f"{folder}/bench/idle_bench"
            with open(fake, "w") as script:
                script.write('#!/bin/sh\necho "told $*"\nexit $1\n')
            os.chmod(fake, 0o755)
            good = subprocess.run([alone, "bench", "idle_bench", "--", "0", "--more"], capture_output=True, text=True, timeout=PATIENCE_S)
            self.assertEqual((good.returncode, good.stdout), (0, "told 0 --more\n"), good.stderr)
            bad = subprocess.run([alone, "bench", "idle_bench", "--", "3"], capture_output=True, text=True, timeout=PATIENCE_S)
            self.assertEqual(bad.returncode, 1)
            self.assertIn("idle_bench ended with 3", bad.stderr)
            # What takes its time is seen to be at it, and what it prints stands above that.
            with open(fake, "w") as script:
                script.write('#!/bin/sh\necho begun\nread line\necho done\n')
            terminal = Terminal(["bench", "idle_bench"], program=alone)
            self.addCleanup(terminal.close)
            terminal.read_until("begun")
            terminal.read_until("idle_bench 1 s")
            terminal.type("go on\n")
            self.assertEqual(terminal.end(), 0)
            self.assertRegex(terminal.text, r"\r\x1b\[Kdone")


class Shells(unittest.TestCase):
    def test_completion_of_bash_is_right_and_offers_commands_flags_and_values_O_3(self):
        script = muster("completion", "bash").stdout
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)

        def offered(*words):
            line = " ".join(f"'{word}'" for word in words)
            program = f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _muster; printf '%s\\n' \"${{COMPREPLY[@]}}\""
            return subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True).stdout.split()

        self.assertEqual(offered("muster", "st"), ["status"])
        self.assertEqual(set(COMMANDS) - set(offered("muster", "")), set())
        self.assertEqual(offered("muster", "servers", "--st"), ["--status"])
        self.assertEqual(offered("muster", "servers", "--status", "of"), ["offline"])
        self.assertEqual(offered("muster", "completion", "z"), ["zsh"])
        self.assertEqual(offered("muster", "events", "--limit", ""), [])
        self.assertEqual(offered("muster", "servers", "--status", "=", "of"), ["offline"])
        self.assertEqual(set(offered("muster", "servers", "--status", "=")), {"available", "full", "draining", "offline"})

    def test_completion_of_zsh_and_fish_names_every_command(self):
        for shell in ("zsh", "fish"):
            script = muster("completion", shell).stdout
            for command in COMMANDS:
                self.assertIn(command, script)
        self.assertEqual(muster("completion", "csh").returncode, 64)

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish_loads_the_completion_and_offers_commands_flags_and_values_O_3(self):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(f"{folder}/fish/completions")
            with open(f"{folder}/fish/completions/muster.fish", "w") as file:
                file.write(muster("completion", "fish").stdout)
            os.symlink(Served.muster, f"{folder}/muster")  # it completes what it finds

            def offered(line):
                result = subprocess.run(["fish", "-c", f"complete -C '{line}'"], capture_output=True, text=True, timeout=PATIENCE_S,
                                        env=environment(XDG_CONFIG_HOME=folder, XDG_DATA_HOME=folder, HOME=folder,
                                                        PATH=f"{folder}:{os.environ['PATH']}"))
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                return [each.split("\t")[0] for each in result.stdout.splitlines()]

            self.assertEqual(set(COMMANDS) - set(offered("muster ")), set())
            self.assertEqual(offered("muster st"), ["status"])
            self.assertEqual(offered("muster servers --st"), ["--status"])
            self.assertEqual(offered("muster servers --status of"), ["offline"])
            self.assertEqual(offered("muster completion z"), ["zsh"])
            self.assertEqual(offered("muster serve --config /etc/host"), [path for path in sorted(glob.glob("/etc/host*")) if os.path.isfile(path)])

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_loads_the_completion_and_offers_commands_flags_and_values_O_3(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/_muster", "w") as file:
                file.write(muster("completion", "zsh").stdout)
            # At a real prompt: zsh completes nowhere else.
            shell = Terminal(["-f", "-i"], program="zsh", HOME=folder, PS1="", TERM="dumb")
            self.addCleanup(shell.close)
            shell.type(f"PS1= RPS1= fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D; unsetopt auto_menu; echo rea''dy\n")
            shell.read_until("ready")
            for typed, wanted in (("muster stat", "status"), ("muster servers --stat", "--status"), ("muster servers --status offl", "offline"),
                                  ("muster completion z", "zsh"), ("muster serve --config /etc/hostn", "/etc/hostname"),
                                  ("muster servers --re", "The other way round"), ("muster ", "The game servers")):
                with self.subTest(typed):
                    shell.type(typed + "\t")
                    shell.read_until(wanted)
                    shell.type("\x15")  # an empty line again

    def test_the_manual_has_every_command_and_flag_and_renders_without_a_warning_O_3(self):
        page = muster("man").stdout
        for command in COMMANDS:
            self.assertIn("muster " + command.replace("-", "\\-"), page)
        self.assertIn("\\-\\-ports\\-file", page)
        self.assertIn("MUSTER_URL", page)
        if not shutil.which("groff"):
            self.skipTest("groff is not installed")
        rendered = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-K", "utf8", "-rLL=80n", "-P-cbou"], input=page, capture_output=True,
                                  text=True, timeout=PATIENCE_S)
        self.assertEqual((rendered.returncode, rendered.stderr), (0, ""))
        self.assertEqual([line for line in rendered.stdout.splitlines() if len(line) > 80], [], "it fits a terminal of 80 columns")
        for wanted in ("muster", "EXIT STATUS", "ENVIRONMENT", "EXAMPLES"):
            self.assertIn(wanted, rendered.stdout)

    def test_every_command_has_help_and_the_exit_codes_are_in_it_O_3(self):
        text = muster("--help").stdout
        for wanted in (*COMMANDS, "MUSTER_URL", "MUSTER_ADMIN_TOKEN", "NO_COLOR", "69", "77"):
            self.assertIn(wanted, text)
        listed = dict(re.findall(r"^  (\d+) +(\S.*)$", text.split("Exit codes:")[1], re.M))
        self.assertEqual(list(listed), "0 1 64 65 69 70 73 74 77 78".split())
        for command in COMMANDS:
            told = muster(command, "--help")
            self.assertEqual(told.returncode, 0, command)
            # These print a script, a page, a screen, or serve: there is nothing to put into JSON.
            self.assertEqual("--json" in told.stdout, command not in ("serve", "top", "completion", "man"), command)

    def test_what_needs_no_daemon_has_json_too_O_3(self):
        config = json.loads(muster("config", "--json", MUSTER_CLOCK_SPEED="60", MUSTER_AUTH_ADMIN_TOKEN="open-sesame").stdout)
        self.assertEqual(config["clock"]["speed"], {"value": 60, "from": "MUSTER_CLOCK_SPEED"})
        self.assertEqual(config["fleet"]["heartbeat_timeout"], {"value": "30s", "from": "default"})
        self.assertEqual(config["auth"]["admin_token"]["set"], True)
        self.assertNotIn("open-sesame", json.dumps(config))
        self.assertEqual(config["auth"]["server_token"], {"set": False, "from": "default"})
        servers = json.loads(muster("protocol", "--json").stdout)["ports"]["servers"]
        beat = next(one for one in servers["messages"] if one["code"] == 0x1002)
        self.assertEqual((servers["byte_order"], beat["name"], beat["direction"], beat["bytes_min"]), ("little", "NET_CHAT_SV_HEARTBEAT", "in", 16))
        made = json.loads(muster("player-token", "Ann", "--account", "7", "--json", MUSTER_AUTH_PLAYER_KEY="a-key-that-is-long-enough").stdout)
        self.assertEqual((made["name"], made["account"]), ("Ann", 7))
        self.assertTrue(made["credential"].startswith("v1."), made)
        self.assertLess(abs(made["expires_at_ms"] / 1000 - time.time() - 3600), 60)


class Demo(unittest.TestCase):
    def processes(self, marker):
        """Whose environment has it."""
        found = []
        for path in glob.glob("/proc/[0-9]*/environ"):
            with contextlib.suppress(OSError), open(path, "rb") as file:
                if marker.encode() in file.read():
                    found.append(path)
        return found

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.marker = f"DEMO_OF_TEST={os.path.basename(folder.name)}"

    def start(self, *arguments):
        demo = self.launched(*arguments)
        lines = [demo.stdout.readline() for _ in range(4)]
        match = re.search(r"(http://\S+)/", "".join(lines))
        self.assertTrue(match, lines + [demo.stderr.read() if demo.poll() is not None else ""])
        return demo, match[1]

    def launched(self, *arguments):
        name, value = self.marker.split("=")
        demo = subprocess.Popen([Served.muster, "demo", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=environment(TMPDIR=self.folder, **{name: value}))
        self.addCleanup(demo.kill)
        return demo

    def ends_clean(self, demo):
        self.assertEqual(demo.wait(PATIENCE_S), 0, demo.stderr.read())
        rest = demo.stdout.read()
        demo.stdout.close()
        demo.stderr.close()
        self.assertEqual(os.listdir(self.folder), [])
        self.assertEqual(self.processes(self.marker), [])
        return rest

    def test_the_demo_takes_the_port_where_commands_look_and_says_so_when_it_cannot_O_3(self):
        demo, url = self.start()
        demo.send_signal(signal.SIGINT)
        told = self.ends_clean(demo)
        if url == USUAL_URL:
            self.assertNotIn("export", told)
        else:  # somebody else has it
            with self.assertRaises(OSError), socket.create_server(("127.0.0.1", 11030)):
                pass
        with contextlib.suppress(OSError):
            holder = socket.create_server(("127.0.0.1", 11030))
            self.addCleanup(holder.close)
        demo, url = self.start()
        self.assertNotEqual(url, USUAL_URL)
        demo.send_signal(signal.SIGTERM)
        told = self.ends_clean(demo)
        self.assertIn(f"    export MUSTER_URL={url}\n", told)
        self.assertTrue(told.endswith("\nThe demo has ended; nothing of it is left.\n"), told)

    def test_the_demo_is_lively_and_ctrl_c_ends_it_clean_O_3(self):
        demo, url = self.start("--seed", "1")

        def lively():
            result = muster("status", "--json", MUSTER_URL=url)
            self.assertIn(result.returncode, (0, 1), result.stderr)
            status = json.loads(result.stdout)
            return (sum(region["servers"]["available"] for region in status["regions"]) > 10 and status["matches"]["started"] > 3
                    and status["players"]["connected"] > 10 and status["managers"] == 2)

        end = time.monotonic() + PATIENCE_S
        while not lively():
            self.assertLess(time.monotonic(), end, "servers, matches and players by and by")
            time.sleep(0.2)
        demo.send_signal(signal.SIGINT)
        self.ends_clean(demo)

    def test_the_demo_ends_by_itself_after_its_seconds_and_tells_where_it_is_as_json_O_3(self):
        began = time.monotonic()
        demo = self.launched("--seconds", "1.5", "--json")
        where = json.loads(demo.stdout.readline())
        self.assertEqual(set(where), {"url", "servers", "managers", "players"})
        self.assertIn(muster("status", MUSTER_URL=where["url"]).returncode, (0, 1))
        self.ends_clean(demo)
        self.assertGreater(time.monotonic() - began, 1.5)

    def test_the_daemon_of_a_demo_that_was_killed_ends_too(self):
        demo, url = self.start()
        demo.kill()
        demo.wait()
        end = time.monotonic() + PATIENCE_S
        while self.processes(self.marker) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(self.processes(self.marker), [])
        demo.stdout.close()
        demo.stderr.close()

    def test_progress_is_for_terminals(self):
        terminal = Terminal(["simulate", "--scenario", "calm", "--seeds", "100000"])
        self.addCleanup(terminal.close)
        terminal.read_until("[....")
        terminal.read_until("of 100000)")
        terminal.type("\x03")
        self.assertEqual(terminal.end(), -signal.SIGINT)
        played = re.search(r"played(?:\x1b\[0m)? +(\d+) runs, ", terminal.text)
        self.assertTrue(played, terminal.text)
        self.assertIn(f"Ctrl-C, after {played[1]} of 100000 seeds", terminal.text)

    def test_a_long_run_tells_how_far_it_is_and_ctrl_c_ends_it_O_3(self):
        terminal = Terminal(["simulate", "--scenario", "calm", "--hours", "700"])
        self.addCleanup(terminal.close)
        shares = []
        end = time.monotonic() + PATIENCE_S
        while len(set(shares)) < 2:  # some hours more make a per cent
            self.assertLess(time.monotonic(), end, terminal.text)
            terminal.read(0.1)
            shares = [int(share) for share in re.findall(r"\] +(\d+) % calm: seed 1 \d+ s", terminal.text)]
        self.assertEqual(shares, sorted(shares))
        terminal.type("\x03")
        self.assertEqual(terminal.end(), -signal.SIGINT)
        self.assertIn("Ctrl-C, after 0 of 1 seed\r\n", terminal.text)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    served.main()
