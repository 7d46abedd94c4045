"""The store's file, seen from outside: kept to its size, missed when it goes, backed up, restored, compacted."""

import json
import os
import pathlib
import sqlite3
import struct
import subprocess

from muster_peer import PATIENCE_S, allocation
from served import Served, main


class Store(Served):
    settings = {"MUSTER_STORE_HISTORY_MAX": "1MiB", "MUSTER_LIMITS_UNSENT_BYTES": "64MiB"}

    def path(self, name="muster.db"):
        return self.daemon.folder / name

    def run_muster(self, *arguments, **settings):
        return subprocess.run([self.muster, *arguments], env={**self.daemon.env, **settings}, cwd=self.daemon.folder,
                              capture_output=True, text=True, timeout=PATIENCE_S)

    def allocate(self, matchmaker, server, lobby):
        matchmaker.request(lobby)
        server.expect(0x1004)
        server.acknowledge(lobby)
        return allocation(matchmaker.expect(0x2003))

    def test_fault_19_a_flood_of_events_keeps_to_the_size_and_allocations_go_on(self):
        server, matchmaker = self.daemon.game_server(7000), self.daemon.matchmaker()
        other = self.daemon.matchmaker("chat-2")
        refused = struct.pack("<HHibbbbi", 14, 0x2002, -1, 6, 0, 2, 10, 1650)
        for lobby in range(1, 21):
            matchmaker.send_bytes(refused * 1_000)
            for _ in range(1_000):
                matchmaker.expect(0x2003)
            self.assertEqual(self.allocate(other, server, lobby)[1] if lobby <= 10 else "", "")
        self.soon(lambda: 0 < self.figure("muster_history_bytes") < 1.5 * 2**20, "the history is too large")
        self.assertLess(self.path().stat().st_size, 4 * 2**20)
        self.assertGreater(self.figure("muster_store_free_bytes"), 0)
        newest = lambda: json.loads(self.get("/api/v1/events?limit=1")[1])["events"][0]["id"]
        self.soon(lambda: newest() > 20_000, "the newest events are not there")

    def test_X_4_a_store_that_is_deleted_is_noticed_and_nothing_is_promised_any_more(self):
        server, matchmaker = self.daemon.game_server(7000), self.daemon.matchmaker()
        self.assertEqual(self.allocate(matchmaker, server, 1)[1], "")
        aside = self.path("aside.db")
        self.path().rename(aside)
        self.soon(lambda: self.get("/readyz")[0] == 503, "nobody noticed")
        self.assertIn("the store's file was deleted or replaced", self.get("/readyz")[1])
        self.daemon.game_server(7001)  # the first that is to be written
        self.soon(lambda: "its file was deleted or replaced" in self.daemon.log_text(), "it is not in the log")
        matchmaker.request(2)
        self.assertEqual(allocation(matchmaker.expect(0x2003))[1], "Store unavailable")
        # Put back, it goes on.
        aside.rename(self.path())
        self.soon(lambda: self.get("/readyz")[0] == 200, "it does not heal")
        self.assertEqual(self.allocate(matchmaker, server, 3)[1], "")

    def test_fault_7_a_second_daemon_is_refused_though_the_lock_file_was_deleted(self):
        self.path("muster.db.lock").unlink()
        second = self.run_muster("serve")
        self.assertEqual(second.returncode, 73, second.stderr)
        self.assertIn("is in use by another process", second.stderr)

    def test_X_4_a_device_a_pipe_or_a_folder_is_never_made_a_store(self):
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        link = self.path("link.db")
        link.symlink_to("/dev/null")
        for path in (pipe, link, self.daemon.folder, "/dev/null"):
            refused = self.run_muster("serve", MUSTER_STORE_PATH=str(path))
            self.assertEqual(refused.returncode, 65, refused.stderr)
            self.assertRegex(refused.stderr, "is not a regular file|is a directory, not a store")
        self.assertTrue(pipe.is_fifo())
        self.assertTrue(pathlib.Path("/dev/null").is_char_device())

    def test_X_4_what_cannot_be_made_or_written_is_exit_74_as_the_table_says(self):
        missing = self.path("missing") / "muster.db"
        self.assertEqual(self.run_muster("serve", MUSTER_STORE_PATH=str(missing)).returncode, 74)
        ports = self.run_muster("serve", "--ports-file", str(missing), MUSTER_STORE_PATH=str(self.path("other.db")))
        self.assertEqual(ports.returncode, 74, ports.stderr)

    def test_fault_6_a_damaged_block_of_events_is_told_and_the_rest_is_read(self):
        for port in range(7000, 7030):
            self.daemon.game_server(port)
            known = lambda: len(json.loads(self.get("/api/v1/events?limit=1000")[1])["events"])
            self.soon(lambda: known() > port - 7000, "its event is not there")
        self.assertEqual(self.daemon.stop(), 0)
        whole = self.run_muster("store", "events")
        self.assertEqual(whole.returncode, 0, whole.stderr)
        database = sqlite3.connect(self.path())
        first, last, events = database.execute("SELECT first_id, last_id, events FROM event_blocks ORDER BY first_id DESC LIMIT 1").fetchone()
        spoilt = bytearray(events)
        spoilt[len(spoilt) // 2] ^= 4
        database.execute("UPDATE event_blocks SET events = ? WHERE first_id = ?", (bytes(spoilt), first))
        database.commit()
        database.close()
        told = self.run_muster("store", "events")
        self.assertEqual(told.returncode, 65, told.stderr)
        self.assertIn("1 blocks of events are damaged", told.stderr)
        lines = [json.loads(line) for line in told.stdout.splitlines()]
        self.assertEqual([(line["first_id"], line["last_id"]) for line in lines if line["type"] == "history.damaged"], [(first, last)])
        self.assertEqual([line["id"] for line in lines if line["id"] < first],
                         [json.loads(line)["id"] for line in whole.stdout.splitlines() if json.loads(line)["id"] < first])
        self.daemon.start()
        answer = json.loads(self.get("/api/v1/events?limit=1000")[1])["events"]
        self.assertIn("history.damaged", [event["type"] for event in answer])

    def test_O_3_events_that_cannot_be_printed_are_exit_74(self):
        self.daemon.game_server(7000)
        self.soon(lambda: len(json.loads(self.get("/api/v1/events?limit=5")[1])["events"]) > 0, "no event")
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([self.muster, "store", "events"], env=self.daemon.env, cwd=self.daemon.folder, stdout=full,
                                  stderr=subprocess.PIPE, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 74, done.stderr)

    def test_X_4_a_backup_that_is_damaged_is_named_as_it_was_given(self):
        self.assertEqual(self.daemon.stop(), 0)
        with open(self.path("bad.db"), "wb") as file:
            file.write(b"no database at all" * 1000)
        done = self.run_muster("restore", "bad.db")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("bad.db", done.stderr)
        self.assertNotIn(".restored", done.stderr)
        self.daemon.start()

    def test_X_4_a_backup_is_restored_with_ids_far_ahead_and_the_match_is_there(self):
        server, matchmaker = self.daemon.game_server(7000), self.daemon.matchmaker()
        self.assertEqual(self.allocate(matchmaker, server, 1)[1], "")
        made = self.run_muster("backup", "backup.db")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(self.path("backup.db").stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.run_muster("backup", "backup.db").returncode, 74)  # it overwrites nothing
        in_use = self.run_muster("restore", "backup.db")
        self.assertEqual(in_use.returncode, 73, in_use.stderr)
        self.assertEqual(self.run_muster("store", "compact").returncode, 73)

        late = self.daemon.game_server(7001)
        self.assertEqual(self.daemon.stop(), 0)
        restored = self.run_muster("restore", "backup.db")
        self.assertEqual(restored.returncode, 0, restored.stderr)
        self.assertIn("muster.db.before-restore-1", restored.stdout)
        compacted = self.run_muster("store", "compact")
        self.assertEqual(compacted.returncode, 0, compacted.stderr)
        self.daemon.start()
        matches = json.loads(self.get("/api/v1/matches")[1])["matches"]
        self.assertEqual([match["lobby_id"] for match in matches], [1])
        after = self.daemon.game_server(7002)
        self.assertGreater(after.id, late.id + 1_000)
        with sqlite3.connect(self.path("muster.db.before-restore-1")) as old:
            self.assertEqual(old.execute("select count(*) from servers").fetchone()[0], 2)


if __name__ == "__main__":
    main()
