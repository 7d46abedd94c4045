#!/usr/bin/env python3
"""`muster agent` and servers that link another SDK: Agones over HTTP, PlayFab's GSDK (G-20, G-21, G-30, G-31).

    agent_sdks_test.py PATH_TO_MUSTER EXAMPLES_FOLDER [unittest arguments]
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import sys

import served
from agent_host import EU, AgentCase, with_mark
from agones_npm_client import npm_client
from sdk_stand import ask

EXAMPLES = ""


class OtherSdk(AgentCase):
    def up(self, game, sdk, count=1, run="", program=sys.executable):
        self.game = os.path.join(EXAMPLES, game)
        agent = self.start_agent(self.write_config(count, command=[program, self.game], sdk=sdk, run=run))
        self.soon(lambda: len(self.connected()) == count, "all servers at Muster")
        return agent

    def games(self):
        found = []
        for pid in with_mark(self.mark):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
                if self.game.encode() in file.read().split(b"\0")[1:2] and self.alive(pid):
                    found.append(pid)
        return sorted(found)

    def game_log(self, number=1):
        with open(os.path.join(self.folder, "state", "logs", f"arena-{number}.log"), encoding="utf-8") as file:
            return file.read()

    @staticmethod
    def unread(port):
        """Whether datagrams lie at the port."""
        with open("/proc/net/udp", encoding="ascii") as file:
            sockets = [line.split() for line in file][1:]
        return any(each[1].endswith(f":{port:04X}") and each[4].split(":")[1] != "00000000" for each in sockets)

    def end_without_agent(self, agent, lobby):
        port = self.allocate(lobby)["port"]
        self.soon(lambda: self.match(lobby)["state"] in ("ready", "started"), "the match is ready")
        before = self.games()
        agent.kill()
        agent.wait()
        self.say(port, b"end")
        self.soon(lambda: not self.unread(port), "the game knows that its match is over")
        self.assertEqual(self.games(), before)
        self.start_agent(os.path.join(self.folder, "agent.toml"))
        self.soon(lambda: self.match(lobby)["state"] == "ended", "the next agent hears it")
        self.assertNotIn("Traceback", self.game_log())

    def sdk_port(self, name):
        with open(f"/proc/{self.games()[0]}/environ", "rb") as file:
            environment = dict(each.split(b"=", 1) for each in file.read().split(b"\0") if b"=" in each)
        return int(environment[name.encode()])


class Agones(OtherSdk):
    def test_a_match_is_offered_played_and_ended_by_ready_G_21(self):
        self.up("agones_game.py", "agones")
        answer = self.allocate(31)
        self.soon(lambda: self.match(31)["state"] == "ready", "the match is ready")
        self.soon(lambda: f"match 31, players show {answer['token']}" in self.game_log(), "the game was told")
        port = self.sdk_port("AGONES_SDK_HTTP_PORT")
        server = ask(port, "GET", "/gameserver")[1]
        self.assertEqual(server["object_meta"]["name"], "host-1-arena-1")
        self.assertEqual(server["object_meta"]["labels"]["agones.dev/fleet"], "arena")
        self.assertEqual(server["status"]["state"], "Allocated")
        self.assertEqual(server["status"]["ports"], [{"name": "default", "port": answer["port"]}])
        self.assertGreater(self.sdk_port("AGONES_SDK_GRPC_PORT"), 0)
        before = self.games()
        self.say(answer["port"], b"end")
        self.soon(lambda: self.match(31)["state"] == "ended", "Ready has ended the match")
        self.soon(lambda: self.connected()[0]["status"] == "available", "and the same process takes the next")
        self.allocate(32)
        self.assertEqual(self.games(), before)

    def test_a_process_that_allocates_itself_reports_one_match_and_takes_no_offer_G_21(self):
        self.up("agones_game.py", "agones")
        port = self.sdk_port("AGONES_SDK_HTTP_PORT")
        self.assertEqual(ask(port, "POST", "/allocate", {})[0], 200)
        self.soon(lambda: self.connected()[0]["reported_matches"] == 1, "its heartbeat counts the match")
        self.assertEqual(self.connected()[0]["status"], "draining")
        self.assertEqual(ask(port, "POST", "/ready", {})[0], 200)
        self.soon(lambda: self.connected()[0]["reported_matches"] == 0, "and does not when it is ready again")
        self.allocate(33)

    def test_a_match_that_cannot_be_written_down_is_declined_until_it_can_G_7(self):
        self.up("agones_game.py", "agones")
        wish = {"lobby_id": 35, "region": EU, "game_type": 1, "game_mode": 2, "player_count": 2, "average_rating": 1500}
        in_the_way = os.path.join(self.folder, "state", "processes", "arena-1.json.new")
        os.mkdir(in_the_way)
        self.assertEqual(self.ask("POST", "/matches", wish)[0], 503)
        self.soon(lambda: self.logged("Match 35 is declined: it cannot be written down"), "it says why")
        self.assertNotIn("match 35", self.game_log())
        os.rmdir(in_the_way)
        self.soon(lambda: self.ask("POST", "/matches", {**wish, "lobby_id": 36})[0] == 200, "it takes matches again")
        self.assertEqual(self.agent_log().count("Cannot write down process arena-1"), 1)

    def test_a_crash_aborts_the_match_and_a_shutdown_ends_it_G_21(self):
        self.up("agones_game.py", "agones")
        self.say(self.allocate(41)["port"], b"crash")
        self.soon(lambda: self.match(41)["state"] == "aborted", "aborted")
        self.soon(lambda: len(self.connected()) == 1 and self.connected()[0]["status"] == "available", "the next life")
        self.say(self.allocate(42)["port"], b"shutdown")
        self.soon(lambda: self.match(42)["state"] == "ended", "ended")
        self.soon(lambda: self.logged("it asked to be shut down"), "told")

    def test_a_process_without_pings_is_unhealthy_and_started_again_G_20(self):
        self.up("agones_game.py", "agones", run='health_period = "1s"\nhealth_failures = 2\nhealth_delay = "1s"')
        self.assertFalse(self.logged("unhealthy"))
        victim = self.games()[0]
        os.kill(victim, signal.SIGSTOP)
        self.soon(lambda: self.logged("is unhealthy: no health ping"), "seen as unhealthy")
        self.soon(lambda: self.games() and victim not in self.games(), "started again")
        self.soon(lambda: len(self.connected()) == 1, "at Muster again")

    def test_kill_9_of_the_agent_loses_no_match_and_its_successor_serves_the_same_port_G_7(self):
        agent = self.up("agones_game.py", "agones")
        port = self.allocate(51)["port"]
        sdk = self.sdk_port("AGONES_SDK_HTTP_PORT")
        self.soon(lambda: self.match(51)["state"] in ("ready", "started"), "the match is ready")
        before = self.games()
        agent.kill()
        agent.wait()
        self.start_agent(os.path.join(self.folder, "agent.toml"))
        self.soon(lambda: self.logged("Adopted process arena-1"), "adopted")
        self.soon(lambda: len(self.connected()) == 1, "at Muster again")
        self.assertEqual(ask(sdk, "GET", "/gameserver")[1]["object_meta"]["annotations"]["muster.dev/lobby"], "51")
        self.assertEqual(self.games(), before)
        self.say(port, b"end")
        self.soon(lambda: self.match(51)["state"] == "ended", "the adopted match ends")
        self.assertEqual(self.games(), before)

    def test_what_the_example_says_while_no_agent_is_there_is_heard_by_the_next_G_7(self):
        agent = self.up("agones_game.py", "agones")
        self.end_without_agent(agent, 52)
        self.soon(lambda: self.connected() and self.connected()[0]["status"] == "available", "it takes the next")

    def test_an_aborted_match_ends_a_process_that_does_not_say_ready_G_21(self):
        self.up("agones_game.py", "agones")
        self.allocate(61)
        self.soon(lambda: self.match(61)["state"] == "ready", "the match is ready")
        before = self.games()
        self.assertEqual(self.ask("POST", "/matches/61/abort", {"reason": "test"})[0], 200)
        self.soon(lambda: self.games() and self.games() != before, "another life, after stop_grace")
        self.soon(lambda: len(self.connected()) == 1, "at Muster again")


class AgonesByNpm(OtherSdk):
    def watched(self):
        """Processes of whose watch the next agent will know."""
        records = pathlib.Path(self.folder, "state", "processes").glob("*.json")
        return sum(bool(re.search(r'watched\\*":true', record.read_text(encoding="utf-8"))) for record in records)

    def test_streams_that_end_with_the_agent_and_never_come_back_end_no_match_G_7_and_G_20(self):
        folder, why_not = npm_client()
        if not folder:
            self.skipTest(why_not)
        agent = self.up(os.path.join(folder, "game.js"), "agones", count=2, program=shutil.which("node"),
                        run='health_period = "1s"\nhealth_failures = 2\nhealth_delay = "1s"')
        port = self.allocate(91)["port"]
        self.soon(lambda: self.match(91)["state"] in ("ready", "started"), "the match is ready")
        busy = self.pid_of(port)
        # What has not begun to watch yet does so at the next agent, which then has no reason to replace it.
        self.soon(lambda: self.watched() == 2, "the agent has written down that both watch")
        idle = [pid for pid in self.games() if pid != busy][0]
        with open(f"/proc/{idle}/environ", "rb") as file:
            number = int(file.read().split(b"MUSTER_PROCESS=arena-")[1].split(b"\0")[0])
        agent.kill()
        agent.wait()
        self.start_agent(os.path.join(self.folder, "agent.toml"))
        self.soon(lambda: self.logged("Adopted process arena-1"), "adopted")
        # Both have missed as many pings by then.
        self.soon(lambda: idle not in self.games() and len(self.games()) == 2, "who is free is replaced")
        self.assertIn(busy, self.games())
        self.assertIn(self.match(91)["state"], ("ready", "started"))
        self.soon(lambda: [each for each in self.connected() if each["status"] == "available"], "its next life is free")
        self.allocate(92)
        self.soon(lambda: '"muster.dev/lobby","92"' in self.game_log(number), "it hears of its match")
        self.say(port, b"end")
        self.soon(lambda: self.match(91)["state"] == "ended", "the adopted match ends")
        self.soon(lambda: busy not in self.games(), "then its process is replaced, too")
        self.assertFalse(self.logged("is unhealthy"))


class Gsdk(OtherSdk):
    def test_a_session_is_handed_over_played_and_ended_by_terminated_G_31(self):
        self.up("gsdk_game.py", "gsdk")
        answer = self.allocate(71)
        self.soon(lambda: self.match(71)["state"] == "ready", "the match is ready")
        self.assertIn(f"players show {answer['token']}", self.game_log())
        before = self.games()
        self.say(answer["port"], b"end")
        self.soon(lambda: self.match(71)["state"] == "ended", "ended")
        self.soon(lambda: self.games() and self.games() != before, "the next life")
        self.soon(lambda: len(self.connected()) == 1, "at Muster again")
        self.say(self.allocate(72)["port"], b"crash")
        self.soon(lambda: self.match(72)["state"] == "aborted", "aborted")

    def test_what_the_example_says_while_no_agent_is_there_is_heard_by_the_next_G_7(self):
        self.end_without_agent(self.up("gsdk_game.py", "gsdk"), 73)

    def test_an_abort_terminates_it_G_31(self):
        self.up("gsdk_game.py", "gsdk")
        self.allocate(81)
        self.soon(lambda: self.match(81)["state"] == "ready", "the match is ready")
        before = self.games()
        self.assertEqual(self.ask("POST", "/matches/81/abort", {"reason": "test"})[0], 200)
        self.soon(lambda: self.games() and self.games() != before, "it was told to terminate")


if __name__ == "__main__":
    EXAMPLES = os.path.abspath(sys.argv.pop(2))
    served.main()
