#!/usr/bin/env python3
"""Allocations and tokens when much comes at once, peers restart, and nobody reads.

    allocation_faults_test.py PATH_TO_MUSTER [unittest arguments]
"""

import contextlib
import json
import struct
import time
import uuid

from muster_peer import PATIENCE_S, allocation, text
from served import Served, main


def frames(peer, seconds):
    """Those that come until it has been quiet for so long."""
    with contextlib.suppress(TimeoutError):
        while True:
            frame = peer.receive(seconds)
            assert frame is not None, "closed"
            yield frame


class Allocations(Served):
    settings = {"MUSTER_FLEET_ALLOCATIONS_IN_FLIGHT": "50", "MUSTER_FLEET_HEARTBEAT_INTERVAL": "1s"}

    def allocated(self, server, matchmaker, lobby, players=10):
        """Its token."""
        matchmaker.request(lobby, players=players)
        server.expect(0x1004)
        server.acknowledge(lobby)
        _, error, _, token = allocation(matchmaker.expect(0x2003))
        self.assertEqual(error, "")
        return token

    def told_by_metrics(self, line):
        """A series is there from its first increase on."""
        self.soon(lambda: line in self.get("/metrics")[1].splitlines(), line)

    def servers(self):
        return {each["id"]: each for each in json.loads(self.get("/api/v1/servers")[1])["servers"]}

    def test_fault_48_a_server_that_restarts_loses_its_matches_and_its_slots_are_free(self):
        server, matchmaker = self.daemon.game_server(7000, max_matches=2), self.daemon.matchmaker()
        for lobby in (1, 2):
            self.allocated(server, matchmaker, lobby)
        server.close()
        self.soon(lambda: self.servers()[server.id]["status"] == "offline", "its link is lost")
        again = self.daemon.game_server(7000, max_matches=2)
        self.assertEqual(again.id, server.id)
        told = {}
        for _ in range(3):  # reconcile_heartbeats
            again.heartbeat(matches=0)
            self.assertEqual(again.expect(0x1003).take("b"), 1)
        while len(told) < 2:
            event = matchmaker.expect(0x2006)
            lobby = event.take("i")
            told[lobby] = (event.take("b"), event.string())
        self.assertEqual(told, {1: (4, "Lost by server"), 2: (4, "Lost by server")})
        self.told_by_metrics("muster_lost_matches_total 2")
        dropped = set()
        while len(dropped) < 2:
            dropped.add(again.expect(0x100D).take("i"))
        self.assertEqual(dropped, {1, 2})
        for lobby in (3, 4):
            self.allocated(again, matchmaker, lobby)

    def test_fault_60_of_1000_requests_for_the_last_slot_one_gets_it(self):
        self.daemon.stop()
        self.daemon.env["MUSTER_FLEET_ALLOCATIONS_IN_FLIGHT"] = "10000"
        self.daemon.start()
        server = self.daemon.game_server(7000, max_matches=1)
        matchmakers = [self.daemon.matchmaker(f"chat-{i}") for i in range(10)]
        for i, matchmaker in enumerate(matchmakers):
            matchmaker.send_bytes(b"".join(
                struct.pack("<HHibbbbi", 14, 0x2002, 1_000 * i + n + 1, 6, 0, 2, 10, 1650) for n in range(100)))
        lobby = server.expect(0x1004).take("i")
        server.acknowledge(lobby)
        won = []
        for matchmaker in matchmakers:
            answers = [allocation(matchmaker.expect(0x2003)) for _ in range(100)]
            self.assertEqual(len({answer[0] for answer in answers}), 100)
            won += [answer[0] for answer in answers if answer[1] == ""]
            self.assertLessEqual({answer[1] for answer in answers}, {"", "No servers available"})
        self.assertEqual(won, [lobby])
        self.assertEqual(list(frames(server, 0.2)), [], "nothing more is offered")

    def test_fault_66_a_flood_of_requests_is_bounded_and_the_rest_refused_at_once(self):
        server = self.daemon.game_server(7000, max_matches=1_000)
        matchmaker = self.daemon.matchmaker()
        matchmaker.send_bytes(b"".join(struct.pack("<HHibbbbi", 14, 0x2002, n + 1, 6, 0, 2, 10, 1650) for n in range(500)))
        # Of the room for 50 the five last places are for other matchmakers.
        refused = [allocation(matchmaker.expect(0x2003)) for _ in range(455)]
        self.assertEqual({answer[1] for answer in refused}, {"Server busy"})
        self.told_by_metrics('muster_allocation_refusals_total{reason="server_busy"} 455')
        another = self.daemon.matchmaker("another")
        another.request(2_000)
        # At once, not by a time-out: the offers of those in flight are all still good.
        for _ in range(46):
            server.acknowledge(server.expect(0x1004).take("i"))
        self.assertEqual({allocation(matchmaker.expect(0x2003))[1] for _ in range(45)}, {""})
        self.assertEqual(allocation(another.expect(0x2003))[:2], (2_000, ""))
        # There is room again.
        self.allocated(server, matchmaker, 1_000)

    def test_fault_68_guessed_tokens_are_counted_and_told_and_never_keep_the_right_one_out(self):
        server, matchmaker = self.daemon.game_server(7000), self.daemon.matchmaker()
        token = self.allocated(server, matchmaker, 5)
        for guess in range(100):
            wrong = token[:-12] + uuid.uuid4().hex[:12]
            self.assertEqual(server.validate(5, 1 + guess, wrong), "Invalid match token")
        self.assertEqual(server.validate(5, 1, token), "")
        self.told_by_metrics('muster_token_refusals_total{reason="invalid_match_token"} 100')
        told = lambda: json.loads(self.get("/api/v1/events?type=match.wrong_tokens")[1])["events"]
        self.soon(lambda: len(told()) == 1, "operators are told once a minute")
        self.assertEqual(told()[0]["lobby_id"], 5)
        server.heartbeat(matches=1)
        self.assertEqual(server.expect(0x1003).take("b"), 1, "the link stays open")


