#!/usr/bin/env python3
"""Operators with names and roles, and blocks, on the real program.

    operators_test.py PATH_TO_MUSTER [unittest arguments]
"""

import concurrent.futures
import hashlib
import http.client
import json
import struct
import subprocess

from api_client import JSON, Api
from muster_peer import EU, environment
from served import main

ADMIN = "admin-secret-5f5f5f"
ROLES = ("viewer", "matchmaker", "operator", "admin")


class Operated(Api):
    """A daemon with an admin token."""

    settings = {"MUSTER_AUTH_ADMIN_TOKEN": ADMIN, "MUSTER_LOG_LEVEL": "debug", "MUSTER_HTTP_TRUSTED_PROXIES": '["127.0.0.0/8"]'}

    def of(self, token, method, path, body=None, **headers):
        """(status, answer) for whoever holds the token."""
        sent = {**JSON, **({} if token is None else {"Authorization": "Bearer " + token}), **headers}
        status, answer, _ = self.ask(method, "/api/v1" + path, body, headers=sent)
        return status, answer

    def add(self, name, role, by=ADMIN):
        status, answer = self.of(by, "POST", "/operators", {"name": name, "role": role})
        self.assertEqual(status, 200, answer)
        return answer["token"]

    def run_muster(self, *words, token=ADMIN, code=0):
        env = environment(MUSTER_URL="http://" + self.daemon.ports["http"], **({} if token is None else {"MUSTER_ADMIN_TOKEN": token}))
        result = subprocess.run([self.muster, *words], env=env, capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, code, (words, result.stdout, result.stderr))
        return result.stdout + result.stderr

    def restart(self):
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon.start()

    def audit(self):
        return [event for event in self.got("/events?type=operator.action&limit=1000")["events"]]


