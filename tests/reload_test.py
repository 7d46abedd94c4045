#!/usr/bin/env python3
"""SIGHUP, seen from outside: what a reload changes holds at once (X-3).

    reload_test.py PATH_TO_MUSTER [unittest arguments]
"""

import json
import pathlib
import re
import signal
import struct
import subprocess
import tempfile
import time

from muster_peer import Daemon, allocation
from served import Served, main


class Reload(Served):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.config = pathlib.Path(folder.name) / "muster.toml"
        self.keep_history("7d")
        self.daemon = Daemon(self.muster, folder.name, arguments=["--config", str(self.config)])
        self.addCleanup(self.end)

    def keep_history(self, time):
        self.config.write_text(f'[store]\nhistory_keep = "{time}"\n')

    def stored(self, question):
        found = subprocess.run(["sqlite3", str(self.daemon.folder / "muster.db"), question], capture_output=True, text=True,
                               check=True)
        return found.stdout.split()

    def matches_in_history(self):
        return self.stored("select lobby from match_history")

    def events_of_matches(self):
        printed = subprocess.run([self.muster, "store", "events", "--store", str(self.daemon.folder / "muster.db")],
                                 capture_output=True, text=True, check=True).stdout
        events = [json.loads(line) for line in printed.splitlines()]
        return [event for event in events if event["type"].startswith("match.")]

    def test_a_shorter_history_keep_drops_the_past_and_keeps_what_runs(self):
        """X-3, X-4: store.history_keep."""
        server = self.daemon.game_server(7777)
        matchmaker = self.daemon.matchmaker()
        for lobby in (1, 2):
            matchmaker.request(lobby)
            server.expect(0x1004)
            server.acknowledge(lobby)
            self.assertEqual(allocation(matchmaker.expect(0x2003))[:2], (lobby, ""))
        server.send(0x100B, struct.pack("<ii", server.id, 1))
        server.expect(0x100C)
        self.soon(lambda: self.matches_in_history() == ["1", "2"] and self.events_of_matches(), "both are in the history")
        newest_ms = max(event["time_ms"] for event in self.events_of_matches())
        self.soon(lambda: time.time() * 1000 > newest_ms + 1000, "all of it is more than a second ago")
        self.keep_history("1s")
        self.daemon.process.send_signal(signal.SIGHUP)
        self.soon(lambda: not self.events_of_matches(), "the events of the past go")
        # The number of a match that is over stays for fleet.lobby_memory.
        self.assertEqual(self.matches_in_history(), ["1", "2"])
        self.soon(lambda: "history_keep" in self.daemon.log_text(), "the log does not say what changed")
        self.soon(lambda: "Reloaded: 1 changed, 0 at the next restart" in self.daemon.log_text(), "the end of it is not told")

    def test_X_3_S_1_TLS_settings_that_a_start_would_refuse_are_refused(self):
        before = self.config.read_text()
        self.config.write_text(before + '[tls]\nports = ["http"]\ncertificate_file = "/nope"\nkey_file = "/nope"\n')
        self.daemon.process.send_signal(signal.SIGHUP)
        self.soon(lambda: re.search("Reload refused: .*/nope", self.daemon.log_text()), "it is not refused")
        self.config.write_text(before)
        self.daemon.process.send_signal(signal.SIGHUP)
        self.soon(lambda: "Reloaded; nothing changed" in self.daemon.log_text(), "it stayed refused")
        self.assertNotIn("Changed", self.daemon.log_text())

    def test_X_3_a_SIGHUP_while_the_daemon_starts_is_a_reload_and_does_not_end_it(self):
        self.daemon.end()
        self.config.write_text("# to be read for a while\n" * 40_000 + '[store]\nhistory_keep = "9d"\n')
        self.daemon.launch()
        deadline = time.monotonic() + 30
        while not self.has_read(self.daemon.process.pid, 900_000) and time.monotonic() < deadline:
            pass  # without a pause: it reads for some ten milliseconds only
        other = self.config.with_name("other.toml")
        other.write_text('[store]\nhistory_keep = "8d"\n')
        other.rename(self.config)
        self.daemon.process.send_signal(signal.SIGHUP)
        self.daemon.wait_until_ready()
        self.soon(lambda: re.search("Changed .*history_keep|Reloaded", self.daemon.log_text()), "it has reloaded")

    @staticmethod
    def has_read(pid, size):
        try:
            with open(f"/proc/{pid}/io", encoding="ascii") as figures:
                return int(figures.readline().split()[1]) > size  # rchar
        except (OSError, IndexError):
            return True  # it has ended


if __name__ == "__main__":
    main()
