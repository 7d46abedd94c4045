#!/usr/bin/env python3
"""Newcomers and links that are up in a flood of TLS handshakes, at the game ports and over HTTPS (fault 75, S-7).

    tls_flood_test.py PATH_TO_MUSTER [unittest arguments]
"""

import contextlib
import re
import resource
import select
import signal
import socket
import ssl
import sys
import unittest

from muster_peer import PATIENCE_S
from tls_daemon import TlsDaemon, eventually


class FullPort(TlsDaemon):
    """An address that holds all connections of a port with unfinished handshakes keeps no other out (fault 75)."""

    room = 40

    def more_settings(self):
        return {"MUSTER_LIMITS_CONNECTIONS_PER_PORT": str(self.room), "MUSTER_LIMITS_HANDSHAKE_DEADLINE": "60s"}

    def test_newcomers_of_other_addresses_get_in_and_links_that_are_up_stay_fault_75_S_7(self):
        up = self.server(self.pki.context("eu-1"))
        silent = []
        try:
            for _ in range(2 * self.room):
                plain = socket.create_connection(self.address("servers"), timeout=PATIENCE_S, source_address=("127.0.0.9", 0))
                silent.append(plain)
                with contextlib.suppress(OSError):
                    plain.sendall(b"\x16\x03\x01\x02")  # and no more
            eventually(lambda: self.metric("muster_connections_refused_total", port="servers", reason="per_port") > 0)
            for port in range(20002, 20007):
                newcomer = self.server(self.pki.context("eu-2"), port)
                self.assertIsNone(newcomer.refused)
                self.addCleanup(newcomer.close)
            self.assertGreaterEqual(self.metric("muster_connections_closed_total", port="servers", reason="gave_way"), 5)
            up.heartbeat()
            up.expect(0x1003)
        finally:
            for plain in silent:
                plain.close()
        up.close()


class HttpsNewcomers(TlsDaemon):
    ports = '["http"]'

    def more_settings(self):
        return {"MUSTER_LIMITS_ACCEPTS_PER_SECOND_IP": "5", "MUSTER_HTTP_OPEN_METRICS": "true"}

    def test_an_address_gets_so_many_handshakes_a_second_and_others_get_theirs_S_7_fault_75(self):
        host, port = self.daemon.ports["http"].rsplit(":", 1)
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=PATIENCE_S) as peer:
                peer.close()

        def refused():
            with socket.create_connection((host, int(port)), timeout=PATIENCE_S, source_address=("127.0.0.9", 0)) as plain:
                with self.pki.context().wrap_socket(plain, server_hostname=host) as other:
                    other.sendall(b"GET /metrics HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
                    text = b"".join(iter(lambda: other.recv(65536), b"")).decode()
            found = re.search(r'muster_connections_refused_total\{port="http",reason="accept_rate"\} (\d+)', text)
            return int(found.group(1)) if found else 0

        # However slow the machine: within one second no more than five of the 200 got in.
        eventually(lambda: refused() > 0)


class HttpsFlood(TlsDaemon):
    """Hellos of many addresses, more than HTTP takes connections, keep no newcomer waiting (fault 75)."""

    ports = '["http"]'
    addresses, hellos_each, connections = 60, 40, 1024

    def hello(self):
        client = self.pki.context().wrap_bio(ssl.MemoryBIO(), outgoing := ssl.MemoryBIO(), server_hostname="127.0.0.1")
        with self.assertRaises(ssl.SSLWantReadError):
            client.do_handshake()
        return outgoing.read()

    def connect(self, address):
        plain = socket.create_connection(self.address("http"), timeout=PATIENCE_S, source_address=(address, 0))
        self.addCleanup(plain.close)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return plain

    def secured(self, plain):
        made = self.pki.context().wrap_socket(plain, server_hostname="127.0.0.1")
        self.addCleanup(made.close)
        return made

    def ask(self, secured):
        """Something that is no probe of health, and that only the HTTP thread answers."""
        secured.sendall(b"HEAD /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        return secured.recv(65536).partition(b"\r\n")[0]

    def test_over_https_a_newcomer_waits_for_one_handshake_of_each_address_fault_75(self):
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        hello = self.hello()
        up = self.secured(self.connect("127.0.2.1"))
        self.assertEqual(self.ask(up), b"HTTP/1.1 200 OK")
        # All of them are there before the daemon sees the first: however fast it is, it is a flood.
        self.daemon.process.send_signal(signal.SIGSTOP)
        try:
            flood = []
            for i in range(self.addresses * self.hellos_each):
                flood.append(self.connect(f"127.0.1.{1 + i % self.addresses}"))
                flood[-1].sendall(hello)
            plain = self.connect("127.0.2.2")
        finally:
            self.daemon.process.send_signal(signal.SIGCONT)
        newcomer = self.secured(plain)
        answered = select.poll()
        for each in flood:
            answered.register(each, select.POLLIN)
        # Those that gave way have been told an end, not a word.
        begun = sum(1 for number, event in answered.poll(0) if not event & (select.POLLHUP | select.POLLERR))
        self.assertEqual(self.ask(newcomer), b"HTTP/1.1 200 OK")
        self.assertLess(begun, self.connections // 2)
        self.assertEqual(self.ask(up), b"HTTP/1.1 200 OK", "who is up stays")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