class Operators(Operated):
    def test_every_role_may_do_what_it_may_and_nothing_else_S_5(self):
        tokens = {role: self.add(role + "-1", role) for role in ROLES}
        server = self.daemon.game_server(7777)
        player = self.daemon.player("Anna")
        least = {"read": "viewer", "allocate": "matchmaker", "operate": "operator", "administer": "admin"}
        asked = [
            ("read", "GET", "/servers", None, {200}), ("read", "GET", "/operators", None, {200}), ("read", "GET", "/blocks", None, {200}),
            ("read", "GET", "/me", None, {200}),
            ("allocate", "POST", "/matches", {"lobby_id": 5, "region": 77, "player_count": 10}, {400}),
            ("allocate", "PUT", "/matches/5/players", {"accounts": [1]}, {200, 409, 503}),
            ("allocate", "POST", "/matches/999/abort", {}, {404}),
            ("operate", "POST", f"/servers/{server.id}/drain", {"draining": False}, {200}),
            ("operate", "POST", "/servers/drain", {"draining": False, "servers": [server.id]}, {200}),
            ("operate", "POST", f"/regions/{EU}/drain", {"draining": False}, {200}),
            ("operate", "POST", "/servers/999/remove", {}, {404}), ("operate", "POST", "/servers/999/abort", {}, {404}),
            ("operate", "POST", "/players/999/kick", {}, {404}), ("operate", "PUT", "/clock", {"speed": 1}, {200}),
            ("operate", "POST", "/blocks", {"kind": "name", "value": "Nobody"}, {200}),
            ("operate", "POST", "/cells/main/move", {"node": "nowhere"}, {404}),
            ("operate", "POST", "/hosts/nowhere/drain", {"draining": True}, {404}),
            ("operate", "POST", "/hosts/nowhere/forget", {}, {404}),
            ("operate", "POST", "/hosts/nowhere/processes/a-1/restart", {}, {404}),
            ("operate", "POST", "/hosts/nowhere/runs/a", {"count": 1}, {404}),
            ("operate", "POST", "/blocks/remove", {"kind": "name", "value": "Nobody"}, {200, 404}),
            ("administer", "POST", "/operators/remove", {"name": "nobody"}, {404}),
        ]
        for right, method, path, body, good in asked:
            for role in ROLES:
                status, answer = self.of(tokens[role], method, path, body)
                where = f"{role} {method} {path}: {status} {answer}"
                if ROLES.index(role) >= ROLES.index(least[right]):
                    self.assertIn(status, good, where)
                else:
                    self.assertEqual(status, 403, where)
                    self.assertIn(f"role is {role}; this needs {least[right]}", answer["error"], where)
            if method != "GET":
                self.assertEqual(self.of(None, method, path, body)[0], 401, path)
                self.assertEqual(self.of("muster_" + "0" * 64, method, path, body)[0], 401, path)
        # The list above has all actions that there are.
        described = self.ask("GET", "/openapi.json")[1]["paths"]
        actions = {(method.upper(), path) for path, methods in described.items() for method in methods if method != "get"}
        self.assertEqual(len(actions), len({(m, p) for r, m, p, b, g in asked if m != "GET"}) + 1)  # and adding an operator
        self.assertEqual(self.of(tokens["operator"], "POST", "/operators", {"name": "x", "role": "viewer"})[0], 403)
        self.assertIsNone(player.refused)

    def test_what_was_done_shows_by_whom_and_from_where_S_5(self):
        server = self.daemon.game_server(7777)
        alice = self.add("alice", "operator")
        self.assertEqual(self.of(alice, "POST", f"/servers/{server.id}/drain", {"draining": True, "reason": "new build"})[0], 200)
        drained = self.soon(lambda: [e for e in self.audit() if e["action"] == "drain"], "no drain in the audit")[0]
        self.assertEqual((drained["operator"], drained["who"], drained["reason"]), ("alice", "127.0.0.1", "new build"))
        added = [e for e in self.audit() if e["action"] == "add operator"][0]
        self.assertEqual((added["operator"], added["target"]), ("admin", "alice as operator"))
        self.assertEqual(self.got(f"/servers/{server.id}")["drain"]["who"], "alice (127.0.0.1)")
        # Behind a proxy that is trusted it is the client's own address.
        self.assertEqual(self.of(alice, "POST", f"/servers/{server.id}/drain", {"draining": False},
                                 **{"X-Forwarded-For": "192.0.2.1, 203.0.113.7"})[0], 200)
        undrained = self.soon(lambda: [e for e in self.audit() if e["action"] == "undrain"], "no undrain in the audit")[0]
        self.assertEqual((undrained["operator"], undrained["who"]), ("alice", "203.0.113.7"))
        # An operator that asks for a match shows there, too.
        self.of(alice, "POST", "/matches", {"lobby_id": 5, "region": 77, "player_count": 10})
        asked = self.soon(lambda: self.got("/events?type=match.requested")["events"], "no request in the history")[0]
        self.assertEqual(asked["operator"], "alice")

    def test_the_audit_names_each_server_and_who_gave_a_match_back_S_5(self):
        servers = [self.daemon.game_server(port) for port in (7777, 7778)]
        ids = [server.id for server in servers]
        self.assertEqual(self.of(ADMIN, "POST", "/servers/drain", {"draining": True, "servers": ids})[0], 200)
        self.soon(lambda: [e for e in self.audit() if e["target"] == f"servers {ids[0]} and {ids[1]}"], "the servers are not named")
        self.assertEqual(self.of(ADMIN, "POST", "/servers/drain", {"draining": False, "servers": ids[:1]})[0], 200)
        mara = self.add("mara", "matchmaker")
        with concurrent.futures.ThreadPoolExecutor() as pool:
            asked = pool.submit(self.of, mara, "POST", "/matches", {"lobby_id": 9, "region": EU, "player_count": 2})
            self.assertEqual(self.expect_offer(servers[0]), 9)
            servers[0].acknowledge(9)
            self.assertEqual(asked.result()[0], 200)
        self.assertEqual(self.got("/matches/9")["matchmaker"], "@mara")
        for other in (self.add("milo", "matchmaker"), ADMIN):
            status, answer = self.of(other, "POST", "/matches", {"lobby_id": 9, "region": EU, "player_count": 2})
            self.assertEqual((status, answer["error"]), (409, "Invalid match lobby ID"))
            if other != ADMIN:
                self.assertEqual(self.of(other, "POST", "/matches/9/abort", {"reason": "mine"})[0], 404)
        self.assertEqual(self.of(ADMIN, "POST", "/operators", {"name": "http", "role": "viewer"})[0], 409)
        self.assertEqual(self.of(mara, "POST", "/matches/9/abort", {"reason": "all left"})[0], 200)
        given_back = self.soon(lambda: [e for e in self.audit() if e["action"] == "abort"], "no abort in the audit")[0]
        self.assertEqual((given_back["operator"], given_back["lobby_id"], given_back["reason"]), ("mara", 9, "all left"))

    @staticmethod
    def expect_offer(server):
        """The lobby of the next ALLOCATE_MATCH; draining is answered by a status before."""
        while True:
            code, payload = server.receive()
            if code == 0x1004:
                return struct.unpack_from("<i", payload)[0]

    def test_a_removed_operator_is_out_at_once_S_5(self):
        for i in range(20):
            bob = self.add("bob", "operator")
            self.assertEqual(self.of(bob, "PUT", "/clock", {"speed": 2})[0], 200)
            self.assertEqual(self.of(ADMIN, "POST", "/operators/remove", {"name": "bob"})[0], 200)
            self.assertEqual(self.of(bob, "PUT", "/clock", {"speed": 2})[0], 401, f"round {i}")
            self.assertEqual(self.of(bob, "GET", "/me")[0], 401)

    def test_operators_and_blocks_are_there_after_a_restart_and_a_kill_S_5_S_6(self):
        bob = self.add("bob", "viewer")
        gone = self.add("gone", "admin")
        self.of(ADMIN, "POST", "/operators/remove", {"name": "gone"})
        self.of(ADMIN, "POST", "/blocks", {"kind": "name", "value": "Eve", "reason": "cheats"})
        self.of(ADMIN, "POST", "/blocks", {"kind": "account", "value": "77"})
        self.of(ADMIN, "POST", "/blocks/remove", {"kind": "account", "value": "77"})
        for how in ("stop", "kill"):
            if how == "kill":
                self.daemon.process.kill()
                self.daemon.process.wait()
                self.daemon.start()
            else:
                self.restart()
            self.assertEqual(self.of(bob, "GET", "/me")[1]["name"], "bob", how)
            self.assertEqual(self.of(gone, "GET", "/me")[0], 401, how)
            self.assertEqual([(each["kind"], each["value"], each["blocked_by"]) for each in self.got("/blocks")["blocks"]],
                             [("name", "Eve", "admin (127.0.0.1)")], how)
            self.assertEqual(self.daemon.player("Eve").refused, "Blocked", how)

    def test_guessing_gets_slower_and_the_right_token_is_let_in_at_once_S_5_fault_70(self):
        bob = self.add("bob", "viewer")
        for _ in range(12):
            waiting = http.client.HTTPConnection(self.daemon.ports["http"], timeout=40)
            waiting.request("GET", "/api/v1/me", headers={"Authorization": "Bearer muster_guess"})
            self.addCleanup(waiting.close)
        self.assertEqual(self.of(bob, "GET", "/me")[0], 200)
        self.soon(lambda: "Wrong admin token" in self.daemon.log_text(), "wrong tokens are not told")
        self.soon(lambda: self.figure('muster_auth_failures_total{port="http"}') >= 12, "wrong tokens are not counted")

    def test_the_token_is_kept_nowhere_and_its_hash_shown_nowhere_S_5_fault_69(self):
        token = self.add("carol", "operator")
        self.of(token, "PUT", "/clock", {"speed": 2})
        self.of(token + "x", "PUT", "/clock", {"speed": 2})
        pages = [path for path, methods in self.ask("GET", "/openapi.json")[1]["paths"].items() if "get" in methods and "{" not in path]
        shown = {page: json.dumps(self.ask("GET", page)[1]) for page in pages}
        self.assertIn("carol", shown["/api/v1/operators"])
        self.soon(lambda: "carol" in json.dumps(self.audit()), "she is in the audit")
        self.assertEqual(self.daemon.stop(), 0)
        shown["the log"] = self.daemon.log_text()
        shown["the history"] = subprocess.run([self.muster, "store", "events", "--store", str(self.daemon.folder / "muster.db")],
                                              capture_output=True, text=True, check=True).stdout
        self.assertIn("carol", shown["the history"])
        for where, what in shown.items():
            self.assertNotIn(token, what, where)
            self.assertNotIn(token.removeprefix("muster_"), what, where)
        digest = hashlib.sha256(token.encode()).hexdigest()
        stored = b"".join(path.read_bytes() for path in self.daemon.folder.glob("muster.db*"))
        self.assertIn(digest.encode(), stored, "the hash is in the store")
        self.assertNotIn(token.removeprefix("muster_").encode(), stored, "the token is not")
        for where, what in shown.items():
            self.assertNotIn(digest, what, where)

    def test_who_comes_through_a_proxy_is_not_local_S_5(self):
        through = {"X-Forwarded-For": "203.0.113.7"}
        bob = self.add("bob", "viewer")
        for path in ("/metrics", "/api/v1/servers", "/api/v1/me"):
            self.assertEqual(self.ask("GET", path)[0], 200, path)
            self.assertEqual(self.ask("GET", path, headers=through)[0], 401, path)
            self.assertEqual(self.ask("GET", path, headers={**through, "Authorization": "Bearer " + bob})[0], 200, path)
        self.assertEqual(self.of(bob, "GET", "/me", **through)[1]["address"], "203.0.113.7")

    def test_the_commands_S_5(self):
        told = self.run_muster("operator", "add", "dave", "--role", "viewer")
        token = told.split("MUSTER_ADMIN_TOKEN=")[1].split()[0]
        self.assertIn("dave is viewer", told)
        self.assertRegex(self.run_muster("operators", token=token), r"(?m)^dave +viewer .*admin \(127\.0\.0\.1\)")
        self.assertEqual(json.loads(self.run_muster("operators", "--json"))["operators"][0]["name"], "dave")
        self.assertIn("role is viewer; this needs admin", self.run_muster("operator", "add", "x", "--role", "admin", token=token, code=77))
        self.assertIn("exists", self.run_muster("operator", "add", "dave", "--role", "viewer", code=1))
        self.assertIn("wants --role", self.run_muster("operator", "add", "erin", code=64))
        self.assertIn("name must be", self.run_muster("operator", "add", "e rin", "--role", "viewer", code=64))
        self.assertIn("was removed", self.run_muster("operator", "remove", "dave"))
        self.assertIn("no operator is called dave", self.run_muster("operator", "remove", "dave", code=1))
        self.run_muster("kick", "1", token=token, code=77)


