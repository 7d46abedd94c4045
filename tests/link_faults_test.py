#!/usr/bin/env python3
"""Links that are half open, cut in mid frame, dripping, flooding or never read, and what the others notice of it.

    link_faults_test.py PATH_TO_MUSTER [unittest arguments]
"""

import contextlib
import json
import multiprocessing
import os
import resource
import select
import socket
import statistics
import struct
import tempfile
import time

from muster_peer import PATIENCE_S, Daemon, Peer, allocation
from served import Served, main


def reset(peer):
    """Ends the link by a reset, with whatever was not read."""
    peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()


def p99(times):
    return sorted(times)[len(times) * 99 // 100]


class Fleet(Served):
    def servers(self):
        return {each["id"]: each for each in json.loads(self.get("/api/v1/servers")[1])["servers"]}


class HalfOpen(Fleet):
    settings = {"MUSTER_FLEET_HEARTBEAT_INTERVAL": "1s", "MUSTER_FLEET_HEARTBEAT_TIMEOUT": "2500ms",
                "MUSTER_PLAYERS_CREDENTIALS": "open", "MUSTER_PLAYERS_PING_INTERVAL": "500ms",
                "MUSTER_PLAYERS_PING_TIMEOUT": "2s"}

    def test_fault_20_a_half_open_link_is_found_by_keepalive_and_time_outs_and_kept_until_then(self):
        began = time.monotonic()
        server, ann = self.daemon.game_server(7000), self.daemon.player("ann")
        # Neither says anything any more, and neither closes.
        self.assertEqual(self.servers()[server.id]["status"], "available")
        for port in ("servers", "players"):
            self.soon(lambda: self.kernel_watches(self.daemon.ports[port]), f"no keepalive at the port of {port}")
        self.assertEqual(ann.closed_for(), "Ping timeout")
        self.assertGreater(time.monotonic() - began, 1.9)
        self.soon(lambda: server.id not in self.servers(), "the silent server is removed")
        self.assertGreater(time.monotonic() - began, 2.4)

    @staticmethod
    def kernel_watches(address):
        """Whether the kernel's keepalive timer runs for each accepted link of this port."""
        port = f":{int(address.rsplit(':', 1)[1]):04X}"
        established, keepalive = "01", "02:"
        with open("/proc/net/tcp") as table:
            links = [line.split() for line in table.readlines()[1:]]
        ours = [link for link in links if link[1].endswith(port) and link[3] == established]
        return bool(ours) and all(link[5].startswith(keepalive) for link in ours)


class OtherEnd(Fleet):
    settings = {"MUSTER_PLAYERS_CREDENTIALS": "open", "MUSTER_PLAYERS_RESUME_GRACE": "10m"}

    def allocated(self, server, matchmaker, lobby):
        matchmaker.request(lobby)
        server.expect(0x1004)
        server.acknowledge(lobby)
        return allocation(matchmaker.expect(0x2003))

    def test_fault_21_a_reset_or_close_in_mid_frame_drops_the_part_and_keeps_server_and_session(self):
        matchmaker = self.daemon.matchmaker()
        for end in (reset, Peer.close):
            server = self.daemon.game_server(7000)
            lobby = 1 if end is reset else 2
            given = self.allocated(server, matchmaker, lobby)
            ann = self.daemon.player("ann")
            server.send_bytes(struct.pack("<HHi", 18, 0x1002, server.id))  # a heartbeat without its figures
            ann.send_bytes(struct.pack(">H", 2))
            time.sleep(0.05)
            end(server)
            end(ann)
            self.soon(lambda: self.servers()[server.id]["status"] == "offline", "the server is offline")
            back = self.daemon.game_server(7000)
            self.assertEqual(back.id, server.id)
            back.heartbeat(matches=lobby)
            self.assertEqual(back.expect(0x1003).take("b"), 1)
            matchmaker.request(lobby)
            self.assertEqual(allocation(matchmaker.expect(0x2003)), given)
            resumed = self.daemon.player("ann", resume_token=ann.resume_token)
            self.assertEqual((resumed.refused, resumed.id), (None, ann.id))
            reset(back)
            self.soon(lambda: self.servers()[server.id]["status"] == "offline", "it is offline again")
        self.soon(lambda: self.figure("muster_resumes_total") == 2, "both were taken back")
        self.assertEqual(self.figure('muster_protocol_errors_total{port="servers",kind="truncated"}'), 0)

    def test_fault_26_a_peer_that_never_reads_is_dropped_and_memory_stays(self):
        self.daemon.game_server(7000)
        deaf = self.daemon.matchmaker("deaf")
        before = self.resident_bytes()
        deaf.socket.settimeout(0.5)
        requests = struct.pack("<HH", 2, 0x2004) * 2_000_000  # each is answered by more bytes than it has
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < len(requests):
                with contextlib.suppress(TimeoutError):
                    sent += deaf.socket.send(memoryview(requests)[sent:sent + 20_000])
        self.assertLess(sent, len(requests), "it is not dropped")
        self.soon(lambda: self.figure('muster_slow_reader_closes_total{port="matchmakers"}') == 1, "it is counted")
        self.assertLess(self.resident_bytes() - before, 16 << 20)
        self.daemon.matchmaker("other").send(0x2004)

    def resident_bytes(self):
        with open(f"/proc/{self.daemon.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Others:
    """Game servers that heartbeat once in `period` each; how long each ack takes."""

    def __init__(self, daemon, count, first_port=10_000):
        self.servers = [daemon.game_server(first_port + i, source=f"127.0.0.{1 + i % 2}") for i in range(count)]
        self.poll = select.epoll()
        self.by_descriptor = {}
        for server in self.servers:
            server.socket.setblocking(False)
            self.by_descriptor[server.socket.fileno()] = server
            self.poll.register(server.socket, select.EPOLLIN)

    def ack_times(self, period):
        """One heartbeat each, spread over the period, in milliseconds."""
        frames = {s: struct.pack("<HHiiff", 18, 0x1002, s.id, 0, 10.0, 10.0) for s in self.servers}
        asked, took = {}, []
        began = time.perf_counter()
        to_ask = list(self.servers)
        end = began + period + 20
        while (to_ask or asked) and time.perf_counter() < end:
            due = int((time.perf_counter() - began) / period * len(self.servers))
            while to_ask and len(self.servers) - len(to_ask) < due:
                server = to_ask.pop()
                asked[server] = time.perf_counter()
                server.socket.send(frames[server])
            for descriptor, _ in self.poll.poll(0.001):
                server = self.by_descriptor[descriptor]
                ack = server.socket.recv(4096)
                assert len(ack) == 13 and ack[4] == 1, f"not an ack: {ack!r}"
                took.append((time.perf_counter() - asked.pop(server)) * 1000)
        assert not asked, f"{len(asked)} heartbeats have no ack"
        return took


def drip(address, begun, ending, count=5_000):
    """A process of its own: `count` links of which half never say a word and half send a byte of a frame now and then."""
    host, port = address.rsplit(":", 1)
    frame = struct.pack("<HH", 400, 0x1000) + bytes(400)
    links = []
    while not ending.is_set():
        while len(links) < count and not ending.is_set():
            source = f"127.0.1.{1 + len(links) % 10}"
            links.append([socket.create_connection((host, int(port)), source_address=(source, 0)), 0])
        begun.set()
        for number, (link, sent) in enumerate(links):
            with contextlib.suppress(OSError):
                if number % 2 == 1:
                    link.send(frame[sent:sent + 1])
                    links[number][1] += 1
        open_ones = []
        for link in links:
            with contextlib.suppress(ConnectionError):
                with contextlib.suppress(BlockingIOError):
                    if link[0].recv(4096, socket.MSG_DONTWAIT) == b"":
                        link[0].close()
                        continue
                open_ones.append(link)
        links = open_ones
        ending.wait(0.3)
    for link, _ in links:
        link.close()


def flood(address, begun, ending):
    """A process of its own: one registered game server that sends as fast as the daemon takes it."""
    while not ending.is_set():
        with contextlib.suppress(OSError, AssertionError), contextlib.closing(Peer(address, "127.0.2.1")) as peer:
            hello = struct.pack("<H", 0) + struct.pack("<H", 9) + b"127.0.0.1" + struct.pack("<ibi", 9_999, 2, 10)
            peer.send(0x1000, hello)
            peer.expect(0x1001)
            begun.set()
            frames = struct.pack("<HHib", 7, 0x100E, 1, 0) * 2_000
            while not ending.is_set():
                peer.socket.setblocking(True)
                peer.send_bytes(frames)
                with contextlib.suppress(BlockingIOError):
                    peer.socket.recv(1 << 20, socket.MSG_DONTWAIT)


class Neighbours(Served):
    """p99 of others within 10 % or 5 ms of what it was without the attack, median of 5 runs (faults 23 and 25).

    An attacker on this machine takes its share of the processors, too. Where that shows, the attack is made on another daemon
    beside this one for comparison: what is left is what the attacked daemon does to its own peers.
    """

    settings = {"MUSTER_LIMITS_HANDSHAKE_DEADLINE": "3s", "MUSTER_LIMITS_FRAME_DEADLINE": "2s",
                "MUSTER_LIMITS_FLOOD_CLOSE_AFTER": "2s", "MUSTER_LIMITS_CONNECTIONS_PER_IP": "100000"}
    LOOKS = 5
    RUNS = 5
    OTHERS = 1_000
    PERIOD_S = 0.5

    def setUp(self):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        if most < 8_000:
            self.skipTest(f"{most} open files are too few")
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.elsewhere = Daemon(self.muster, folder.name, **self.settings)
        self.addCleanup(self.elsewhere.end)
        self.others = Others(self.daemon, self.OTHERS)

    def p99(self):
        return statistics.median(p99(self.others.ack_times(self.PERIOD_S)) for _ in range(self.RUNS))

    def p99_during(self, attack, daemon, noticed=lambda: True):
        """While `daemon` is attacked, which goes on until noticed() holds."""
        begun, ending = multiprocessing.Event(), multiprocessing.Event()
        attacker = multiprocessing.Process(target=attack, args=(daemon.ports["servers"], begun, ending))
        attacker.start()
        try:
            self.assertTrue(begun.wait(PATIENCE_S), "the attack does not begin")
            during = self.p99()
            self.soon(noticed, "the daemon does nothing about it")
        finally:
            ending.set()
            attacker.join()
        return during

    def check_others(self, attack, noticed):
        seen = []
        within = lambda during, before: during <= max(1.1 * before, before + 5)
        for _ in range(self.LOOKS):  # others on this machine come and go
            calm, here = self.p99(), self.p99_during(attack, self.daemon, noticed)
            if within(here, calm):
                return
            elsewhere, again = self.p99_during(attack, self.elsewhere), self.p99_during(attack, self.daemon, noticed)
            if within(again, elsewhere):
                return
            seen.append((calm, here, elsewhere, again))
        self.fail(f"p99 of others in ms: calm, attacked; another daemon attacked, attacked again: {seen}")

    def test_fault_23_of_5000_dripping_sockets_others_notice_nothing(self):
        closes = 'muster_deadline_closes_total{port="servers",kind="%s"}'
        by_deadline = lambda: self.figures(closes % "frame", closes % "handshake")
        self.check_others(drip, noticed=lambda: min(by_deadline()) > 2_000)

    def test_fault_25_of_a_peer_that_floods_1000_others_notice_nothing(self):
        paused_and_closed = lambda: self.figures('muster_rate_limited_total{port="servers"}',
                                                 'muster_connections_closed_total{port="servers",reason="asked"}')
        self.check_others(flood, noticed=lambda: min(paused_and_closed()) > 0)


if __name__ == "__main__":
    main()