class News(Served):
    # As small as it may be, so that the news of few lobbies is more than a link takes at once.
    settings = {"MUSTER_LIMITS_UNSENT_BYTES": "64KiB", "MUSTER_FLEET_ALLOCATIONS_IN_FLIGHT": "100000"}
    LOBBIES = 10_000

    def test_fault_71_a_matchmaker_that_died_with_unread_news_is_told_all_of_it_in_portions(self):
        server = self.daemon.game_server(7000, max_matches=10_000)
        matchmaker = self.daemon.matchmaker()
        portion = 500
        for first in range(1, self.LOBBIES + 1, portion):
            lobbies = range(first, first + portion)
            matchmaker.send_bytes(b"".join(struct.pack("<HHibbbbi", 14, 0x2002, n, 6, 0, 2, 10, 1650) for n in lobbies))
            tokens = {}
            for _ in lobbies:
                offer = server.expect(0x1004)
                lobby = offer.take("i")
                offer.take("b"), offer.take("b")
                tokens[lobby] = offer.string()
            server.send_bytes(b"".join(struct.pack("<HHbi", 7, 0x1005, 1, lobby) for lobby in tokens))
            for _ in lobbies:
                matchmaker.expect(0x2003)
            if first + portion > self.LOBBIES:
                # It reads no more from here on, and is gone with what it was told.
                matchmaker.socket.shutdown(0)
            ready = [struct.pack("<ii", server.id, lobby) + text(token) for lobby, token in tokens.items()]
            server.send_bytes(b"".join(struct.pack("<HH", len(each) + 2, 0x1006) + each for each in ready))
            for _ in lobbies:
                self.assertEqual(server.expect(0x1007).take("b"), 1)
            if first + portion <= self.LOBBIES:
                for _ in lobbies:
                    self.assertEqual(matchmaker.expect(0x2006).payload[4], 1)
        matchmaker.close()
        again = self.daemon.matchmaker()
        told = set()
        end = time.monotonic() + PATIENCE_S
        while len(told) < self.LOBBIES and time.monotonic() < end:
            event = again.expect(0x2006)
            told.add(event.take("i"))
        self.assertEqual(len(told), self.LOBBIES)
        self.assertEqual(self.figure('muster_slow_reader_closes_total{port="matchmakers"}'), 0)


if __name__ == "__main__":
    main()