class Blocks(Operated):
    def test_a_blocked_address_is_told_so_and_gone_S_6(self):
        server = self.daemon.game_server(7777, source="127.0.0.7")
        other = self.daemon.game_server(7778, source="127.0.0.8")
        self.assertIn("ip 127.0.0.7 is blocked for 1h", self.run_muster("block", "ip", "127.0.0.7", "--for", "1h", "--reason", "flood"))
        self.assertIn(b"Blocked", server.receive()[1])
        self.assertIsNone(server.receive())
        again = self.daemon.peer("servers", source="127.0.0.7")
        self.assertIn(b"Blocked", again.receive()[1])
        self.assertIsNone(again.receive())
        other.heartbeat()
        other.expect(0x1003)
        self.soon(lambda: self.figure('muster_blocked_total{port="servers"}') == 2, "it is not counted")
        self.assertRegex(self.run_muster("blocks"), r"(?m)^ip +127\.0\.0\.7 .*admin \(127\.0\.0\.1\) +flood")
        event = self.soon(lambda: [e for e in self.audit() if e["action"] == "block"], "no block in the audit")[0]
        self.assertEqual((event["operator"], event["target"], event["reason"], event["for_seconds"]), ("admin", "ip 127.0.0.7", "flood", 3600))
        self.assertIn("is no longer blocked", self.run_muster("unblock", "ip", "127.0.0.7"))
        self.assertIn("is not blocked", self.run_muster("unblock", "ip", "127.0.0.7", code=1))
        self.assertIsNone(self.daemon.game_server(7777, source="127.0.0.7").refused)

    def test_a_blocked_player_is_told_so_and_gone_S_6(self):
        anna, bob = self.daemon.player("Anna"), self.daemon.player("Bob")
        self.run_muster("block", "account", str(anna.id))
        self.assertEqual(anna.closed_for(), "Blocked")
        self.assertEqual(self.daemon.player("Anna").refused, "Blocked")
        self.run_muster("block", "name", "Bob")
        self.assertEqual(bob.closed_for(), "Blocked")
        self.assertEqual(self.daemon.player("Bob").refused, "Blocked")
        self.assertIsNone(self.daemon.player("Carol").refused)

    def test_a_block_ends_by_itself_S_6(self):
        self.run_muster("block", "name", "Eve", "--for", "1s")
        self.soon(lambda: self.daemon.player("Eve").refused is None, "the block does not end")
        self.soon(lambda: self.got("/events?type=block.expired")["events"], "its end is not told")
        self.assertEqual(self.got("/blocks")["blocks"], [])

    def test_what_cannot_be_blocked_is_said_S_6(self):
        self.assertIn("an IP address or a range", self.run_muster("block", "ip", "example.com", code=64))
        self.assertIn("--for wants a time", self.run_muster("block", "ip", "203.0.113.7", "--for", "soon", code=64))
        self.run_muster("block", "planet", "x", code=64)


class Addresses(Operated):
    settings = {**Operated.settings, "MUSTER_FLEET_ADDRESSES": '["203.0.113.0/24"]'}

    def test_a_server_claims_what_fleet_addresses_has_S_6(self):
        self.assertIsNone(self.daemon.game_server(7777, ip="203.0.113.7").refused)
        self.assertEqual(self.daemon.game_server(7777, ip="203.0.114.7").refused, "Server address not allowed")
        self.soon(lambda: self.figure('muster_registrations_refused_total{port="servers",reason="address_not_allowed"}') == 1, "not counted")
        self.soon(lambda: "Server address not allowed" in self.daemon.log_text(), "not told in the log")


if __name__ == "__main__":
    main()
