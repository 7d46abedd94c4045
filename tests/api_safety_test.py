#!/usr/bin/env python3
"""Who may do what over HTTP: the admin token, the headers, hostile requests; and the page's own files.

    api_safety_test.py PATH_TO_MUSTER [unittest arguments]
"""

import gzip
import http.client
import json
import math
import re
import socket
import struct
import subprocess
import time

from api_client import Api, JSON
from muster_peer import EU, allocation, text, until
from served import main


class Page(Api):
    def test_the_page_comes_from_the_binary_or_a_word_about_it(self):
        status, body, headers = self.ask("GET", "/")
        self.assertEqual(status, 200)
        if headers["Content-Type"].startswith("text/plain"):
            self.assertIn("The dashboard is not built into this binary", body)
            return
        self.assertTrue(headers["Content-Type"].startswith("text/html"), headers["Content-Type"])
        types = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
        files = re.findall(r'(?:src|href)="(?:\./)?([\w.]+)"', body)
        self.assertIn("app.js", files)
        for name in files:
            connection = http.client.HTTPConnection(self.daemon.ports["http"], timeout=20)
            connection.request("GET", "/" + name, headers={"Accept-Encoding": "gzip"})
            answer = connection.getresponse()
            packed = answer.read()
            self.assertEqual((answer.status, answer.getheader("Content-Encoding")), (200, "gzip"), name)
            self.assertTrue(answer.getheader("Content-Type").startswith(types[name[name.rindex("."):]]), name)
            self.assertEqual(gzip.decompress(packed).decode(), self.ask("GET", "/" + name)[1], name)
            connection.request("GET", "/" + name, headers={"If-None-Match": answer.getheader("ETag")})
            again = connection.getresponse()
            self.assertEqual((again.status, again.read()), (304, b""), name)
            connection.close()


