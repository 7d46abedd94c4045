"""Fault 5 against the real program: a disk whose syncs take seconds. FILE PATH_TO_MUSTER PATH_TO_PRELOAD_LIBRARY"""

import json
import os
import struct
import sys
import threading
import time

from faulty_machine import FaultyMachine
from muster_peer import PATIENCE_S, allocated, text
from served import main

REFUSALS_PER_S = 8_000
CALM_S = 5
STALL_S = 8
LOOKS = 4
# Of peers that repeat themselves: near what their ports allow.
REPEATING_SERVERS = 6
REPORTS_PER_S = 1_900
CANCELS_PER_S = 10_000
REPEATING_MB = 12


class Repeater:
    """Says one thing over and over at a steady rate, and counts the answers, in threads of its own."""

    STEP_S = 0.01

    def __init__(self, peer, frame, per_s, answers):
        self.peer, self.frame, self.step, self.answers = peer, frame, round(per_s * self.STEP_S), answers
        self.said = self.heard = 0
        self.ends, self.over = threading.Event(), threading.Event()
        self.threads = [threading.Thread(target=self.speak), threading.Thread(target=self.listen)]
        peer.socket.settimeout(0.2)
        for thread in self.threads:
            thread.start()

    def speak(self):
        while not self.ends.is_set():
            self.peer.socket.sendall(self.frame * self.step)
            self.said += self.step
            time.sleep(self.STEP_S)

    def listen(self):
        left = self.peer.buffer
        while not self.over.is_set():
            try:
                part = self.peer.socket.recv(1 << 16)
            except TimeoutError:
                continue
            if not part:
                return
            data, at = left + part, 0
            while len(data) - at >= 4 and len(data) - at >= 2 + struct.unpack_from("<H", data, at)[0]:
                size, code = struct.unpack_from("<HH", data, at)
                self.heard += self.answers(code, data[at + 4:at + 2 + size])
                at += 2 + size
            left = data[at:]

    def silence(self):
        """Says nothing more; hears on."""
        self.ends.set()
        self.threads[0].join(PATIENCE_S)

    def end(self):
        self.silence()
        self.over.set()
        self.threads[1].join(PATIENCE_S)


