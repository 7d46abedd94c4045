#!/usr/bin/env python3
"""The HTTP API of the real daemon, seen by a client that knows nothing but the specification and /openapi.json.

    api_test.py PATH_TO_MUSTER [unittest arguments]
"""

import gzip
import http.client
import json
import re
import sqlite3
import struct
import subprocess
import threading
import time

from muster_peer import EU, allocation, text
from served import Served, main

JSON = {"Content-Type": "application/json"}


class Api(Served):
    """A daemon, and a client of its API."""

    def setUp(self):
        super().setUp()
        self.streams = []

    def end(self):
        for stream in self.streams:
            stream.close()
        super().end()

    def ask(self, method, path, body=None, headers=None):
        """(status, JSON or text, headers)"""
        connection = http.client.HTTPConnection(self.daemon.ports["http"], timeout=40)
        data = json.dumps(body) if isinstance(body, dict) else body
        connection.request(method, path, body=data, headers=headers or ({} if data is None else JSON))
        answer = connection.getresponse()
        got = answer.read().decode()
        connection.close()
        is_json = (answer.getheader("Content-Type") or "").startswith("application/json")
        return answer.status, json.loads(got) if is_json and got else got, answer.headers

    def got(self, path):
        status, body, _ = self.ask("GET", "/api/v1" + path)
        self.assertEqual(status, 200, body)
        return body

    def post(self, path, body, expected=200):
        status, answer, _ = self.ask("POST", "/api/v1" + path, body)
        self.assertEqual(status, expected, answer)
        return answer

    def in_background(self, *what, **more):
        """The answer, once it is there: call the result."""
        got = []
        thread = threading.Thread(target=lambda: got.append(self.ask(*what, **more)))
        thread.start()

        def answer():
            thread.join(40)
            return got[0]
        return answer

    def live(self, last_seen=None, query=""):
        stream = Live(self.daemon.ports["http"], last_seen, query)
        self.streams.append(stream)
        return stream

    def allocated(self, server, lobby):
        """A match of that lobby on that server; the token."""
        answer = self.in_background("POST", "/api/v1/matches", {"lobby_id": lobby, "region": EU, "player_count": 10})
        self.assertEqual(server.expect(0x1004).take("i"), lobby)
        server.acknowledge(lobby)
        status, body, _ = answer()
        self.assertEqual(status, 200, body)
        return body["token"]


class Live:
    """A reader of the live feed."""

    def __init__(self, address, last_seen=None, query=""):
        self.connection = http.client.HTTPConnection(address, timeout=20)
        headers = {"Accept": "text/event-stream"}
        if last_seen is not None:
            headers["Last-Event-ID"] = str(last_seen)
        self.connection.request("GET", "/api/v1/events" + query, headers=headers)
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200, self.answer.read()

    def next(self):
        """The next event as (id, type, data); what has no id is passed over."""
        fields = {}
        while True:
            line = self.answer.readline().decode()
            assert line, "the feed has ended"
            line = line.rstrip("\n")
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif "id" in fields:
                return int(fields["id"]), fields["event"], json.loads(fields["data"])
            else:
                fields = {}

    def until(self, kind):
        while True:
            event = self.next()
            if event[1] == kind:
                return event

    def close(self):
        self.connection.close()


