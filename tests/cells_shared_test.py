#!/usr/bin/env python3
"""What several cells share: what players hear of matches, the clock, operators, blocks and the config (N-8, N-11).

    cells_shared_test.py PATH_TO_MUSTER [unittest arguments]
"""

import http.client
import json
import pathlib
import signal
import struct
import tempfile
import time

from cells_test import CellsCase
from muster_peer import EU, PATIENCE_S, Reader, text, until
from served import main

MATCH_START, MATCH_ABORTED, TIME_UPDATE = 202, 203, 74
PLAN = '[{ name = "eu", regions = [0, 1, 2, 9, 11, 15] }, { name = "people", players = true }]'
ADMIN = "the admin's own secret"


class CellsShared(CellsCase):
    def two_cells(self, **more):
        """One owns the regions, two the players."""
        one = self.node("one", plan=PLAN, **more)
        self.until_owners([one], eu="one", people="one")
        two = self.node("two", plan=PLAN, **more)
        self.until_owners([one, two], eu="one", people="one")
        self.move(two, "people", "two")
        self.until_owners([one, two], eu="one", people="two")
        return one, two

    @staticmethod
    def heard(player, codes, seconds):
        """What of these codes the player hears within that time, up to the first."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                frame = player.receive(left)
            except TimeoutError:
                return None
            if frame is None or frame[0] in codes:
                return frame
        return None

    def rows_left(self):
        database = self.url.rsplit("/", 1)[1].split("?")[0]
        return int(self.engine.sql("SELECT count(*) FROM muster.outbox", database).strip())

    def ready_match(self, matchmaker, server, lobby, accounts):
        matchmaker.send(0x2008, struct.pack("<ib", lobby, len(accounts)) + struct.pack(f"<{len(accounts)}i", *accounts))
        answer = matchmaker.receive()
        while answer[0] == 0x2006:  # events of earlier matches
            answer = matchmaker.receive()
        self.assertEqual((answer[0], Reader(answer[1]).take("b")), (0x2009, 1))
        _, error, _, token = self.allocated(matchmaker, server, lobby, EU)
        self.assertEqual(error, "")
        server.send(0x1006, struct.pack("<ii", server.id, lobby) + text(token))
        self.assertEqual(until(lambda: server.receive(), "no answer")[0], 0x1007)

    def test_N_8_A_10_A_11_players_of_another_cell_hear_of_their_match_once_and_again_after_takeovers(self):
        one, two = self.two_cells()
        ann, bob = one.player("Ann"), two.player("Bob")
        server = two.game_server(7000, region=EU, max_matches=100)
        matchmaker = one.matchmaker(regions=(EU,))
        self.ready_match(matchmaker, server, 7, [ann.id, bob.id])
        for player in (ann, bob):
            told = self.heard(player, (MATCH_START,), PATIENCE_S)
            self.assertIsNotNone(told, "nobody tells the player")
            self.assertEqual(Reader(told[1], ">").take("i"), 7)
        # Once, over several looks at the rows; the row stays for the next owner.
        self.assertIsNone(self.heard(ann, (MATCH_START, MATCH_ABORTED), 1.5))
        self.assertEqual(self.rows_left(), 1)
        # The cell of the players is taken over: who is there again is told again.
        two.process.kill()
        two.process.wait()
        self.until_owners([one], eu="one", people="one")
        told = self.heard(ann, (MATCH_START, MATCH_ABORTED), PATIENCE_S)
        self.assertEqual((told[0], Reader(told[1], ">").take("i")), (MATCH_START, 7))
        # It falls through: told once, and nothing is left to tell.
        self.assertEqual(self.ask(one, "POST", "/matches/7/abort", {})[0], 200)
        told = self.heard(ann, (MATCH_START, MATCH_ABORTED), PATIENCE_S)
        self.assertEqual((told[0], Reader(told[1], ">").take("i")), (MATCH_ABORTED, 7))
        until(lambda: self.rows_left() == 0, "a row is left")
        self.assertIsNone(self.heard(ann, (MATCH_START, MATCH_ABORTED), 1.5))

    def test_N_8_a_match_that_becomes_ready_while_nobody_owns_the_players_cell_is_told_afterwards(self):
        one, two = self.two_cells()
        ann = one.player("Ann")
        server = one.game_server(7000, region=EU, max_matches=100)
        matchmaker = one.matchmaker(regions=(EU,))
        two.process.kill()
        two.process.wait()
        self.ready_match(matchmaker, server, 7, [ann.id])
        self.until_owners([one], eu="one", people="one")
        told = self.heard(ann, (MATCH_START,), PATIENCE_S)
        self.assertEqual(Reader(told[1], ">").take("i"), 7)
        # Nobody is sent to a match that has begun.
        server.send(0x100A, struct.pack("<ii", server.id, 7))
        until(lambda: self.rows_left() == 0, "a row is left")

    def test_N_8_A_10_players_of_another_cell_hear_of_a_match_that_starts_right_after_it_was_ready(self):
        one, two = self.two_cells()
        players = [one.player("Ann"), two.player("Bob")]
        server = one.game_server(7000, region=EU, max_matches=100)
        matchmaker = one.matchmaker(regions=(EU,))
        lobbies = list(range(1, 11))
        for lobby in lobbies:
            self.ready_match(matchmaker, server, lobby, [player.id for player in players])
            server.send(0x100A, struct.pack("<ii", server.id, lobby))
            self.assertEqual(until(lambda: server.receive(), "no answer")[0], 0x100C)
        for player in players:
            told = [self.heard(player, (MATCH_START, MATCH_ABORTED), PATIENCE_S) for _ in lobbies]
            self.assertEqual([frame and (frame[0], Reader(frame[1], ">").take("i")) for frame in told],
                             [(MATCH_START, lobby) for lobby in lobbies])
        until(lambda: self.rows_left() == 0, "a row is left")

    def test_N_8_C_3_a_jump_of_the_clock_reaches_players_of_another_cell_and_outlives_takeovers(self):
        one, two = self.two_cells()
        ann = two.player("Ann")
        for speed, (node, hour) in ((60, (one, 14)), (30, (two, 5))):
            began = time.monotonic()
            status, told = self.ask(node, "PUT", "/clock", {"day": 3, "hour": hour, "minute": 30, "speed": speed})
            self.assertEqual((status, told["speed"]), (200, speed), told)

            def jumped():
                frame = self.heard(ann, (TIME_UPDATE,), 0.2)
                return frame and tuple(frame[1][:2]) == (3, hour)
            until(jumped, "the player does not hear of it")
            print(f"a jump of the clock reached a player of another cell after {time.monotonic() - began:.2f} s")
        # The cell that leads the clock goes to another node, and then its owner dies: players see no step.
        before = self.ask(one, "GET", "/clock")[1]
        self.move(two, "eu", "two")
        self.until_owners([one, two], eu="two", people="two")
        self.move(two, "people", "one")
        self.until_owners([one, two], eu="two", people="one")
        two.process.kill()
        two.process.wait()
        self.until_owners([one], eu="one", people="one")
        after = self.ask(one, "GET", "/clock")[1]
        self.assertEqual(after["speed"], 30)
        self.assertGreater(after["hour"] * 60 + after["minute"], before["hour"] * 60 + before["minute"])
        self.assertEqual((after["day"], after["hour"] in (5, 6, 7, 8)), (3, True), after)

    def test_S_5_S_6_N_11_operators_and_blocks_hold_in_all_cells_within_moments(self):
        self.token = {"MUSTER_ADMIN_TOKEN": ADMIN}
        one, two = self.two_cells(MUSTER_AUTH_ADMIN_TOKEN=ADMIN)

        def ask(node, method, path, token, body=None):
            connection = http.client.HTTPConnection(node.ports["http"], timeout=2 * PATIENCE_S)
            self.addCleanup(connection.close)
            connection.request(method, "/api/v1" + path, body=None if body is None else json.dumps(body),
                               headers={"Authorization": "Bearer " + token, "Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

        def kick(node):
            """Each cell's gate judges the token; nobody has the player."""
            return ask(node, "POST", "/players/99999999/kick", added["token"], {})[0]
        status, added = ask(two, "POST", "/operators", ADMIN, {"name": "ann", "role": "operator"})
        self.assertEqual(status, 200, added)
        began = time.monotonic()
        for node in (one, two):
            until(lambda: kick(node) == 404, "the operator is not known")
        print(f"an operator was known to all cells after {time.monotonic() - began:.2f} s")
        bob = two.player("Bob")
        self.assertEqual(ask(one, "POST", "/blocks", added["token"], {"kind": "name", "value": "Bob"})[0], 200)
        began = time.monotonic()
        self.assertIn("locked", bob.closed_for(timeout=2 * PATIENCE_S))
        print(f"a block was known to another cell after {time.monotonic() - began:.2f} s")
        self.assertIsNotNone(two.player("Bob").refused)
        self.assertEqual(ask(two, "POST", "/blocks/remove", added["token"], {"kind": "name", "value": "Bob"})[0], 200)
        until(lambda: two.player("Bob").refused is None, "the block still holds")
        self.assertEqual(ask(one, "POST", "/operators/remove", ADMIN, {"name": "ann"})[0], 200)
        for node in (one, two):
            until(lambda: kick(node) == 401, "the operator is still known")

    def test_S_5_N_11_a_node_without_any_cell_knows_the_operators(self):
        one = self.node("one", plan=PLAN, MUSTER_AUTH_ADMIN_TOKEN=ADMIN, MUSTER_HTTP_TRUSTED_PROXIES='["127.0.0.1"]')
        two = self.node("two", plan=PLAN, MUSTER_AUTH_ADMIN_TOKEN=ADMIN, MUSTER_HTTP_TRUSTED_PROXIES='["127.0.0.1"]')

        def ask(node, method, path, token, body=None):
            # By a proxy: whoever is on this machine needs no token to read.
            connection = http.client.HTTPConnection(node.ports["http"], timeout=2 * PATIENCE_S)
            self.addCleanup(connection.close)
            connection.request(method, "/api/v1" + path, body=None if body is None else json.dumps(body),
                               headers={"Authorization": "Bearer " + token, "Content-Type": "application/json", "X-Forwarded-For": "192.0.2.7"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        until(lambda: {cell["owner"] for cell in ask(two, "GET", "/cluster", ADMIN)[1]["cells"]} == {"one"}, "one does not own them")
        added = until(lambda: (told := ask(two, "POST", "/operators", ADMIN, {"name": "ann", "role": "viewer"}))[0] == 200 and told[1], "not added")
        for path in ("/cluster", "/servers"):
            until(lambda: ask(two, "GET", path, added["token"])[0] == 200, f"the operator is not known: {path}")
        self.assertEqual(ask(one, "POST", "/operators/remove", ADMIN, {"name": "ann"})[0], 200)
        until(lambda: ask(two, "GET", "/cluster", added["token"])[0] == 401, "the operator is still known")

    def test_X_3_N_7_a_reload_changes_all_cells_of_a_node(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        config = pathlib.Path(folder.name) / "muster.toml"
        config.write_text('[players]\nresume_grace = "30s"\n[fleet]\nready_timeout = "120s"\n')
        one = self.node("one", plan=PLAN, arguments=["--config", str(config)])
        self.until_owners([one], eu="one", people="one")
        config.write_text('[players]\nresume_grace = "31s"\n[fleet]\nready_timeout = "121s"\n[clock]\nspeed = 5\n')
        one.process.send_signal(signal.SIGHUP)
        until(lambda: "Changed players.resume_grace" in one.log_text(), lambda: one.log_text())
        self.assertIn("Changed fleet.ready_timeout", one.log_text())
        self.assertIn("Changes at the next restart: clock.speed", one.log_text())
        config.write_text('[players]\nresume_grace = "meow"\n')
        one.process.send_signal(signal.SIGHUP)
        until(lambda: "Reload refused" in one.log_text(), lambda: one.log_text())
        self.assertIsNone(one.player("Ann").refused)


if __name__ == "__main__":
    main()
