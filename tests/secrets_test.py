#!/usr/bin/env python3
"""Wrong secrets in number at the game ports, and secrets that are replaced without a gap (S-4, fault 49).

    secrets_test.py PATH_TO_MUSTER [unittest arguments]
"""

import pathlib
import select
import signal
import struct
import tempfile
import time

from muster_peer import GameServer, text
from served import Served, main


class WrongSecrets(Served):
    settings = {
        "MUSTER_AUTH_SERVER_TOKEN": "right server token",
        "MUSTER_AUTH_MATCHMAKER_TOKEN": "right matchmaker token",
        "MUSTER_AUTH_PLAYER_KEY": "right player key",
    }

    sources = {"servers": "127.0.0.2", "matchmakers": "127.0.0.3", "players": "127.0.0.4"}

    def guess(self, port, number):
        """A connection that has shown a wrong secret."""
        peer = self.daemon.peer(port, self.sources[port])
        if port == "servers":
            peer.send(0x1000, text(f"guess {number}") + text("127.0.0.1") + struct.pack("<ibi", 7000, 2, 10))
        elif port == "matchmakers":
            peer.send(0x2000, text(f"guess {number}") + text("chat-9") + struct.pack("<bb", 1, 2))
        else:
            peer.order = ">"
            peer.send(10, text("ann", ">") + text(f"guess {number}", ">") + text("", ">"))
        return peer

    def refusal(self, peer, port, timeout=20):
        answer = peer.expect({"servers": 0x1001, "matchmakers": 0x2001, "players": 10}[port], timeout)
        self.assertEqual(answer.take("b"), 0)
        error = answer.string()
        self.assertIsNone(peer.receive())
        return error

    def test_from_the_tenth_a_minute_on_they_are_answered_slower_and_the_right_one_at_once_fault_49(self):
        for port in ("servers", "matchmakers", "players"):
            for number in range(9):
                self.assertIn(self.refusal(self.guess(port, number), port), ("Invalid token", "Invalid credential"))
            began = time.monotonic()
            slow = [self.guess(port, number) for number in range(9, 40)]
            last_guess = time.monotonic()
            if port == "servers":
                self.assertIsNone(self.daemon.game_server(7100, token="right server token", source="127.0.0.2").refused)
            elif port == "matchmakers":
                self.assertIsNone(self.daemon.matchmaker(token="right matchmaker token", source="127.0.0.3").refused)
            answered, _, _ = select.select([peer.socket for peer in slow], [], [], 0)
            if time.monotonic() - began < 3:  # else this machine stood still
                self.assertEqual(answered, [])
            for peer in slow:
                self.assertIn(self.refusal(peer, port), ("Invalid token", "Invalid credential"))
            self.assertGreater(time.monotonic() - last_guess, 3)
            self.soon(lambda: self.figure(f'muster_auth_failures_total{{port="{port}"}}') == 40, "not all were counted")
        self.soon(lambda: "Wrong player credential from 127.0.0.4" in self.daemon.log_text(), "the last is not in the log")
        log = self.daemon.log_text()
        for secret, source in (("server token", "127.0.0.2"), ("matchmaker token", "127.0.0.3"),
                               ("player credential", "127.0.0.4")):
            self.assertEqual(log.count(f"Wrong {secret} from {source}"), 1, log)
        self.assertNotIn("guess", log)
        self.assertEqual(self.daemon.stop(), 0)


class Rotation(Served):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.secret = pathlib.Path(folder.name) / "server_token"
        self.write(b"old token\n")
        self.settings = {"MUSTER_AUTH_SERVER_TOKEN_FILE": str(self.secret)}
        super().setUp()

    def write(self, content):
        self.secret.write_bytes(content)
        self.secret.chmod(0o600)

    def reload(self, said):
        lines = self.daemon.log_text().count(said)
        self.daemon.process.send_signal(signal.SIGHUP)
        self.soon(lambda: self.daemon.log_text().count(said) > lines, f"the reload did not say {said}")

    def refused(self, token, port):
        server = GameServer(self.daemon.ports["servers"], port, token=token)
        self.daemon.keep(server)
        return server.refused

    def test_both_tokens_are_valid_while_one_replaces_the_other_S_4(self):
        stays = self.daemon.game_server(7000, token="old token")
        self.assertEqual(self.refused("new token", 7001), "Invalid token")
        self.write(b"old token\nnew token\n")
        self.reload("Changed auth.server_token")
        self.assertIsNone(self.refused("new token", 7001))
        self.assertIsNone(self.refused("old token", 7002))
        self.write(b"new token\n")
        self.reload("Changed auth.server_token")
        self.assertEqual(self.refused("old token", 7003), "Invalid token")
        self.assertIsNone(self.refused("new token", 7004))
        stays.heartbeat()
        stays.expect(0x1003)

    def test_what_the_log_says_has_changed_holds_by_then_X_3_S_4(self):
        for turn in range(20):
            self.write(f"token {turn}\n".encode())
            self.daemon.process.send_signal(signal.SIGHUP)
            while self.daemon.log_text().count("Changed auth.server_token") == turn:
                pass  # not a moment later
            self.assertIsNone(self.refused(f"token {turn}", 7000 + turn))

    def test_a_file_that_begins_with_a_byte_order_mark_keeps_the_old_secret_S_4(self):
        self.write(b"\xef\xbb\xbfnew token\n")
        self.reload("byte order mark")
        self.assertIsNone(self.refused("old token", 7001))
        self.assertEqual(self.refused("new token", 7002), "Invalid token")


if __name__ == "__main__":
    main()
