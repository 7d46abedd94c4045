#!/usr/bin/env python3
"""Peers without a secret that connect and reset, as fast as they can, while honest ones go about their work (fault 32).

    churn_test.py PATH_TO_MUSTER [unittest arguments]
"""

import socket
import struct
import threading
import time

from muster_peer import GameServer, Matchmaker, Player
from served import LONG, Served, main

RESET = struct.pack("ii", 1, 0)  # SO_LINGER: a close resets
CHURN_S = 60 if LONG else 5
ROUNDS_LEAST, CHURNS_LEAST = 10, 100  # however slow the machine is


class Churn(threading.Thread):
    """Connects and resets, from one loopback address."""

    def __init__(self, address, source):
        super().__init__(daemon=True)
        host, port = address.rsplit(":", 1)
        self.to, self.source = (host, int(port)), source
        self.done, self.connected = threading.Event(), 0

    def run(self):
        while not self.done.is_set():
            with socket.socket() as peer:
                try:
                    peer.bind((self.source, 0))
                    peer.connect(self.to)
                except OSError:
                    time.sleep(0.001)  # out of ports, or the daemon is gone
                    continue
                self.connected += 1
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


class ChurnOnOnePort(Served):
    settings = {"MUSTER_NET_THREADS": "2"}

    def churned(self, churned_ports, honest):
        """Runs `honest(round)` again and again while the ports are churned."""
        churns = [Churn(self.daemon.ports[port], f"127.0.0.{2 + number}") for number, port in enumerate(churned_ports)]
        for churn in churns:
            churn.start()
        end = time.monotonic() + CHURN_S
        rounds = 0
        while (time.monotonic() < end or rounds < ROUNDS_LEAST or
               min(churn.connected for churn in churns) < CHURNS_LEAST):
            honest(rounds)
            rounds += 1
            self.assertIsNone(self.daemon.process.poll(), self.daemon.log_text()[-2000:])
        for churn in churns:
            churn.done.set()
        for churn in churns:
            churn.join()
        self.assertEqual(self.get("/healthz")[0], 200)

    def test_servers_come_while_players_are_churned_fault_32(self):
        stays = self.daemon.game_server(7000)

        def come_and_go(number):
            server = GameServer(self.daemon.ports["servers"], 8000 + number % 1000)
            self.assertIsNone(server.refused)
            server.close()
            stays.heartbeat()
            stays.expect(0x1003)

        self.churned(["players", "players"], come_and_go)
        self.assertEqual(self.daemon.stop(), 0)

    def test_every_kind_of_peer_comes_while_all_ports_are_churned_fault_32(self):
        stays = self.daemon.game_server(7000)

        def come_and_go(number):  # an account may log in 30 times a minute, so each comes with its own
            matchmaker = Matchmaker(self.daemon.ports["matchmakers"], f"chat-{number % 10}")
            self.assertIsNone(matchmaker.refused)
            matchmaker.close()
            player = Player(self.daemon.ports["players"], f"player-{number}")
            self.assertIsNone(player.refused)
            player.close()
            server = GameServer(self.daemon.ports["servers"], 8000 + number % 1000)
            self.assertIsNone(server.refused)
            server.close()
            stays.heartbeat()
            stays.expect(0x1003)

        self.churned(["players", "servers", "matchmakers"], come_and_go)
        self.assertEqual(self.daemon.stop(), 0)


if __name__ == "__main__":
    main()