class SlowDisk(FaultyMachine):
    settings = {"MUSTER_LIMITS_UNSENT_BYTES": "64MiB"}

    def slow(self, milliseconds):
        self.set(sync_delay_ms=milliseconds)

    def resident_mb(self):
        with open(f"/proc/{self.daemon.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def ack_times(self, server, seconds):
        """How long each heartbeat's ack takes, in milliseconds, from the quickest to the slowest."""
        took, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            began = time.monotonic()
            server.heartbeat()
            server.expect(0x1003)
            took.append((time.monotonic() - began) * 1000)
            time.sleep(0.01)
        return sorted(took)

    def test_fault_5_acks_and_memory_stay_as_they_are_while_the_disk_stalls(self):
        server = self.daemon.game_server(7000)
        matchmaker = self.daemon.matchmaker()
        before_mb = self.resident_mb()
        asked, stop = [0], threading.Event()

        def flood():
            # Each is refused, which is an event and so a record.
            portion = struct.pack("<HHibbbbi", 14, 0x2002, -1, 6, 0, 2, 10, 1650)
            while not stop.is_set():
                matchmaker.send_bytes(portion * (REFUSALS_PER_S // 500))
                asked[0] += REFUSALS_PER_S // 500
                time.sleep(0.002)

        def read():
            while not stop.is_set():
                try:
                    matchmaker.socket.recv(1 << 16)
                except OSError:
                    return

        threads = [threading.Thread(target=flood), threading.Thread(target=read)]
        for thread in threads:
            thread.start()
        p99 = lambda times: times[len(times) * 99 // 100]
        seen, grown_mb = [], 0
        for _ in range(LOOKS):  # others on this machine come and go
            # The same load on a quick disk, on this machine as busy as it is.
            calm = p99(self.ack_times(server, CALM_S))
            self.slow(STALL_S * 1000)
            stalled = p99(self.ack_times(server, STALL_S))
            grown_mb = max(grown_mb, self.resident_mb() - before_mb)
            self.slow(0)
            seen.append((calm, stalled))
            if good := stalled < max(50, 3 * calm):
                break
        stop.set()
        matchmaker.socket.shutdown(2)
        for thread in threads:
            thread.join(PATIENCE_S)
        told = "; ".join(f"p99 calm {calm:.1f} ms, stalled {stalled:.1f} ms" for calm, stalled in seen)
        print(f"{told}; {asked[0]} refusals, {grown_mb:.0f} MB more")
        self.assertTrue(good, told)
        self.assertLess(grown_mb, 120)
        # What was not dropped arrives in order, each event once, and allocations work again.
        self.soon(lambda: self.figure("muster_store_queue_depth") == 0, "the store does not catch up")
        ids = [event["id"] for event in json.loads(self.get("/api/v1/events?limit=1000")[1])["events"]]
        self.assertEqual(ids, sorted(set(ids)))
        other = self.daemon.matchmaker("chat-2")
        other.request(7)
        server.expect(0x1004)
        server.acknowledge(7)
        self.assertEqual(other.expect(0x2003).take("b"), 1)

    def test_fault_5_peers_that_repeat_themselves_while_the_disk_stalls_cost_no_memory(self):
        owner, canceller = self.daemon.matchmaker("chat-1"), self.daemon.matchmaker("chat-2")
        report = {"ready": (0x1006, 0x1007), "ended": (0x100B, 0x100C)}
        reporting = []  # (server, its report, the answer's code)
        states = {}
        for lobby in range(1, REPEATING_SERVERS + 1):  # each is full before the next one comes
            server = self.daemon.game_server(7000 + lobby, max_matches=1)
            _, error, _, token = allocated(owner, server, lobby)
            self.assertEqual(error, "")
            states[lobby] = list(report)[lobby % 2]
            code, answer = report[states[lobby]]
            said = struct.pack("<ii", server.id, lobby) + (text(token) if code == 0x1006 else b"")
            reporting.append((server, struct.pack("<HH", len(said) + 2, code) + said, answer))
        holder = self.daemon.game_server(7000, max_matches=LOOKS)
        to_cancel = range(101, 101 + LOOKS)
        for lobby in to_cancel:
            self.assertEqual(allocated(canceller, holder, lobby)[1], "")
        honest = self.daemon.game_server(6999)

        def repeat(cancelled):
            all_of = [Repeater(server, said, REPORTS_PER_S, lambda code, _, wanted=answer: code == wanted)
                      for server, said, answer in reporting]
            is_abort = lambda code, payload: code == 0x2006 and payload[:5] == struct.pack("<ib", cancelled, 4)
            return all_of + [Repeater(canceller, struct.pack("<HHi", 6, 0x2007, cancelled), CANCELS_PER_S, is_abort)]

        def all_answered(repeaters):
            for each in repeaters:
                each.silence()
            self.soon(lambda: all(each.heard == each.said for each in repeaters), "not all is answered")
            for each in repeaters:
                each.end()
            return sum(each.said for each in repeaters)

        p99 = lambda times: times[len(times) * 99 // 100]
        seen, grown_mb = [], []
        for cancelled in to_cancel:  # others on this machine come and go
            repeaters = repeat(999)  # the same load on a quick disk, on this machine as busy as it is
            calm = p99(self.ack_times(honest, CALM_S))
            all_answered(repeaters)
            calm_mb = self.resident_mb()
            self.slow(10 * STALL_S * 1000)
            repeaters = repeat(cancelled)
            states[cancelled] = "aborted"
            stalled = p99(self.ack_times(honest, 2 * STALL_S))
            grown_mb.append(self.resident_mb() - calm_mb)
            self.slow(0)
            said = all_answered(repeaters)
            seen.append((calm, stalled))
            if good := stalled < max(50, 3 * calm):
                break
        told = "; ".join(f"p99 calm {calm:.1f} ms, stalled {stalled:.1f} ms" for calm, stalled in seen)
        print(f"{told}; {said} repetitions in the last stall, {max(grown_mb):.1f} MB more")
        self.assertTrue(good, told)
        self.assertLess(max(grown_mb), REPEATING_MB)
        # All was answered, so it is on the disk.
        self.lose_power()
        self.daemon.start()
        matches = json.loads(self.get("/api/v1/matches?limit=100")[1])["matches"]
        found = {each["lobby_id"]: each["state"] for each in matches}
        self.assertEqual({lobby: found.get(lobby) for lobby in states}, states)

    def test_fault_5_an_event_is_shown_once_it_is_durable_and_not_before(self):
        shown = lambda server: '"server.registered"' in self.get(f"/api/v1/events?server={server.id}")[1]
        first = self.daemon.game_server(7000)
        self.soon(lambda: shown(first), "the first is on the disk, and nothing waits for it")
        self.slow(3000)
        joined = self.daemon.game_server(7001)
        self.assertFalse(shown(joined))
        self.soon(lambda: shown(joined), "the event is not shown")
        self.assertEqual(self.get(f"/api/v1/events?server={joined.id}")[1].count('"server.registered"'), 1)

    def test_fault_1_fault_2_an_end_that_was_answered_survives_a_power_loss_and_costs_no_other_match(self):
        server, matchmaker = self.daemon.game_server(7000, max_matches=10), self.daemon.matchmaker()
        lobbies = range(1, 9)
        for lobby in lobbies:
            matchmaker.request(lobby)
            server.expect(0x1004)
            server.acknowledge(lobby)
            matchmaker.expect(0x2003)
            server.send(0x100A, struct.pack("<ii", server.id, lobby))
            self.assertEqual(server.expect(0x100C).take("b"), 1)
            matchmaker.expect(0x2006)
        self.slow(300)
        server.send(0x100B, struct.pack("<ii", server.id, 1))
        self.assertEqual(server.expect(0x100C).take("b"), 1)  # answered: on the disk
        server.send(0x100B, struct.pack("<ii", server.id, 2))  # not answered: said again to the next run
        self.lose_power()
        self.slow(0)
        self.daemon.start()
        again, matchmaker = self.daemon.game_server(7000, max_matches=10), self.daemon.matchmaker()
        self.assertEqual(again.id, server.id)
        again.send(0x100B, struct.pack("<ii", again.id, 2))
        self.assertEqual(again.expect(0x100C).take("b"), 1)
        for _ in range(4):  # one more than it takes to be taken at its word
            again.heartbeat(matches=6)
            self.assertEqual(again.expect(0x1003).take("b"), 1)
        matches = json.loads(self.get("/api/v1/matches?limit=100")[1])["matches"]
        states = {each["lobby_id"]: each["state"] for each in matches}
        self.assertEqual({lobby: states.get(lobby) for lobby in lobbies},
                         {lobby: "ended" if lobby < 3 else "started" for lobby in lobbies})


if __name__ == "__main__":
    FaultyMachine.library = os.path.abspath(sys.argv.pop(2))
    main()
