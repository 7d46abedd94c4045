#!/usr/bin/env python3
"""One node with its store in PostgreSQL: the real daemon and a real engine.

    postgres_test.py PATH_TO_MUSTER [unittest arguments]
"""

import json
import pathlib
import signal
import struct
import subprocess
import tempfile
import unittest

import pg_engine
from muster_peer import EU, PATIENCE_S, Daemon, allocated, allocation, text
from served import Served, main


class OnPostgres(Served):
    @classmethod
    def setUpClass(cls):
        if pg_engine.programs() is None:
            raise unittest.SkipTest("PostgreSQL is not installed: nothing was tried")
        cls.engine = pg_engine.Engine()
        cls.addClassCleanup(cls.engine.end)

    def setUp(self):
        self.database = self.engine.database()
        self.url = self.engine.url(self.database)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def on(self, url):
        return {"MUSTER_STORE_PATH": None, "MUSTER_STORE_URL": url, "MUSTER_CLUSTER_NODE": "one", **self.settings}

    def serve(self):
        self.daemon = Daemon(self.muster, self.folder, **self.on(self.url))
        self.addCleanup(self.daemon.end)
        return self.daemon

    def refused(self, url, **settings):
        """What a start that must fail says, and its exit code."""
        daemon = Daemon(self.muster, self.folder, wait=False, **{**self.on(url), **settings})
        self.addCleanup(daemon.end)
        code = daemon.process.wait(PATIENCE_S)
        return code, daemon.log_text()

    def api(self, path):
        status, body = self.get("/api/v1" + path)
        self.assertEqual(status, 200, body)
        return json.loads(body)

    def test_N_1_one_node_works_whole_and_nothing_is_lost_by_a_stop_or_kill_9(self):
        self.serve()
        server, matchmaker = self.daemon.game_server(7000), self.daemon.matchmaker()
        lobby, error, _, token = allocated(matchmaker, server, 1)
        self.assertEqual((lobby, error), (1, ""))
        server.send(0x1006, struct.pack("<ii", server.id, 1) + text(token))
        server.expect(0x1007)
        self.assertEqual(server.validate(1, 77, token), "")
        player = self.daemon.player("anna")
        self.assertIsNone(player.refused)
        account = player.id

        for how in (signal.SIGTERM, signal.SIGKILL):
            events = {event["id"] for event in self.api("/events?limit=100")["events"]}
            self.assertIn("match.allocated", {event["type"] for event in self.api("/events?limit=100")["events"]})
            self.daemon.stop(how)
            self.daemon.start()
            kept = {event["id"] for event in self.api("/events?limit=100")["events"]}
            # What was shown was durable; only what no answer told may be newer.
            self.assertLessEqual(events, kept)
            match = self.api("/matches/1")
            self.assertEqual((match["lobby_id"], match["server_id"]), (1, server.id), match)
            again = self.daemon.game_server(7000)
            self.assertEqual(again.id, server.id)
            self.confirm_matches([again])
            self.assertNotEqual(again.validate(1, 77, token), "", "the token was used before")
            self.assertEqual(again.validate(1, 78 if how == signal.SIGTERM else 79, token), "")
            self.assertEqual(self.daemon.player("anna").id, account)

        cluster = self.api("/cluster")
        self.assertEqual(cluster["node"], "one")
        self.assertEqual([(node["name"], node["alive"]) for node in cluster["nodes"]], [("one", True)])
        cell = cluster["cells"][0]
        self.assertEqual((cell["name"], cell["owner"], cell["term"], cell["players"]), ("main", "one", 3, True))
        self.assertIn(EU, cell["regions"])
        self.assertEqual(self.figure('muster_cell_owned{cell="main"}'), 1)
        self.assertEqual(self.figure("muster_cell_takeovers_total"), 0)
        self.assertEqual(self.api("/overview")["node"], "one")

    def test_N_9_fault_83_without_the_engine_promises_are_refused_liveness_goes_on_and_all_heals(self):
        self.serve()
        server, matchmaker = self.daemon.game_server(7000), self.daemon.matchmaker()
        player = self.daemon.player("anna")
        self.assertEqual(allocated(matchmaker, server, 1)[1], "")
        self.engine.stop()
        self.addCleanup(lambda: self.engine.run("pg_ctl", "-D", self.engine.data(), "status", check=False).returncode == 0
                        or self.engine.start())
        self.soon(lambda: self.get("/readyz")[0] == 503, "nobody noticed that the engine is away")
        self.assertIn("store down", self.get("/readyz")[1])
        self.assertEqual(allocated(matchmaker, server, 2)[1], "Store unavailable")
        matchmaker.request(4)  # known by now: nobody is asked for it
        self.assertEqual(allocation(matchmaker.expect(0x2003))[1], "Store unavailable")
        server.heartbeat(1, cpu=42.0)
        self.soon(lambda: self.api("/servers")["servers"][0]["cpu"] == 42.0, "a heartbeat was not taken")
        self.assertEqual(self.get("/healthz")[0], 200)
        self.assertEqual(self.api("/overview")["players"]["connected"], 1)
        self.assertGreater(self.figure('muster_store_errors_total{kind="transient"}'), 0)

        def asked_again():
            matchmaker.request(1)
            return allocation(matchmaker.expect(0x2003))[1]
        # Once another node could have taken the cell, what was promised before is not said again, and holds up nobody.
        self.soon(lambda: asked_again() == "Store unavailable", "the old promise is still told, or all answers wait for it")
        fresh = self.daemon.matchmaker("chat-2")
        fresh.send(0x2004)
        fresh.expect(0x2005)

        self.engine.start()
        self.soon(lambda: self.get("/readyz")[0] == 200, "it does not heal")
        self.soon(lambda: asked_again() == "", "the old promise is not told again")
        self.assertEqual(allocated(matchmaker, server, 3)[1], "")
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon.start()
        lobbies = {match["lobby_id"] for match in self.api("/matches")["matches"]}
        self.assertEqual(lobbies & {1, 2, 3, 4}, {1, 3})
        self.assertIsNotNone(player)

    def test_N_10_an_engine_that_would_lose_promises_is_refused_by_the_name_of_the_setting(self):
        self.engine.sql("ALTER ROLE muster SET synchronous_commit = off")
        try:
            code, said = self.refused(self.url)
        finally:
            self.engine.sql("SET synchronous_commit = on; ALTER ROLE muster RESET synchronous_commit")
        self.assertEqual(code, 78, said)
        self.assertIn("synchronous_commit = off", said)
        for setting in ("fsync", "full_page_writes"):
            self.engine.stop()
            self.engine.start(f"-c {setting}=off")
            code, said = self.refused(self.url)
            self.engine.stop()
            self.engine.start()
            self.assertEqual(code, 78, said)
            self.assertIn(f"{setting} = off", said)
        self.assertEqual(self.engine.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'muster'", self.database), "0")
        self.assertIn("no synchronous standby", self.serve().log_text())

    def test_N_10_missing_rights_are_refused_with_what_is_missing(self):
        self.engine.sql("CREATE ROLE poor LOGIN")
        code, said = self.refused(self.engine.url(self.database, "poor"))
        self.assertEqual(code, 74, said)
        self.assertIn("the right to CREATE", said)

    def test_N_1_bad_addresses_are_told_and_nothing_is_changed(self):
        for url, code, why in ((f"postgresql://muster:hunter2@127.0.0.1:{self.engine.port}/x", 78, "holds a password"),
                               ("mysql://127.0.0.1/x", 78, "begins with postgresql://"),
                               ("postgresql://127.0.0.1:port/x", 78, "store.url"),
                               ("postgresql://127.0.0.1/x?no_such_option=1", 78, "no_such_option"),
                               ("postgresql://127.0.0.1:1/x", 74, "cannot be reached"),
                               (self.engine.url("no_such_database"), 74, "no_such_database")):
            got, said = self.refused(url)
            self.assertEqual(got, code, said)
            self.assertIn(why, said)
            self.assertNotIn("hunter2", said)
        code, said = self.refused(self.url, MUSTER_STORE_PATH=str(self.folder / "muster.db"))
        self.assertEqual(code, 78, said)
        self.assertIn("store.path", said)
        self.assertFalse((self.folder / "muster.db").exists())

    def test_N_10_a_database_that_is_not_ours_or_newer_is_refused_and_left_alone(self):
        self.engine.sql("CREATE SCHEMA muster; CREATE TABLE muster.other (x integer)", self.database)
        code, said = self.refused(self.url)
        self.assertEqual(code, 65, said)
        self.assertIn("not Muster's", said)
        newer = self.engine.database()
        self.engine.sql("CREATE SCHEMA muster; CREATE TABLE muster.version (one integer, version integer);"
                        "INSERT INTO muster.version VALUES (1, 999)", newer)
        code, said = self.refused(self.engine.url(newer))
        self.assertEqual(code, 65, said)
        self.assertIn("newer version of Muster", said)
        tables = "SELECT string_agg(tablename, ',') FROM pg_tables WHERE schemaname = 'muster'"
        self.assertEqual(self.engine.sql(tables, self.database), "other")
        self.assertEqual(self.engine.sql(tables, newer), "version")

    def test_N_1_X_2_the_password_comes_from_a_file_and_is_never_told(self):
        self.engine.sql("CREATE ROLE careful LOGIN PASSWORD 'correct horse battery'")
        self.engine.sql(f"GRANT CREATE ON DATABASE {self.database} TO careful")
        url = self.engine.url(self.database, "careful")
        secret = self.folder / "password"
        secret.write_text("wrong horse battery staple\n")
        secret.chmod(0o600)
        code, said = self.refused(url, MUSTER_STORE_PASSWORD_FILE=str(secret))
        self.assertEqual(code, 74, said)
        self.assertIn("password authentication failed", said)
        self.assertNotIn("horse", said)
        secret.write_text("correct horse battery\n")
        good = {**self.on(url), "MUSTER_STORE_PASSWORD_FILE": str(secret)}
        daemon = Daemon(self.muster, self.folder, **good)
        self.addCleanup(daemon.end)
        self.assertEqual(daemon.stop(), 0)
        passfile = self.folder / "pgpass"
        passfile.write_text(f"127.0.0.1:{self.engine.port}:*:careful:correct horse battery\n")
        passfile.chmod(0o600)
        daemon = Daemon(self.muster, self.folder, **self.on(url), PGPASSFILE=str(passfile))
        self.addCleanup(daemon.end)
        self.assertEqual(daemon.stop(), 0)

    def test_N_1_a_store_is_copied_into_a_database_and_back_with_all_it_holds(self):
        file, back = self.folder / "muster.db", self.folder / "back.db"
        self.daemon = embedded = Daemon(self.muster, self.folder)
        self.addCleanup(embedded.end)
        server, matchmaker = embedded.game_server(7000), embedded.matchmaker()
        self.assertEqual(allocated(matchmaker, server, 1)[1], "")
        account = embedded.player("anna").id

        def copy(source, target):
            return subprocess.run([self.muster, "store", "copy", str(source), str(target)], env=embedded.env, capture_output=True,
                                  text=True, timeout=PATIENCE_S, cwd=self.folder)
        in_use = copy(file, self.url)
        self.assertEqual(in_use.returncode, 73, in_use.stderr)
        embedded.stop()
        done = copy(file, self.url)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"matches +1 rows")
        again = copy(file, self.url)
        self.assertEqual(again.returncode, 73, again.stderr)
        self.assertIn("holds a store already", again.stderr)
        for wrong in ((file, back), (self.url, self.url), ("", "")):
            self.assertEqual(copy(*wrong).returncode, 64)

        self.serve()
        self.assertEqual(self.api("/matches/1")["server_id"], server.id)
        self.assertEqual(self.daemon.player("anna").id, account)
        self.daemon.stop()
        done = copy(self.url, back)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.daemon = Daemon(self.muster, self.folder, MUSTER_STORE_PATH=str(back))
        self.addCleanup(self.daemon.end)
        self.assertEqual(self.api("/matches/1")["server_id"], server.id)
        self.assertEqual(self.daemon.player("anna").id, account)
        backup = subprocess.run([self.muster, "backup", "x.db"], env={**embedded.env, "MUSTER_STORE_URL": self.url, "MUSTER_STORE_PATH": ""},
                                capture_output=True, text=True, timeout=PATIENCE_S, cwd=self.folder)
        self.assertEqual(backup.returncode, 78, backup.stderr)

    def test_N_1_who_uses_the_embedded_store_does_not_load_the_clients_of_another(self):
        self.serve()
        own = self.folder / "own"
        own.mkdir()
        embedded = Daemon(self.muster, own)
        self.addCleanup(embedded.end)
        maps = lambda daemon: pathlib.Path(f"/proc/{daemon.process.pid}/maps").read_text()
        self.assertIn("libpq", maps(self.daemon))
        self.assertNotIn("libpq", maps(embedded))
        linked = subprocess.run(["ldd", self.muster], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("libpq", linked)
        answer, body = embedded.get("/api/v1/cluster")
        self.assertEqual(answer.status, 200)
        self.assertEqual([cell["name"] for cell in json.loads(body)["cells"]], ["main"])


if __name__ == "__main__":
    main()
