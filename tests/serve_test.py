#!/usr/bin/env python3
"""The real daemon, its ports and its store, seen by peers that know nothing but the specification.

    serve_test.py PATH_TO_MUSTER [unittest arguments]
"""

import os
import random
import signal
import socket
import struct
import subprocess
import threading
import time

from muster_peer import Reader, allocation, text
from served import LONG, Served, main


class Journey(Served):
    def test_a_match_from_the_request_to_the_end_A_10_K_2(self):
        server = self.daemon.game_server(7777)
        matchmaker = self.daemon.matchmaker()
        matchmaker.request(12345)
        offer = server.expect(0x1004)
        lobby, _, _, token = offer.take("i"), offer.take("b"), offer.take("b"), offer.string()
        self.assertEqual(lobby, 12345)
        server.acknowledge(lobby)
        self.assertEqual(allocation(matchmaker.expect(0x2003)), (12345, "", server.id, token))
        server.send(0x1006, struct.pack("<ii", server.id, lobby) + text(token))
        self.assertEqual(server.expect(0x1007).take("b"), 1)
        self.assertEqual(matchmaker.expect(0x2006).payload[4], 1)
        self.assertEqual(server.validate(lobby, 7, token), "")
        self.assertEqual(server.validate(lobby, 7, token), "Match token already used")
        server.send(0x100A, struct.pack("<ii", server.id, lobby))
        server.expect(0x100C)
        self.assertEqual(matchmaker.expect(0x2006).payload[4], 2)
        server.send(0x100B, struct.pack("<ii", server.id, lobby))
        server.expect(0x100C)
        self.assertEqual(matchmaker.expect(0x2006).payload[4], 3)
        # Who ran where and when, for a person with sqlite3.
        self.soon(lambda: "ended" in self.history(), "the match is in the history")

    def history(self):
        return subprocess.run(["sqlite3", str(self.daemon.folder / "muster.db"), "select * from match_history"],
                              capture_output=True, text=True, check=True).stdout

    def test_a_heartbeat_is_acknowledged_with_the_time_F_3(self):
        server = self.daemon.game_server(7777)
        server.heartbeat(3, 45.2, 62.8)
        ack = server.expect(0x1003)
        self.assertEqual(ack.take("b"), 1)
        self.assertLess(abs(ack.take("q") / 1000 - time.time()), 5)
        self.soon(lambda: self.figure('muster_region_cpu_percent{region="EU"}') > 45, "the load shows in the metrics")

    def test_one_byte_at_a_time_and_many_frames_at_once_are_the_same_W_1_fault_22(self):
        server = self.daemon.game_server(7777)
        beat = struct.pack("<HHiiff", 18, 0x1002, server.id, 0, 1.0, 1.0)
        for byte in beat:
            server.send_bytes(bytes([byte]))
        server.expect(0x1003)
        server.send_bytes(beat * 50)
        for _ in range(50):
            server.expect(0x1003)

    def test_an_unknown_code_is_refused_and_closed_and_others_stay_W_6_fault_40(self):
        bystander = self.daemon.game_server(7777)
        peer = self.daemon.peer("servers")
        peer.send(0x7777)
        error = peer.expect(0x1011)
        self.assertEqual((error.take("H"), error.string()), (0x7777, "Malformed message: unknown_code"))
        self.assertIsNone(peer.receive())
        bystander.heartbeat()
        bystander.expect(0x1003)
        self.soon(lambda: self.figure('muster_protocol_errors_total{port="servers",kind="unknown_code"}') == 1, "it is counted")

    def test_a_length_of_0_or_1_or_over_the_limit_is_refused_W_5_fault_24(self):
        for length, kind in ((0, "bad_length"), (1, "bad_length"), (8193, "too_large"), (65535, "too_large")):
            peer = self.daemon.peer("servers")
            peer.send_bytes(struct.pack("<H", length))
            error = peer.expect(0x1011)
            self.assertEqual((error.take("H"), error.string()), (0, f"Malformed message: {kind}"))
            self.assertIsNone(peer.receive())

    def test_the_player_port_is_big_endian_and_refuses_what_it_does_not_know_W_3(self):
        host, port = self.daemon.ports["players"].rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=20) as player:
            player.sendall(bytes.fromhex("0002 7777"))
            answer = b""
            while part := player.recv(4096):
                answer += part
        words = b"Malformed message: unknown_code"
        self.assertEqual(answer, struct.pack(">HHbH", 2 + 1 + 2 + len(words), 10, 0, len(words)) + words)

    def test_readiness_and_loop_figures_answer_O_2_L_6(self):
        self.assertEqual(self.get("/healthz")[0], 200)
        self.assertEqual(self.get("/readyz")[0], 200)
        self.soon(lambda: "muster_gameloop_loop_tick_count" in self.get("/metrics")[1], "the loop's figures")
        for name in ("tick_duration_avg_ms", "tick_duration_max_ms", "loop_work_units_avg", "loop_tick_count", "loop_idle_sleep_count"):
            self.figure(f"muster_gameloop_{name} ")
        self.figure("muster_timer_timer_processed_ticks_total ")

    def test_threads_have_names_that_top_shows_L_1(self):
        def names():
            tasks = f"/proc/{self.daemon.process.pid}/task"
            return sorted(open(f"{tasks}/{task}/comm").read().strip() for task in os.listdir(tasks))
        for name in ("game", "store", "http", "history", "log"):
            self.assertEqual(names().count(name), 1, names())
        self.assertNotIn("net-0", names())
        self.daemon.stop()
        self.daemon.env["MUSTER_NET_THREADS"] = "2"
        self.daemon.start()
        for name in ("game", "net-0", "net-1", "store"):
            self.assertEqual(names().count(name), 1, names())

    def test_sigterm_ends_it_in_time_with_exit_0_and_the_match_is_there_after_the_restart_X_3_fault_10(self):
        """X-3, fault 10."""
        server = self.daemon.game_server(7777)
        matchmaker = self.daemon.matchmaker()
        matchmaker.request(1)
        server.expect(0x1004)
        server.acknowledge(1)
        answered = allocation(matchmaker.expect(0x2003))
        matchmaker.request(2)
        server.expect(0x1004)
        begun = time.monotonic()
        self.daemon.process.send_signal(signal.SIGTERM)
        self.assertEqual(allocation(matchmaker.expect(0x2003))[:2], (2, "Server shutting down"))
        self.assertEqual(self.daemon.process.wait(20), 0)
        self.assertLess(time.monotonic() - begun, 10)
        self.daemon.start()
        again = self.daemon.matchmaker()
        again.request(1)
        back = self.daemon.game_server(7777)  # nobody reported the match ready: its server is asked once more
        self.confirm_matches([back])
        self.assertEqual(allocation(again.expect(0x2003)), answered)

    def test_a_second_daemon_on_the_same_store_says_so_and_the_first_goes_on_fault_7(self):
        other = subprocess.run([self.muster, "serve"], env=self.daemon.env, capture_output=True, text=True, timeout=20)
        self.assertEqual(other.returncode, 73, other.stderr)
        self.assertIn(f"in use by process {self.daemon.process.pid}", other.stderr)
        self.assertEqual(self.get("/readyz")[0], 200)

    def test_standing_still_for_some_seconds_removes_nobody_L_8_fault_11(self):
        self.daemon.stop()
        self.daemon.env.update(MUSTER_FLEET_HEARTBEAT_INTERVAL="200ms", MUSTER_FLEET_HEARTBEAT_TIMEOUT="3s")
        self.daemon.start()
        server = self.daemon.game_server(7777)
        server.heartbeat()
        server.expect(0x1003)
        # Stopped on purpose for longer than heartbeat_timeout: Muster must not take its own pause for the server's silence.
        self.daemon.process.send_signal(signal.SIGSTOP)
        server.heartbeat()
        time.sleep(7)
        self.daemon.process.send_signal(signal.SIGCONT)
        server.expect(0x1003)
        server.heartbeat()
        self.assertEqual(server.expect(0x1003).take("b"), 1)


