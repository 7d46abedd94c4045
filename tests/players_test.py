#!/usr/bin/env python3
"""Players and the real daemon: logins, keepalive, idling, resuming, the world clock, and the way into a match.

    players_test.py PATH_TO_MUSTER [unittest arguments]
"""

import base64
import hmac
import json
import os
import signal
import struct
import subprocess
import threading
import time

from api_client import Api
from muster_peer import PATIENCE_S, allocation, text
from served import Served, main

PING, SERVER_CLOSE, PING_REQ, HEARTBEAT, CLOCK_SYNC, ACTIVITY = 9, 24, 117, 200, 201, 204
TIME, TIME_UPDATE = 21, 74


def next_of(player, code):
    """The payload of the next frame of that kind: on a slow machine pings may come first. None when the daemon has closed."""
    while (frame := player.receive()) is not None and frame[0] != code:
        assert frame[0] in (PING, HEARTBEAT, TIME, TIME_UPDATE), frame
    return frame and frame[1]


class Lively(threading.Thread):
    """Echoes the pings of a player and answers its heartbeats until the link or the test ends."""

    def __init__(self, test, player):
        super().__init__(daemon=True)
        self.player, self.pings, self.ending = player, 0, False
        self.start()
        test.addCleanup(self.end)

    def run(self):
        while not self.ending:
            try:
                frame = self.player.receive(0.1)
            except TimeoutError:
                continue
            except OSError:
                return
            if frame is None:
                return
            if frame[0] == PING:
                self.player.send(PING)
                self.pings += 1
            elif frame[0] == HEARTBEAT:
                self.player.send(HEARTBEAT, frame[1] + b"\x01")

    def end(self):
        self.ending = True
        self.join(PATIENCE_S)


class Sessions(Served):
    settings = {
        "MUSTER_PLAYERS_PING_INTERVAL": "400ms",
        "MUSTER_PLAYERS_PING_TIMEOUT": "1500ms",
        "MUSTER_PLAYERS_RESUME_GRACE": "2s",
        "MUSTER_GAME_STATS_INTERVAL": "1s",
    }

    def test_a_login_gives_id_token_and_time_and_the_name_keeps_its_id_P_1(self):
        ann = self.daemon.player("Änn")
        self.assertEqual((ann.id, len(ann.resume_token), ann.clock), (1, 32, (1, 0, 0)))
        self.assertEqual(self.daemon.player("bob").id, 2)
        self.daemon.process.kill()
        self.daemon.process.wait()
        self.daemon.start()
        self.assertEqual(self.daemon.player("bob").id, 2)
        self.assertEqual(self.daemon.player("cid").id, 3)

    def test_bad_names_are_refused_P_1_and_fault_45(self):
        for name in ("", "a\x00b", "a\x1b[31mb", "x" * 33):
            peer = self.daemon.peer("players")
            peer.order = ">"
            peer.send(10, text(name, ">") + text("", ">") + text("", ">"))
            answer = peer.expect(10)
            self.assertEqual(answer.take("b"), 0)
            self.assertIn(answer.string(), ("Invalid name", "Malformed message: string_too_long"))
            self.assertIsNone(peer.receive())
        self.assertEqual(self.daemon.player("<b>&amp;'\"{}%s").refused, None)

    def test_who_echoes_stays_and_who_does_not_is_removed_P_2(self):
        ann = self.daemon.player("ann")
        began = time.monotonic()
        bob = self.daemon.player("bob")
        pings = 0
        while (frame := bob.receive())[0] != SERVER_CLOSE:
            pings += frame[0] == PING
        self.assertEqual(frame[1], text("Ping timeout", ">"))
        self.assertIsNone(bob.receive())
        self.assertGreaterEqual(time.monotonic() - began, 1.5)
        # Not later, by the daemon's own pings: each comes 360 ms or more after the one before.
        self.assertIn(pings, range(1, 5))
        # Ann read nothing meanwhile but is not gone: her bytes wait in the socket. One echo too late all the same.
        self.assertEqual(ann.closed_for(), "Ping timeout")
        began = time.monotonic()
        cid = Lively(self, self.daemon.player("cid"))
        self.soon(lambda: cid.pings >= 10, "who echoes is pinged again and again")
        self.assertGreaterEqual(time.monotonic() - began, 10 * 0.36)
        self.soon(lambda: "Player 2 timed out (no pong for 1s)" in self.daemon.log_text(), "the log says so")
        self.soon(lambda: "Server: 1 players, " in self.daemon.log_text(), "the log says how many there are")
        self.soon(lambda: self.figure("muster_players ") == 1, "one player is counted")
        self.soon(lambda: self.figure("muster_player_rtt_seconds_count") >= 8, "round trips are counted")

    def test_ping_request_and_clock_sync_are_answered_P_3(self):
        ann = self.daemon.player("ann")
        ann.send(PING_REQ)
        self.assertIsNotNone(next_of(ann, PING_REQ))
        stamps = []
        for i in range(3):
            sent = time.time_ns() // 1000
            ann.send(CLOCK_SYNC, struct.pack(">q", sent))
            client, received, left = struct.unpack(">qqq", next_of(ann, CLOCK_SYNC))
            now = time.time_ns() // 1000
            self.assertEqual(client, sent)
            # Both clocks are this machine's, and the daemon reads its own once a pass: the four stamps are in order.
            slack_us = 100_000
            self.assertLessEqual(sent - slack_us, received)
            self.assertLessEqual(received, left)
            self.assertLessEqual(left, now + slack_us)
            stamps.append(left)
        self.assertEqual(stamps, sorted(stamps))

    def test_a_lost_link_is_resumed_within_the_grace_and_not_after_it_P_6(self):
        ann = self.daemon.player("ann")
        ann.close()
        back = self.daemon.player("ann", resume_token=ann.resume_token)
        self.assertEqual(back.id, ann.id)
        self.soon(lambda: self.figure("muster_resumes_total") == 1, "one has resumed")
        other = self.daemon.player("ann")
        self.assertEqual(back.closed_for(), "Logged in elsewhere")
        other.close()
        self.soon(lambda: self.figures("muster_players_in_grace", "muster_players ") == (0, 0), "the grace ends")
        self.daemon.player("ann", resume_token=other.resume_token)
        self.soon(lambda: self.figure("muster_logins_total") == 3, "that was a fresh login")
        self.assertEqual(self.figure("muster_resumes_total"), 1)

    def test_a_stopped_process_removes_nobody_L_8_and_fault_11(self):
        ann = self.daemon.player("ann")
        # Stopped on purpose for longer than ping_timeout: Muster must not take its own pause for the player's silence.
        self.daemon.process.send_signal(signal.SIGSTOP)
        time.sleep(4)
        self.daemon.process.send_signal(signal.SIGCONT)
        frame = ann.receive()
        self.assertIn(frame[0], (9, 74))
        ann.send(9)
        ann.send(117)
        while ann.receive()[0] != 117:
            pass

    def test_the_protocol_is_kept_or_the_link_is_closed_W_6_and_P_5(self):
        peer = self.daemon.peer("players")
        peer.order = ">"
        peer.send(204)
        answer = peer.expect(10)
        self.assertEqual((answer.take("b"), answer.string()), (0, "Not logged in"))
        self.assertIsNone(peer.receive())
        ann = self.daemon.player("ann")
        ann.send(9, b"x")
        self.assertEqual(ann.closed_for(), "Malformed message: trailing_bytes")
        bob = self.daemon.player("bob")
        bob.send(4096)
        self.assertEqual(bob.closed_for(), "Malformed message: unknown_code")
        cid = self.daemon.player("cid")
        cid.send(4095, b"the game's own")
        cid.send(6)
        self.assertIsNone(next_of(cid, SERVER_CLOSE))

    def test_sigterm_says_good_bye_X_3(self):
        ann = self.daemon.player("ann")
        self.daemon.process.send_signal(signal.SIGTERM)
        self.assertEqual(ann.closed_for(), "Server shutting down")
        self.assertEqual(self.daemon.process.wait(20), 0)


