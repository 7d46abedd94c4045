#!/usr/bin/env python3
"""What goes wrong with the machine: its power, its disk, its date, its processors. FILE PATH_TO_MUSTER PATH_TO_PRELOAD_LIBRARY"""

import contextlib
import itertools
import json
import os
import random
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import threading
import time

from api_client import Api
from faulty_machine import FaultyMachine
from muster_peer import PATIENCE_S, Reader, allocation
from served import main

HOUR_MS = 3_600_000


class Fleet(threading.Thread):
    """Game servers that take every match they are offered, and know what they hold."""

    def __init__(self, daemon, count=2, max_matches=5_000):
        super().__init__(daemon=True)
        self.servers = [daemon.game_server(7000 + i, max_matches=max_matches) for i in range(count)]
        self.holds = {}  # lobby -> token
        self.dropped = set()
        self.refuses = False
        self.start()

    def run(self):
        with contextlib.suppress(OSError, TypeError):
            while True:
                for server in self.servers:
                    with contextlib.suppress(TimeoutError):
                        self.hear(server, *server.receive(0.002))

    def hear(self, server, code, payload):
        fields = Reader(payload)
        if code == 0x1004:
            lobby = fields.take("i")
            fields.take("b"), fields.take("b")
            if not self.refuses:
                self.holds[lobby] = fields.string()  # first: the answer may be out before acknowledge() is back
            server.acknowledge(lobby, not self.refuses)
        elif code == 0x100D:
            lobby = fields.take("i")
            self.holds.pop(lobby, None)
            self.dropped.add(lobby)


class Keeper:
    """A game server that speaks by its heartbeats alone, and keeps what it was offered over every loss of its link."""

    def __init__(self, port):
        self.port, self.holds, self.answers = port, {}, True

    def connect(self, daemon):
        self.peer = daemon.game_server(self.port)

    def hear(self, timeout=0.01):
        """One frame, if there is one; its code."""
        try:
            code, payload = self.peer.receive(timeout)
        except TimeoutError:
            return None
        fields = Reader(payload)
        if code == 0x1004:
            lobby = fields.take("i")
            fields.take("b"), fields.take("b")
            self.holds[lobby] = fields.string()
            if self.answers:
                self.peer.acknowledge(lobby)
        elif code == 0x100D:
            self.holds.pop(fields.take("i"), None)
        return code

    def beat(self):
        """Says what it holds; all that was sent to it before is heard when this returns."""
        self.peer.heartbeat(matches=len(self.holds))
        while self.hear(PATIENCE_S) != 0x1003:
            pass


