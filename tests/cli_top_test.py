#!/usr/bin/env python3
"""`muster top` on a terminal (O-3).

    cli_top_test.py PATH_TO_MUSTER [unittest arguments]
"""

import re
import signal
import sys
import termios
import unittest

import served
from cli_terminal import ESCAPE, FakeDaemon, Terminal, WithDaemon, muster


class TopOfMany(unittest.TestCase):
    def test_the_fullest_server_is_shown_however_many_there_are_O_3(self):
        def servers(query):
            if "after=1000" in query:
                return 200, {"servers": [{"id": 1001, "ip": "10.9.9.9", "port": 1, "matches": 9, "max_matches": 10}], "next": None}
            return 200, {"servers": [{"id": i, "ip": "10.0.0.1", "port": i, "matches": 1, "max_matches": 10} for i in range(1, 1001)], "next": 1000}

        fake = FakeDaemon(self, {"/servers": servers, "/regions": (200, {"regions": [{"id": 2, "name": "EU"}], "next": None}), "/events": (200, {"events": []}),
                                 "/overview": (200, {"time_ms": 1, "health": {"status": "ok"}, "regions": []})})
        terminal = Terminal(["top"], MUSTER_URL=fake.url)
        self.addCleanup(terminal.close)
        terminal.read_until("10.9.9.9:1")
        terminal.read_until("\x1b[H")  # a second look
        terminal.type("q")
        self.assertEqual(terminal.end(), 0)
        self.assertEqual(sum("after=1000" in path for _, path, _, _ in fake.seen), 1, "a large fleet is not read each second")


class Top(WithDaemon):
    def terminal(self, *arguments, **more):
        terminal = Terminal(arguments, MUSTER_URL=self.url, **more)
        self.addCleanup(terminal.close)
        return terminal

    def restored(self, terminal):
        self.assertTrue(terminal.text.endswith("\x1b[?25h\x1b[?1049l"), terminal.text[-40:])
        self.assertEqual(termios.tcgetattr(terminal.theirs), terminal.before)

    def test_top_draws_redraws_resizes_and_q_restores_the_terminal_O_3(self):
        self.daemon.game_server(27000).heartbeat(matches=2, cpu=42)
        self.shown("27000", "servers")
        terminal = self.terminal("top")
        terminal.read_until("127.0.0.1:27000")
        for wanted in ("\x1b[?1049h", "\x1b[?25l", "health", "REGION", "Allocations", "Loop", "servers by load"):
            self.assertIn(wanted, terminal.text)
        self.daemon.game_server(27001)
        terminal.read_until("127.0.0.1:27001")
        terminal.type("s")
        terminal.read_until("servers by matches")
        terminal.resize(8, 30)
        terminal.read_frame(lambda lines: len(lines) <= 8 and max(map(len, lines)) <= 30)
        terminal.type("q")
        self.assertEqual(terminal.end(), 0)
        self.restored(terminal)

    def test_a_small_top_keeps_what_matters_most_and_marks_what_is_cut_O_3(self):
        self.daemon.game_server(27000).heartbeat(matches=2, cpu=42)
        self.shown("42 %", "servers")

        def frame(rows, columns):
            terminal = self.terminal("top", rows=rows, columns=columns)
            lines = terminal.read_frame(lambda lines: any("REGION" in line for line in lines))
            self.assertLessEqual(max(map(len, lines)), columns)
            terminal.type("q")
            self.assertEqual(terminal.end(), 0)
            return lines

        title = r"REGION +AVAILABLE +FULL.* MATCHES .*REQUESTS +FAILED$"
        wide = frame(40, 140)
        self.assertTrue(any("CPU" in line and re.match(title, line) for line in wide), wide)
        usual = frame(24, 80)
        self.assertTrue(any("CPU" not in line and re.match(title, line) for line in usual), usual)
        self.assertTrue(any(len(line) == 80 and line.endswith("…") for line in usual), usual)
        small = frame(12, 60)
        self.assertRegex(small[0], r"^muster .*health \w+  servers by load  q quits, s sorts$")
        self.assertTrue(any(re.match(title, line) for line in small), small)

    def test_ctrl_c_ends_top_and_restores_the_terminal(self):
        terminal = self.terminal("top")
        terminal.read_until("Loop")
        terminal.type("\x03")
        self.assertEqual(terminal.end(), 0)
        self.restored(terminal)

    def test_top_says_that_the_daemon_is_gone_waits_for_it_and_sigterm_restores_the_terminal_O_3(self):
        terminal = self.terminal("top")
        terminal.read_until("Loop")
        self.daemon.stop()
        frame = "\n".join(terminal.read_frame(lambda lines: any("trying again; all below is as of " in line for line in lines)))
        self.assertIn("health unknown", frame)
        self.assertIn(f"no daemon answers at {self.url}", frame)
        terminal.process.send_signal(signal.SIGTERM)
        self.assertEqual(terminal.end(), 0)
        self.restored(terminal)

    def test_top_without_a_terminal_is_64_and_names_status(self):
        result = self.run_muster("top")
        self.assertEqual(result.returncode, 64)
        self.assertIn("muster status", result.stderr)

    def test_status_wraps_at_the_width_of_the_terminal(self):
        narrow = self.terminal("status", columns=50, NO_COLOR="1")
        narrow.read_until("REGION")
        self.assertEqual(narrow.end(), 0)
        facts = narrow.text.replace("\r", "").split("\n\n")[0]
        self.assertLessEqual(max(map(len, facts.split("\n"))), 50)
        self.assertRegex(facts, r"\n {13}flight|\n {13}\S+.*none failed")
        self.assertEqual(len(self.ok("status").split("\n\n")[0].split("\n")), 10, "whole lines where it is no terminal")

    def test_colours_are_for_terminals_and_not_with_no_color(self):
        coloured = self.terminal("status")
        coloured.read_until("REGION")
        self.assertEqual(coloured.end(), 0)
        self.assertIn("\x1b[32mok\x1b[0m", coloured.text)
        for more in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            plain = self.terminal("status", **more)
            plain.read_until("REGION")
            self.assertEqual(plain.end(), 0)
            self.assertNotIn(ESCAPE, plain.text)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    served.main()