class Idling(Served):
    settings = {"MUSTER_PLAYERS_IDLE_AFTER": "1s", "MUSTER_PLAYERS_IDLE_KICK_AFTER": "3s"}

    def test_the_idle_are_shown_and_then_removed_P_4(self):
        began = time.monotonic()
        ann, bob = self.daemon.player("ann"), self.daemon.player("bob")

        def idle():
            bob.send(ACTIVITY)
            ann.send(CLOCK_SYNC, struct.pack(">q", 0))  # no activity
            time.sleep(0.1)
            return self.idle_players()

        self.assertEqual(self.soon(idle, "one is idle"), [ann.id])
        self.assertGreaterEqual(time.monotonic() - began, 1)
        self.soon(lambda: self.figure("muster_players_idle") >= 1, "it is counted")
        self.assertEqual(ann.closed_for(), "Idle too long")
        self.assertGreaterEqual(time.monotonic() - began, 3)
        # Bob, who was active a second longer, is not closed yet.
        bob.send(PING_REQ)
        self.assertIsNotNone(next_of(bob, PING_REQ))
        self.soon(lambda: "Kicking idle player 1" in self.daemon.log_text(), "the log says so")

    def idle_players(self):
        return [event["player_id"] for event in json.loads(self.get("/api/v1/events?type=player.idle")[1])["events"]]