class Journey(Api):
    def test_an_operator_drains_a_server_and_the_server_is_told_F_5(self):
        server = self.daemon.game_server(7777)
        row = self.got("/servers")["servers"][0]
        self.assertEqual((row["id"], row["ip"], row["port"], row["region"], row["status"]),
                         (server.id, "127.0.0.1", 7777, EU, "available"))
        server.heartbeat(matches=3, cpu=45.2, memory=62.8)
        server.expect(0x1003)
        row = self.got(f"/servers/{server.id}")
        self.assertEqual((row["matches"], row["cpu"], row["memory"], row["connected"]), (3, 45.2, 62.8, True))

        self.post(f"/servers/{server.id}/drain", {"draining": True})
        told = server.expect(0x100F)
        self.assertEqual((told.take("i"), told.take("b")), (server.id, 2))
        self.assertEqual(self.got(f"/servers/{server.id}")["status"], "draining")
        self.assertEqual(self.post("/matches", {"lobby_id": 1, "region": EU, "player_count": 10}, 503),
                         {"error": "No servers available"})
        self.post(f"/servers/{server.id}/drain", {"draining": False})
        self.assertEqual(server.expect(0x100F).payload[4], 0)
        self.assertEqual(self.post("/servers/999/drain", {"draining": True}, 404), {"error": "No such server"})

        server.close()
        self.soon(lambda: self.got(f"/servers/{server.id}")["status"] == "offline", "a lost server shows offline")

    def test_a_match_over_http_is_one_of_the_manager_port_A_8(self):
        server = self.daemon.game_server(7777)
        wish = {"lobby_id": 12345, "region": EU, "game_type": 6, "game_mode": 0, "player_count": 10, "average_rating": 1650}
        answers = [self.in_background("POST", "/api/v1/matches", wish) for _ in range(3)]
        offer = server.expect(0x1004)
        self.assertEqual((offer.take("i"), offer.take("b"), offer.take("b")), (12345, 6, 0))
        token = offer.string()
        server.acknowledge(12345)
        expected = {"lobby_id": 12345, "server_id": server.id, "ip": "127.0.0.1", "port": 7777, "token": token}
        for answer in answers:
            status, body, _ = answer()
            self.assertEqual(status, 200, body)
            self.assertGreater(body.pop("allocated_at_ms"), 1_600_000_000_000)
            self.assertEqual(body, expected)
        # Again, later and with other wishes: the same.
        self.assertEqual(self.post("/matches", {**wish, "player_count": 2})["token"], token)

        # It is the API's lobby, and nobody else's.
        chat = self.daemon.chat_server()
        chat.request(12345)
        self.assertEqual(allocation(chat.expect(0x2003))[1], "Invalid match lobby ID")
        self.assertEqual(self.daemon.chat_server("http").refused, "Chat Server already registered")
        self.assertEqual([m["id"] for m in self.got("/managers")["managers"]], ["chat-1"])

        self.assertEqual(server.validate(12345, 7, token), "")
        match = self.got("/matches/12345")
        self.assertEqual((match["state"], match["server_id"], match["chat_server"], match["tokens_used"], match["reason"]),
                         ("allocated", server.id, "http", 1, ""))
        self.assertEqual(self.got(f"/servers/{server.id}")["lobbies"], [12345])

        self.post("/matches/12345/abort", {"reason": "Rain"})
        told = server.expect(0x100D)
        self.assertEqual((told.take("i"), told.string()), (12345, "Rain"))
        match = self.got("/matches/12345")
        self.assertEqual((match["state"], match["reason"], match["tokens_used"]), ("aborted", "Rain", 1))
        self.assertIn(12345, [m["lobby_id"] for m in self.got("/matches?state=aborted")["matches"]])
        self.post("/matches/12345/abort", {}, 409)
        self.post("/matches/4/abort", {}, 404)
        self.post("/matches", wish, 409)

    def test_one_slow_server_holds_up_nobody_else_over_http(self):
        slow = self.daemon.game_server(7777, region=0)
        quick = self.daemon.game_server(7778)
        waiting = self.in_background("POST", "/api/v1/matches", {"lobby_id": 1, "region": 0, "player_count": 10})
        slow.expect(0x1004)
        self.allocated(quick, 2)
        self.assertEqual(self.got("/matches/1")["state"], "offering")
        slow.acknowledge(1)
        self.assertEqual(waiting()[0], 200)

    def test_a_match_of_a_chat_server_aborted_by_an_operator_is_told_A_11(self):
        server = self.daemon.game_server(7777)
        chat = self.daemon.chat_server()
        chat.request(77)
        server.expect(0x1004)
        server.acknowledge(77)
        chat.expect(0x2003)
        self.post("/matches/77/abort", {})
        event = chat.expect(0x2006)
        self.assertEqual((event.take("i"), event.take("b"), event.string()), (77, 4, "Aborted by operator"))
        server.expect(0x100D)

    def test_players_are_seen_and_kicked_P_8(self):
        hostile = "<img src=x onerror=a()>"
        one, two = self.daemon.player(hostile), self.daemon.player("Berta")
        rows = {row["id"]: row for row in self.got("/players")["players"]}
        self.assertEqual(rows[one.id]["name"], hostile)
        self.assertTrue(rows[one.id]["connected"])
        self.assertEqual(self.got("/overview")["players"]["connected"], 2)
        self.assertEqual([p["id"] for p in self.got("/players?limit=1&after=" + str(one.id))["players"]], [two.id])
        self.post(f"/players/{one.id}/kick", {"reason": "Spam"})
        self.assertEqual(one.closed_for(), "Kicked")
        self.soon(lambda: [p["id"] for p in self.got("/players")["players"]] == [two.id], "a kicked player is gone")
        self.post(f"/players/{one.id}/kick", {}, 404)
        # In the bytes, too, nothing that a browser could take for markup.
        connection = http.client.HTTPConnection(self.daemon.ports["http"], timeout=20)
        connection.request("GET", "/api/v1/events")
        self.assertNotIn(b"<", connection.getresponse().read())
        connection.close()

    def test_the_clock_is_set_C_3(self):
        player = self.daemon.player("Anna")
        status, body, _ = self.ask("PUT", "/api/v1/clock", {"day": 3, "hour": 14, "minute": 30, "speed": 2})
        self.assertEqual((status, body), (200, {"day": 3, "hour": 14, "minute": 30, "speed": 2}))
        self.assertEqual(player.expect(74).payload, bytes([3, 14, 30]))
        self.assertEqual(self.got("/clock"), {"day": 3, "hour": 14, "minute": 30, "speed": 2})
        self.assertEqual(self.ask("PUT", "/api/v1/clock", {"day": 8, "hour": 0, "minute": 0})[0], 400)

    def test_lists_are_paged_by_id(self):
        servers = [self.daemon.game_server(8000 + i) for i in range(7)]
        seen, after = [], 0
        while after is not None:
            page = self.got(f"/servers?limit=3&after={after}")
            self.assertLessEqual(len(page["servers"]), 3)
            seen += [row["id"] for row in page["servers"]]
            after = page["next"]
        self.assertEqual(seen, [server.id for server in servers])