class Crashes(Served):
    """kill -9 at random instants under load (A-9, faults 1 and 65)."""

    KILLS = 100 if LONG else 30
    SERVERS = 4
    SLOTS = 1_000

    def test_no_answer_is_lost_no_lobby_is_on_two_servers_and_no_token_works_twice_A_9_faults_1_and_65(self):
        seed = int(os.environ.get("MUSTER_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
        print(f"replay with MUSTER_TEST_SEED={seed}")
        chance = random.Random(seed)
        answered, used, next_lobby = {}, set(), 1
        for kill in range(self.KILLS):
            if kill:
                self.daemon.start()
            stopper = threading.Timer(chance.uniform(0.02, 0.4), self.daemon.process.kill)
            stopper.start()
            try:
                next_lobby = self.load_until_it_dies(answered, used, next_lobby, chance)
            except (OSError, AssertionError, TypeError):
                pass  # it died in the middle of a conversation
            finally:
                stopper.join()
                self.daemon.process.wait()
                next_lobby += 1_000
        self.assertGreater(len(answered), self.KILLS, "the load did something")
        self.daemon.start()
        self.check(answered, used)

    def load_until_it_dies(self, answered, used, lobby, chance):
        servers = [self.daemon.game_server(7000 + i, max_matches=self.SLOTS) for i in range(self.SERVERS)]
        by_id = {server.id: server for server in servers}
        matchmaker = self.daemon.matchmaker()
        while True:
            lobby += 1
            matchmaker.request(lobby)
            self.acknowledge_offer(servers, lobby)
            _, error, server_id, token = allocation(self.next_answer(matchmaker))
            if error:
                continue
            answered[lobby] = (server_id, token)
            if chance.random() < 0.5:
                if by_id[server_id].validate(lobby, 5, token) == "":
                    used.add(lobby)

    def acknowledge_offer(self, servers, lobby):
        end = time.monotonic() + 10
        while time.monotonic() < end:
            for server in servers:
                try:
                    frame = server.receive(0.001)
                except TimeoutError:
                    continue
                if frame is None:
                    raise OSError("closed")
                code, payload = frame
                if code != 0x1004:
                    continue
                offered = struct.unpack_from("<i", payload)[0]
                server.acknowledge(offered)  # also what it held before the restart
                if offered == lobby:
                    return
        raise OSError("no offer")

    @staticmethod
    def next_answer(matchmaker):
        while True:
            frame = matchmaker.receive(10)
            if frame is None:
                raise OSError("closed")
            if frame[0] == 0x2003:
                return Reader(frame[1])

    def check(self, answered, used):
        servers = [self.daemon.game_server(7000 + i, max_matches=self.SLOTS) for i in range(self.SERVERS)]
        by_id = {server.id: server for server in servers}
        matchmaker = self.daemon.matchmaker()
        self.confirm_matches(servers)
        for lobby, (server_id, token) in answered.items():
            matchmaker.request(lobby)
            self.assertEqual(allocation(self.next_answer(matchmaker)), (lobby, "", server_id, token))
        for server in servers:  # what they were told to drop while they were away
            try:
                while True:
                    self.assertEqual(server.receive(0.05)[0], 0x100D)
            except TimeoutError:
                pass
        for lobby in used:
            server_id, token = answered[lobby]
            self.assertEqual(by_id[server_id].validate(lobby, 5, token), "Match token already used")


if __name__ == "__main__":
    main()
