"""Whole-program tests of what hostile HTTP peers can do to others: nothing.

Attackers and operators have loopback addresses of their own, since limits are by address.
"""

import http.client
import socket
import time

import served

ATTACKER = "127.0.0.66"
OPERATOR = "127.0.0.1"


class HttpLimits(served.Served):
    def setUp(self):
        super().setUp()
        self.open = []
        self.addCleanup(lambda: [each.close() for each in self.open])

    def attack(self, first_bytes=b"", source=ATTACKER):
        host, port = self.daemon.ports["http"].rsplit(":", 1)
        connection = socket.create_connection((host, int(port)), timeout=20, source_address=(source, 0))
        self.open.append(connection)
        try:
            connection.sendall(first_bytes)
        except OSError:
            pass  # turned away already
        return connection

    def answer(self, path, source=OPERATOR, headers=None):
        """The status, and how long it took to come, on a connection of its own."""
        connection = http.client.HTTPConnection(self.daemon.ports["http"], timeout=20, source_address=(source, 0))
        begun = time.monotonic()
        try:
            connection.request("GET", path, headers=headers or {})
            answer = connection.getresponse()
            if headers is None:
                answer.read()
            return answer.status, time.monotonic() - begun
        finally:
            if headers is None:
                connection.close()
            else:
                self.open += [answer, connection]  # the answer holds the socket

    def check_operators(self, attack):
        for path in ("/healthz", "/readyz", "/", "/api/v1/overview", "/metrics"):
            status, took = self.answer(path)
            self.assertIn(status, (200, 404) if path == "/" else (200,), f"{path} during {attack}")
            self.assertLess(took, 5, f"{path} during {attack}")

    def test_one_address_cannot_take_all_connections_fault_33(self):
        """Silent, dripping and never-reading connections from one address shut out nobody else."""
        attacks = {
            "silence": b"",
            "half a header": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
            "half a body": b"POST /api/v1/matches HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                           b"Content-Length: 100\r\n\r\n{",
            "resting": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "not reading": b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 40,
        }
        for name, first_bytes in attacks.items():
            for _ in range(300):
                self.attack(first_bytes)
            self.check_operators(name)
            self.assertLessEqual(self.figure("muster_http_connections "), 64 + 32 + 32 + 2, name)
        self.assertGreater(self.figure('muster_connections_refused_total{port="http",reason="per_ip"}'), 0)
        self.check_operators("all of them")

    def test_health_has_room_on_a_shared_address_S_7(self):
        """What takes the operators' own address, a proxy's or a local process, leaves room for health."""
        for _ in range(100):
            self.attack(b"GET /healthz HT", source=OPERATOR)
        for _ in range(3):
            for path in ("/healthz", "/readyz"):
                status, took = self.answer(path)
                self.assertEqual(status, 200)
                self.assertLess(took, 5)
        # A second later those that drip make room for the rest, too.
        self.soon(lambda: self.answer("/api/v1/overview")[0] == 200, "the API is shut out")

    def test_live_feeds_of_one_address_leave_room_S_7(self):
        """One address has its share of live feeds and no more, and others still get theirs."""
        feed = {"Accept": "text/event-stream"}
        answers = [self.answer("/api/v1/events", ATTACKER, feed)[0] for _ in range(40)]
        self.assertEqual(answers.count(200), 32)
        self.assertEqual(answers.count(503), 8)
        self.assertEqual(self.answer("/api/v1/events", OPERATOR, feed)[0], 200)
        self.check_operators("many feeds")

    def test_huge_headers_and_bodies_are_refused_S_7(self):
        """What is too large is refused before it is kept, and the daemon's memory does not grow with it."""
        before = self.memory_kib()
        for _ in range(50):
            self.attack(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 1_000_000)
            self.attack(b"POST /api/v1/matches HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000000\r\n\r\n" + b"x" * 1_000_000)
        self.check_operators("huge requests")
        self.assertLess(self.memory_kib() - before, 50 * 1024)

    def memory_kib(self):
        with open(f"/proc/{self.daemon.process.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))

    def test_limits_are_settings_S_7(self):
        """limits.http_connections and limits.http_connections_ip are what they are set to."""
        self.end()
        self.daemon.env["MUSTER_LIMITS_HTTP_CONNECTIONS_IP"] = "2"
        self.daemon.start()
        feed = {"Accept": "text/event-stream"}
        self.assertEqual(self.answer("/api/v1/events", ATTACKER, feed)[0], 200)
        self.assertEqual(self.answer("/api/v1/events", ATTACKER, feed)[0], 503)
        self.assertEqual(self.answer("/api/v1/clock", ATTACKER)[0], 200)


if __name__ == "__main__":
    served.main()
