#!/usr/bin/env python3
"""The process is stopped at random instants, for longer than any peer may be silent: nobody is removed (L-8, fault 11)."""

import os
import random
import signal
import struct
import threading
import time

from served import LONG, Served, main

SERVERS = 300
PLAYERS = 30
STOPS = 20 if LONG else 2
STOP_S = 8.5  # more than both time-outs below


class Peers(threading.Thread):
    """Honest game servers and players: heartbeats twice a second, an echo for every ping, whatever the daemon does."""

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.servers = [daemon.game_server(10_000 + i) for i in range(SERVERS)]
        self.players = [daemon.player(f"player-{i}") for i in range(PLAYERS)]
        self.sent = self.acked = 0
        self.faults = []
        self.ending = threading.Event()

    def run(self):
        try:
            while not self.ending.wait(0.5):
                for server in self.servers:
                    server.heartbeat()
                    self.sent += 1
                self.listen()
        except (OSError, AssertionError) as fault:
            self.faults.append(repr(fault))

    def listen(self):
        for server in self.servers:
            for code, payload in received(server):
                assert code == 0x1003 and payload[0] == 1, f"server {server.id} got {code:#x} {payload!r}"
                self.acked += 1
        for player in self.players:
            for code, payload in received(player):
                assert code != 24, f"player {player.id} was closed: {payload!r}"
                if code == 9:
                    player.send(9)

    def end(self):
        self.ending.set()
        self.join()


def received(peer):
    """All frames that are there now."""
    while True:
        try:
            frame = peer.receive(timeout=0)
        except BlockingIOError:
            return
        finally:
            peer.socket.settimeout(30)
        assert frame is not None, "the daemon closed a link"
        yield frame


class Crowd(threading.Thread):
    """Players who send hundreds of thousands of messages a second, so that the loop is often inside a pass."""

    FRAMES = struct.pack(">HH", 2, 9) + struct.pack(">HH", 2, 204) * 4_096  # an echo for whatever ping there was

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.players = [daemon.player(f"crowd-{i}") for i in range(2)]
        self.ending = False

    def run(self):
        while not self.ending:
            time.sleep(0.02)
            for player in self.players:
                player.socket.sendall(self.FRAMES)

    def end(self):
        self.ending = True
        self.join()


class Stops(Served):
    settings = {
        "MUSTER_FLEET_HEARTBEAT_INTERVAL": "4s", "MUSTER_FLEET_HEARTBEAT_TIMEOUT": "8s",
        "MUSTER_PLAYERS_CREDENTIALS": "open", "MUSTER_PLAYERS_PING_INTERVAL": "1s", "MUSTER_PLAYERS_PING_TIMEOUT": "8s",
        "MUSTER_LIMITS_MESSAGES_PER_SECOND_PLAYERS": "10000000",
    }

    def test_a_stop_at_any_instant_removes_nobody_L_8_fault_11(self):
        self.stop_at_random_instants()
        self.assertEqual(self.figure("muster_eviction_brake_total"), 0)

    def test_a_stop_of_a_loop_that_spins_removes_nobody_L_8_fault_11(self):
        self.daemon.stop()
        self.daemon.env["MUSTER_GAME_IDLE_CPU_ENABLED"] = "false"
        self.daemon.start()
        self.stop_at_random_instants()
        self.assertEqual(self.figure("muster_eviction_brake_total"), 0)

    def test_a_stop_under_load_removes_nobody_L_8_fault_11(self):
        crowd = Crowd(self.daemon)
        crowd.start()
        self.stop_at_random_instants()
        self.assertTrue(crowd.is_alive(), "the crowd stays, too")
        crowd.end()

    def stop_at_random_instants(self):
        seed = int(os.environ.get("MUSTER_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
        print(f"replay with MUSTER_TEST_SEED={seed}")
        chance = random.Random(seed)
        peers = Peers(self.daemon)
        peers.start()
        self.soon(lambda: peers.acked >= SERVERS or peers.faults, "all heartbeats are acknowledged")
        for _ in range(STOPS):
            time.sleep(chance.uniform(0, 0.5))
            self.daemon.process.send_signal(signal.SIGSTOP)
            time.sleep(STOP_S)
            sent = peers.sent
            self.daemon.process.send_signal(signal.SIGCONT)
            self.soon(lambda: peers.acked >= sent or peers.faults, "heartbeats of the stop are acknowledged")
            self.assertEqual(peers.faults, [], self.daemon.log_text()[-4_000:])
        peers.end()
        self.assertEqual(peers.faults, [], self.daemon.log_text()[-4_000:])
        self.soon(lambda: self.figure("muster_loop_gaps_total") >= STOPS, "each stop is seen")
        self.assertNotIn("timed out", self.daemon.log_text())


if __name__ == "__main__":
    main()
