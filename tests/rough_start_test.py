#!/usr/bin/env python3
"""Odd things given to the program at its start: pipes, full devices, files of others, limits of the shell.

    rough_start_test.py PATH_TO_MUSTER [unittest arguments]
"""

import os
import pathlib
import shlex
import signal
import subprocess
import tempfile

from muster_peer import PATIENCE_S
from served import Served, main


class Refused(Served):
    """Starts that must fail with a word and a code, and lose nothing."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def end_of(self, *arguments, **settings):
        environment = {"PATH": os.environ["PATH"], "MUSTER_STORE_PATH": str(self.folder / "muster.db")} | settings
        for port in ("SERVERS", "MATCHMAKERS", "PLAYERS", "HTTP"):
            environment.setdefault(f"MUSTER_LISTEN_{port}", "127.0.0.1:0")
        return subprocess.run([self.muster, "serve", *arguments], env=environment, capture_output=True, text=True,
                              timeout=PATIENCE_S)

    def test_an_error_on_a_full_standard_error_keeps_its_exit_code_O_3(self):
        for arguments, code in ((["serve", "--config", "/nonexistent"], 78), (["serve", "--nonsense"], 64),
                                (["servers", "--sort", "nonsense"], 64)):
            with open("/dev/full", "w") as full:
                end = subprocess.run([self.muster, *arguments], stderr=full, stdout=subprocess.DEVNULL, timeout=PATIENCE_S)
            self.assertEqual(end.returncode, code, arguments)

    def test_the_ports_file_never_replaces_another_file_O_1(self):
        other = self.folder / "notes.txt"
        other.write_text("mine\n")
        end = self.end_of("--ports-file", str(other))
        self.assertEqual(end.returncode, 74)
        self.assertIn("notes.txt exists and is not a ports file", end.stderr)
        self.assertEqual(other.read_text(), "mine\n")

    def test_a_store_cut_to_nothing_is_refused_fault_6(self):
        store = self.folder / "muster.db"
        store.touch()
        end = self.end_of()
        self.assertEqual(end.returncode, 65)
        self.assertIn("is empty", end.stderr)
        self.assertEqual(store.stat().st_size, 0)

    def test_a_pipe_as_config_is_refused_at_once_fault_17(self):
        pipe = self.folder / "muster.toml"
        os.mkfifo(pipe)
        end = self.end_of("--config", str(pipe))
        self.assertEqual(end.returncode, 78)
        self.assertIn("not a regular file", end.stderr)


class Reloaded(Served):
    def setUp(self):
        super().setUp()
        self.config = pathlib.Path(self.daemon.folder) / "muster.toml"

    def test_a_pipe_in_the_place_of_the_config_blocks_neither_reload_nor_stop_fault_17(self):
        self.daemon.stop()
        self.config.write_text("[game]\n")
        self.daemon.arguments = ("--config", str(self.config))
        self.daemon.start()
        self.config.unlink()
        os.mkfifo(self.config)
        self.daemon.process.send_signal(signal.SIGHUP)
        self.soon(lambda: "not a regular file" in self.daemon.log_text(), "the reload was not refused")
        self.assertEqual(self.daemon.stop(), 0)


class LimitedFiles(Served):
    """Under ulimit -f the store cannot grow past so many blocks."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        limited = pathlib.Path(folder.name) / "limited"
        limited.write_text(f"#!/bin/sh\nulimit -f 600\nexec {shlex.quote(Served.muster)} \"$@\"\n")
        limited.chmod(0o700)
        self.muster = str(limited)
        super().setUp()

    def test_a_store_at_its_size_limit_is_a_full_disk_fault_4(self):
        server = self.daemon.game_server(7000, max_matches=10_000)
        matchmaker = self.daemon.matchmaker()
        refused = ""
        for lobby in range(1, 20_000):
            matchmaker.request(lobby)
            while True:  # the offer, if there is one, and the answer
                self.serve_offers(server)
                try:
                    code, payload = matchmaker.receive(0.002)
                except TimeoutError:
                    continue
                if code == 0x2003:
                    break
            if payload[0] == 0:
                refused = payload[7:].decode()
                break
        self.assertEqual(refused, "Store unavailable")
        server.heartbeat(lobby)
        while server.receive()[0] != 0x1003:  # aborts of what was refused may come first
            pass
        self.assertEqual(self.get("/readyz")[0], 503)

    @staticmethod
    def serve_offers(server):
        try:
            while True:
                code, payload = server.receive(0.002)
                if code == 0x1004:
                    server.acknowledge(int.from_bytes(payload[:4], "little"))
        except TimeoutError:
            pass


if __name__ == "__main__":
    main()
