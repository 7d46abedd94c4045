#!/usr/bin/env python3
"""A matchmaker over HTTP: what its token may do, and the examples of sdk/examples at work.

    http_matchmaker_test.py PATH_TO_MUSTER [unittest arguments]
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from api_client import JSON, Api
from muster_peer import EU
from served import main

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "sdk/examples"
# Comes with the page's build; it turns TypeScript into what any node runs.
ESBUILD = ROOT / "web/node_modules/.bin/esbuild"
TOKEN = "only-for-matches-0123456789"


class HttpMatchmaker(Api):
    settings = {"MUSTER_AUTH_ADMIN_TOKEN": "admin-0123456789", "MUSTER_AUTH_HTTP_MATCHMAKER_TOKEN": TOKEN}
    bearer = {**JSON, "Authorization": f"Bearer {TOKEN}"}

    def mm(self, method, path, body=None):
        return self.ask(method, "/api/v1" + path, body, headers=self.bearer)

    def test_its_token_asks_for_matches_and_does_nothing_else_O_2(self):
        server = self.daemon.game_server(7777)
        answer = self.in_background("POST", "/api/v1/matches", {"lobby_id": 5, "region": "EU", "player_count": 2}, headers=self.bearer)
        server.expect(0x1004)
        server.acknowledge(5)
        status, match, _ = answer()
        self.assertEqual((status, match["server_id"]), (200, server.id), match)
        self.assertEqual(self.mm("PUT", "/matches/5/players", {"accounts": [7, 9]})[:2], (200, {"lobby_id": 5, "accounts": 2}))
        for path, body in ((f"/servers/{server.id}/drain", {"draining": True}), ("/servers/drain", {"draining": True, "servers": [1]}),
                           (f"/servers/{server.id}/remove", {}), (f"/servers/{server.id}/abort", {}), ("/players/1/kick", {}),
                           (f"/regions/{EU}/drain", {"draining": True})):
            status, refusal, _ = self.mm("POST", path, body)
            self.assertEqual((status, refusal["error"]), (403, "This token's role is matchmaker; this needs operator"), path)
        self.assertEqual(self.mm("PUT", "/clock", {"speed": 2})[0], 403)

        # Another matchmaker's lobby is not its own.
        other = self.daemon.matchmaker()
        other.request(6)
        server.expect(0x1004)
        server.acknowledge(6)
        other.expect(0x2003)
        self.assertEqual(self.mm("POST", "/matches/6/abort", {})[0], 404)
        self.assertEqual(self.mm("POST", "/matches/5/abort", {"reason": "they left"})[0], 200)
        self.soon(lambda: "match.aborted" in [e["type"] for e in self.events(5)], "the abort is no event")
        self.assertEqual([e["type"] for e in self.events(5)], ["match.requested", "match.offered", "match.allocated", "match.aborted"])
        self.assertEqual(self.events(5)[-1]["reason"], "they left")
        self.assertEqual(self.got("/events?type=operator.")["events"], [])

    def test_refusals_have_a_status_and_a_text_A_8(self):
        for body, status, text in (
                ({"lobby_id": 5, "region": "EU", "player_count": 2}, 503, "No servers available"),
                ({"lobby_id": 5, "region": "Atlantis", "player_count": 2}, 400, "Region not supported"),
                ({"lobby_id": 0, "region": EU, "player_count": 2}, 400, "lobby_id must be a whole number from 1 to 2147483647"),
                ({"lobby_id": 5, "region": EU, "player_count": 0}, 400, "player_count must be a whole number from 1 to 127"),
                ({"lobby_id": 5, "region": EU}, 400, "player_count is missing; it must be a whole number from 1 to 127")):
            self.assertEqual((self.mm("POST", "/matches", body)[0], self.mm("POST", "/matches", body)[1]["error"]), (status, text))
        self.assertEqual(self.ask("POST", "/api/v1/matches", {"lobby_id": 5, "region": EU, "player_count": 2})[0], 401)

    def events(self, lobby):
        return self.got(f"/events?lobby={lobby}")["events"]

    def plays_a_match(self, lobby, *command):
        server = self.daemon.game_server(7700 + lobby)
        environment = {**os.environ, "MUSTER_TOKEN": TOKEN}
        matchmaker = subprocess.Popen([*command, f"http://{self.daemon.ports['http']}", str(lobby), "EU", "7", "9"], text=True,
                                      env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(matchmaker.kill)
        server.expect(0x1004)
        server.acknowledge(lobby)
        match = re.fullmatch(rf"lobby {lobby}: go to 127.0.0.1:{7700 + lobby} with (MATCH_\S+)", matchmaker.stdout.readline().rstrip())
        self.assertTrue(match)
        self.assertEqual(self.ask("POST", f"/api/v1/matches/{lobby}/abort", {"reason": "enough"},
                                  headers={**JSON, "Authorization": "Bearer admin-0123456789"})[0], 200)
        told = matchmaker.communicate(timeout=30)[0].splitlines()
        self.assertEqual(matchmaker.returncode, 0, told)
        self.assertEqual(told[-1], f"lobby {lobby}: match.aborted enough")
        self.assertIn(f"lobby {lobby}: match.allocated", told)

    def test_the_example_in_python_plays_a_match(self):
        self.plays_a_match(21, sys.executable, EXAMPLES / "http_matchmaker.py")
        refused = subprocess.run([sys.executable, EXAMPLES / "http_matchmaker.py", f"http://{self.daemon.ports['http']}", "22", "Atlantis", "7"],
                                 env={**os.environ, "MUSTER_TOKEN": TOKEN}, capture_output=True, text=True, timeout=60)
        self.assertEqual((refused.returncode, refused.stderr), (1, "lobby 22: 400, Region not supported\n"))

    @unittest.skipUnless(shutil.which("node") and ESBUILD.exists(), "node, or the page's packages, are not here")
    def test_the_example_in_typescript_plays_a_match(self):
        script = pathlib.Path(self.daemon.folder) / "http_matchmaker.mjs"
        subprocess.run([ESBUILD, EXAMPLES / "http_matchmaker.ts", "--format=esm", f"--outfile={script}", "--log-level=error"], check=True, timeout=60)
        self.plays_a_match(23, "node", script)
        refused = subprocess.run(["node", script, f"http://{self.daemon.ports['http']}", "24", "Atlantis", "7"],
                                 env={**os.environ, "MUSTER_TOKEN": TOKEN}, capture_output=True, text=True, timeout=60)
        self.assertEqual((refused.returncode, refused.stderr), (1, "lobby 24: 400, Region not supported\n"))


class NamedHosts(Api):
    settings = {"MUSTER_LISTEN_HTTP_HOSTS": '["muster.example"]'}

    def test_further_hosts_are_named_and_ip_literals_always_known_fault_70(self):
        for host, status in (("muster.example", 200), ("Muster.Example:8080", 200), ("10.9.8.7:1234", 200), ("[::1]:80", 200),
                             ("localhost", 200), ("evil.example", 421), ("a.muster.example", 421)):
            self.assertEqual(self.ask("GET", "/api/v1/servers", headers={"Host": host})[0], status, host)


if __name__ == "__main__":
    main()