class Safety(Api):
    admin = "admin-secret-8f41c2"
    settings = {"MUSTER_AUTH_ADMIN_TOKEN": admin, "MUSTER_AUTH_SERVER_TOKEN": "server-secret-77aa01",
                "MUSTER_AUTH_MATCHMAKER_TOKEN": "matchmaker-secret-b0b0b0", "MUSTER_AUTH_PLAYER_KEY": "player-key-that-signs-13579",
                "MUSTER_LOG_LEVEL": "debug"}

    def act(self, token, **more):
        headers = {**JSON, **({} if token is None else {"Authorization": "Bearer " + token}), **more}
        return self.ask("PUT", "/api/v1/clock", {"speed": 2}, headers=headers)

    def test_no_secret_is_shown_anywhere_fault_69(self):
        server = self.daemon.game_server(7777, token="server-secret-77aa01")
        matchmaker = self.daemon.matchmaker(token="matchmaker-secret-b0b0b0")
        self.daemon.game_server(7778, token="server-secret-77aa01-almost")
        credential = subprocess.run([self.muster, "player-token", "Anna", "--account", "7", "--for", "1h"], check=True, text=True,
                                    capture_output=True, env=self.daemon.env).stdout.strip()
        player = self.daemon.player("Anna", credential=credential)
        self.assertIsNone(player.refused)
        matchmaker.send(0x2008, struct.pack("<ibi", 42, 1, 7))
        matchmaker.expect(0x2009)
        matchmaker.request(42)
        server.expect(0x1004)
        server.acknowledge(42)
        token = allocation(matchmaker.expect(0x2003))[3]
        server.send(0x1006, struct.pack("<ii", server.id, 42) + text(token))
        server.expect(0x1007)
        self.assertEqual(server.validate(42, 7, token), "")
        self.assertEqual(server.validate(42, 8, token + "x"), "Invalid match token")
        over_http = self.in_background("POST", "/api/v1/matches", {"lobby_id": 43, "region": EU, "player_count": 2},
                                       headers={**JSON, "Authorization": "Bearer " + self.admin})
        server.expect(0x1004)
        server.acknowledge(43)
        second = over_http()[1]["token"]
        self.act(self.admin)
        self.act(self.admin + "-almost")

        secrets = {"the admin token": self.admin, "the server token": "server-secret-77aa01", "the matchmaker token": "matchmaker-secret-b0b0b0",
                   "the player key": "player-key-that-signs-13579", "a match token": token, "a token given over HTTP": second,
                   "a credential": credential, "its signature": credential.rsplit(".", 1)[1], "a resume token": player.resume_token}
        description = self.ask("GET", "/openapi.json")[1]
        values = {"id": server.id, "lobby": 42, "name": "nowhere", "process": "none-1"}
        pages = [re.sub(r"{(\w+)}", lambda m: str(values[m[1]]), path)
                 for path, methods in description["paths"].items() if "get" in methods] + ["/", "/api/v1/players/7", "/api/v1/matches/43"]
        texts = {page: json.dumps(self.ask("GET", page)[1]) for page in pages}
        self.assertIn("muster_players", texts["/metrics"])
        self.assertIn("match.ready", texts["/api/v1/events"])
        self.assertEqual(self.daemon.stop(), 0)
        texts["the log"] = self.daemon.log_text()
        self.assertIn("Listening", texts["the log"])
        texts["the event history"] = subprocess.run(
            [self.muster, "store", "events", "--store", str(self.daemon.folder / "muster.db")],
            capture_output=True, text=True, check=True).stdout
        self.assertIn("match.allocated", texts["the event history"])
        for where, shown in texts.items():
            for what, secret in secrets.items():
                self.assertNotIn(secret, shown, f"{what} is shown by {where}")

    def test_an_action_needs_the_token_and_guessing_is_slow_fault_70_fault_49_S_4(self):
        """Wrong tokens are counted, told and answered slower; the right one is let in at once."""
        self.assertEqual(self.act(None)[0], 401)
        self.assertEqual(self.act(self.admin)[0], 200)
        self.assertEqual(self.ask("GET", "/api/v1/servers")[0], 200)  # reads on loopback are open
        for _ in range(9):
            self.assertEqual(self.act("wrong")[0], 401)
        begun = time.monotonic()
        self.assertEqual(self.act("wrong")[0], 401)
        self.assertGreaterEqual(time.monotonic() - begun, 1)
        # Many at once, as one would guess: more than the address may have connections.
        guesses = [self.guess_without_waiting() for _ in range(80)]
        # Until the guesses are read, the address has no connection left.
        until(lambda: self.seconds_of(self.admin) < 1, "the right one is answered as slow as the wrong ones", patience=5)
        for guess in guesses:
            guess.close()
        wrong, all_failures = self.figures('muster_auth_failures_total{port="http"}', "muster_admin_auth_failures_total")
        self.assertGreater(wrong, 10)
        self.assertEqual(all_failures, wrong + 1)
        self.soon(lambda: "Wrong admin token" in self.daemon.log_text(), "it is not in the log")
        self.assertEqual(self.daemon.log_text().count("Wrong admin token"), 1)
        self.assertEqual(self.got("/clock")["speed"], 2)

    def seconds_of(self, token):
        """How long an action takes that is let in; for ever when there is no connection left for it."""
        begun = time.monotonic()
        status, answer = self.act(token)[:2]
        if status == 503:
            self.assertIn("Too many connections", str(answer))
            return math.inf
        self.assertEqual(status, 200, answer)
        return time.monotonic() - begun

    def guess_without_waiting(self):
        host, port = self.daemon.ports["http"].rsplit(":", 1)
        guess = socket.create_connection((host, int(port)), timeout=20)
        guess.sendall(b"PUT /api/v1/clock HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                      b"Authorization: Bearer wrong\r\nContent-Length: 11\r\n\r\n{\"speed\":3}")
        return guess

    def test_a_page_from_elsewhere_can_do_nothing_fault_70(self):
        for host in ("evil.example", "evil.example:11030", "127.0.0.1.evil.example", "localhost.evil.example"):
            status, body, _ = self.act(self.admin, Host=host)
            self.assertEqual(status, 421, body)
            self.assertEqual(self.ask("GET", "/api/v1/servers", headers={"Host": host})[0], 421)
            self.assertEqual(self.ask("GET", "/", headers={"Host": host})[0], 421)
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
            self.assertEqual(self.act(self.admin, **{"Content-Type": kind})[0], 415)
        status, _, headers = self.ask("OPTIONS", "/api/v1/clock", headers={
            "Origin": "https://evil.example", "Access-Control-Request-Method": "PUT"})
        self.assertEqual(status, 405)
        for path in ("/", "/api/v1/servers", "/openapi.json", "/metrics", "/nothing"):
            _, _, headers = self.ask("GET", path, headers={"Origin": "https://evil.example"})
            self.assertEqual([name for name in headers if name.lower().startswith("access-control")], [], path)
            self.assertIn("frame-ancestors 'none'", headers["Content-Security-Policy"], path)
            self.assertNotIn("unsafe", headers["Content-Security-Policy"], path)
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff", path)
            self.assertEqual(headers["Referrer-Policy"], "no-referrer", path)

    def test_a_rotated_token_does_not_empty_the_fleet_silently_F_1_A_1(self):
        """Refused registrations are logged, counted, events, and a warning while they go on."""
        for _ in range(5):  # fewer than make answers slow
            self.assertEqual(self.daemon.game_server(7777, token="old-secret").refused, "Invalid token")
        self.assertEqual(self.daemon.matchmaker(token="old-secret").refused, "Invalid token")
        self.soon(lambda: self.figures(
            'muster_registrations_refused_total{port="servers",reason="invalid_token"}',
            'muster_registrations_refused_total{port="matchmakers",reason="invalid_token"}') == (5, 1), "they are not counted")
        self.soon(lambda: self.got("/events?type=matchmaker.refused")["events"], "the last event is not durable")
        events = [(e["type"], e["reason"], e["peer"]) for e in self.got("/events?type=server.refused")["events"]]
        self.assertEqual(events, [("server.refused", "Invalid token", "127.0.0.1")])
        self.assertEqual(len(self.got("/events?type=matchmaker.refused")["events"]), 1)
        line = "Refused a game server: Invalid token peer=127.0.0.1"
        self.soon(lambda: line in self.daemon.log_text(), "it is not in the log")
        self.assertEqual(self.daemon.log_text().count(line), 1)
        health = self.got("/overview")["health"]
        self.assertEqual(health["status"], "warn")
        self.assertIn('5 registrations of game servers refused in the last minutes, most with "Invalid token"', health["reasons"][0])

    def test_bad_bodies_are_told_what_is_wrong(self):
        bearer = {**JSON, "Authorization": "Bearer " + self.admin}
        for body, why in (("{", "The body is not valid JSON"), ("[]", "The body must be a JSON object"),
                          ('{"speed":2,"spede":3}', "Unknown field spede; known are: day, hour, minute, speed"),
                          ('{"speed":"2"}', "speed must be a whole number from 1 to 3600")):
            self.assertEqual(self.ask("PUT", "/api/v1/clock", body, headers=bearer)[:2], (400, {"error": why}))
        self.assertEqual(self.ask("PUT", "/api/v1/clock", " " * (64 * 1024 + 1), headers=bearer)[0], 413)
        self.assertEqual(self.ask("DELETE", "/api/v1/clock", headers=bearer)[0], 405)
        self.assertEqual(self.ask("GET", "/api/v1/nothing")[:2], (404, {"error": "Not found"}))


if __name__ == "__main__":
    main()