class ManyServers(Api):
    def test_a_fleet_of_several_steps_is_listed_whole_O_2(self):
        ids = [self.daemon.game_server(10_000 + i).id for i in range(600)]
        listed, after = [], 0
        while after is not None:
            page = self.got(f"/servers?limit=100&after={after}")
            listed += [server["id"] for server in page["servers"]]
            after = page["next"]
        self.assertEqual(listed, ids)
        self.assertEqual(sum(region["servers"]["available"] for region in self.got("/overview")["regions"]), 600)


class Events(Api):
    def test_every_action_is_in_the_history_with_who_when_and_why(self):
        server = self.daemon.game_server(7777)
        player = self.daemon.player("Anna")
        before = time.time() * 1000
        feed = self.live(query="?type=operator.")
        seen = []

        def noted(action, target, **more):
            number, kind, event = feed.next()
            self.assertLess(abs(event.pop("time_ms") - before), 30_000)
            self.assertEqual(event, {"id": number, "type": kind, "who": "127.0.0.1", "action": action, "target": target, **more})
            seen.append(number)

        self.post(f"/servers/{server.id}/drain", {"draining": True, "reason": "new kernel"})
        noted("drain", f"server {server.id}", server_id=server.id, reason="new kernel")
        self.post(f"/servers/{server.id}/drain", {"draining": False})
        noted("undrain", f"server {server.id}", server_id=server.id)
        server.expect(0x100F)
        server.expect(0x100F)
        self.allocated(server, 5)
        noted("allocate", "lobby 5", lobby_id=5)
        self.post("/matches/5/abort", {"reason": "Rain"})
        noted("abort", "lobby 5", lobby_id=5, reason="Rain")
        self.post(f"/players/{player.id}/kick", {"reason": "Spam, and \"worse\""})
        noted("kick", f"player {player.id}", player_id=player.id, reason="Spam, and \"worse\"")
        self.assertEqual(self.ask("PUT", "/api/v1/clock", {"day": 3, "hour": 14, "minute": 30, "speed": 2})[0], 200)
        noted("set clock", "day 3 14:30 speed 2")

        # What came to nothing is no action.
        self.post("/servers/999/drain", {"draining": True}, 404)
        self.post(f"/players/{player.id}/kick", {"reason": "Spam"}, 404)
        # The history knows them too, by what they were done to as well, and after a new start.
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon.start()
        self.assertEqual([e["id"] for e in self.got("/events?type=operator.")["events"]], seen)
        self.assertEqual([e["action"] for e in self.got(f"/events?type=operator.&server={server.id}")["events"]], ["drain", "undrain"])
        self.assertEqual([e["action"] for e in self.got("/events?type=operator.&lobby=5")["events"]], ["allocate", "abort"])
        kick = self.got(f"/events?type=operator.&player={player.id}")["events"]
        self.assertEqual([(e["action"], e["reason"]) for e in kick], [("kick", "Spam, and \"worse\"")])

    def test_the_live_feed_resumes_where_its_reader_left(self):
        feed = self.live()
        servers = [self.daemon.game_server(8000 + i) for i in range(3)]
        got = [feed.next() for _ in range(2)]
        self.assertEqual([kind for _, kind, _ in got], ["server.registered"] * 2)
        self.assertEqual([data["server_id"] for _, _, data in got], [server.id for server in servers[:2]])
        self.assertEqual([data["id"] for _, _, data in got], [number for number, _, _ in got])
        feed.close()
        servers[0].send(0x1010, struct.pack("<i", servers[0].id))

        again = self.live(got[-1][0])
        self.assertEqual([again.next()[1] for _ in range(2)], ["server.registered", "server.removed"])
        again.close()

        # The whole daemon starts anew: the feed still knows what was before.
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon.start()
        after = self.live(got[-1][0])
        self.assertEqual([after.next()[1] for _ in range(2)], ["server.registered", "server.removed"])

    def test_a_feed_gives_only_what_was_asked_for(self):
        feed = self.live(query="?type=server.draining")
        server = self.daemon.game_server(7777)
        server.send(0x100E, struct.pack("<ib", server.id, 1))
        self.assertEqual(feed.next()[1], "server.draining")

    def test_stopping_does_not_wait_for_open_feeds_X_3(self):
        self.live()
        begun = time.monotonic()
        self.assertEqual(self.daemon.stop(), 0)
        self.assertLess(time.monotonic() - begun, 5)

    def test_history_is_filtered_and_paged(self):
        servers = [self.daemon.game_server(8000 + i) for i in range(5)]
        for server in servers[:2]:
            server.send(0x1010, struct.pack("<i", server.id))
        self.soon(lambda: len(self.got("/events?type=server.removed")["events"]) == 2, "both have left")
        of_one = self.got(f"/events?server={servers[0].id}")["events"]
        self.assertEqual([e["type"] for e in of_one if e["type"] != "server.offline"], ["server.registered", "server.removed"])
        every = self.got("/events?after=0")["events"]
        self.assertEqual([e["id"] for e in every], sorted(e["id"] for e in every))
        seen, query = [], "limit=2"
        while query:
            page = self.got("/events?" + query)
            seen = page["events"] + seen
            query = page["previous"] and f"limit=2&before={page['previous']}"
        self.assertEqual(seen, every)
        middle = every[2]["time_ms"]
        self.assertTrue(all(e["time_ms"] >= middle for e in self.got(f"/events?since_ms={middle}")["events"]))