class Signed(Served):
    settings = {"MUSTER_AUTH_PLAYER_KEY": "the players' key"}

    def token(self, name, account, valid_for="1h", key="the players' key"):
        done = subprocess.run([self.muster, "player-token", name, "--account", str(account), "--for", valid_for],
                              env={**os.environ, "MUSTER_AUTH_PLAYER_KEY": key}, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    @staticmethod
    def signed(name, account, expires_s, key="the players' key"):
        """One of any expiry, by the rules of docs/guides/players.md."""
        encode = lambda data: base64.urlsafe_b64encode(data).rstrip(b"=").decode()
        said = f"v1.{encode(name.encode())}.{account}.{expires_s}"
        return f"{said}.{encode(hmac.digest(key.encode(), said.encode(), 'sha256'))}"

    def test_only_signed_credentials_let_in_P_1(self):
        ann = self.daemon.player("Änn", credential=self.token("Änn", 77))
        self.assertEqual((ann.refused, ann.id), (None, 77))
        for name, credential, why in (
                ("bob", "", "Invalid credential"),
                ("bob", self.token("bob", 5, key="another"), "Invalid credential"),
                ("bob", self.token("Änn", 77), "Invalid name")):
            self.assertEqual(self.daemon.player(name, credential=credential).refused, why)
        self.assertEqual(self.daemon.player("bob", credential=self.signed("bob", 5, int(time.time()) - 1)).refused, "Credential expired")
        self.assertIsNone(self.daemon.player("bob", credential=self.signed("bob", 5, int(time.time()) + 60)).refused)
        self.assertNotIn("the players' key", self.daemon.log_text())
        self.assertNotIn(self.token("Änn", 77)[-20:], self.daemon.log_text())


class Hearts(Served):
    settings = {"MUSTER_PLAYERS_HEARTBEAT_ENABLED": "true", "MUSTER_PLAYERS_HEARTBEAT_INTERVAL": "1s"}

    def test_who_stops_answering_loses_its_entity_H_4(self):
        ann, bob = self.daemon.player("ann"), self.daemon.player("bob")
        lively = Lively(self, ann)
        self.assertEqual(bob.closed_for(), "Heartbeat failed")
        self.soon(lambda: self.figure("muster_entities") == 1, "one entity is left")
        lively.end()
        ann.send(PING_REQ)
        self.assertIsNotNone(next_of(ann, PING_REQ))


class Clock(Api):
    settings = {"MUSTER_CLOCK_START_DAY": "7", "MUSTER_CLOCK_START_HOUR": "23", "MUSTER_CLOCK_START_MINUTE": "57",
                "MUSTER_PLAYERS_BYTE_ORDER": "little"}

    def test_the_world_goes_on_in_minutes_and_over_a_restart_C_2_and_C_3(self):
        ann = self.daemon.player("ann", order="<")
        self.assertEqual(ann.clock, (7, 23, 57))
        seen = self.soon(lambda: self.minutes_after_23_57(ann), "no six minutes one by one")
        self.assertEqual(seen, [(2, 58), (2, 59), (3, 1), (2, 0), (2, 1), (2, 2)])
        lived = time.monotonic()
        self.soon(lambda: self.figure("muster_store_queue_depth") == 0, "the clock is stored")
        self.daemon.process.kill()
        self.daemon.process.wait()
        killed = time.monotonic()
        time.sleep(3)  # the clock stands still
        started = time.monotonic()
        self.daemon.start()
        again = self.daemon.player("ann", order="<").clock
        lived = killed - lived + time.monotonic() - started
        self.assertEqual(again[:2], (1, 0))
        # A minute a second since the last one that was seen, as long as the daemon lived; stored once a second.
        self.assertIn(again[2], range(1, 2 + int(lived) + 2))

    def minutes_after_23_57(self, player):
        """Six, at a second each. None when two were due at once: a stall is told as a jump (C-4)."""
        start = {"day": 7, "hour": 23, "minute": 57, "speed": 60}
        self.assertEqual(self.ask("PUT", "/api/v1/clock", start)[0], 200)
        while player.receive() != (TIME_UPDATE, bytes([7, 23, 57])):
            pass
        seen = []
        while len(seen) < 6:
            code, payload = player.receive()
            if code == TIME_UPDATE:
                return None
            if code == TIME:
                seen.append(tuple(payload))
        return seen


class IntoTheMatch(Served):
    def test_listed_players_are_told_where_to_go_and_when_it_falls_through_A_10_and_A_11(self):
        server, matchmaker = self.daemon.game_server(7777), self.daemon.matchmaker()
        ann, bob = self.daemon.player("ann"), self.daemon.player("bob")
        matchmaker.send(0x2008, struct.pack("<ibi", 5, 1, ann.id))
        self.assertEqual(matchmaker.expect(0x2009).take("b"), 1)
        matchmaker.request(5)
        offer = server.expect(0x1004)
        offer.take("i"), offer.take("b"), offer.take("b")
        token = offer.string()
        server.acknowledge(5)
        self.assertEqual(allocation(matchmaker.expect(0x2003))[1], "")
        server.send(0x1006, struct.pack("<ii", server.id, 5) + text(token))
        server.expect(0x1007)
        start = ann.expect(202)
        self.assertEqual((start.take("i"), start.string(), start.take("i"), start.string()), (5, "127.0.0.1", 7777, token))
        self.assertEqual(server.validate(5, ann.id, token), "")
        self.assertEqual(server.validate(5, bob.id, token), "Invalid match token")
        matchmaker.send(0x2007, struct.pack("<i", 5))
        gone = ann.expect(203)
        self.assertEqual(gone.take("i"), 5)
        bob.send(117)
        bob.expect(117)


if __name__ == "__main__":
    main()
