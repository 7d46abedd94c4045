#!/usr/bin/env python3
"""`muster demo`, and progress on a terminal (O-3).

    cli_demo_test.py PATH_TO_MUSTER [unittest arguments]
"""

import contextlib
import glob
import json
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

import pg_engine
import served
from cli_terminal import PATIENCE_S, USUAL_URL, Terminal, environment, muster
from muster_peer import until
from served import Served


class Demo(unittest.TestCase):
    def processes(self, marker):
        """Whose environment has it."""
        found = []
        for path in glob.glob("/proc/[0-9]*/environ"):
            with contextlib.suppress(OSError), open(path, "rb") as file:
                if marker.encode() in file.read():
                    found.append(path)
        return found

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.marker = f"DEMO_OF_TEST={os.path.basename(folder.name)}"

    def start(self, *arguments):
        demo = self.launched(*arguments)
        lines = [demo.stdout.readline() for _ in range(4)]
        match = re.search(r"(http://\S+)/", "".join(lines))
        self.assertTrue(match, lines + [demo.stderr.read() if demo.poll() is not None else ""])
        return demo, match[1]

    def launched(self, *arguments):
        name, value = self.marker.split("=")
        demo = subprocess.Popen([Served.muster, "demo", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=environment(TMPDIR=self.folder, **{name: value}))
        self.addCleanup(demo.kill)
        return demo

    @unittest.skipIf(pg_engine.programs() is None, "PostgreSQL is not installed: nothing was tried")
    def test_N_7_N_12_the_demo_of_three_nodes_spreads_its_cells_and_survives_the_loss_of_an_owner(self):
        os.chmod(self.folder, 0o711)  # root's PostgreSQL is another user's, who has to get there
        demo = self.launched("--nodes", "3", "--http", "127.0.0.1:0", "--json")
        line = demo.stdout.readline()
        told = json.loads(line) if line else self.fail(demo.communicate()[1])
        self.assertEqual([node["name"] for node in told["nodes"]], ["one", "two", "three"])

        def cluster(node):
            try:
                with urllib.request.urlopen(node["url"] + "/api/v1/cluster", timeout=PATIENCE_S) as answer:
                    return json.loads(answer.read())
            except OSError:
                return {"cells": [], "nodes": []}

        def owners(nodes):
            """Of each cell, when all of them say the same."""
            told = [{cell["name"]: cell["owner"] for cell in cluster(node)["cells"]} for node in nodes]
            return told[0] if all(one == told[0] for one in told) else {}

        def playing(node):
            try:
                with urllib.request.urlopen(node["url"] + "/api/v1/overview", timeout=PATIENCE_S) as answer:
                    return json.loads(answer.read())["players"]["connected"] > 0
            except (OSError, KeyError):
                return False
        # Its database has a synchronous standby: no node warns of losing what was promised.
        logs = [log.read_text() for log in pathlib.Path(self.folder).glob("*/*/log.txt")]
        self.assertEqual(len(logs), 3)
        self.assertNotIn("synchronous standby", "".join(logs))
        spread = {"america": "one", "europe": "two", "people": "three"}
        until(lambda: owners(told["nodes"]) == spread, lambda: f"{owners(told['nodes'])} are not {spread}", 6 * PATIENCE_S)
        until(lambda: all(playing(node) for node in told["nodes"]), "the fleet does not play")
        first = told["nodes"][0]
        os.kill(first["pid"], signal.SIGKILL)
        others = [node for node in told["nodes"] if node is not first]
        until(lambda: owners(others).get("america") in ("two", "three"), "nobody takes over", 3 * PATIENCE_S)
        until(lambda: all(playing(node) for node in others), "the fleet does not play on")
        demo.send_signal(signal.SIGINT)
        self.assertEqual(demo.wait(2 * PATIENCE_S), 0, demo.stderr.read())
        demo.stdout.close()
        demo.stderr.close()
        self.assertEqual(os.listdir(self.folder), [])

    def test_S_1_the_demo_speaks_TLS_on_all_ports_with_certificates_made_on_the_spot(self):
        demo = self.launched("--tls", "--http", "127.0.0.1:0", "--json")
        line = demo.stdout.readline()
        told = json.loads(line) if line else self.fail(demo.communicate()[1])
        self.assertTrue(told["ca_file"].startswith(self.folder), told)
        context = ssl.create_default_context(cafile=told["ca_file"])

        def metric(name, port):
            with urllib.request.urlopen(told["url"] + "/metrics", timeout=PATIENCE_S, context=context) as answer:
                return sum(float(line.rsplit(" ", 1)[1]) for line in answer.read().decode().splitlines()
                           if line.startswith(name + "{") and f'port="{port}"' in line)

        self.assertTrue(told["url"].startswith("https://"), told)
        for port in ("servers", "matchmakers", "players"):
            until(lambda port=port: metric("muster_tls_handshakes_total", port) > 0, f"nobody speaks TLS at {port}")
            self.assertEqual(metric("muster_tls_failures_total", port), 0)
        for key in glob.glob(f"{self.folder}/*/**/*.key", recursive=True):
            self.assertEqual(os.stat(key).st_mode & 0o077, 0, key)
        demo.send_signal(signal.SIGINT)
        self.assertEqual(demo.wait(2 * PATIENCE_S), 0, demo.stderr.read())
        demo.stdout.close()
        demo.stderr.close()
        self.assertEqual(os.listdir(self.folder), [], "the keys are gone, too")

    def test_N_7_a_demo_of_nodes_that_cannot_be_is_refused(self):
        for arguments, said in ((("--nodes", "1"), "--nodes wants 2 to 9"), (("--nodes", "10"), "--nodes wants 2 to 9"),
                                (("--nodes", "3", "--tls"), "do not go together")):
            demo = self.launched(*arguments)
            _, error = demo.communicate(timeout=PATIENCE_S)
            self.assertEqual(demo.returncode, 64, error)
            self.assertIn(said, error)

    def ends_clean(self, demo):
        self.assertEqual(demo.wait(PATIENCE_S), 0, demo.stderr.read())
        rest = demo.stdout.read()
        demo.stdout.close()
        demo.stderr.close()
        self.assertEqual(os.listdir(self.folder), [])
        self.assertEqual(self.processes(self.marker), [])
        return rest

    def test_the_demo_takes_the_port_where_commands_look_and_says_so_when_it_cannot_O_3(self):
        def at_its_place():
            demo, url = self.start()
            demo.send_signal(signal.SIGINT)
            told = self.ends_clean(demo)
            if url == USUAL_URL:
                self.assertNotIn("export", told)
                return True
            # Somebody else has it; who had it a moment ago proves nothing.
            with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", 11030)):
                return False
            return True

        until(at_its_place, "the port is free, and not taken")
        with contextlib.suppress(OSError):
            holder = socket.create_server(("127.0.0.1", 11030))
            self.addCleanup(holder.close)
        demo, url = self.start()
        self.assertNotEqual(url, USUAL_URL)
        demo.send_signal(signal.SIGTERM)
        told = self.ends_clean(demo)
        self.assertIn(f"    export MUSTER_URL={url}\n", told)
        self.assertTrue(told.endswith("\nThe demo has stopped and removed its files.\n"), told)

    def test_the_demo_is_lively_and_ctrl_c_ends_it_clean_O_3(self):
        demo, url = self.start("--seed", "1")

        def lively():
            result = muster("status", "--json", MUSTER_URL=url)
            self.assertIn(result.returncode, (0, 1), result.stderr)
            status = json.loads(result.stdout)
            return (sum(region["servers"]["available"] for region in status["regions"]) > 10 and status["matches"]["started"] > 3
                    and status["players"]["connected"] > 10 and status["matchmakers"] == 2)

        until(lively, "servers, matches and players by and by")

        def attendance():
            matches = json.loads(muster("matches", "--state", "started", "--json", MUSTER_URL=url).stdout)["matches"]
            there = [match["tokens_used"] / match["player_count"] for match in matches]
            return sum(there) / len(there) if there else 0

        until(lambda: attendance() > 0.8, "most of those who are expected are there")
        until(lambda: "server.resumed" in muster("events", "--json", "--type", "server.", MUSTER_URL=url).stdout,
              "a server that loses its link comes back and keeps its matches")
        demo.send_signal(signal.SIGINT)
        self.ends_clean(demo)

    def test_the_demo_ends_by_itself_after_its_seconds_and_tells_where_it_is_as_json_O_3(self):
        began = time.monotonic()
        demo = self.launched("--seconds", "6", "--json")
        where = json.loads(demo.stdout.readline())
        self.assertEqual(set(where), {"url", "servers", "matchmakers", "players"})
        self.assertIn(muster("status", MUSTER_URL=where["url"]).returncode, (0, 1))
        self.ends_clean(demo)
        self.assertGreater(time.monotonic() - began, 6)

    def test_the_daemon_of_a_demo_that_was_killed_ends_too(self):
        demo, url = self.start()
        demo.kill()
        demo.wait()
        until(lambda: not self.processes(self.marker), "the daemon ends, too")
        demo.stdout.close()
        demo.stderr.close()

    def test_progress_is_for_terminals(self):
        terminal = Terminal(["simulate", "--scenario", "calm", "--seeds", "100000"])
        self.addCleanup(terminal.close)
        terminal.read_until("[....")
        terminal.read_until("of 100000)")
        terminal.type("\x03")
        self.assertEqual(terminal.end(), -signal.SIGINT)
        played = re.search(r"played(?:\x1b\[0m)? +(\d+) runs, ", terminal.text)
        self.assertTrue(played, terminal.text)
        self.assertIn(f"Ctrl-C, after {played[1]} of 100000 seeds", terminal.text)

    def test_a_long_run_tells_how_far_it_is_and_ctrl_c_ends_it_O_3(self):
        terminal = Terminal(["simulate", "--scenario", "calm", "--hours", "200"])
        self.addCleanup(terminal.close)
        shares = []
        end = time.monotonic() + PATIENCE_S
        while len(set(shares)) < 2:  # some hours more make a per cent
            self.assertLess(time.monotonic(), end, terminal.text)
            terminal.read(0.1)
            shares = [int(share) for share in re.findall(r"\] +(\d+) % calm: seed 1 \d+ s", terminal.text)]
        self.assertEqual(shares, sorted(shares))
        terminal.type("\x03")
        self.assertEqual(terminal.end(), -signal.SIGINT)
        self.assertIn("Ctrl-C, after 0 of 1 seed\r\n", terminal.text)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    served.main()
