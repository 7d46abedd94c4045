#!/usr/bin/env python3
"""The commands of `muster` that ask a running daemon (O-3).

    cli_client_test.py PATH_TO_MUSTER [unittest arguments]
"""

import json
import os
import re
import signal
import subprocess
import sys
import unittest

import served
from cli_terminal import FakeDaemon, WithDaemon, environment, muster
from free_ports import free_port
from served import Served


class Reads(WithDaemon):
    def test_status_tells_health_and_regions_and_fails_when_it_is_bad_O_3(self):
        text = self.ok("status")
        for wanted in ("health       ok", "clock        Sun. 00:", "REGION", "EU", "loop", "store        up"):
            self.assertIn(wanted, text)
        server = self.daemon.game_server(27000)
        server.heartbeat()
        self.assertEqual(self.json("status")["health"]["status"], "ok")
        server.close()
        self.soon(lambda: self.run_muster("status").returncode == 1, "a region without servers is bad")
        self.assertIn("All servers of EU are offline", self.run_muster("status").stdout)

    def test_what_nobody_has_measured_is_a_dash_O_3(self):
        self.assertIn("p50 -, p95 -, p99 -\n", self.ok("status"))
        self.daemon.game_server(27000)
        self.shown("127.0.0.1:27000", "servers")
        self.assertRegex(self.ok("servers"), r"127\.0\.0\.1:27000 +EU +available +0/10 +0 % +- +- +\S+ \S+ ago +-\n")
        self.assertIn("load        CPU -, memory -\n", self.ok("server", "1"))
        self.daemon.player("ann")
        self.shown("ann", "players")
        self.assertRegex(self.ok("players"), r"ann +active +- +- ")

    def test_a_lost_fleet_stays_bad_in_status_and_overview_also_over_a_restart_O_2(self):
        def is_lost():
            told = self.run_muster("status")
            return told.returncode == 1 and "EU had 3 servers, has none" in told.stdout

        self.assertFalse(self.json("status")["had_servers"])
        self.daemon.env.update(MUSTER_FLEET_HEARTBEAT_INTERVAL="200ms", MUSTER_FLEET_HEARTBEAT_TIMEOUT="1s")
        self.restart()
        for i in range(3):
            self.daemon.game_server(27000 + i).close()
        self.soon(is_lost, "servers that fell silent are forgotten")
        overview = json.loads(self.run_muster("status", "--json").stdout)
        self.assertEqual((overview["health"]["status"], overview["had_servers"]), ("bad", True))
        eu = next(region for region in overview["regions"] if region["name"] == "EU")
        self.assertEqual((eu["lost"], sum(eu["servers"].values())), (3, 0))

        # Servers that the store still knows, and that do not return after a restart.
        for i in range(3):
            self.daemon.game_server(27000 + i)
        self.restart()
        self.soon(is_lost, "servers that do not come back are forgotten")

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

    def test_a_match_is_told_from_its_request_to_its_end_with_why_its_server_was_chosen_O_3(self):
        refusing = self.daemon.game_server(7777)
        taking = self.daemon.game_server(7778)
        taking.heartbeat(1)
        taking.expect(0x1003)
        matchmaker = self.daemon.matchmaker("lobby-7")
        matchmaker.request(5)
        refusing.expect(0x1004)
        refusing.acknowledge(5, accept=False)
        taking.expect(0x1004)
        taking.acknowledge(5)
        matchmaker.expect(0x2003)
        self.ok("abort", "5", "--reason", "broken map")
        self.shown("broken map", "match", "5")
        told = self.ok("match", "5")
        for pattern in (r"state +aborted", r"requested +by lobby-7: 10 players in EU",
                        rf"offered +server {refusing.id}, best of 2: score \d+\.\d\d, load 0; next {taking.id} \(\d+\.\d\d, load 1\)",
                        rf"declined +server {refusing.id}: refused by the server",
                        rf"offered +server {taking.id}, the only candidate: score .*; offer 2", rf"allocated +server {taking.id}, ",
                        r"operator +abort by 127.0.0.1: broken map", rf"aborted +server {taking.id}: broken map"):
            self.assertRegex(told, pattern)
        whole = self.json("match", "5")
        self.assertEqual(whole["match"]["state"], "aborted")
        self.assertEqual([e["type"] for e in whole["events"]][:3], ["match.offered", "match.declined", "match.offered"])
        result = muster("match", "404", MUSTER_URL=self.url)
        self.assertEqual(result.returncode, 1)
        self.assertIn("nothing is known of lobby 404", result.stderr)

    def test_regions_and_matchmakers_are_listed(self):
        self.daemon.matchmaker("lobby-7", regions=(2, 9))
        self.shown("lobby-7", "matchmakers")
        self.assertRegex(self.ok("matchmakers"), r"lobby-7 .*EU RU")
        self.assertEqual(self.json("matchmakers")["matchmakers"][0]["regions"], [2, 9])
        self.assertEqual([row["name"] for row in self.json("regions")["regions"]], ["USE", "USW", "EU", "RU", "AU", "BR"])
        self.assertIn("BR", self.ok("regions"))

    def test_fault_45_a_name_that_turns_text_is_shown_escaped(self):
        self.daemon.player("\u202eevil")
        self.shown("\\u202eevil", "players")
        self.assertNotIn("\u202e", self.ok("players") + self.ok("events"))

    def test_events_are_shown_filtered_and_followed_O_3(self):
        self.daemon.env["MUSTER_LISTEN_HTTP"] = f"127.0.0.1:{free_port()}"  # the same after a restart
        self.restart()
        self.daemon.player("Ann")
        self.shown("player.login", "events")
        self.assertIn("name=Ann", self.ok("events", "--type", "player."))
        self.assertEqual(self.ok("events", "--type", "match."), "")
        self.assertEqual(self.json("events", "--since", "1h")["events"][-1]["type"], "player.login")
        self.assertEqual(self.run_muster("events", "--since", "yesterday").returncode, 64)
        for wrong, meant in (("nope", "server., matchmaker., match."), ("login", "player.login"), ("macth.", "match.?"), ("match.,server.offlne", "server.offline")):
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
            server = self.daemon.game_server(27000)
            event = json.loads(follower.stdout.readline())
            self.assertEqual((event["type"], event["server_id"]), ("server.registered", server.id))
            self.daemon.stop()
            self.daemon.start()
            again = self.daemon.game_server(27001)
            seen = [json.loads(follower.stdout.readline())]
            while seen[-1].get("server_id") != again.id:
                seen.append(json.loads(follower.stdout.readline()))
            self.assertEqual(seen[-1]["type"], "server.registered", "the feed is taken up again after a restart")
            self.assertEqual(len({one["id"] for one in seen}), len(seen), "nothing twice")
            follower.send_signal(signal.SIGINT)
            self.assertEqual(follower.wait(timeout=20), 0, "stopped on request")


