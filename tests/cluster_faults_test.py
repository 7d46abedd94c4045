#!/usr/bin/env python3
"""What nodes of one cluster do when the network between them, or the engine's own machine, fails.

    cluster_faults_test.py PATH_TO_MUSTER PATH_TO_EXAMPLE_GAME_SERVER [unittest arguments]
"""

import http.client
import json
import os
import random
import struct
import sys
import time

import pg_engine
from cluster_test import Cluster
from cut_link import CutLink
from muster_peer import PATIENCE_S, allocated, answer_now, answer_to, until
from served import main


class ClusterFaults(Cluster):
    def link(self, target):
        link = CutLink(target)
        self.addCleanup(link.end)
        return link

    @staticmethod
    def next_of(peer, code):
        """The payload of the next frame of that kind."""
        while (frame := peer.receive())[0] != code:
            pass
        return frame[1]

    def database_of(self):
        return self.url.rsplit("/", 1)[1]

    def test_fault_84_N_4_N_9_an_owner_cut_off_from_the_engine_promises_nothing_and_another_takes_over(self):
        database = self.database_of()
        to_engine = self.link(("127.0.0.1", self.engine.port))
        one = self.node("one", url=f"postgresql://muster@127.0.0.1:{to_engine.port}/{database}?connect_timeout=2")
        self.until_owner(one)
        two = self.node("two")
        self.until_standing_by(two, "one")
        server, matchmaker = one.game_server(7000, max_matches=100), one.matchmaker()
        self.assertEqual(allocated(matchmaker, server, 1)[1], "")
        elsewhere = 0
        other_server, other = two.game_server(7001, max_matches=100, region=elsewhere), two.matchmaker("chat-2", regions=(elsewhere,))

        def allocated_elsewhere(lobby):
            other.request(lobby, region=elsewhere)
            other_server.acknowledge(struct.unpack_from("<i", self.next_of(other_server, 0x1004))[0])
            return self.next_of(other, 0x2003)[0]
        self.assertEqual(allocated_elsewhere(10), 1)

        to_engine.held.set()  # no word, no end: as when a cable is pulled
        self.until_owner(two)
        # What was promised and not reported ready is offered once more.
        self.confirm_matches([other_server])
        self.assertEqual(allocated_elsewhere(2), 1)
        # Whoever asks the cut-off one is told no, or nothing: never a promise.
        matchmaker.request(3)
        asked = time.monotonic()

        def settled():
            answer = answer_now(matchmaker, server)
            self.assertNotEqual(answer and answer[0], 1, "it promises what it cannot keep")
            return answer or time.monotonic() - asked > 5
        until(settled, "it is neither refused nor left alone", 2 * PATIENCE_S)
        to_engine.held.clear()
        to_engine.cut()
        self.until_standing_by(one, "two")
        # Its peers kept their sockets, and belong to the next owner now.
        self.assertEqual(allocated(matchmaker, server, 4)[1], "")
        self.assertLessEqual({1, 2, 4, 10}, set(self.lobbies(two)))

    def test_fault_83_N_9_a_node_that_hands_over_while_the_database_takes_no_links_stands_by_once_it_does(self):
        to_engine = self.link(("127.0.0.1", self.engine.port))
        one = self.node("one", url=f"postgresql://muster@127.0.0.1:{to_engine.port}/{self.database_of()}?connect_timeout=2")
        self.until_owner(one)
        two = self.node("two")
        self.until_standing_by(two, "one")
        until(lambda: len(self.cluster(one)["nodes"]) == 2, "it does not know the other")
        server, matchmaker = one.game_server(7000, max_matches=100), one.matchmaker()
        self.assertEqual(allocated(matchmaker, server, 1)[1], "")
        to_engine.refuses.set()
        link = http.client.HTTPConnection(self.ports(one)["http"], timeout=PATIENCE_S)
        link.request("POST", "/api/v1/cells/main/move", json.dumps({"node": "two"}), {"Content-Type": "application/json"})
        self.assertEqual(link.getresponse().status, 200)
        link.close()
        self.until_owner(two)
        until(lambda: "Restarting in place" in one.log_text() or one.process.poll() is not None, "it does not notice")
        self.assertIsNone(one.process.poll(), one.log_text())
        # Its peers have their sockets, and the next owner.
        self.assertEqual(allocated(matchmaker, server, 2)[1], "")
        to_engine.refuses.clear()
        self.until_standing_by(one, "two")
        self.assertEqual(allocated(matchmaker, server, 3)[1], "")

    def pair_with_link(self):
        """An owner, a node that relays to it, and the network between them."""
        one = self.node("one", silence="10m")
        self.until_owner(one)
        database = self.database_of()
        host, port = self.engine.sql("SELECT node_address FROM muster.nodes WHERE name = 'one'", database).rsplit(":", 1)
        between = self.link((host, int(port)))
        self.engine.sql(f"UPDATE muster.nodes SET node_address = '127.0.0.1:{between.port}' WHERE name = 'one'", database)
        two = self.node("two", silence="10m")
        self.until_standing_by(two, "one")
        return one, two, between

    def test_N_7_K_3_a_token_whose_answer_is_lost_between_nodes_is_told_as_unknown_not_as_used(self):
        one, two, between = self.pair_with_link()
        server, matchmaker = two.game_server(7000), two.matchmaker()
        token = allocated(matchmaker, server, 1)[3]
        self.assertEqual(server.validate(1, 5, token), "")
        between.held_back.set()
        server.ask_to_validate(1, 6, token)
        server.ask_to_validate(1, 5, token)
        until(lambda: self.engine.sql("SELECT count(*) FROM muster.token_uses WHERE account = 6", self.database_of()) == "1",
              lambda: "the use is not written:\n" + one.log_text())
        between.cut()
        between.held_back.clear()
        self.assertEqual(server.validated(), "Store unavailable")
        self.assertEqual(server.validated(), "Store unavailable")
        # Asked once only, the answer is what it is.
        self.assertEqual(server.validate(1, 6, token), "Match token already used")
        self.assertEqual(server.validate(1, 7, token), "")

    def test_fault_84_fault_85_N_7_the_link_between_nodes_breaks_in_mid_frame_and_nothing_is_lost_or_doubled(self):
        one, two, between = self.pair_with_link()
        server, matchmaker = two.game_server(7000, max_matches=1000), two.matchmaker()
        chance = random.Random(85)
        answers = {}
        for lobby in range(1, 21):
            between.cut_after = between.passed + chance.randrange(1, 400)
            answers[lobby] = allocated(matchmaker, server, lobby)[2]
        # Each was answered once; whatever else came is no second answer.
        matchmaker.send(0x2004)
        later = []
        while not later or later[-1][0] != 0x2005:
            later.append(matchmaker.receive())
        told_again = [struct.unpack_from("<i", payload, 1)[0] for code, payload in later if code == 0x2003]
        self.assertEqual(told_again, [])
        self.assertEqual(set(answers.values()), {server.id})
        self.assertEqual(self.lobbies(one), answers)

        # Nothing passes and nothing ends: both sides find out, and make a new link when they can.
        between.held.set()
        until(lambda: self.get_of(two, "/readyz")[0] == 503, "it does not notice")
        matchmaker.request(100)
        between.held.clear()
        between.cut()
        answered = answer_to(matchmaker, server, what="it does not come back")
        self.assertEqual((answered[0], struct.unpack_from("<i", answered, 1)[0]), (1, 100))

    def test_fault_82_N_5_the_primary_dies_its_standby_takes_over_and_nothing_answered_is_lost(self):
        standby = pg_engine.Standby(self.engine)
        self.addCleanup(self.engine.revive, standby)
        url = f"postgresql://muster@127.0.0.1:{self.engine.port},127.0.0.1:{standby.port}/{self.database_of()}?target_session_attrs=read-write"
        one = self.node("one", url=url)
        self.until_owner(one)
        two = self.node("two", url=url)
        self.until_standing_by(two, "one")
        self.assertNotIn("no synchronous standby", one.log_text())
        server, matchmaker = two.game_server(7000, max_matches=1000), two.matchmaker()
        answered = {}
        for lobby in range(1, 21):
            answered[lobby] = allocated(matchmaker, server, lobby)[2]
        for lobby in range(21, 41):
            matchmaker.request(lobby)  # commits under way when it dies
        self.engine.stop()
        died = time.monotonic()
        standby.promote()
        promoted = time.monotonic()

        def again():
            nonlocal lobby
            lobby += 1
            answer = allocated(matchmaker, server, lobby)
            if answer[1] == "":
                answered[lobby] = answer[2]
            return answer[1] == ""
        until(again, lambda: "no allocation after the promotion:\n" + one.log_text(), 3 * PATIENCE_S)
        print(f"promoted {promoted - died:.1f} s after the primary's end, allocations again {time.monotonic() - promoted:.1f} s later")
        self.assertLessEqual(answered.items(), self.lobbies(one if self.owns(one) else two).items())

    def test_fault_86_cells_that_differ_and_two_nodes_of_one_name_are_refused_and_nothing_changes(self):
        one = self.node("one")
        self.until_owner(one)
        before = self.engine.sql("SELECT name, term, regions, players FROM muster.cells", self.database_of())
        other = '[{ name = "eu", regions = [0, 1, 2, 9, 11, 15], players = true }]'
        for name, settings, said in (("two", {"MUSTER_CLUSTER_CELLS": other}, "which has main (all regions, players), while the config has "
                                      "eu (regions 0, 1, 2, 9, 11 and 15, players); give all nodes the same cluster.cells"),
                                     ("one", {}, "another node named one runs already"),
                                     ("two", {"MUSTER_CLUSTER_CELLS": other[:-1] + ', { name = "us", regions = [77] }]'},
                                      "there is no region 77 in fleet.regions")):
            with self.subTest(said):
                refused = self.node(name, wait=False, **settings)
                self.assertEqual(refused.process.wait(PATIENCE_S), 78)
                self.assertIn(said, refused.log_text())
        self.assertEqual(self.engine.sql("SELECT name, term, regions, players FROM muster.cells", self.database_of()), before)
        self.assertEqual([node["name"] for node in self.cluster(one)["nodes"]], ["one"])
        self.assertEqual(allocated(one.matchmaker(), one.game_server(7000), 1)[1], "")

    def test_N_7_a_cell_of_another_name_works_as_main_does(self):
        cells = {"MUSTER_CLUSTER_CELLS": '[{ name = "all", regions = [15, 11, 9, 2, 1, 0], players = true }]'}
        one, two = self.node("one", **cells), self.node("two", **cells)
        until(lambda: all([cell["name"] for cell in self.cluster(node)["cells"]] == ["all"] for node in (one, two)), "no such cell")
        server, matchmaker = two.game_server(7000), two.matchmaker()
        self.assertEqual(allocated(matchmaker, server, 1)[1], "")
        owner = one if self.figure_of(one, 'muster_cell_owned{cell="all"}') == 1 else two
        owner.process.kill()
        other = two if owner is one else one
        until(lambda: self.figure_of(other, 'muster_cell_owned{cell="all"}') == 1 and self.get_of(other, "/readyz")[0] == 200,
              lambda: "nobody takes over:\n" + other.log_text(), 2 * PATIENCE_S)
        self.assertEqual(set(self.lobbies(other)), {1})

    def test_N_10_fault_86_nodes_of_this_version_run_on_beside_newer_tables_and_none_older_starts(self):
        one, two = self.node("one"), self.node("two")
        self.until_owner(one)
        self.until_standing_by(two, "one")
        # What the next version would do: more columns, another number.
        self.engine.sql("ALTER TABLE muster.nodes ADD COLUMN of_the_next text NOT NULL DEFAULT ''; "
                        "ALTER TABLE muster.servers ADD COLUMN of_the_next integer NOT NULL DEFAULT 0; "
                        "UPDATE muster.version SET version = version + 1", self.database_of())
        server, matchmaker = two.game_server(7000), two.matchmaker()
        self.assertEqual(allocated(matchmaker, server, 1)[1], "")
        one.process.kill()
        self.until_owner(two)
        self.assertEqual(set(self.lobbies(two)), {1})
        self.assertEqual(allocated(matchmaker, server, 2)[1], "")
        late = self.node("three", wait=False)
        self.assertEqual(late.process.wait(PATIENCE_S), 65)
        self.assertIn("written by a newer version", late.log_text())
        self.assertEqual(json.loads(self.get_of(two, "/api/v1/overview")[1])["node"], "two")


# Only its own: those of the other file are run there.
for name in [name for name in dir(Cluster) if name.startswith("test_")]:
    setattr(ClusterFaults, name, None)
del Cluster

if __name__ == "__main__":
    ClusterFaults.game_server = os.path.abspath(sys.argv.pop(2))
    main()
