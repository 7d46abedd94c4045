#!/usr/bin/env python3
"""Several cells on one PostgreSQL: each has an owner of its own, and any node serves the peers of all (N-7, N-11, N-12).

    cells_test.py PATH_TO_MUSTER [unittest arguments]
"""

import http.client
import json
import struct
import subprocess
import tempfile
import threading
import time
import unittest

import pg_engine
from api_client import Live
from muster_peer import EU, PATIENCE_S, Daemon, Reader, allocation, answer_now, environment, until
from served import Served, main

SILENCE_S = 3
US = 1
PLAN = '[{ name = "eu", regions = [2, 9, 11] }, { name = "us", regions = [0, 1, 15], players = true }]'
PLAN_OF_PLAYERS = '[{ name = "eu", regions = [2, 9, 11], players = true }, { name = "us", regions = [0, 1, 15], players = true }]'


class CellsCase(Served):
    """Nodes with cells on a PostgreSQL of their own."""

    token = {}  # for the tool, where the nodes ask for one

    @classmethod
    def setUpClass(cls):
        if pg_engine.programs() is None:
            raise unittest.SkipTest("PostgreSQL is not installed: nothing was tried")
        cls.engine = pg_engine.Engine()
        cls.addClassCleanup(cls.engine.end)

    def setUp(self):
        self.database = self.engine.database()
        self.url = self.engine.url(self.database)

    def node(self, name, plan=PLAN, wait=True, silence_s=SILENCE_S, **settings):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        node = Daemon(self.muster, folder.name, wait=wait, MUSTER_STORE_PATH=None, MUSTER_STORE_URL=self.url, MUSTER_CLUSTER_NODE=name,
                      MUSTER_CLUSTER_SILENCE=f"{silence_s}s", MUSTER_CLUSTER_CELLS=plan, **settings)
        node.name = name
        self.addCleanup(node.end)
        return node

    def owners(self, node):
        """Of each cell, as the node tells it."""
        answer, body = node.get("/api/v1/cluster")
        self.assertEqual(answer.status, 200, body)
        return {cell["name"]: cell["owner"] for cell in json.loads(body)["cells"]}

    def is_ready_for_all(self, node):
        answer, body = node.get("/readyz")
        return answer.status == 200 and json.loads(body) == {"status": "ready"}

    def until_owners(self, nodes, **owners):
        """All of the nodes say so, and are linked to each."""
        for node in nodes:
            until(lambda: self.owners(node) == owners and self.is_ready_for_all(node),
                  lambda: f"{node.name}: {self.owners(node)} are not {owners}:\n{node.log_text()}", 2 * PATIENCE_S)

    def two_nodes(self, **more):
        """One owns eu, two owns us."""
        one = self.node("one", **more)
        self.until_owners([one], eu="one", us="one")
        two = self.node("two", **more)
        self.until_owners([one, two], eu="one", us="one")
        self.move(two, "us", "two")
        self.until_owners([one, two], eu="one", us="two")
        return one, two

    def cli(self, node, *arguments):
        return subprocess.run([self.muster, *arguments], env=environment(MUSTER_URL="http://" + node.ports["http"], **self.token), text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=2 * PATIENCE_S)

    def move(self, through, cell, to):
        """Once the node that is asked knows the one that is named: its view may be a second old."""
        done = until(lambda: (tried := self.cli(through, "cluster", "move", cell, to)).returncode == 0 and tried,
                     lambda: self.cli(through, "cluster", "move", cell, to).stderr)
        self.assertIn(to, done.stdout)

    def figure_of(self, node, start):
        lines = node.get("/metrics")[1].splitlines()
        return next(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(start))

    def allocated(self, matchmaker, server, lobby, region):
        matchmaker.request(lobby, region)
        answer = until(lambda: answer_now(matchmaker, server, lobby), f"no answer for lobby {lobby}", 2 * PATIENCE_S)
        return allocation(Reader(answer))

    def ask(self, node, method, path, body=None):
        """Status and JSON of an answer of the API."""
        connection = http.client.HTTPConnection(node.ports["http"], timeout=2 * PATIENCE_S)
        self.addCleanup(connection.close)
        connection.request(method, "/api/v1" + path, body=json.dumps(body) if body is not None else None,
                           headers={"Content-Type": "application/json"} if body is not None else {})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def rows(self, node, name, query=""):
        """Those of all cells, once each is told: a view may be a second old."""
        status, told = self.ask(node, "GET", f"/{name}{query}")
        self.assertEqual(status, 200, told)
        return told[name]


