#!/usr/bin/env python3
"""Few open files: nobody takes them all (S-7), and running out of them harms no link (fault 9).

    descriptors_test.py PATH_TO_MUSTER [unittest arguments]
"""

import os
import pathlib
import resource
import shlex
import socket
import tempfile
import time

from muster_peer import GameServer, Matchmaker, Player
from served import Served, main


class FewFiles(Served):
    soft, hard = 256, 1024
    settings = {"MUSTER_LIMITS_HANDSHAKE_DEADLINE": "5m"}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        limited = pathlib.Path(folder.name) / "limited"
        limited.write_text(f"#!/bin/sh\nulimit -Sn {self.soft}\nulimit -Hn {self.hard}\n"
                           f"exec {shlex.quote(Served.muster)} \"$@\"\n")
        limited.chmod(0o700)
        self.muster = str(limited)
        super().setUp()
        self.idlers = []
        self.addCleanup(self.leave)

    def idle(self, port, count, source):
        """Opens so many connections that say nothing. The daemon may close some of them at once."""
        host, number = self.daemon.ports[port].rsplit(":", 1)
        for _ in range(count):
            idler = socket.socket()
            self.idlers.append(idler)
            idler.bind((source, 0))
            idler.connect((host, int(number)))

    def leave(self):
        for idler in self.idlers:
            idler.close()
        self.idlers.clear()

    def refused(self, port):
        """How many newcomers the port has refused, for any reason."""
        start = f'muster_connections_refused_total{{port="{port}"'
        return sum(float(line.rsplit(" ", 1)[1]) for line in self.get("/metrics")[1].splitlines() if line.startswith(start))

    def accepted_and_refused(self, port):
        connections = self.figure(f'muster_connections{{port="{port}"}}')
        return connections + self.refused(port)


class OneIdleAddress(FewFiles):
    def test_the_hard_limit_is_used_and_what_it_does_not_allow_is_said_S_7(self):
        limits = pathlib.Path(f"/proc/{self.daemon.process.pid}/limits").read_text()
        line = next(line for line in limits.splitlines() if line.startswith("Max open files"))
        self.assertEqual(line.split()[3:5], ["1024", "1024"])
        said = "limits.connections_per_port is 100000, but the open files limit of 1024 leaves"
        self.soon(lambda: said in self.daemon.log_text(), "the log does not say so")

    def shuts_nobody_out(self, *ports):
        for port in ports:
            before = self.accepted_and_refused(port)
            self.idle(port, 1_000, "127.0.0.2")
            self.soon(lambda: self.accepted_and_refused(port) >= before + 1_000, f"not all newcomers of {port} were seen")
        self.assertGreater(self.refused(ports[0]), 100)
        for number in range(20):
            self.assertIsNone(self.daemon.keep(GameServer(self.daemon.ports["servers"], 7000 + number)).refused)
            self.assertIsNone(self.daemon.keep(Matchmaker(self.daemon.ports["matchmakers"], f"chat-{number}")).refused)
            self.assertIsNone(self.daemon.keep(Player(self.daemon.ports["players"], f"player-{number}")).refused)
            self.assertEqual(self.get("/healthz")[0], 200)
        self.assertEqual(self.daemon.stop(), 0)

    def test_at_the_player_port_faults_27_and_33(self):
        self.shuts_nobody_out("players")

    def test_at_the_server_port_fault_33(self):
        self.shuts_nobody_out("servers")

    def test_at_all_game_ports_fault_33(self):
        self.shuts_nobody_out("matchmakers", "servers", "players")


class TooManyNewcomers(Served):
    settings = {"MUSTER_LIMITS_ACCEPTS_PER_SECOND_IP": "200"}

    def test_an_address_gets_so_many_newcomers_a_second_S_7(self):
        host, number = self.daemon.ports["players"].rsplit(":", 1)
        refused = 'muster_connections_refused_total{port="players",reason="accept_rate"}'
        end = time.monotonic() + 20
        while self.figure(refused) == 0 and time.monotonic() < end:
            for _ in range(300):
                with socket.socket() as churner:
                    churner.bind(("127.0.0.2", 0))
                    churner.connect((host, int(number)))
        self.assertGreater(self.figure(refused), 0)
        self.assertIsNone(self.daemon.player("ann").refused)


class NoFilesLeft(FewFiles):
    soft, hard = 64, 64

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.daemon.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def test_links_go_on_and_newcomers_get_in_again_fault_9(self):
        stays = self.daemon.game_server(7000)
        for port in ("servers", "matchmakers", "players"):
            for source in range(2, 10):
                self.idle(port, 10, f"127.0.0.{source}")
        stays.heartbeat()
        stays.expect(0x1003)
        before = self.cpu_seconds()
        began = time.monotonic()
        for _ in range(10):
            stays.heartbeat()
            stays.expect(0x1003)
            time.sleep(0.1)
        self.assertLess(self.cpu_seconds() - before, (time.monotonic() - began) / 2)  # it does not spin
        self.leave()
        self.assertIsNone(self.newcomer().refused)
        stays.heartbeat()
        stays.expect(0x1003)
        self.assertEqual(self.get("/healthz")[0], 200)
        self.assertEqual(self.daemon.stop(), 0)

    def test_idle_http_connections_shut_no_operator_out_fault_33(self):
        self.idle("http", 200, "127.0.0.2")
        began = time.monotonic()
        self.assertEqual(self.get("/healthz")[0], 200)
        self.soon(lambda: self.get("/api/v1/servers")[0] == 200, "no operator was let in")
        self.assertLess(time.monotonic() - began, 8)  # an idle one is cut after ten
        self.assertNotIn("Cannot accept HTTP connections", self.daemon.log_text())
        self.assertEqual(self.daemon.stop(), 0)

    def newcomer(self):
        """Tries until it is let in: those who left are noticed one by one."""
        end = time.monotonic() + 20
        while True:
            try:
                return self.daemon.game_server(7001)
            except (OSError, AssertionError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    main()
