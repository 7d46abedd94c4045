#!/usr/bin/env python3
"""Several nodes on one PostgreSQL: one works, the others stand by and relay their peers to it.

    cluster_test.py PATH_TO_MUSTER PATH_TO_EXAMPLE_GAME_SERVER [unittest arguments]
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import pg_engine
from free_ports import free_port
from muster_peer import PATIENCE_S, Daemon, allocated, answer_to, until
from served import Served, main

SILENCE_S = 3


class Cluster(Served):
    @classmethod
    def setUpClass(cls):
        if pg_engine.programs() is None:
            raise unittest.SkipTest("PostgreSQL is not installed: nothing was tried")
        cls.engine = pg_engine.Engine()
        cls.addClassCleanup(cls.engine.end)

    def setUp(self):
        self.url = self.engine.url(self.engine.database())

    def node(self, name, wait=True, silence=f"{SILENCE_S}s", url=None, **settings):
        """Owns the cell or stands by when it is made, unless `wait` is false."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        node = Daemon(self.muster, folder.name, wait=wait, MUSTER_STORE_PATH=None, MUSTER_STORE_URL=url or self.url,
                      MUSTER_CLUSTER_NODE=name, MUSTER_CLUSTER_SILENCE=silence, **settings)
        node.name = name
        self.addCleanup(node.end)
        return node

    @staticmethod
    def ports(node):
        try:
            node.ports = json.loads(node.ports_file.read_text())
        except FileNotFoundError:
            return {}
        return node.ports

    def get_of(self, node, path):
        self.ports(node)
        answer, body = node.get(path)
        return answer.status, body

    def owns(self, node):
        """True when it serves the cell itself."""
        try:
            return self.get_of(node, "/readyz")[0] == 200 and self.figure_of(node, 'muster_cell_owned{cell="main"}') == 1
        except (OSError, json.JSONDecodeError, KeyError):
            return False

    def until_owner(self, node):
        until(lambda: self.owns(node), lambda: f"{node.name} does not own the cell:\n{node.log_text()}", 2 * PATIENCE_S)

    def until_standing_by(self, node, owner):
        def stands_by():
            try:
                # In this order: one that is about to lose the cell is still ready.
                if self.figure_of(node, 'muster_cell_owned{cell="main"}') != 0 or self.get_of(node, "/readyz")[0] != 200:
                    return False
                return any(cell["owner"] == owner for cell in self.cluster(node)["cells"])
            except (OSError, json.JSONDecodeError, KeyError):
                return False
        until(stands_by, lambda: f"{node.name} does not stand by for {owner}:\n{node.log_text()}")

    def cluster(self, node):
        status, body = self.get_of(node, "/api/v1/cluster")
        self.assertEqual(status, 200, body)
        return json.loads(body)

    def cell(self, node, owner):
        """As the node tells it, once it knows that owner: its view may be a second old."""
        def seen():
            return next((cell for cell in self.cluster(node)["cells"] if cell["owner"] == owner), None)
        return until(seen, f"{node.name} does not know that {owner} owns the cell")

    def figure_of(self, node, start):
        lines = self.get_of(node, "/metrics")[1].splitlines()
        return next(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(start))

    def lobbies(self, node):
        status, body = self.get_of(node, "/api/v1/matches?limit=1000&state=live")
        self.assertEqual(status, 200, body)
        return {match["lobby_id"]: match["server_id"] for match in json.loads(body)["matches"]}

    def test_N_3_N_6_fault_80_the_owner_is_killed_under_load_and_another_has_all_that_was_answered(self):
        one, two = self.node("one"), self.node("two")
        self.until_owner(one)
        self.until_standing_by(two, "one")
        # A node that stands by has the owner answer.
        self.assertEqual(json.loads(self.get_of(two, "/api/v1/overview")[1])["node"], "one")
        for node in (one, two):
            until(lambda: len(self.cluster(node)["nodes"]) == 2, "they do not know of each other")
            told = self.cluster(node)
            self.assertEqual((told["node"], [each["alive"] for each in told["nodes"]]), (node.name, [True, True]))
            self.cell(node, "one")
        self.assertEqual(self.figure_of(one, 'muster_cell_owned{cell="main"}'), 1)
        self.assertEqual(self.figure_of(two, 'muster_cell_owned{cell="main"}'), 0)
        term = self.cell(two, "one")["term"]

        server = one.game_server(7000, max_matches=1000)
        matchmaker = one.matchmaker()
        answered = {}
        for lobby in range(1, 41):
            answered[lobby] = allocated(matchmaker, server, lobby)[2]
        for lobby in range(41, 101):  # under way when it dies
            matchmaker.request(lobby)
        one.process.kill()
        killed = time.monotonic()
        one.process.wait()

        self.until_owner(two)
        print(f"owner again {time.monotonic() - killed:.1f} s after kill -9, with a silence of {SILENCE_S} s")
        kept = self.lobbies(two)
        self.assertLessEqual(answered.items(), kept.items())
        self.assertEqual(self.cell(two, "two")["term"], term + 1)
        self.assertEqual(self.figure_of(two, "muster_cell_takeovers_total"), 1)
        again = two.game_server(7000, max_matches=1000)
        self.assertEqual(again.id, server.id)
        self.confirm_matches([again])
        asks = two.matchmaker("chat-2")
        self.assertEqual(allocated(asks, again, 500)[1], "")

        # The lost node is a warning; it comes back and stands by.
        def health():
            return json.loads(self.get_of(two, "/api/v1/overview")[1])["health"]
        until(lambda: any("Node one" in reason and "lost" in reason for reason in health()["reasons"]), "no warning")
        one.start()
        self.until_standing_by(one, "two")
        until(lambda: not any("Node one" in reason for reason in health()["reasons"]), "the warning stays")

    def test_N_2_N_4_fault_81_an_owner_that_was_stopped_wakes_commits_nothing_and_promises_nothing(self):
        one, two = self.node("one"), self.node("two")
        self.until_owner(one)
        self.until_standing_by(two, "one")
        server = one.game_server(7000, max_matches=100)
        matchmaker = one.matchmaker()
        answered = allocated(matchmaker, server, 1)
        self.assertEqual(answered[1], "")
        term = self.cell(one, "one")["term"]

        one.process.send_signal(signal.SIGSTOP)
        matchmaker.request(2)
        self.until_owner(two)
        self.assertEqual(self.cell(two, "two")["term"], term + 1)
        one.process.send_signal(signal.SIGCONT)
        # It may still offer what it was asked for; a promise comes from the next owner only, and the sockets stay open.
        accepted = answer_to(matchmaker, server, what=lambda: "nobody answers:\n" + one.log_text())
        self.assertEqual(accepted[0], 1, accepted)
        self.assertEqual(set(self.lobbies(two)), {1, 2})
        self.until_standing_by(one, "two")
        self.assertEqual(self.figure_of(one, "muster_fence_rejections_total"), 1)
        self.assertEqual(self.figure_of(one, 'muster_cell_owned{cell="main"}'), 0)
        # And back again: the one that gave up takes over like any other.
        two.process.kill()
        self.until_owner(one)
        self.assertEqual(set(self.lobbies(one)), {1, 2})
        self.assertEqual(self.cell(one, "one")["term"], term + 2)

    def test_N_9_fault_83_while_the_engine_is_away_nobody_takes_over_and_the_owner_goes_on(self):
        one, two = self.node("one"), self.node("two")
        self.until_owner(one)
        self.until_standing_by(two, "one")
        server, matchmaker = one.game_server(7000), one.matchmaker()
        self.assertEqual(allocated(matchmaker, server, 1)[1], "")
        term = self.cell(one, "one")["term"]
        self.engine.stop()
        stopped = time.monotonic()
        try:
            until(lambda: self.cluster(two).get("problem"), "the other did not notice")
            until(lambda: self.get_of(one, "/readyz")[0] == 503, "the owner did not notice")
            until(lambda: (lambda status, body: status == 503 and "store down" in body)(*self.get_of(two, "/readyz")),
                  "the node that relays to it says that it is ready (O-2)")
            self.assertEqual(allocated(matchmaker, server, 2)[1], "Store unavailable")
            until(lambda: time.monotonic() - stopped > 2 * SILENCE_S, "time stands still")
            server.heartbeat(1)
            self.assertEqual(self.get_of(one, "/healthz")[0], 200)
        finally:
            self.engine.start()
        until(lambda: self.owns(one), lambda: "the owner does not go on:\n" + one.log_text())
        self.assertEqual(allocated(matchmaker, server, 3)[1], "")
        self.until_standing_by(two, "one")
        self.assertEqual(self.cell(one, "one")["term"], term)

    def test_N_6_a_stop_hands_over_at_once_to_the_node_that_prefers_the_cell(self):
        # With a silence this long only a hand-over is in time.
        one, two = self.node("one", silence="10m"), self.node("two", silence="10m")
        three = self.node("three", silence="10m", MUSTER_CLUSTER_PREFER='["main"]')
        self.until_owner(one)
        self.until_standing_by(two, "one")
        self.until_standing_by(three, "one")
        server, matchmaker = one.game_server(7000), one.matchmaker()
        self.assertEqual(allocated(matchmaker, server, 1)[1], "")
        until(lambda: len(self.cluster(one)["nodes"]) == 3, "it does not know the others")
        told = time.monotonic()
        self.assertEqual(one.stop(), 0)
        self.until_owner(three)
        print(f"owner again {time.monotonic() - told:.1f} s after SIGTERM")
        self.until_standing_by(two, "three")
        self.assertEqual(set(self.lobbies(three)), {1})
        # It left in order: nobody misses it.
        until(lambda: [node["name"] for node in self.cluster(two)["nodes"]] == ["three", "two"], "it is still there")
        # Killed and started again, a node has its cell at once: its former life is known to be over.
        three.process.kill()
        three.process.wait()
        three.start()
        self.until_owner(three)

    def test_N_12_a_lost_owners_cell_is_taken_by_the_node_that_prefers_it(self):
        one, also = self.node("one"), self.node("also")
        self.until_owner(one)
        two = self.node("two", MUSTER_CLUSTER_PREFER='["main"]')
        for node in (also, two):
            self.until_standing_by(node, "one")
            until(lambda: len(self.cluster(node)["nodes"]) == 3, "it does not know the others")
        one.process.kill()
        self.until_owner(two)
        self.until_standing_by(also, "two")
        self.assertEqual(self.figure_of(also, "muster_cell_takeovers_total"), 0)
        self.assertEqual(self.cell(also, "two")["term"], 2)

    def test_N_6_a_game_server_of_the_SDK_that_knows_both_nodes_finds_the_one_that_took_over(self):
        ports = {name: free_port() for name in ("one", "two")}
        one, two = (self.node(name, MUSTER_LISTEN_SERVERS=f"127.0.0.1:{ports[name]}") for name in ports)
        self.until_owner(one)
        self.until_standing_by(two, "one")
        addresses = ",".join(f"127.0.0.1:{port}" for port in ports.values())
        game = subprocess.Popen([self.game_server, addresses, "27015", "2"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.addCleanup(game.wait)
        self.addCleanup(game.kill)

        def connected(node):
            servers = json.loads(self.get_of(node, "/api/v1/servers")[1])["servers"]
            return [server["id"] for server in servers if server["connected"]]
        until(lambda: connected(one), "it does not register")
        known = connected(one)
        matchmaker = one.matchmaker()
        matchmaker.request(1)
        self.assertEqual(matchmaker.expect(0x2003).take("b"), 1)
        one.process.kill()
        self.until_owner(two)
        until(lambda: connected(two) == known, "it does not find the other")
        asks = two.matchmaker("chat-2")
        asks.request(2)
        while (frame := asks.receive())[0] != 0x2003:
            pass
        self.assertEqual(frame[1][0], 1, frame)

    def test_N_1_a_second_node_of_one_name_is_refused_and_the_first_goes_on(self):
        one = self.node("one")
        self.until_owner(one)
        second = self.node("one", wait=False)
        self.assertEqual(second.process.wait(PATIENCE_S), 78)
        self.assertIn("another node named one runs already", second.log_text())
        self.assertTrue(self.owns(one))
        self.assertEqual(allocated(one.matchmaker(), one.game_server(7000), 1)[1], "")

    def test_N_11_the_command_and_the_status_tell_who_owns_what(self):
        one, two = self.node("one"), self.node("two")
        self.until_owner(one)
        self.until_standing_by(two, "one")
        until(lambda: len(self.cluster(two)["nodes"]) == 2, "they do not know of each other")

        def muster(node, *arguments):
            return subprocess.run([self.muster, *arguments], env={**node.env, "MUSTER_URL": "http://" + self.ports(node)["http"]},
                                  capture_output=True, text=True, timeout=PATIENCE_S)
        told = muster(two, "cluster")
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertRegex(told.stdout, r"(?m)^one +alive +127\.0\.0\.1:\d+")
        self.assertRegex(told.stdout, r"(?m)^two \(this one\) +alive")
        self.assertRegex(told.stdout, r"(?m)^main +one +1 ")
        self.assertIn("The database answers in", told.stdout)
        self.assertEqual(json.loads(muster(two, "cluster", "--json").stdout)["node"], "two")
        self.assertIn("node one", muster(one, "status").stdout)
        # Lists are the owner's, whichever node is asked.
        one.game_server(7000)
        listed = muster(two, "servers")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertIn("127.0.0.1:7000", listed.stdout)


if __name__ == "__main__":
    Cluster.game_server = os.path.abspath(sys.argv.pop(2))
    main()
