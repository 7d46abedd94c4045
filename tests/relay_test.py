#!/usr/bin/env python3
"""Peers at a node that does not own the cell: it relays them to the owner, and they outlive it (N-7).

    relay_test.py PATH_TO_MUSTER PATH_TO_EXAMPLE_GAME_SERVER [unittest arguments]
"""

import http.client
import json
import os
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request

from api_client import Live
from cluster_test import Cluster
from free_ports import free_port
from muster_peer import PATIENCE_S, allocated, allocation, answer_to, until
from served import main


class Relay(Cluster):
    def pair(self, **settings):
        """An owner, and a node that relays to it."""
        one, two = self.node("one", **settings), self.node("two", **settings)
        self.until_owner(one)
        self.until_standing_by(two, "one")
        until(lambda: len(self.cluster(one)["nodes"]) == 2, "it does not know the other")
        return one, two

    @staticmethod
    def node_address(node, engine, url):
        database = url.rsplit("/", 1)[1].split("?")[0]
        host, port = engine.sql(f"SELECT node_address FROM muster.nodes WHERE name = '{node}'", database).strip().rsplit(":", 1)
        return host, int(port)

    def test_N_7_N_6_fault_85_peers_at_the_other_node_outlive_the_owner(self):
        one, two = self.pair()
        server, matchmaker = two.game_server(7000, max_matches=100), two.matchmaker()
        player = two.player("Ann")
        # Across: the matchmaker is at the one node, the game server at the other.
        direct = one.matchmaker("chat-2")
        self.assertEqual(allocated(matchmaker, server, 1)[1], "")
        self.assertEqual(allocated(direct, server, 2)[1], "")
        until(lambda: self.figure_of(two, 'muster_relayed_links{direction="out"}') == 3, "it does not count them")
        until(lambda: self.figure_of(one, 'muster_relayed_links{direction="in"}') == 3, "the owner does not count them")
        # The owner knows them by their own addresses, as its own.
        listed = json.loads(self.get_of(one, "/api/v1/servers")[1])["servers"]
        self.assertEqual([(each["id"], each["connected"]) for each in listed], [(server.id, True)])
        self.assertEqual(json.loads(self.get_of(one, "/api/v1/overview")[1])["players"]["connected"], 1)

        matchmaker.request(3)  # under way when the owner dies
        one.process.kill()
        one.process.wait()
        self.assertEqual(answer_to(matchmaker, server, 3)[0], 1)
        self.assertTrue(self.owns(two))
        self.assertEqual(self.figure_of(two, 'muster_relayed_links{direction="out"}'), 0)
        self.assertEqual(allocated(matchmaker, server, 4)[1], "")
        self.assertLessEqual({1, 2, 3, 4}, set(self.lobbies(two)))
        server.heartbeat(4)
        # The player has the same socket and is online; it was not told of its login again.
        until(lambda: json.loads(self.get_of(two, "/api/v1/overview")[1])["players"]["connected"] == 1, "the player is gone")
        player.send(117)
        codes = []
        while not codes or codes[-1] != 117:
            codes.append(player.receive()[0])
        self.assertNotIn(10, codes)
        self.assertNotIn(24, codes)

    def test_N_7_a_node_that_comes_back_relays_and_peers_go_from_owner_to_owner(self):
        one, two = self.pair()
        server, matchmaker = two.game_server(7000, max_matches=100), two.matchmaker()
        self.assertEqual(allocated(matchmaker, server, 1)[1], "")
        one.process.kill()
        one.process.wait()
        self.until_owner(two)
        self.assertEqual(allocated(matchmaker, server, 2)[1], "")
        one.start()
        self.until_standing_by(one, "two")
        # Now two is stopped and wakes: its own peers are relayed to the next owner by it.
        two.process.send_signal(signal.SIGSTOP)
        self.until_owner(one)
        two.process.send_signal(signal.SIGCONT)
        self.until_standing_by(two, "one")
        self.assertEqual(allocated(matchmaker, server, 3)[1], "")
        self.assertLessEqual({1, 2, 3}, set(self.lobbies(one)))

    def test_N_6_N_7_a_stop_hands_over_and_refuses_nothing_that_can_wait(self):
        one, two = self.pair(silence="10m")
        server, matchmaker = two.game_server(7000, max_matches=1000), two.matchmaker()
        self.assertEqual(allocated(matchmaker, server, 1)[1], "")
        one.process.send_signal(signal.SIGTERM)
        answers = {}
        lobby = 2

        def answered():
            nonlocal lobby
            matchmaker.request(lobby)
            answer = answer_to(matchmaker, server, lobby)
            answers[lobby] = allocation(answer)[1] if answer[0] == 0 else ""
            lobby += 1
            return one.process.poll() is not None and self.owns(two)
        until(answered, "it does not hand over", 2 * PATIENCE_S)
        self.assertEqual(set(answers.values()), {""}, answers)
        self.assertEqual(one.process.returncode, 0)
        self.assertLessEqual(set(answers), set(self.lobbies(two)))

    def test_N_11_N_12_an_operator_moves_the_cell_and_peers_of_both_nodes_stay(self):
        # A node that hands over serves HTTP anew, at the same place.
        one, two = (self.node(name, silence="10m", MUSTER_LISTEN_HTTP=f"127.0.0.1:{free_port()}") for name in ("one", "two"))
        self.until_owner(one)
        self.until_standing_by(two, "one")
        until(lambda: len(self.cluster(one)["nodes"]) == 2, "it does not know the other")
        server, matchmaker = one.game_server(7000, max_matches=1000), two.matchmaker()
        self.assertEqual(allocated(matchmaker, server, 1)[1], "")

        def move(node, *arguments):
            return subprocess.run([self.muster, "cluster", "move", *arguments], capture_output=True, text=True,
                                  env={**node.env, "MUSTER_URL": "http://" + self.ports(node)["http"]}, timeout=2 * PATIENCE_S)
        self.assertIn("no cell moon or no node", move(one, "moon", "two").stderr)
        self.assertIn("no cell main or no node", move(two, "main", "three").stderr)
        self.assertTrue(self.owns(one))
        lobby = 2
        for asked, owner in ((two, two), (two, one), (one, one)):
            moved = move(asked, "main", owner.name)
            self.assertEqual((moved.returncode, moved.stdout), (0, f"{owner.name} owns cell main\n"), moved.stderr)
            self.until_owner(owner)
            self.assertEqual(allocated(matchmaker, server, lobby)[1], "")
            lobby += 1
        self.assertLessEqual({1, 2, 3, 4}, set(self.lobbies(one)))
        told = json.loads(self.get_of(one, "/api/v1/events?type=operator.action")[1])["events"]
        self.assertEqual([(event["action"], event["target"]) for event in told],
                         [("move", "cell main to two"), ("move", "cell main to one")])

    def test_N_6_N_11_C_3_over_changes_of_owner_no_HTTP_connect_is_refused_and_the_clock_keeps_its_speed(self):
        one, two = (self.node(name, silence="10m", MUSTER_LISTEN_HTTP=f"127.0.0.1:{free_port()}") for name in ("one", "two"))
        self.until_owner(one)
        self.until_standing_by(two, "one")
        until(lambda: len(self.cluster(one)["nodes"]) == 2, "it does not know the other")

        places = {node: self.ports(node)["http"] for node in (one, two)}  # the file is written anew by each life

        def cli(node, *arguments):
            done = subprocess.run([self.muster, *arguments], capture_output=True, text=True, timeout=2 * PATIENCE_S,
                                  env={**node.env, "MUSTER_URL": "http://" + places[node]})
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout
        cli(one, "clock", "set", "--speed", "60")
        tried, refused, is_over = [], [], threading.Event()

        def connect():
            while not is_over.wait(0.01):
                for host, port in (place.rsplit(":", 1) for place in places.values()):
                    tried.append(port)
                    try:
                        socket.create_connection((host, int(port)), timeout=PATIENCE_S).close()
                    except ConnectionRefusedError:
                        refused.append(port)
        connecting = threading.Thread(target=connect)
        connecting.start()
        try:
            for owner, other in ((two, one), (one, two), (two, one)):
                cli(owner, "cluster", "move", "main", owner.name)
                self.until_owner(owner)
                self.until_standing_by(other, owner.name)
                self.assertIn("speed 60", cli(owner, "clock"))
        finally:
            is_over.set()
            connecting.join()
        print(f"{len(refused)} of {len(tried)} connects refused over three changes of owner")
        self.assertGreater(len(tried), 100)
        self.assertEqual(refused, [])

    def test_N_7_a_stranger_at_the_node_port_is_closed_and_changes_nothing(self):
        one, two = self.pair(MUSTER_AUTH_NODE_TOKEN="the nodes' own secret")
        server, matchmaker = two.game_server(7000), two.matchmaker()
        address = self.node_address("one", self.engine, self.url)

        def hello(token=b"", term=1, version=1, cell=b"main", node=b"three"):
            def text(value):
                return struct.pack("<H", len(value)) + value
            body = b"\x01MUSTERNODE" + struct.pack("<Hq", version, term) + text(cell) + text(node) + text(token)
            return struct.pack("<I", len(body)) + body

        term = self.cell(one, "one")["term"]
        good = b"the nodes' own secret"
        strangers = {
            "HTTP": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            "a frame before the hello": struct.pack("<IB", 9, 4) + bytes(8),
            "a length without end": b"\xff\xff\xff\xff",
            "another token": hello(b"guess", term),
            "another term": hello(good, term + 7),
            "another version": hello(good, term, 99),
            "another cell": hello(good, term, 1, b"moon"),
            "what no node says": hello(good, term) + struct.pack("<IB", 9, 5) + bytes(8),
            "an unknown kind": hello(good, term) + struct.pack("<IB", 1, 77),
            "a peer twice": hello(good, term) + 2 * (struct.pack("<IBIIB", 28, 4, 1, 1, 0) + bytes(18)),
        }
        for what, said in strangers.items():
            with self.subTest(what), socket.create_connection(address, PATIENCE_S) as stranger:
                stranger.sendall(said)
                while stranger.recv(4096):  # until it is closed
                    pass
        for line in ("it is no node of this cluster", "its node token is wrong", "unexpected message"):
            until(lambda said=line: said in one.log_text(), lambda said=line: f"not logged: {said}\n{one.log_text()}")
        self.assertNotIn("guess", one.log_text())
        self.assertEqual(allocated(matchmaker, server, 1)[1], "")
        self.assertTrue(self.owns(one))
        # However many come and say nothing, a node gets in.
        silent = [socket.create_connection(address, PATIENCE_S) for _ in range(200)]
        two.process.kill()
        two.process.wait()
        two.start()
        self.until_standing_by(two, "one")
        for stranger in silent:
            stranger.close()
        self.assertEqual(allocated(two.matchmaker("chat-3"), two.game_server(7002), 2)[1], "")

    def test_N_1_S_2_nodes_prove_each_other_by_certificates_and_nobody_else_comes_in(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        pki = folder.name + "/pki"

        def certs(*arguments):
            subprocess.run([self.muster, "certs", *arguments], check=True, capture_output=True, timeout=PATIENCE_S)
        certs("init", pki, "--ip", "127.0.0.1")
        certs("issue", pki, "eu-1", "--role", "server")
        one, two = self.pair(MUSTER_TLS_PORTS='["nodes"]', MUSTER_TLS_CERTIFICATE_FILE=f"{pki}/muster.crt",
                             MUSTER_TLS_KEY_FILE=f"{pki}/muster.key", MUSTER_TLS_CLIENT_CA_FILE=f"{pki}/ca.crt")
        server, matchmaker = two.game_server(7000), two.matchmaker()
        self.assertEqual(allocated(matchmaker, server, 1)[1], "")
        self.assertEqual(self.figure_of(two, 'muster_relayed_links{direction="out"}'), 2)
        address = self.node_address("one", self.engine, self.url)

        with socket.create_connection(address, PATIENCE_S) as plain:
            plain.sendall(b"MUSTERNODE" * 10)
            while plain.recv(4096):
                pass
        for certificate in (None, "eu-1"):
            trust = ssl.create_default_context(cafile=f"{pki}/ca.crt")
            if certificate:
                trust.load_cert_chain(f"{pki}/{certificate}.crt", f"{pki}/{certificate}.key")
            with self.subTest(certificate), self.assertRaises((ssl.SSLError, ConnectionError)):
                with socket.create_connection(address, PATIENCE_S) as stranger, \
                        trust.wrap_socket(stranger, server_hostname="127.0.0.1") as secured:
                    secured.sendall(b"x")
                    if not secured.recv(1):
                        raise ConnectionError("closed")
        until(lambda: one.log_text().count("Node port: closed 127.0.0.1: TLS") >= 2, lambda: "no line about it:\n" + one.log_text())
        self.assertEqual(allocated(matchmaker, server, 2)[1], "")

    def test_S_5_N_11_tokens_and_actions_work_at_any_node(self):
        one, two = self.pair(MUSTER_AUTH_ADMIN_TOKEN="the admin's own secret")

        def ask(node, method, path, token, body=None):
            request = urllib.request.Request("http://" + self.ports(node)["http"] + path, method=method,
                                             data=None if body is None else json.dumps(body).encode(),
                                             headers={"Authorization": "Bearer " + token, "Content-Type": "application/json",
                                                      "X-Muster-Request": "1"})
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                    return answer.status, json.loads(answer.read() or b"{}")
            except urllib.error.HTTPError as refused:
                return refused.code, refused.read().decode()

        server = two.game_server(7000)
        status, added = ask(two, "POST", "/api/v1/operators", "the admin's own secret", {"name": "ann", "role": "operator"})
        self.assertIn(status, (200, 201), added)
        for node in (one, two):
            status, listed = ask(node, "GET", "/api/v1/servers", added["token"])
            self.assertEqual((status, [each["id"] for each in listed["servers"]]), (200, [server.id]))
            refused = ask(node, "POST", f"/api/v1/servers/{server.id}/drain", "a guess", {"draining": True})
            self.assertEqual(refused[0], 401, refused)
        status, drained = ask(two, "POST", f"/api/v1/servers/{server.id}/drain", added["token"], {"draining": True})
        self.assertEqual(status, 200, drained)
        until(lambda: ask(one, "GET", "/api/v1/servers", added["token"])[1]["servers"][0]["status"] == "draining",
              "the owner does not know of it")

    def test_S_5_N_11_operators_see_the_cluster_at_a_node_that_never_owned_the_cell_and_at_one_that_did(self):
        admin = "the admin's own secret"
        # Whoever comes by a proxy is a stranger, also on this machine.
        one, two = self.pair(silence="10m", MUSTER_AUTH_ADMIN_TOKEN=admin, MUSTER_HTTP_TRUSTED_PROXIES='["127.0.0.1"]',
                             MUSTER_HTTP_OPEN_METRICS="false")

        places = {node: self.ports(node)["http"] for node in (one, two)}  # the file is written anew by each life

        def ask(node, method, path, token, body=None):
            link = http.client.HTTPConnection(places[node], timeout=PATIENCE_S)
            self.addCleanup(link.close)
            try:
                link.request(method, path, None if body is None else json.dumps(body),
                             {"Authorization": "Bearer " + token, "Content-Type": "application/json", "X-Forwarded-For": "192.0.2.7"})
                answer = link.getresponse()
                return answer.status, answer.read()
            except (OSError, http.client.HTTPException):  # between two lives of a node
                return 0, b'{"cells": []}'

        def sees(node, token):
            return {ask(node, "GET", path, token)[0] for path in ("/api/v1/cluster", "/metrics")}

        def owner_is(name):
            return any(cell["owner"] == name for cell in json.loads(ask(two, "GET", "/api/v1/cluster", admin)[1])["cells"])
        status, added = ask(one, "POST", "/api/v1/operators", admin, {"name": "ann", "role": "viewer"})
        self.assertEqual(status, 200, added)
        token = json.loads(added)["token"]
        for node in (one, two):
            until(lambda: sees(node, token) == {200}, f"{node.name} does not know the operator")
            self.assertEqual(sees(node, "a guess"), {401})
        # The one that owned the cell learns of what its successor does.
        self.assertEqual(ask(one, "POST", "/api/v1/cells/main/move", admin, {"node": "two"})[0], 200)
        until(lambda: owner_is("two") and sees(one, token) == {200}, "it is not moved")
        until(lambda: ask(two, "POST", "/api/v1/operators/remove", admin, {"name": "ann"})[0] == 200, "it is not removed")
        for node in (one, two):
            until(lambda: sees(node, token) == {401}, f"{node.name} still knows the operator")

    def test_N_11_O_2_the_live_feed_at_another_node_tells_what_the_owner_does(self):
        one, two = self.pair()
        feeds = [Live(self.ports(node)["http"]) for node in (one, two)]
        self.addCleanup(lambda: [feed.close() for feed in feeds])
        one.game_server(7000)
        seen = [feed.until("server.registered") for feed in feeds]
        self.assertEqual(seen[0], seen[1])
        two.game_server(7001)
        seen = [feed.until("server.registered") for feed in feeds]
        self.assertEqual(seen[0], seen[1])
        # It ends with the owner. A reader that comes again goes on where it was, at whoever owns the cell by then.
        one.process.kill()
        one.process.wait()
        with self.assertRaises(AssertionError, msg="the feed has ended"):
            feeds[1].until("never")
        self.until_owner(two)
        again = Live(self.ports(two)["http"], last_seen=seen[1][0])
        self.addCleanup(again.close)
        two.game_server(7002)
        self.assertGreater(again.until("server.registered")[0], seen[1][0])


# Only its own: those of the other file are run there.
for name in [name for name in dir(Cluster) if name.startswith("test_")]:
    setattr(Relay, name, None)
del Cluster

if __name__ == "__main__":
    Relay.game_server = os.path.abspath(sys.argv.pop(2))
    main()