class Brake(Api):
    settings = {"MUSTER_FLEET_BRAKE_SERVERS": "3"}

    def test_the_brake_is_seen_where_it_is_on_and_for_as_long_fault_29(self):
        def brakes():
            metrics = dict(re.findall(r'^muster_eviction_brake_on\{region="(\w+)"\} (\d)$', self.ask("GET", "/metrics")[1], re.M))
            return [region for region, on in metrics.items() if on == "1"]

        servers = [self.daemon.game_server(8000 + i) for i in range(3)]
        self.daemon.game_server(9000, region=0)
        self.assertEqual(brakes(), [])
        for server in servers:
            server.close()
        self.soon(lambda: brakes() == ["EU"], "the brake is on where all fell silent")
        overview = self.got("/overview")
        self.assertEqual([region["name"] for region in overview["regions"] if region["brake"]], ["EU"])
        self.assertTrue(any("EU fell silent at once" in reason for reason in overview["health"]["reasons"]), overview["health"])
        for i in range(3):
            self.daemon.game_server(8000 + i)
        self.soon(lambda: brakes() == [], "the brake is off when all are back")
        self.assertEqual([e["type"] for e in self.got("/events?type=brake.")["events"]], ["brake.on", "brake.off"])
        self.assertEqual(self.figure("muster_eviction_brake_total"), 1)