class Disk(FaultyMachine):
    settings = {"MUSTER_FLEET_ALLOCATION_DEADLINE": "2s", "MUSTER_FLEET_ALLOCATION_ACK_TIMEOUT": "2s",
                "MUSTER_PLAYERS_CREDENTIALS": "open"}

    def answer(self, matchmaker, lobby):
        """Of a request for this lobby, as allocation() tells it."""
        matchmaker.request(lobby)
        return self.next_answer(matchmaker)

    @staticmethod
    def next_answer(matchmaker):
        while True:
            frame = matchmaker.receive()
            assert frame is not None, "closed"
            if frame[0] == 0x2003:
                return allocation(Reader(frame[1]))

    def test_fault_2_what_was_answered_survives_a_power_loss(self):
        chance = random.Random(2)
        answered = {}
        for loss in range(3):
            fleet, matchmaker = Fleet(self.daemon), self.daemon.matchmaker()
            self.set(sync_delay_ms=30)  # so that something is unsynced at every instant
            lobbies = itertools.count(100_000 * loss + 1)
            for _ in range(1_000):
                matchmaker.request(next(lobbies))
            wanted = len(answered) + chance.randrange(11, 100)  # another instant each time
            while len(answered) < wanted:
                lobby, error, server, token = self.next_answer(matchmaker)
                if error == "":
                    answered[lobby] = (server, token)
                else:  # more than so slow a disk takes
                    matchmaker.request(next(lobbies))
            self.lose_power()
            self.set(sync_delay_ms=0)
            fleet.join(PATIENCE_S)
            copy = shutil.copytree(self.synced, self.folder / f"copy-{loss}")
            with contextlib.closing(sqlite3.connect(copy / "muster.db")) as store:
                self.assertEqual(store.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            self.daemon.start()
        Fleet(self.daemon)
        matchmaker = self.daemon.matchmaker()
        for lobby, (server, token) in answered.items():
            self.assertEqual(self.answer(matchmaker, lobby), (lobby, "", server, token))

    def test_fault_3_a_sync_that_fails_ends_it_with_74_and_the_next_start_recovers(self):
        Fleet(self.daemon)
        matchmaker = self.daemon.matchmaker()
        first = self.answer(matchmaker, 1)
        self.assertEqual(first[1], "")
        self.set(sync_fails=1)
        matchmaker.request(2)
        self.assertEqual(self.daemon.process.wait(PATIENCE_S), 74)
        frame = None
        with contextlib.suppress(ConnectionError):
            frame = matchmaker.receive()
        promised = frame is not None and frame[0] == 0x2003 and frame[1][0] == 1
        self.assertFalse(promised, "nothing is promised that was not synced")
        self.assertIn("muster.db", self.daemon.log_text().splitlines()[-1])
        self.set(sync_fails=0)
        self.daemon.start()
        Fleet(self.daemon)
        matchmaker = self.daemon.matchmaker()
        self.assertEqual(self.answer(matchmaker, 1), first)
        self.assertEqual(self.answer(matchmaker, 2)[1], "")

    def test_fault_4_with_a_full_disk_promises_are_refused_all_else_goes_on_and_it_heals(self):
        fleet, matchmaker = Fleet(self.daemon), self.daemon.matchmaker()
        self.assertEqual(self.answer(matchmaker, 1)[1], "")
        ann = self.daemon.player("ann")
        silent = self.daemon.game_server(7999)
        self.set(disk_full=1)
        self.assertEqual(self.answer(matchmaker, 2)[1], "Store unavailable")
        ann.send(117)
        while ann.receive()[0] != 117:
            pass
        matchmaker.send(0x2004)
        while matchmaker.receive()[0] != 0x2005:
            pass
        silent.close()
        offline = lambda: next(s for s in json.loads(self.get("/api/v1/servers")[1])["servers"]
                               if s["id"] == silent.id)["status"] == "offline"
        self.soon(offline, "a lost link is noticed")
        self.soon(lambda: self.get("/readyz")[0] == 503, "it says that it is not ready")
        self.assertGreater(self.figure('muster_store_errors_total{kind="full"}'), 0)
        self.assertEqual(self.answer(matchmaker, 1)[1], "", "what was promised before is still told")
        self.set(disk_full=0)
        self.soon(lambda: self.get("/readyz")[0] == 200, "it heals by itself")
        self.assertEqual(self.answer(matchmaker, 2)[1], "")
        self.assertEqual(set(fleet.holds), {1, 2})

    def test_fault_72_what_a_slow_disk_refused_is_never_a_match_that_its_server_dropped(self):
        for crash in (True, False):
            lobby = 10 + crash
            fleet, matchmaker = Fleet(self.daemon, count=1), self.daemon.matchmaker()
            self.set(sync_delay_ms=60_000)
            self.assertEqual(self.answer(matchmaker, lobby)[1], "Store unavailable")
            self.assertNotIn(lobby, fleet.holds, "its server never heard of it")
            if crash:
                self.daemon.process.kill()
                self.daemon.process.wait()
            self.set(sync_delay_ms=0)
            self.assertEqual(self.daemon.stop(), -signal.SIGKILL if crash else 0)
            fleet.join(PATIENCE_S)
            self.daemon.start()
            # Whoever is asked now agrees now.
            fleet, matchmaker = Fleet(self.daemon, count=1), self.daemon.matchmaker()
            _, error, _, token = self.answer(matchmaker, lobby)
            if error == "":
                self.assertEqual(fleet.holds.get(lobby), token)
            self.daemon.stop()
            fleet.join(PATIENCE_S)
            self.daemon.start()


class Actions(FaultyMachine, Api):
    streams = []

    def drained(self, *servers):
        return [bool(self.got(f"/servers/{server.id}").get("drain")) for server in servers]

    def test_A_9_fault_2_an_operators_action_is_answered_when_no_power_loss_can_undo_it(self):
        servers = [self.daemon.game_server(7000 + i) for i in range(3)]
        for done, server in enumerate(servers):
            self.set(sync_delay_ms=300)
            self.post(f"/servers/{server.id}/drain", {"draining": True})
            self.lose_power()
            self.set(sync_delay_ms=0)
            self.daemon.start()
            self.assertEqual(self.drained(*servers), [True] * (done + 1) + [False] * (len(servers) - done - 1))
        self.set(sync_delay_ms=300)
        self.assertEqual(self.ask("PUT", "/api/v1/clock", {"day": 3, "hour": 14, "minute": 30})[0], 200)
        self.lose_power()
        self.set(sync_delay_ms=0)
        self.daemon.start()
        self.assertEqual([self.got("/clock")[part] for part in ("day", "hour")], [3, 14])

    def test_A_9_fault_4_an_action_that_a_full_disk_does_not_take_is_done_and_says_that_it_may_be_undone(self):
        server = self.daemon.game_server(7000)
        self.set(disk_full=1)
        answer = self.post(f"/servers/{server.id}/drain", {"draining": True}, expected=503)
        self.assertEqual(answer["error"], "Done, but the store is unavailable: a restart may undo it")
        self.assertEqual(self.drained(server), [True])
        self.set(disk_full=0)
        self.soon(lambda: self.get("/readyz")[0] == 200, "it heals by itself")
        self.lose_power()
        self.daemon.start()
        self.assertEqual(self.drained(server), [True], "it was stored once there was room")


class Steps(FaultyMachine):
    # A busy machine must not be slower than a game server may be.
    settings = {"MUSTER_FLEET_ALLOCATION_ACK_TIMEOUT": "20s"}

    def test_fault_65_killed_at_each_step_no_server_keeps_a_match_that_muster_does_not_know(self):
        keepers = [Keeper(7000), Keeper(7001)]
        lobby = 0
        for dies in (self.lose_power, self.kill):
            for step in ("the offer is not synced", "the offer is out", "the answer is out, and not synced"):
                lobby += 1
                matchmaker = self.daemon.matchmaker()
                for keeper in keepers:
                    keeper.connect(self.daemon)
                    keeper.beat()
                    keeper.answers = False
                told = self.play_until(step, matchmaker, keepers, lobby)
                dies()
                self.set(sync_delay_ms=0)
                self.daemon.start()
                matchmaker = self.daemon.matchmaker()
                for keeper in keepers:
                    keeper.answers = True
                    keeper.connect(self.daemon)
                    keeper.beat()
                matchmaker.request(lobby)
                answer = self.soon(lambda: self.heard(matchmaker, keepers), "an answer")
                with self.subTest(dies=dies.__name__, step=step):
                    self.assertEqual(answer[:2], (lobby, ""))
                    self.assertIn(told, (None, answer), "what was answered is answered again")
                    holders = {keeper.peer.id: keeper.holds[lobby] for keeper in keepers if lobby in keeper.holds}
                    self.assertEqual(holders, {answer[2]: answer[3]}, "the lobby is on one server, the one that was told")
                    known = {s["id"]: s["matches"] for s in json.loads(self.get("/api/v1/servers")[1])["servers"]}
                    self.assertEqual(known, {keeper.peer.id: len(keeper.holds) for keeper in keepers}, "no slot is leaked")
                matchmaker.close()
                for keeper in keepers:
                    keeper.peer.close()
                self.soon(lambda: all(s["status"] == "offline" for s in json.loads(self.get("/api/v1/servers")[1])["servers"]),
                          "their links are lost")

    def kill(self):
        self.daemon.process.kill()
        self.daemon.process.wait()

    def play_until(self, step, matchmaker, keepers, lobby):
        """A request for the lobby, up to that step. The answer, if there is one."""
        if step == "the offer is not synced":
            self.set(sync_delay_ms=60_000)
            matchmaker.request(lobby)
            matchmaker.send(0x2004)
            matchmaker.expect(0x2005)
            for keeper in keepers:
                keeper.beat()  # what was sent with the request is heard
            return None
        matchmaker.request(lobby)
        self.soon(lambda: any(keeper.hear() == 0x1004 for keeper in keepers), "an offer")
        self.set(sync_delay_ms=60_000)
        if step == "the offer is out":
            return None
        asked = next(keeper for keeper in keepers if lobby in keeper.holds)
        asked.peer.acknowledge(lobby)
        return allocation(matchmaker.expect(0x2003))

    @staticmethod
    def heard(matchmaker, keepers):
        """Lets the game servers answer; the matchmaker's 2003 once it is there."""
        for keeper in keepers:
            keeper.hear()
        with contextlib.suppress(TimeoutError):
            code, payload = matchmaker.receive(0.01)
            return allocation(Reader(payload)) if code == 0x2003 else None
        return None


class Date(FaultyMachine):
    settings = {"MUSTER_AUTH_PLAYER_KEY": "the players' key", "MUSTER_PLAYERS_PING_INTERVAL": "1h",
                "MUSTER_PLAYERS_PING_TIMEOUT": "2h", "MUSTER_FLEET_HEARTBEAT_TIMEOUT": "1h"}

    def credential(self, name, account):
        done = subprocess.run([self.muster, "player-token", name, "--account", str(account), "--for", "1h"],
                              env={**os.environ, "MUSTER_AUTH_PLAYER_KEY": "the players' key"}, capture_output=True, text=True,
                              check=True)
        return done.stdout.strip()

    def issued_ms(self, server, ann):
        """The time as the server port and then the player port tell it."""
        server.heartbeat()
        ack = server.expect(0x1003)
        ack.take("b")
        ann.send(201, struct.pack(">q", 1))
        sync = ann.expect(201)
        sync.take("q"), sync.take("q")
        return ack.take("q"), sync.take("q") / 1_000

    def test_fault_18_the_date_jumps_days_ahead_and_comes_back(self):
        server = self.daemon.game_server(7000)
        ann = self.daemon.player("ann", credential=self.credential("ann", 1))
        events = lambda: json.loads(self.get("/api/v1/events?limit=1000")[1])["events"]
        self.soon(lambda: len(events()) >= 2, "the history has a past")
        before = events()
        issued = []
        credential = self.credential("bob", 2)
        for hours in (0, 200, 0, 200, 0):
            steps = self.figure("muster_clock_steps_total")
            self.set(date_offset_ms=hours * HOUR_MS)
            # It is judged by the date now (P-1), and none stays expired.
            bob = self.daemon.player("bob", credential=credential)
            self.assertEqual(bob.refused, "Credential expired" if hours else None)
            bob.close()
            end = time.monotonic() + 1.5  # the date is looked at every second
            while time.monotonic() < end:
                issued += self.issued_ms(server, ann)
                time.sleep(0.02)
            if hours:
                self.soon(lambda: self.figure("muster_clock_steps_total") > steps, "the step is counted")
        # Both ports in turn: were one behind or ahead of the other, some step would lead back.
        back = [(earlier, later) for earlier, later in zip(issued, issued[1:]) if later < earlier - 1]
        self.assertEqual(back, [], "issued times agree and never go back")
        self.assertEqual(events()[:len(before)], before, "nothing is pruned")


class Processors(FaultyMachine):
    settings = {"MUSTER_FLEET_HEARTBEAT_INTERVAL": "1s", "MUSTER_FLEET_HEARTBEAT_TIMEOUT": "4s",
                "MUSTER_FLEET_BRAKE_SERVERS": "1000", "MUSTER_PLAYERS_CREDENTIALS": "open",
                "MUSTER_LIMITS_MESSAGES_PER_SECOND_PLAYERS": "10000000"}
    HOGS = 6

    def statuses(self):
        return {each["id"]: each["status"] for each in json.loads(self.get("/api/v1/servers")[1])["servers"]}

    @contextlib.contextmanager
    def starved(self):
        """The daemon shares one processor with others that never rest."""
        processor = {min(os.sched_getaffinity(0))}
        for task in os.listdir(f"/proc/{self.daemon.process.pid}/task"):
            os.sched_setaffinity(int(task), processor)
        hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=lambda: os.sched_setaffinity(0, processor))
                for _ in range(self.HOGS)]
        try:
            yield
        finally:
            for hog in hogs:
                hog.kill()
                hog.wait()

    def test_fault_12_starved_of_its_processor_it_starves_neither_timers_nor_messages(self):
        healthy = [self.daemon.game_server(7000 + i) for i in range(20)]
        silent = self.daemon.game_server(7999)
        crowd = [self.daemon.player(f"crowd-{i}") for i in range(2)]
        ending = threading.Event()
        answers = []

        def live():
            while not ending.wait(0.3):
                for server in healthy:
                    server.heartbeat()
                for server in healthy:
                    answers.append(server.expect(0x1003).take("b"))

        def flood():
            while not ending.wait(0.02):
                for player in crowd:
                    player.send_bytes(struct.pack(">HH", 2, 204) * 2_000)

        threads = [threading.Thread(target=live), threading.Thread(target=flood)]
        with self.starved():
            for thread in threads:
                thread.start()
            try:
                self.soon(lambda: silent.id not in self.statuses(), "the timer of the silent one fires under the flood")
                status = self.statuses()
            finally:
                ending.set()
                for thread in threads:
                    thread.join()
        self.assertEqual(set(answers), {1}, "heartbeats are answered under the flood")
        self.assertEqual([status[server.id] for server in healthy], ["available"] * len(healthy))


if __name__ == "__main__":
    FaultyMachine.library = os.path.abspath(sys.argv.pop(2))
    main()
