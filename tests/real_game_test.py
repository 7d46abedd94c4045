#!/usr/bin/env python3
"""A dedicated server that nobody here wrote, under `sdk = "none"`: Debian's Teeworlds (G-10). Skipped where it is not installed.

    real_game_test.py PATH_TO_MUSTER [unittest arguments]
"""

import os
import shutil
import signal
import unittest

import served
from agent_host import AgentCase, with_mark

GAME = shutil.which("teeworlds-server", path=f"{os.environ.get('PATH', '')}:/usr/games")


@unittest.skipUnless(GAME, "teeworlds-server is not installed")
class RealGame(AgentCase):
    game = GAME or ""

    def host(self):
        return next(iter(self.ask("GET", "/hosts")[1]["hosts"]), {"processes": []})

    def states(self):
        return sorted(each["state"] for each in self.host()["processes"])

    def test_G_10_teeworlds_is_up_allocated_killed_restarted_and_ended(self):
        command = [GAME, "sv_port {port}", "sv_register 0", "sv_name {name}", "bindaddr 127.0.0.1"]
        agent = self.start_agent(self.write_config(2, command=command), "--ends-all")
        self.soon(lambda: self.states() == ["ready"] * 2 and len(self.connected()) == 2, "two servers are up")
        self.assertEqual({each["port"] for each in self.connected()}, {each["port"] for each in self.host()["processes"]})
        port = self.allocate(4)["port"]
        self.soon(lambda: self.match(4)["state"] == "ready", "the match is told")
        self.soon(lambda: self.states() == ["allocated", "ready"], "the other one is free")
        os.kill(self.pid_of(port), signal.SIGSEGV)
        self.soon(lambda: self.match(4)["state"] == "aborted", "its crash aborts the match")
        self.assertEqual(self.match(4)["reason"], "Server crashed")
        self.soon(lambda: self.states() == ["ready"] * 2 and len(self.connected()) == 2, "it is back")
        self.assertEqual(sorted(each["restarts"] for each in self.host()["processes"]), [0, 1])
        crashed = next(each for each in self.host()["processes"] if each["restarts"])
        self.assertEqual((crashed["port"], crashed["last_exit"]["signal"]), (port, int(signal.SIGSEGV)))
        self.assertIn("server name is", crashed["last_exit"]["last_lines"])
        agent.send_signal(signal.SIGTERM)
        self.assertEqual(agent.wait(30), 0)
        self.soon(lambda: not self.games() and not with_mark(self.mark), "nothing is left")
        self.soon(lambda: self.ask("GET", "/hosts")[1]["hosts"] == [], "nor at Muster")


if __name__ == "__main__":
    served.main()