class Actions(WithDaemon):
    def test_drain_and_undrain_O_3(self):
        server = self.daemon.game_server(27000)
        self.assertIn("takes no new matches", self.ok("drain", str(server.id), "--reason", "a \"new\" kernel"))
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
        self.shown('a \\"new\\" kernel', "events", "--type", "operator.")

    def test_servers_and_players_are_found_by_address_and_name_O_3(self):
        servers = [self.daemon.game_server(7801 + i) for i in range(3)]
        ip = self.json("servers")["servers"][0]["ip"]
        one = self.json("servers", "--address", f"{ip}:7802")["servers"]
        self.assertEqual([row["id"] for row in one], [servers[1].id])
        self.assertEqual(len(self.json("servers", "--address", ip)["servers"]), 3)
        self.assertIn(f"{ip}:7802", self.ok("server", str(servers[1].id)))
        self.ok("drain", "--address", f"{ip}:7802")
        self.soon(lambda: [row["id"] for row in self.json("servers", "--status", "draining")["servers"]] == [servers[1].id],
                  "it does not drain")
        nobody = self.run_muster("drain", "--address", "203.0.113.9")
        self.assertEqual((nobody.returncode, nobody.stderr), (1, "muster: no server at 203.0.113.9\n"))
        self.assertEqual(self.run_muster("drain", "--address", ip, "--region", "EU").returncode, 64)
        for bad in (("drain", "0"), ("undrain", "0"), ("remove", "0"), ("abort", "0"), ("kick", "0"), ("block", "ip", "nonsense"), ("block", "account", "0"),
                    ("servers", "--limit", "-1"), ("hosts", "--limit", "-1"), ("matches", "--limit", "-5"), ("events", "--limit", "0"),
                    ("events", "--limit", "-1"), ("events", "--limit", "5000"), ("scale", "eu-1/arena", "--", "-1"),
                    ("operator", "add", "a b", "--role", "viewer")):
            done = self.run_muster(*bad)
            self.assertEqual(done.returncode, 64, (bad, done.stderr))
        for name in ("Anna", "Hannah", "Bo"):
            self.daemon.player(name)
        self.assertEqual(sorted(row["name"] for row in self.json("players", "--name", "anna")["players"]), ["Hannah"])
        self.assertEqual(len(self.json("players", "--name", "nna")["players"]), 2)

    def test_a_whole_region_is_drained_and_back_O_3(self):
        servers = [self.daemon.game_server(27000 + i) for i in range(3)]
        west = self.daemon.game_server(27010, region=1)
        self.assertEqual(self.ok("drain", "--region", "eu", "--reason", "move"),
                         "EU: 3 servers take no new matches; those they have may finish\n")
        for server in servers:
            self.assertEqual(server.expect(0x100F).take("i"), server.id)
        self.soon(lambda: [row["id"] for row in self.json("servers", "--status", "draining")["servers"]]
                  == [server.id for server in servers], "they do not drain")
        self.assertEqual([row["id"] for row in self.json("servers", "--status", "available")["servers"]], [west.id])
        self.assertEqual(self.json("undrain", "--region", "EU"), {"region": 2, "draining": False, "servers": 3})
        self.shown("drain", "events", "--type", "operator.")
        event = self.json("events", "--type", "operator.")["events"][0]
        self.assertEqual((event["action"], event["target"], event["region"], event["reason"]), ("drain", "region EU", 2, "move"))
        self.assertEqual(self.run_muster("drain").returncode, 64)
        self.assertEqual(self.run_muster("drain", "1", "--region", "EU").returncode, 64)
        self.assertEqual(self.run_muster("drain", "--region", "Mars").returncode, 1)

    def test_a_server_is_removed_by_hand_and_its_matches_fall_through_O_3(self):
        server = self.daemon.game_server(27000)
        self.played(server)
        self.json("allocate", "EU", "--lobby", "42")
        self.assertIn(f"server {server.id} is removed", self.ok("remove", str(server.id), "--reason", "ghost"))
        self.soon(lambda: not self.json("servers")["servers"], "the server is still there")
        self.shown("Aborted by operator", "matches", "--state", "over")
        self.assertEqual(self.json("status")["health"]["status"], "ok", "what an operator removes is not lost")
        self.shown("reason=ghost", "events", "--type", "operator.")
        gone = self.run_muster("remove", str(server.id))
        self.assertEqual((gone.returncode, gone.stderr), (1, f"muster: no server {server.id}; `muster servers` lists them\n"))
        self.assertNotEqual(self.daemon.game_server(27000).id, server.id, "who comes back is new")

    def test_all_matches_of_a_server_are_aborted_at_once_O_3(self):
        server, other = self.daemon.game_server(27000), None
        self.played(server)
        for lobby in (41, 42, 43):
            self.json("allocate", "EU", "--lobby", str(lobby))
        other = self.daemon.game_server(27001)
        self.assertEqual(self.json("abort", "--server", str(other.id)), {"id": other.id, "aborted": 0})
        self.assertEqual(self.ok("abort", "--server", str(server.id), "--reason", "bad host"),
                         f"3 matches of server {server.id} are aborted\n")
        self.soon(lambda: [row["reason"] for row in self.json("matches", "--state", "over")["matches"]] == ["bad host"] * 3,
                  "they are not aborted")
        self.assertEqual(self.run_muster("abort", "--server", "999").returncode, 1)
        self.assertEqual(self.run_muster("abort").returncode, 64)

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
        used = self.run_muster("allocate", "EU", "--lobby", "42")
        for flag, wrong in (("--lobby", 0), ("--lobby", 2**31), ("--players", 0), ("--players", 128)):
            self.assertIn(f"{flag} wants a whole number from 1 to", self.run_muster("allocate", "EU", flag, str(wrong)).stderr)
        self.assertEqual(used.stderr, "muster: lobby 42 is over; lobby ids are used once\n  leave out --lobby for a new one\n")
        again = self.run_muster("abort", "42")
        self.assertEqual(again.returncode, 1)
        self.assertIn("lobby 42: The match is over already", again.stderr)
        unknown = self.run_muster("abort", "4242")
        self.assertEqual((unknown.returncode, unknown.stderr), (1, "muster: no match of lobby 4242; `muster matches` lists them\n"))
        self.daemon.matchmaker("lobby-7").request(43)
        self.shown("lobby-7", "matches")
        self.assertEqual(self.ok("abort", "43"), f"the match of lobby 43 is aborted; server {server.id} and matchmaker lobby-7 will be told\n")
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
        self.assertIn("--state over shows finished ones", self.run_muster("matches").stderr)
        self.assertEqual(lobbies("--state", "all"), ["8", "7", "9"])
        self.assertEqual(lobbies("--state", "over"), ["9"])
        self.assertEqual(lobbies("--limit", "1"), ["8"])
        self.assertEqual([row["lobby_id"] for row in self.json("matches")["matches"]], [7, 8])
        self.assertNotIn("shows finished ones", self.run_muster("matches", "--state", "all").stderr)

    def test_kick_closes_the_session_and_is_in_the_history_O_3(self):
        player = self.daemon.player("Ann")
        self.shown("Ann", "players")
        self.assertEqual(self.json("players")["players"][0]["id"], player.id)
        self.assertIn("was kicked", self.ok("kick", str(player.id), "--reason", "too loud"))
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
        self.assertNotIn("MUSTER_AUTH_ADMIN_TOKEN", refused.stderr)
        mixed_up = self.run_muster("clock", "--speed", "2", MUSTER_AUTH_ADMIN_TOKEN="open-sesame")
        self.assertIn("MUSTER_AUTH_ADMIN_TOKEN, which is set, is read by the daemon only", mixed_up.stderr)
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
        for url in ("127.0.0.1:11030", "http://", "http://[::1", "http://a:b", "http://a/b", "http://a:1:2x"):
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
            "/matches": (200, {"matches": [{"lobby_id": 1, "matchmaker": self.NAME, "reason": self.NAME, "state": self.NAME}], "next": None}),
            "/matches/1": (200, {"lobby_id": 1, "matchmaker": self.NAME, "reason": self.NAME, "state": self.NAME, "requested_at_ms": 1}),
            "/matchmakers": (200, {"matchmakers": [{"id": self.NAME, "regions": [2]}], "next": None}),
            "/servers": (200, {"servers": [{"id": 1, "ip": self.NAME, "status": self.NAME, "region": 2}], "next": None}),
            "/servers/1": (200, {"id": 1, "ip": self.NAME, "status": self.NAME, "region": 2}),
            "/events": (200, {"events": [{"id": 1, "time_ms": 1, "type": self.NAME, self.NAME: self.NAME}], "next": None}),
            "/overview": (200, {"health": {"status": self.NAME, "reasons": [self.NAME]}, "version": self.NAME,
                                "regions": [{"name": self.NAME}], "allocations": {"failures": {self.NAME: 1}}}),
            "/servers/1/drain": (409, {"error": self.NAME}),
        })
        for command in ("players", "matches", "matchmakers", "servers", "server 1", "match 1", "events", "status", "regions", "drain 1"):
            for flag in ([], ["--json"]):
                result = muster(*command.split(), *flag, MUSTER_URL=fake.url)
                told = result.stdout + result.stderr
                self.assertIn("evil", told.replace("\\", ""), command) if command != "regions" else None
                for control in ("\x1b", "\x07", "\r", "\u009b"):
                    self.assertNotIn(control, told, command)
        self.assertIn("\\x1b[2J\\x07evil\\x0d\\x0a\\x9b31m", muster("players", MUSTER_URL=fake.url).stdout)

    def test_what_is_not_muster_is_an_error_and_no_crash(self):
        for status, body in ((200, "<html>"), (200, "[" * 100000), (500, ""), (200, "null"), (200, "5"), (200, "{}"), (301, "{}")):
            paths = ("/overview", "/servers", "/servers/1/drain", "/servers/1/remove", "/matches/1/abort", "/players/1/kick")
            fake = FakeDaemon(self, {"/regions": (200, "[]"), **{path: (status, body) for path in paths}})
            for command in ("status", "servers", "drain 1", "remove 1", "abort 1", "kick 1"):
                result = muster(*command.split(), MUSTER_URL=fake.url)
                self.assertEqual(result.returncode, 1, (command, status, body[:10], result.stderr))
                self.assertRegex(result.stderr, r"^muster: ([a-z]+ 1: )?that is not Muster: another program answers")

    def test_a_list_that_names_the_same_next_page_again_ends(self):
        rows = {"matches": [{"lobby_id": 1}], "servers": [{"id": 1, "region": 2}], "next": "abc"}
        fake = FakeDaemon(self, {"/matches": (200, rows), "/servers": (200, rows), "/regions": self.REGIONS})
        for command in ("matches", "drain --address 1.2.3.4"):
            result = muster(*command.split(), MUSTER_URL=fake.url)
            self.assertEqual(result.returncode, 1, command)
            self.assertIn("the daemon's list never ends", result.stderr)

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


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    served.main()