class Described(Api):
    """Every path of /openapi.json is called, and what comes is what it says."""

    def fits(self, value, schema, where):
        if "$ref" in schema:
            schema = self.follow(schema["$ref"])
        kinds = schema.get("type")
        if kinds is not None:
            kinds = kinds if isinstance(kinds, list) else [kinds]
            is_a = {"null": value is None, "boolean": isinstance(value, bool), "string": isinstance(value, str),
                    "integer": isinstance(value, int) and not isinstance(value, bool),
                    "number": isinstance(value, (int, float)) and not isinstance(value, bool),
                    "object": isinstance(value, dict), "array": isinstance(value, list)}
            self.assertTrue(any(is_a[kind] for kind in kinds), f"{where}: {value!r} is no {kinds}")
        if "enum" in schema:
            self.assertIn(value, schema["enum"], where)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            self.assertGreaterEqual(value, schema.get("minimum", value), where)
            self.assertLessEqual(value, schema.get("maximum", value), where)
        if isinstance(value, list):
            for i, item in enumerate(value):
                self.fits(item, schema.get("items", {}), f"{where}[{i}]")
        if isinstance(value, dict):
            known = schema.get("properties", {})
            for name in schema.get("required", []):
                self.assertIn(name, value, where)
            for name, item in value.items():
                more = schema.get("additionalProperties", True)
                if name not in known:
                    self.assertIsNot(more, False, f"{where}: unknown field {name}")
                self.fits(item, known.get(name, more if isinstance(more, dict) else {}), f"{where}.{name}")

    def follow(self, reference):
        here = self.description
        for part in reference.removeprefix("#/").split("/"):
            here = here[part]
        return here

    def call(self, path, method, values, body, expected):
        operation = self.description["paths"][path][method]
        target = re.sub(r"{(\w+)}", lambda m: str(values[m[1]]), path)
        status, answer, headers = self.ask(method.upper(), target, body)
        where = f"{method} {target} {status}"
        self.assertEqual(status, expected, f"{where}: {answer}")
        self.assertIn(str(status), operation["responses"], where)
        described = operation["responses"][str(status)]
        if "$ref" in described:
            described = self.follow(described["$ref"])
        kind = headers["Content-Type"].split(";")[0]
        self.assertIn(kind, described["content"], where)
        self.fits(answer, described["content"][kind]["schema"], where)
        self.called.add(operation["operationId"])

    def test_every_path_answers_as_described_O_2(self):
        status, self.description, _ = self.ask("GET", "/openapi.json")
        self.assertEqual(status, 200)
        self.called = set()
        server = self.daemon.game_server(7777)
        server.heartbeat(1)
        server.expect(0x1003)
        self.daemon.chat_server()
        player = self.daemon.player("Anna")
        token = self.allocated(server, 5)
        self.allocated(server, 6)
        server.validate(5, player.id, token)
        self.post("/matches/6/abort", {})

        one = {"id": server.id, "lobby": 5}
        nobody = {"id": 999, "lobby": 999}
        for path in ("overview", "servers", "matches", "players", "managers", "regions", "clock", "events"):
            self.call(f"/api/v1/{path}", "get", {}, None, 200)
        for path in ("/healthz", "/readyz", "/metrics", "/openapi.json"):
            self.call(path, "get", {}, None, 200)
        for path in ("/api/v1/servers", "/api/v1/matches", "/api/v1/players", "/api/v1/managers", "/api/v1/events"):
            status, answer, _ = self.ask("GET", path + "?limit=5000")
            self.assertEqual(status, 400, answer)
            self.fits(answer, {"$ref": "#/components/schemas/Error"}, path)
        self.call("/api/v1/servers/{id}", "get", one, None, 200)
        self.call("/api/v1/servers/{id}", "get", nobody, None, 404)
        self.call("/api/v1/servers/{id}", "get", {"id": "x"}, None, 400)
        self.call("/api/v1/matches/{lobby}", "get", one, None, 200)
        self.call("/api/v1/matches/{lobby}", "get", nobody, None, 404)
        self.call("/api/v1/players/{id}", "get", {"id": player.id}, None, 200)
        self.call("/api/v1/players/{id}", "get", nobody, None, 404)
        self.call("/api/v1/servers/{id}/drain", "post", one, {"draining": True}, 200)
        self.call("/api/v1/servers/{id}/drain", "post", one, {"draining": True, "reason": "x"}, 200)
        self.call("/api/v1/servers/{id}/drain", "post", one, {"draining": True, "reason": "x" * 257}, 400)
        self.call("/api/v1/servers/{id}/drain", "post", one, {"draining": 1}, 400)
        self.call("/api/v1/servers/{id}/drain", "post", nobody, {"draining": True}, 404)
        self.call("/api/v1/matches", "post", {}, {"lobby_id": 5, "region": EU, "player_count": 10}, 200)
        self.call("/api/v1/matches", "post", {}, {"lobby_id": 6, "region": EU, "player_count": 10}, 409)
        self.call("/api/v1/matches", "post", {}, {"lobby_id": 9, "region": 77, "player_count": 10}, 400)
        self.call("/api/v1/matches", "post", {}, {"lobby_id": 9, "region": EU, "player_count": 10}, 503)
        self.call("/api/v1/matches/{lobby}/abort", "post", one, {"reason": "x"}, 200)
        self.call("/api/v1/matches/{lobby}/abort", "post", one, {}, 409)
        self.call("/api/v1/matches/{lobby}/abort", "post", nobody, {}, 404)
        self.call("/api/v1/players/{id}/kick", "post", {"id": player.id}, {"reason": "x"}, 200)
        self.call("/api/v1/players/{id}/kick", "post", nobody, {}, 404)
        self.call("/api/v1/clock", "put", {}, {"speed": 60}, 200)
        self.call("/api/v1/clock", "put", {}, {}, 400)
        every = {operation["operationId"] for methods in self.description["paths"].values() for operation in methods.values()}
        self.assertEqual(self.called, every)


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
                "MUSTER_AUTH_MANAGER_TOKEN": "manager-secret-b0b0b0", "MUSTER_AUTH_PLAYER_KEY": "player-key-that-signs-13579",
                "MUSTER_LOG_LEVEL": "debug"}

    def act(self, token, **more):
        headers = {**JSON, **({} if token is None else {"Authorization": "Bearer " + token}), **more}
        return self.ask("PUT", "/api/v1/clock", {"speed": 2}, headers=headers)

    def test_no_secret_is_shown_anywhere_fault_69(self):
        server = self.daemon.game_server(7777, token="server-secret-77aa01")
        chat = self.daemon.chat_server(token="manager-secret-b0b0b0")
        self.daemon.game_server(7778, token="server-secret-77aa01-almost")
        credential = subprocess.run([self.muster, "player-token", "Anna", "--account", "7", "--for", "1h"], check=True, text=True,
                                    capture_output=True, env=self.daemon.env).stdout.strip()
        player = self.daemon.player("Anna", credential=credential)
        self.assertIsNone(player.refused)
        chat.send(0x2008, struct.pack("<ibi", 42, 1, 7))
        chat.expect(0x2009)
        chat.request(42)
        server.expect(0x1004)
        server.acknowledge(42)
        token = allocation(chat.expect(0x2003))[3]
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

        secrets = {"the admin token": self.admin, "the server token": "server-secret-77aa01", "the manager token": "manager-secret-b0b0b0",
                   "the player key": "player-key-that-signs-13579", "a match token": token, "a token given over HTTP": second,
                   "a credential": credential, "its signature": credential.rsplit(".", 1)[1], "a resume token": player.resume_token}
        description = self.ask("GET", "/openapi.json")[1]
        values = {"id": server.id, "lobby": 42}
        pages = [re.sub(r"{(\w+)}", lambda m: str(values[m[1]]), path)
                 for path, methods in description["paths"].items() if "get" in methods] + ["/", "/api/v1/players/7", "/api/v1/matches/43"]
        texts = {page: json.dumps(self.ask("GET", page)[1]) for page in pages}
        self.assertIn("muster_players", texts["/metrics"])
        self.assertIn("match.ready", texts["/api/v1/events"])
        self.assertEqual(self.daemon.stop(), 0)
        texts["the log"] = self.daemon.log_text()
        self.assertIn("Listening", texts["the log"])
        with sqlite3.connect(self.daemon.folder / "muster.db") as store:
            texts["the event history"] = "\n".join(map(str, store.execute("select * from events")))
        self.assertIn("match.allocated", texts["the event history"])
        for where, shown in texts.items():
            for what, secret in secrets.items():
                self.assertNotIn(secret, shown, f"{what} is shown by {where}")

    def test_an_action_needs_the_token_and_guessing_ends_fault_70(self):
        self.assertEqual(self.act(None)[0], 401)
        self.assertEqual(self.act(self.admin)[0], 200)
        self.assertEqual(self.ask("GET", "/api/v1/servers")[0], 200)  # reads on loopback are open
        for _ in range(10):
            self.assertEqual(self.act("wrong")[0], 401)
        status, body, headers = self.act("wrong")
        self.assertEqual((status, headers["Retry-After"]), (429, "60"), body)
        self.assertEqual(self.act(self.admin)[0], 429)
        metrics = self.ask("GET", "/metrics")[1]
        self.assertIn("muster_admin_auth_failures_total 11", metrics)
        self.assertEqual(self.got("/clock")["speed"], 2)

    def test_a_page_from_elsewhere_can_do_nothing_fault_70(self):
        for host in ("evil.example", "evil.example:11030", "127.0.0.1.evil.example", "169.254.1.1"):
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
