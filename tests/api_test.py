#!/usr/bin/env python3
"""The HTTP API of the real daemon: what it shows, what an operator can do, and the history.

    api_test.py PATH_TO_MUSTER [unittest arguments]
"""

import http.client
import re
import struct
import time

from api_client import Api, JSON
from muster_peer import EU, allocation
from served import main


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

    def test_a_match_over_http_is_one_of_the_matchmaker_port_A_8(self):
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
        matchmaker = self.daemon.matchmaker()
        matchmaker.request(12345)
        self.assertEqual(allocation(matchmaker.expect(0x2003))[1], "Invalid match lobby ID")
        self.assertEqual(self.daemon.matchmaker("@http").refused, "Invalid Chat Server ID")
        self.assertIsNone(self.daemon.matchmaker("http").refused)
        self.assertEqual([m["id"] for m in self.got("/matchmakers")["matchmakers"]], ["chat-1", "http"])

        self.assertEqual(server.validate(12345, 7, token), "")
        match = self.got("/matches/12345")
        self.assertEqual((match["state"], match["server_id"], match["matchmaker"], match["tokens_used"], match["reason"]),
                         ("allocated", server.id, "@http", 1, ""))
        self.assertEqual(self.got(f"/servers/{server.id}")["lobbies"], [12345])

        self.post("/matches/12345/abort", {"reason": "Rain"})
        told = server.expect(0x100D)
        self.assertEqual((told.take("i"), told.string()), (12345, "Rain"))
        # A match that is over is shown once that is durable.
        self.soon(lambda: self.ask("GET", "/api/v1/matches/12345")[0] == 200, "the match is not shown any more")
        match = self.got("/matches/12345")
        self.assertEqual((match["state"], match["reason"], match["tokens_used"]), ("aborted", "Rain", 1))
        self.assertIn(12345, [m["lobby_id"] for m in self.got("/matches?state=aborted")["matches"]])
        self.post("/matches/12345/abort", {}, 409)
        self.post("/matches/4/abort", {}, 404)
        self.post("/matches", wish, 409)

    def test_a_match_that_is_over_is_known_after_a_restart_O_2(self):
        server = self.daemon.game_server(7777)
        for lobby in (5, 6):
            self.allocated(server, lobby)
        token = self.post("/matches", {"lobby_id": 5, "region": EU, "player_count": 10})["token"]
        self.assertEqual(server.validate(5, 7, token), "")
        self.post("/matches/5/abort", {"reason": "Rain"})
        self.soon(lambda: self.got("/matches/5")["state"] == "aborted", "the match is not over")
        before = self.got("/matches/5")
        self.assertEqual([player["id"] for player in before["players"]], [7])

        self.daemon.stop()
        self.daemon.start()
        after = self.got("/matches/5")
        for match in (before, after):
            for player in match["players"]:
                self.assertGreater(player.pop("joined_at_ms"), 1_600_000_000_000)
        self.assertEqual(after, before)
        self.assertEqual([m["lobby_id"] for m in self.got("/matches?state=over")["matches"]], [5])
        self.assertEqual(self.post("/matches/5/abort", {}, 409), {"error": "The match is over already"})
        self.assertNotEqual(self.got("/matches/6")["state"], "aborted")

    def test_one_slow_server_holds_up_nobody_else_over_http(self):
        slow = self.daemon.game_server(7777, region=0)
        quick = self.daemon.game_server(7778)
        waiting = self.in_background("POST", "/api/v1/matches", {"lobby_id": 1, "region": 0, "player_count": 10})
        slow.expect(0x1004)
        self.allocated(quick, 2)
        self.assertEqual(self.got("/matches/1")["state"], "offering")
        slow.acknowledge(1)
        self.assertEqual(waiting()[0], 200)

    def test_a_match_of_a_matchmaker_aborted_by_an_operator_is_told_A_11(self):
        server = self.daemon.game_server(7777)
        matchmaker = self.daemon.matchmaker()
        matchmaker.request(77)
        server.expect(0x1004)
        server.acknowledge(77)
        matchmaker.expect(0x2003)
        self.post("/matches/77/abort", {})
        event = matchmaker.expect(0x2006)
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
    def test_a_query_that_is_not_known_is_refused_O_2(self):
        for path in ("/regions", "/cluster", "/blocks", "/operators"):
            with self.subTest(path):
                self.assertEqual(self.ask("GET", f"/api/v1{path}")[0], 200)
                self.assertEqual(self.ask("GET", f"/api/v1{path}?x=1")[0], 400)

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
    def test_a_request_is_followed_by_its_id_to_its_match(self):
        server = self.daemon.game_server(7777)
        answer = self.in_background("POST", "/api/v1/matches", {"lobby_id": 42, "region": EU, "player_count": 2},
                                    headers={**JSON, "X-Request-Id": "order-42"})
        server.expect(0x1004)
        server.acknowledge(42)
        status, _, headers = answer()
        self.assertEqual((status, headers["X-Request-Id"]), (200, "order-42"))
        self.ask("POST", "/api/v1/matches/42/abort", {})
        wanted = {"match.requested", "match.offered", "match.allocated"}
        self.soon(lambda: wanted <= {event["type"] for event in self.got("/events?lobby=42")["events"]
                                            if event.get("request_id") == "order-42"}, "the events of the request")
        status, _, headers = self.ask("POST", "/api/v1/matches", {"lobby_id": 43, "region": 1, "player_count": 2})
        self.assertEqual(status, 503)
        wanted = f"request_id={headers['X-Request-Id']}"
        self.soon(lambda: wanted in self.daemon.log_text(), f"{wanted} in the log")

    def test_every_action_is_in_the_history_with_who_when_and_why(self):
        server = self.daemon.game_server(7777)
        player = self.daemon.player("Anna")
        before = time.time() * 1000
        feed = self.live(query="?type=operator.")
        seen = []

        def noted(action, target, **more):
            number, kind, event = feed.next()
            self.assertLess(abs(event.pop("time_ms") - before), 30_000)
            self.assertRegex(event.pop("request_id"), "^[0-9a-f]+-[0-9a-f]+$")
            self.assertEqual(event, {"id": number, "type": kind, "who": "127.0.0.1", "action": action, "target": target, **more})
            seen.append(number)

        self.post(f"/servers/{server.id}/drain", {"draining": True, "reason": "new kernel"})
        noted("drain", f"server {server.id}", server_id=server.id, reason="new kernel")
        self.post(f"/servers/{server.id}/drain", {"draining": False})
        noted("undrain", f"server {server.id}", server_id=server.id)
        server.expect(0x100F)
        server.expect(0x100F)
        self.allocated(server, 5)  # is a matchmaker's request, not an operator's action
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
        self.assertEqual([e["action"] for e in self.got("/events?type=operator.&lobby=5")["events"]], ["abort"])
        requested = self.got("/events?type=match.requested&lobby=5")["events"]
        self.assertEqual([(e["who"], e["matchmaker"]) for e in requested], [("127.0.0.1", "@http")])
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
        self.assertLess(time.monotonic() - begun, 10)

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
        self.assertTrue(any("Eviction brake on in EU" in reason for reason in overview["health"]["reasons"]), overview["health"])
        for i in range(3):
            self.daemon.game_server(8000 + i)
        self.soon(lambda: brakes() == [], "the brake is off when all are back")
        told = lambda: [e["type"] for e in self.got("/events?type=brake.")["events"]]
        self.soon(lambda: told() == ["brake.on", "brake.off"], lambda: f"an event is there once it is durable: {told()}")
        self.assertEqual(self.figure("muster_eviction_brake_total"), 1)


if __name__ == "__main__":
    main()