class Cells(CellsCase):
    def test_N_11_lists_and_actions_through_either_node_are_of_all_cells(self):
        one, two = self.two_nodes()
        servers = [one.game_server(7000 + i, region=region, max_matches=100) for i, region in enumerate((EU, US, EU, US))]
        ids = sorted(server.id for server in servers)
        for node in (one, two):
            until(lambda: [row["id"] for row in self.rows(node, "servers")] == ids, lambda: str(self.rows(node, "servers")))
            self.assertNotIn("partial", self.ask(node, "GET", "/servers")[1])
            # Pages go on where the last one ended, whatever the cell.
            paged, after = [], 0
            while after is not None:
                _, page = self.ask(node, "GET", f"/servers?limit=3&after={after}")
                paged += [row["id"] for row in page["servers"]]
                after = page["next"]
            self.assertEqual(paged, ids)
            self.assertEqual(self.ask(node, "GET", f"/servers/{servers[1].id}")[1]["region"], US)
            self.assertEqual(self.ask(node, "GET", "/servers/999999999")[0], 404)
            self.assertEqual([row["id"] for row in self.rows(node, "servers", f"?region={US}")], sorted(s.id for s in servers[1::2]))
        # Actions reach the owner.
        for server, node in ((servers[0], two), (servers[1], one)):
            status, told = self.ask(node, "POST", f"/servers/{server.id}/drain", {"draining": True})
            self.assertEqual((status, told["draining"]), (200, True), told)
        until(lambda: {row["id"] for row in self.rows(one, "servers", "?status=draining")} == {servers[0].id, servers[1].id}, "not drained")
        # Allocations and lists of players over HTTP, too.
        for lobby, region, server, node in ((1, EU, servers[2], two), (2, US, servers[3], one)):
            self.assertEqual(self.ask(node, "PUT", f"/matches/{lobby}/players", {"accounts": [7]})[0], 200)
            answers = []
            asking = threading.Thread(target=lambda: answers.append(self.ask(node, "POST", "/matches", {
                "lobby_id": lobby, "region": region, "player_count": 10})))
            asking.start()
            self.assertEqual(server.expect(0x1004).take("i"), lobby)
            server.acknowledge(lobby)
            asking.join(2 * PATIENCE_S)
            self.assertEqual((answers[0][0], answers[0][1].get("server_id")), (200, server.id), answers)
        for node in (one, two):
            until(lambda: [row["lobby_id"] for row in self.rows(node, "matches")] == [1, 2], lambda: str(self.rows(node, "matches")))
        self.assertEqual(self.ask(one, "POST", "/matches/2/abort", {})[0], 200)
        self.assertEqual({row["id"] for row in self.rows(two, "regions")}, {0, 1, 2, 9, 11, 15})
        # Servers of both cells together.
        everyone = [server.id for server in servers]
        for node, draining in ((one, True), (two, False)):
            status, told = self.ask(node, "POST", "/servers/drain", {"draining": draining, "servers": everyone + [999999999]})
            self.assertEqual((status, told), (200, {"draining": draining, "servers": 4, "missing": [999999999]}))
            until(lambda: len(self.rows(one, "servers", "?status=draining")) == (4 if draining else 0), "not drained")
        self.assertEqual(self.ask(one, "POST", "/servers/drain", {"draining": True, "servers": [999999999]})[0], 404)
        # What does not exist is told by a cell, as ever.
        self.assertEqual(self.ask(two, "GET", "/meow")[0], 404)
        self.assertEqual(self.ask(two, "POST", "/overview", {})[0], 405)

    def test_N_11_the_overview_and_its_past_are_of_all_cells(self):
        one, two = self.two_nodes()
        eu = one.game_server(7000, region=EU, max_matches=100)
        us = two.game_server(7001, region=US, max_matches=50)
        matchmaker = two.matchmaker(regions=(EU, US))
        self.assertEqual(self.allocated(matchmaker, eu, 1, EU)[1], "")
        self.assertEqual(self.allocated(matchmaker, us, 2, US)[1], "")
        for node in (one, two):
            def overview():
                status, told = self.ask(node, "GET", "/overview")
                self.assertEqual(status, 200, told)
                return told
            until(lambda: sum(overview()["matches"].values()) == 2, lambda: str(overview()))
            told = overview()
            self.assertEqual([region["id"] for region in told["regions"]], [0, 1, 2, 9, 11, 15])
            self.assertEqual(sum(region["capacity"] for region in told["regions"]), 150)
            self.assertEqual((told["allocations"]["requests"], sum(told["allocations"]["latency_ms"]["counts"])), (2, 2))
            self.assertEqual((told["matchmakers"], told["store"]["up"]), (1, True))
            self.assertNotIn("partial", told)

            def past():
                status, body = self.ask(node, "GET", "/overview/history")
                self.assertEqual(status, 200, body)
                return body["samples"]
            until(lambda: past() and past()[-1]["capacity"] == 150 and past()[-1]["requests"] == 2, lambda: str(past()))
            shown = self.cli(node, "status")
            self.assertEqual(shown.returncode, 0, shown.stderr)
        # A cell that does not answer is a reason for concern.
        two.process.kill()
        two.process.wait()
        status, told = self.ask(one, "GET", "/overview")
        self.assertEqual((status, told["missing_cells"], told["health"]["status"]), (200, ["us"], "bad"))
        self.assertIn("No answer of cell us", told["health"]["reasons"])

    def test_N_11_events_of_all_cells_are_one_story_in_pages_and_live_over_a_takeover(self):
        def port_of(event):
            return int(event["endpoint"].rsplit(":", 1)[1])

        one, two = self.two_nodes()
        feeds = [Live(node.ports["http"], query="?type=server.registered") for node in (one, two)]
        for feed in feeds:
            self.addCleanup(feed.close)
        ports = []
        for i in range(6):
            ports.append(7000 + i)
            (one, two)[i % 2].game_server(ports[-1], region=(EU, US)[i // 2 % 2], max_matches=100)
        seen = [[feed.next() for _ in ports] for feed in feeds]
        for told in seen:
            # Each cell's in their order; which of two cells' comes first is up to the links.
            for cell, own in (("eu", ports[0:2] + ports[4:6]), ("us", ports[2:4])):
                self.assertEqual([port_of(event) for _, _, event in told if event["cell"] == cell], own)
            self.assertEqual(len({event["id"] for _, _, event in told}), len(ports))
        # In pages, from either end, through either node: by time, then cell, then id.
        ports = [port_of(event) for _, _, event in sorted(seen[0], key=lambda told: (told[2]["time_ms"], told[2]["cell"], told[2]["id"]))]
        for node in (one, two):
            def pages(step, query):
                found, place = [], query
                while place is not None:
                    status, page = self.ask(node, "GET", f"/events?type=server.registered&limit=2{place}")
                    self.assertEqual(status, 200, page)
                    events = [port_of(event) for event in page["events"]]
                    found = found + events if step == "next" else events + found
                    place = page[step] and f"&{'after' if step == 'next' else 'before'}={page[step]}"
                return found
            until(lambda: pages("next", "&after=c0-0") == ports, lambda: str(pages("next", "&after=c0-0")))
            self.assertEqual(pages("previous", ""), ports)
            # Before an event of the feed.
            status, page = self.ask(node, "GET", f"/events?type=server.registered&before={seen[0][3][2]['before']}")
            self.assertEqual({port_of(event) for event in page["events"]}, {port_of(told[2]) for told in seen[0][:3]})
            self.assertEqual(self.ask(node, "GET", "/events?after=17")[0], 400)
        shown = self.cli(two, "events", "--type", "server.registered")
        self.assertEqual((shown.returncode, len(shown.stdout.splitlines())), (0, len(ports)), shown.stderr)
        # Who comes again goes on where it was.
        again = Live(two.ports["http"], last_seen=seen[1][2][0], query="?type=server.registered")
        self.addCleanup(again.close)
        self.assertEqual({port_of(again.next()[2]) for _ in ports[3:]}, {port_of(told[2]) for told in seen[1][3:]})
        # The owner of one cell dies: the feed goes on, with what its next owner tells.
        two.process.kill()
        two.process.wait()
        one.game_server(8000, region=EU, max_matches=100)
        self.assertEqual(port_of(feeds[0].next()[2]), 8000)
        self.until_owners([one], eu="one", us="one")
        one.game_server(8001, region=US, max_matches=100)
        self.assertEqual(port_of(feeds[0].next()[2]), 8001)

    def test_N_7_servers_and_requests_of_both_regions_through_either_node_reach_the_owner_of_their_cell(self):
        one, two = self.two_nodes()
        self.assertEqual(self.figure_of(one, 'muster_cell_owned{cell="eu"}'), 1)
        self.assertEqual(self.figure_of(one, 'muster_cell_owned{cell="us"}'), 0)
        self.assertEqual(self.figure_of(two, 'muster_cell_owned{cell="us"}'), 1)
        lobby = 0
        for port, at_servers, at_matchmakers in ((7000, one, two), (7100, two, one)):
            servers = {region: at_servers.game_server(port + region, region=region, max_matches=100) for region in (EU, US)}
            self.assertEqual([server.refused for server in servers.values()], [None, None])
            # Cells give numbers of their own shares.
            self.assertNotEqual(servers[EU].id, servers[US].id)
            matchmaker = at_matchmakers.matchmaker(f"chat-{port}", regions=(EU, US))
            self.assertIsNone(matchmaker.refused)
            for region, server in servers.items():
                lobby += 1
                _, error, where, _ = self.allocated(matchmaker, server, lobby, region)
                self.assertEqual((error, where), ("", server.id))
            for server in servers.values():
                server.close()

        # A region that nobody has is refused once, and a lobby is one cell's only (N-8).
        matchmaker = two.matchmaker("chat-3", regions=(EU, US))
        matchmaker.request(90, region=77)
        self.assertEqual(allocation(matchmaker.expect(0x2003))[1], "Region not supported")
        # A heartbeat is acknowledged once; a cancel of what no cell knows is answered once.
        matchmaker.send(0x2004)
        matchmaker.send(0x2007, struct.pack("<i", 4711))
        matchmaker.expect(0x2005)
        event = matchmaker.expect(0x2006)
        self.assertEqual((event.take("i"), event.take("b"), event.string()), (4711, 4, "Match not found"))
        with self.assertRaises(TimeoutError):
            matchmaker.receive(0.5)

    def test_N_7_players_of_any_node_are_in_the_cell_of_their_name(self):
        one, two = (self.node(name, plan=PLAN_OF_PLAYERS) for name in ("one", "two"))
        until(lambda: all(self.owners(one).values()), "nobody owns them")
        self.until_owners([one, two], **self.owners(one))
        ids = {}
        for name in ("Anna", "Bo", "Cleo", "Dan", "Eve", "Finn"):
            player = one.player(name)
            self.assertIsNone(player.refused)
            ids[name] = player.id
            player.close()
        self.assertEqual(len(set(ids.values())), len(ids))
        for name, number in ids.items():
            self.assertEqual(two.player(name).id, number)

    def test_N_3_N_6_fault_80_the_owner_of_one_cell_is_killed_and_the_other_cell_goes_on(self):
        silence_s = 10  # so long that the other cell has its time before
        one, two = self.two_nodes(silence_s=silence_s)
        eu = one.game_server(7000, region=EU, max_matches=100)
        us = one.game_server(7001, region=US, max_matches=100)
        matchmaker = one.matchmaker(regions=(EU, US))
        self.assertEqual(self.allocated(matchmaker, eu, 1, EU)[1], "")
        answered = self.allocated(matchmaker, us, 2, US)
        self.assertEqual(answered[1], "")
        two.process.kill()
        two.process.wait()
        killed = time.monotonic()
        # The other cell's peers notice nothing, and a request for the lost cell waits.
        matchmaker.request(3, US)
        self.assertEqual(self.allocated(matchmaker, eu, 4, EU)[1], "")
        self.assertEqual(self.owners(one)["us"], "two")
        status, listed = self.ask(one, "GET", "/servers")
        self.assertEqual((status, [row["id"] for row in listed["servers"]]), (200, [eu.id]))
        self.assertEqual((listed["partial"], listed["missing_cells"]), (True, ["us"]))
        self.assertEqual(self.ask(one, "GET", f"/servers/{us.id}")[0], 503)
        self.until_owners([one], eu="one", us="one")
        print(f"owner again {time.monotonic() - killed:.1f} s after kill -9, with a silence of {silence_s} s")
        # The sockets stay open: the game server confirms its match, takes the request that waited, and the next.
        waited = until(lambda: answer_now(matchmaker, us, 3), "the request that waited is not answered", 2 * PATIENCE_S)
        self.assertEqual(allocation(Reader(waited))[1:3], ("", us.id))
        self.assertEqual(self.allocated(matchmaker, us, 5, US)[1], "")
        # What was answered stands, with its server and token.
        self.assertEqual(self.allocated(matchmaker, us, 2, US), answered)
        self.assertEqual(self.figure_of(one, "muster_cell_takeovers_total"), 1)
        self.assertEqual(self.figure_of(one, 'muster_cell_owned{cell="us"}'), 1)

    def test_N_6_N_12_a_node_that_is_stopped_hands_its_cells_over_and_peers_at_the_other_stay(self):
        one, two = self.two_nodes()
        us = one.game_server(7001, region=US, max_matches=100)
        matchmaker = one.matchmaker(regions=(EU, US))
        self.assertEqual(self.allocated(matchmaker, us, 1, US)[1], "")
        self.assertEqual(two.stop(), 0, two.log_text())
        self.assertIn("Hands cell us over to one", two.log_text())
        self.until_owners([one], eu="one", us="one")
        self.assertEqual(self.allocated(matchmaker, us, 2, US)[1], "")

    def test_N_11_a_cell_is_moved_through_any_node_and_muster_cluster_shows_it(self):
        one, two = self.two_nodes()
        shown = self.cli(two, "cluster")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        lines = {line.split()[0]: line for line in shown.stdout.splitlines() if line.split()}
        self.assertIn("one", lines["eu"])
        self.assertIn("two", lines["us"])
        matchmaker = one.matchmaker(regions=(EU, US))
        eu = one.game_server(7000, region=EU, max_matches=100)
        # Asked of the node that does not own it, and back.
        self.move(two, "eu", "two")
        self.until_owners([one, two], eu="two", us="two")
        self.assertEqual(self.allocated(matchmaker, eu, 1, EU)[1], "")
        self.move(one, "us", "one")
        self.until_owners([one, two], eu="two", us="one")
        self.assertNotEqual(self.cli(one, "cluster", "move", "asia", "one").returncode, 0)
        self.assertNotEqual(self.cli(one, "cluster", "move", "eu", "three").returncode, 0)

    def test_N_8_a_lobby_that_one_cell_has_is_refused_by_the_other(self):
        one, _ = self.two_nodes()
        eu = one.game_server(7000, region=EU, max_matches=100)
        us = one.game_server(7001, region=US, max_matches=100)
        matchmaker = one.matchmaker(regions=(EU, US))
        self.assertEqual(self.allocated(matchmaker, eu, 1, EU)[1], "")
        self.assertEqual(self.allocated(matchmaker, us, 1, US)[1], "Invalid match lobby ID")
        self.assertEqual(self.allocated(matchmaker, us, 2, US)[1], "")

    def test_N_7_a_node_serves_its_peers_though_it_cannot_reach_what_it_advertises(self):
        node = self.node("one", MUSTER_CLUSTER_ADVERTISE="known-outside-only.invalid:11030")
        self.until_owners([node], eu="one", us="one")
        self.assertIsNone(node.game_server(7000).refused)

    def test_N_10_what_is_answered_is_durable_whatever_the_role_and_the_engine_are_set_to_later(self):
        one = self.node("one")
        self.until_owners([one], eu="one", us="one")
        server, matchmaker = one.game_server(7000), one.matchmaker("chat-1")
        self.engine.sql("ALTER ROLE muster SET synchronous_commit = off")
        self.engine.sql("ALTER SYSTEM SET synchronous_commit = off")
        self.engine.sql("ALTER SYSTEM SET wal_writer_delay = '10s'")
        try:
            # Once with the connections that it has, and once with new ones.
            for lobby in (1, 2):
                self.engine.sql("SELECT pg_reload_conf()")
                until(lambda: self.engine.sql("SHOW synchronous_commit") == "off", "the engine is set")
                until(lambda: self.allocated(matchmaker, server, lobby, EU)[1] == "", "a match is answered")
                self.engine.stop()
                self.engine.start()
                self.assertEqual(self.engine.sql(f"SELECT count(*) FROM muster.matches WHERE lobby = {lobby}", self.database), "1")
                self.until_owners([one], eu="one", us="one")
        finally:
            for reset in ("ROLE muster RESET synchronous_commit", "SYSTEM RESET synchronous_commit", "SYSTEM RESET wal_writer_delay"):
                self.engine.sql(f"ALTER {reset}")
            self.engine.sql("SELECT pg_reload_conf()")

    def test_N_9_while_the_database_is_away_no_cell_changes_hands_and_all_go_on_after_it(self):
        one, two = self.two_nodes()
        eu = two.game_server(7000, region=EU, max_matches=100)
        matchmaker = two.matchmaker(regions=(EU, US))
        self.assertEqual(self.allocated(matchmaker, eu, 1, EU)[1], "")
        terms = [cell["term"] for cell in json.loads(one.get("/api/v1/cluster")[1])["cells"]]
        self.engine.stop()
        try:
            for node in (one, two):
                until(lambda: node.get("/readyz")[0].status == 503, lambda: f"{node.name} is ready:\n{node.log_text()}", 2 * PATIENCE_S)
                until(lambda: "cell eu: store down; cell us: store down" in node.get("/readyz")[1],
                      lambda: f"{node.name} does not say why (O-2): {node.get('/readyz')[1]}", 2 * PATIENCE_S)
            # Heartbeats go on, promises do not.
            eu.heartbeat(1)
            until(lambda: eu.receive()[0] == 0x1003, "the heartbeat is not acknowledged")
            self.assertEqual(self.allocated(matchmaker, eu, 2, EU)[1], "Store unavailable")
        finally:
            self.engine.start()
        self.until_owners([one, two], eu="one", us="two")
        until(lambda: self.allocated(matchmaker, eu, 3, EU)[1] == "", "no allocations after the database is back", 2 * PATIENCE_S)
        self.assertEqual([cell["term"] for cell in json.loads(one.get("/api/v1/cluster")[1])["cells"]], terms)

    def test_N_7_cells_that_differ_are_refused(self):
        self.node("one")
        other = self.node("two", plan=PLAN_OF_PLAYERS, wait=False)
        self.assertEqual(other.process.wait(2 * PATIENCE_S), 78)
        self.assertIn("the cells of this node are not those of the store", other.log_text())


if __name__ == "__main__":
    main()
