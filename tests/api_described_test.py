#!/usr/bin/env python3
"""The real daemon does what its /openapi.json says, answer by answer.

    api_described_test.py PATH_TO_MUSTER [unittest arguments]
"""

import re
import threading

from api_client import Api
from muster_peer import EU
from served import main


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

    def hosts(self):
        host = self.daemon.host()
        host.process("arena-1", state=5, reason="signal 9 (SIGKILL)", lines="bye", exit_at=5, signal_number=9)
        host.process("arena-2")
        host.report()
        host.expect(0x102A)
        place = {"name": "host-1", "process": "arena-1", "run": "arena"}
        nowhere = {"name": "host-9", "process": "arena-1", "run": "arena"}
        here = "/api/v1/hosts/{name}"
        self.call("/api/v1/hosts", "get", {}, None, 200)
        self.call(here, "get", place, None, 200)
        self.call(here, "get", nowhere, None, 404)
        for path, method, good, bad in ((here + "/drain", "post", {"draining": True, "reason": "x"}, {}),
                                        (here + "/processes/{process}/restart", "post", {}, {"now": 1}),
                                        (here + "/runs/{run}", "post", {"count": 2}, {"count": -1}),
                                        (here + "/processes/{process}/log", "get", None, None)):
            host.report()  # it is not silent
            answering = threading.Thread(target=host.answer_next)
            answering.start()
            self.call(path, method, place, good, 200)
            answering.join()
            answering = threading.Thread(target=host.answer_next, args=("the agent says no",))
            answering.start()
            self.call(path, method, place, good, 409)
            answering.join()
            self.call(path, method, nowhere, good, 404)
            if method == "post":
                self.call(path, method, place, bad, 400)
        host.report()
        answering = threading.Thread(target=host.answer_next, args=("No such run on this host",))
        answering.start()
        self.call(here + "/runs/{run}", "post", place, {"count": 2}, 404)
        answering.join()
        status, answer, _ = self.ask("GET", "/api/v1/hosts/host-1/processes/arena-1/log?bytes=0")
        self.assertEqual(status, 400, answer)
        host.report()
        self.call(here + "/drain", "post", place, {"draining": True}, 504)  # nobody answers
        self.call(here + "/forget", "post", place, {}, 409)
        host.close()
        self.soon(lambda: self.ask("GET", "/api/v1/hosts/host-1")[1]["connected"] is False, "the host is lost")
        self.call(here + "/drain", "post", place, {"draining": True}, 503)
        self.call(here + "/forget", "post", place, {"force": True}, 400)
        self.call(here + "/forget", "post", place, {"reason": "sold"}, 200)
        self.call(here + "/forget", "post", place, {}, 404)

    def test_every_path_answers_as_described_O_2(self):
        status, self.description, _ = self.ask("GET", "/openapi.json")
        self.assertEqual(status, 200)
        self.called = set()
        server = self.daemon.game_server(7777)
        server.heartbeat(1)
        server.expect(0x1003)
        self.daemon.matchmaker()
        player = self.daemon.player("Anna")
        token = self.allocated(server, 5)
        self.allocated(server, 6)
        server.validate(5, player.id, token)
        self.post("/matches/6/abort", {})

        one = {"id": server.id, "lobby": 5}
        nobody = {"id": 999, "lobby": 999}
        for path in ("overview", "overview/history", "servers", "matches", "players", "matchmakers", "regions", "clock", "events",
                     "me", "operators", "blocks"):
            self.call(f"/api/v1/{path}", "get", {}, None, 200)
        for path in ("/healthz", "/readyz", "/metrics", "/openapi.json", "/api/v1/cluster"):
            self.call(path, "get", {}, None, 200)
        for path in ("/api/v1/servers", "/api/v1/matches", "/api/v1/players", "/api/v1/matchmakers", "/api/v1/events"):
            status, answer, _ = self.ask("GET", path + "?limit=5000")
            self.assertEqual(status, 400, answer)
            self.fits(answer, {"$ref": "#/components/schemas/Error"}, path)
        self.call("/api/v1/cells/{cell}/move", "post", {"cell": "main"}, {"node": "two"}, 404)
        self.call("/api/v1/cells/{cell}/move", "post", {"cell": "moon"}, {"node": "two"}, 404)
        self.call("/api/v1/cells/{cell}/move", "post", {"cell": "main"}, {"node": 2}, 400)
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
        self.call("/api/v1/servers/drain", "post", {}, {"draining": True, "servers": [server.id, 999], "addresses": ["127.0.0.1"]}, 200)
        self.call("/api/v1/servers/drain", "post", {}, {"draining": True, "servers": [999]}, 404)
        self.call("/api/v1/servers/drain", "post", {}, {"draining": True}, 400)
        self.call("/api/v1/servers/{id}", "get", one, None, 200)
        self.call("/api/v1/matches/{lobby}/players", "put", one, {"accounts": [player.id]}, 200)
        self.call("/api/v1/matches/{lobby}/players", "put", one, {}, 400)
        self.call("/api/v1/matches", "post", {}, {"lobby_id": 5, "region": EU, "player_count": 10}, 200)
        self.call("/api/v1/matches", "post", {}, {"lobby_id": 5, "region": "EU", "player_count": 10}, 200)
        self.call("/api/v1/matches", "post", {}, {"lobby_id": 6, "region": EU, "player_count": 10}, 409)
        self.call("/api/v1/matches", "post", {}, {"lobby_id": 9, "region": 77, "player_count": 10}, 400)
        self.call("/api/v1/matches", "post", {}, {"lobby_id": 9, "region": EU, "player_count": 10}, 503)
        self.call("/api/v1/matches/{lobby}/abort", "post", one, {"reason": "x"}, 200)
        # That it is over is known once it is durable.
        self.soon(lambda: self.ask("GET", "/api/v1/matches/5")[0] == 200, "the match is not shown any more")
        self.call("/api/v1/matches/{lobby}/abort", "post", one, {}, 409)
        self.call("/api/v1/matches/{lobby}/abort", "post", nobody, {}, 404)
        self.call("/api/v1/regions/{id}/drain", "post", {"id": EU}, {"draining": True, "reason": "x"}, 200)
        self.call("/api/v1/regions/{id}/drain", "post", {"id": "EU"}, {"draining": True}, 200)
        self.call("/api/v1/regions/{id}/drain", "post", {"id": "Atlantis"}, {"draining": True}, 404)
        self.call("/api/v1/regions/{id}/drain", "post", {"id": 77}, {"draining": True}, 404)
        self.call("/api/v1/regions/{id}/drain", "post", {"id": 128}, {"draining": True}, 400)
        self.call("/api/v1/servers/{id}/abort", "post", one, {"reason": "x"}, 200)
        self.call("/api/v1/servers/{id}/abort", "post", nobody, {}, 404)
        self.call("/api/v1/servers/{id}/remove", "post", one, {"reason": "x"}, 200)
        self.call("/api/v1/servers/{id}/remove", "post", one, {}, 404)
        self.call("/api/v1/players/{id}/kick", "post", {"id": player.id}, {"reason": "x"}, 200)
        self.call("/api/v1/players/{id}/kick", "post", nobody, {}, 404)
        self.hosts()
        # Without an admin token there are no operators (tests/operators_test.py has some).
        self.call("/api/v1/operators", "post", {}, {"name": "alice", "role": "viewer"}, 409)
        self.call("/api/v1/operators", "post", {}, {"name": "a b", "role": "viewer"}, 400)
        self.call("/api/v1/operators/remove", "post", {}, {"name": "alice"}, 404)
        self.call("/api/v1/blocks", "post", {}, {"kind": "ip", "value": "203.0.113.7", "seconds": 60, "reason": "x"}, 200)
        self.call("/api/v1/blocks", "post", {}, {"kind": "name", "value": "Nobody"}, 200)
        self.call("/api/v1/blocks", "post", {}, {"kind": "ip", "value": "x"}, 400)
        self.call("/api/v1/blocks", "get", {}, None, 200)
        self.call("/api/v1/blocks/remove", "post", {}, {"kind": "ip", "value": "203.0.113.7"}, 200)
        self.call("/api/v1/blocks/remove", "post", {}, {"kind": "ip", "value": "203.0.113.7"}, 404)
        self.call("/api/v1/clock", "put", {}, {"speed": 60}, 200)
        self.call("/api/v1/clock", "put", {}, {}, 400)
        every = {operation["operationId"] for methods in self.description["paths"].values() for operation in methods.values()}
        self.assertEqual(self.called, every)


if __name__ == "__main__":
    main()
