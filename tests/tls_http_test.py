#!/usr/bin/env python3
"""TLS on the HTTP port, seen by commands, curl and Python's ssl module (S-1, S-2, S-5, fault 75).

    tls_http_test.py PATH_TO_MUSTER [unittest arguments]
"""

import http.client
import os
import shutil
import socket
import ssl
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

from muster_peer import PATIENCE_S, GameServer
from tls_daemon import MUSTER, Pki, TlsDaemon, eventually


class Https(TlsDaemon):
    ports = '["http"]'

    def more_settings(self):
        # All peers come from one address.
        return {"MUSTER_LIMITS_HTTP_CONNECTIONS_IP": "1000", "MUSTER_LIMITS_ACCEPTS_PER_SECOND_IP": "100000"}

    def setUp(self):
        super().setUp()
        self.url = f"https://{self.daemon.ports['http']}"

    def metric(self, name, **labels):
        with urllib.request.urlopen(self.url + "/metrics", timeout=PATIENCE_S, context=self.pki.context()) as answer:
            return sum(float(line.rsplit(" ", 1)[1]) for line in answer.read().decode().splitlines()
                       if line.startswith(name + "{") and all(f'{key}="{value}"' in line for key, value in labels.items()))

    def command(self, *arguments, **settings):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
        return subprocess.run([MUSTER, *arguments], env={**kept, "MUSTER_URL": self.url, **settings}, text=True, capture_output=True,
                              timeout=PATIENCE_S)

    def test_commands_speak_https_and_say_what_is_wrong_S_1(self):
        good = self.command("status", MUSTER_CA_FILE=self.pki.path("ca.crt"))
        self.assertEqual(good.returncode, 0, good.stderr)
        stranger = self.command("status")
        self.assertEqual(stranger.returncode, 69)
        self.assertIn("MUSTER_CA_FILE", stranger.stderr)
        plain = self.command("status", MUSTER_URL=self.url.replace("https", "http"))
        self.assertEqual(plain.returncode, 69)
        self.assertIn("https://", plain.stderr)
        bad = self.command("status", MUSTER_CA_FILE="/nowhere")
        self.assertEqual(bad.returncode, 78)
        self.assertIn("/nowhere", bad.stderr)
        events = subprocess.Popen([MUSTER, "events", "--follow"], env={**os.environ, "MUSTER_URL": self.url, "MUSTER_CA_FILE": self.pki.path("ca.crt")},
                                  text=True, stdout=subprocess.PIPE)
        try:
            GameServer(self.daemon.ports["servers"], 20001, token="a token that nobody knows").close()
            self.assertIn("server", events.stdout.readline())
        finally:
            events.kill()
            events.communicate()

    def test_requests_go_on_over_one_connection_and_bad_peers_are_told_apart_S_1_fault_75(self):
        host, port = self.address("http")
        connection = http.client.HTTPSConnection(host, port, timeout=PATIENCE_S, context=self.pki.context())
        for _ in range(3):
            connection.request("GET", "/readyz")
            answer = connection.getresponse()
            self.assertEqual((answer.status, bool(answer.read())), (200, True))
        connection.close()
        with socket.create_connection((host, port), timeout=PATIENCE_S) as plain:
            plain.sendall(b"GET / HTTP/1.0\r\n\r\n")
            while plain.recv(1000):
                pass
        eventually(lambda: self.metric("muster_tls_failures_total", port="http", reason="not_tls") == 1)
        self.pki.run("renew", self.pki.folder, "muster")
        self.reload()
        self.wait_for_log("new connections get it")
        self.assertGreaterEqual(self.metric("muster_tls_handshakes_total", port="http"), 2)

    def hello(self):
        """The first bytes of a client, and whatever goes on with its handshake."""
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = self.pki.context().wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
        with self.assertRaises(ssl.SSLWantReadError):
            client.do_handshake()
        return outgoing.read(), client, incoming, outgoing

    def ready_by(self, plain, client, incoming, outgoing):
        """Shakes hands and asks whether the daemon is ready."""
        while True:
            try:
                client.do_handshake()
                break
            except ssl.SSLWantReadError:
                incoming.write(plain.recv(65536))
        client.write(b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        plain.sendall(outgoing.read())
        while True:
            try:
                return client.read().startswith(b"HTTP/1.1 200")
            except ssl.SSLWantReadError:
                incoming.write(plain.recv(65536))

    def test_a_hello_in_pieces_or_in_two_records_is_waited_for_S_1(self):
        for name, cut in (("bytes", lambda hello: [hello[i:i + 1] for i in range(len(hello))]),
                          ("halves", lambda hello: [hello[:100], hello[100:]]),
                          ("records", lambda hello: [b"\x16\x03\x01\x00\x20" + hello[5:37],
                                                     b"\x16\x03\x01" + (len(hello) - 37).to_bytes(2, "big") + hello[37:]])):
            with self.subTest(name), socket.create_connection(self.address("http"), timeout=PATIENCE_S) as plain:
                plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                first, client, incoming, outgoing = self.hello()
                for piece in cut(first):
                    plain.sendall(piece)
                self.assertTrue(self.ready_by(plain, client, incoming, outgoing))

    def own_share(self):
        """Pages for one that the daemon asks for. ThreadSanitizer keeps notes of each byte: the same server holds 6.3 KiB for such
        a connection without it and 38.6 KiB with it. A handshake would take 100 KiB without it."""
        with open(f"/proc/{self.daemon.process.pid}/maps", encoding="utf-8") as maps:
            return 7 if "libtsan" in maps.read() else 1

    def test_half_a_hello_takes_next_to_no_memory_fault_75(self):
        half = self.hello()[0][:-1]
        huge = b"\x16\x03\x01\x40\x00\x01\x00\x3f\xfc"  # says that it is 16 KiB long

        def resident():
            with open(f"/proc/{self.daemon.process.pid}/status", encoding="ascii") as status:
                return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))

        self.metric("muster_tls_handshakes_total")
        before, count, peers = resident(), 600, []
        try:
            for i in range(count):
                peers.append(socket.create_connection(self.address("http"), timeout=PATIENCE_S))
                peers[-1].sendall(half if i % 2 else huge)
            for _ in range(3):  # answered after those before
                self.metric("muster_tls_handshakes_total")
            self.assertLess((resident() - before) / count, 32 * self.own_share(), "KiB for each")
            self.assertEqual(self.metric("muster_tls_failures_total", port="http"), 0)
        finally:
            for peer in peers:
                peer.close()
        eventually(lambda: self.metric("muster_tls_failures_total", port="http", reason="incomplete") == count)

    def test_an_operator_needs_no_token_with_its_certificate_S_2_S_5(self):
        self.pki.issue("alice", "operator")
        serial = self.pki.issue("bob", "operator")
        self.pki.issue("eve", "operator")
        trust = {"MUSTER_CA_FILE": self.pki.path("ca.crt")}
        admin = {**trust, "MUSTER_ADMIN_TOKEN": "the first admin's"}

        def as_operator(name, *arguments):
            return self.command(*arguments, **trust, MUSTER_CERTIFICATE_FILE=self.pki.path(name + ".crt"), MUSTER_KEY_FILE=self.pki.path(name + ".key"))

        for name, role in (("alice", "operator"), ("bob", "viewer")):
            self.assertEqual(self.command("operator", "add", name, "--role", role, **admin).returncode, 0)
        self.assertEqual(as_operator("alice", "clock", "--speed", "2").returncode, 0)
        refused = as_operator("bob", "clock", "--speed", "2")
        self.assertEqual(refused.returncode, 77, refused.stderr)
        self.assertIn("role is viewer", refused.stderr)
        self.wait_for_log("the role is viewer, this needs operator")
        other_pki = Pki(os.path.join(self.folder, "other"))
        other_pki.issue("bob", "operator")
        with self.assertRaises((urllib.error.URLError, OSError)):
            context = self.pki.context()
            context.load_cert_chain(other_pki.path("bob.crt"), other_pki.path("bob.key"))
            urllib.request.urlopen(self.url + "/readyz", timeout=PATIENCE_S, context=context).read()
        eventually(lambda: self.metric("muster_tls_failures_total", port="http", reason="unknown_ca") == 1)
        stranger = as_operator("eve", "clock", "--speed", "2")
        self.assertIn("No operator is named eve", stranger.stderr)
        other = as_operator("eu-1", "clock", "--speed", "2")
        self.assertEqual(other.returncode, 77, "a game server is no operator, and is asked for a token")
        told = self.command("events", "--json", "--type", "operator.action", **admin).stdout
        self.assertIn('"operator":"alice"', told.replace('": "', '":"'))

        host, port = self.address("http")
        connection = http.client.HTTPSConnection(host, port, timeout=PATIENCE_S, context=self.pki.context("bob"))

        def who():
            connection.request("GET", "/api/v1/operators")
            answer = connection.getresponse()
            answer.read()
            return answer.status

        self.assertEqual(who(), 200)
        feed = http.client.HTTPSConnection(host, port, timeout=PATIENCE_S, context=self.pki.context("bob"))
        feed.request("GET", "/api/v1/events", headers={"Accept": "text/event-stream"})
        events = feed.getresponse()
        self.assertEqual(events.status, 200)
        self.revoke(serial + "\n")
        self.reload()
        self.wait_for_log("tls.revoked_file: 0 -> 1 revoked certificates")
        deadline = time.monotonic() + PATIENCE_S
        with self.assertRaises((http.client.HTTPException, OSError, EOFError)) as ended:
            while True:
                if not events.readline():
                    raise EOFError
                self.assertLess(time.monotonic(), deadline, "its feed of events stays open")
        self.assertNotIsInstance(ended.exception, TimeoutError, "its feed of events stays open")
        feed.close()
        with self.assertRaises((http.client.HTTPException, OSError)):
            who()
            who()
        connection.close()

    @unittest.skipUnless(shutil.which("curl"), "needs the curl command")
    def test_curl_gets_tls_1_3_and_nothing_older_S_1(self):
        def curl(*arguments):
            return subprocess.run(["curl", "-sS", "--cacert", self.pki.path("ca.crt"), *arguments, self.url + "/readyz"], text=True,
                                  capture_output=True, timeout=PATIENCE_S)

        self.assertEqual(curl().returncode, 0, curl().stderr)
        self.assertNotEqual(curl("--tls-max", "1.2").returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
