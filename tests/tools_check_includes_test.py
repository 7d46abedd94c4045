#!/usr/bin/env python3
"""Plants violations in a tree of its own and shows that tools/check_includes.py finds each, by file, line and rule."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHECK = ROOT / "tools" / "check_includes.py"

CLEAN = {
    "src/base/time.h": "#pragma once\n#include <chrono>\n",
    "src/runtime/timer_wheel.h": '#pragma once\n#include "base/time.h"\n',
    "src/protocol/message.h": '#pragma once\n#include "base/time.h"\n',
    "src/core/records.h": '#pragma once\n#include "base/time.h"\n',
    "src/core/fleet.h": '#include "runtime/timer_wheel.h"\n#include "protocol/message.h"\n#include "core/records.h"\n',
    "src/core/fleet_test.cpp": '#include "core/fleet.h"\n#include <thread>\n',
    "src/store/store.h": '#pragma once\n#include "core/records.h"\n',
    "src/net/link.h": '#include <net/if.h>\n#include "protocol/message.h"\n#include "runtime/timer_wheel.h"\n',
    "src/http/server.cpp": "#include <boost/beast/core.hpp>\n",
    "src/daemon/main.cpp": '#include "net/link.h"\n#include "core/fleet.h"\n#include "store/store.h"\n',
    "sdk/include/muster/player.h": '#pragma once\n#include "protocol/message.h"\n',
    "sdk/examples/world.cpp": '#include "muster/player.h"\n#include "runtime/timer_wheel.h"\n',
}


class CheckIncludes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        for name, text in CLEAN.items():
            self.write(name, text)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def check(self, *arguments):
        return subprocess.run(
            [sys.executable, CHECK, "--root", self.root, *arguments], capture_output=True, text=True, check=False
        )

    def assert_refused(self, name, text, line, rule):
        """With this file in the tree, exactly one violation is told: its file, its line, its rule."""
        self.write(name, text)
        done = self.check()
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        told = done.stdout.splitlines()
        self.assertEqual(len(told), 1, done.stdout)
        self.assertTrue(told[0].startswith(f"{name}:{line}: "), told[0])
        self.assertIn(rule, told[0])

    def test_a_clean_tree_passes(self):
        done = self.check()
        self.assertEqual((done.returncode, done.stdout), (0, "check_includes: clean\n"), done.stderr)

    def test_this_checkout_has_a_rule_for_each_folder(self):
        done = subprocess.run([sys.executable, CHECK], capture_output=True, text=True, check=False)
        self.assertNotIn("has no entry", done.stdout)

    def test_base_includes_nothing_of_ours(self):
        text = '#pragma once\n\n#include "runtime/timer_wheel.h"\n'
        self.assert_refused("src/base/log.h", text, 3, "src/base may include the standard library only")

    def test_runtime_knows_no_protocol(self):
        text = '#include "protocol/message.h"\n'
        self.assert_refused("src/runtime/loop.cpp", text, 1, "src/runtime may include base; not protocol")

    def test_net_includes_runtime_but_not_core(self):
        text = '#include "net/link.h"\n#include "core/fleet.h"\n'
        self.assert_refused("src/net/listener.cpp", text, 2, "src/net may include base, protocol, runtime, tls, certs/authority; not core")

    def test_only_tests_and_fixtures_include_what_tests_share(self):
        self.write("src/testing/kept_lines.h", '#pragma once\n#include "base/time.h"\n')
        self.write("src/runtime/loop_fixture.h", '#include "testing/kept_lines.h"\n')
        self.write("src/core/fleet_test.cpp", '#include "testing/kept_lines.h"\n')
        text = '#include "testing/kept_lines.h"\n'
        self.assert_refused("src/core/fleet.cpp", text, 1, "only tests and their fixtures include testing")

    def test_store_gets_the_records_of_core_and_nothing_else(self):
        text = '#include "core/records.h"\n#include "core/fleet.h"\n'
        self.assert_refused("src/store/sqlite.cpp", text, 2, "core/records, core/event_search; not core")

    def test_core_has_no_socket_no_lock_no_chance_and_no_clock(self):
        for header in ("sys/socket.h", "mutex", "random", "boost/asio.hpp"):
            with self.subTest(header):
                text = f"#include <vector>\n#include <{header}>\n"
                self.assert_refused("src/core/tokens.cpp", text, 2, "src/core never includes")
        text = '#include "base/system_clock.h"\n'
        self.assert_refused("src/core/tokens.cpp", text, 1, "src/core never includes base/system_clock.h")

    def test_the_daemon_does_not_include_the_simulator_or_the_tool(self):
        self.write("src/sim/world.h", "#pragma once\n")
        self.assert_refused("src/daemon/serve.cpp", '#include "sim/world.h"\n', 1, "not sim")

    def test_slow_headers_stay_out_of_our_headers(self):
        for header in ("boost/asio.hpp", "boost/beast/http.hpp", "CLI/CLI.hpp", "grpcpp/grpcpp.h"):
            with self.subTest(header):
                text = f"#pragma once\n#include <{header}>\n"
                self.assert_refused("src/http/server.h", text, 2, "stays out of headers")

    def test_a_part_of_one_source_may_and_is_included_by_nobody_else(self):
        self.write("src/http/http_wire.h", "#pragma once\n#include <boost/asio/io_context.hpp>\n")
        self.write("src/http/http_connection.cpp", '#include "http/http_wire.h"\n')
        self.assertEqual(self.check().returncode, 0, self.check().stdout)
        self.assert_refused("src/http/other.cpp", '#include "http/http_wire.h"\n', 1, "a part of src/http/http_connection.cpp alone")

    def test_paths_that_would_slip_past_the_rules_are_refused(self):
        self.assert_refused("src/net/a.cpp", '#include "../core/fleet.h"\n', 1, "includes start at src")
        self.assert_refused("src/net/a.cpp", '#include "fleet.h"\n', 1, "names its folder")
        self.assert_refused("src/net/a.cpp", "#include <core/fleet.h>\n", 1, "ours are included with quotes")

    def test_a_folder_without_rules_is_refused(self):
        self.assert_refused("src/utils/things.cpp", "#include <vector>\n", 1, "its folder has no entry")

    def test_what_stands_in_a_comment_does_not_count(self):
        self.write("src/net/a.cpp", '// #include "core/fleet.h"\n/*\n#include "core/fleet.h"\n*/\n/* one line */\n')
        self.assertEqual(self.check().returncode, 0)
        self.assert_refused("src/net/a.cpp", '/* a\n b */ #include "core/fleet.h"\n', 2, "not core")

    def test_a_wrong_call_and_a_wrong_table_say_so(self):
        self.assertEqual(self.check("--no-such-flag").returncode, 64)
        self.write("rules.toml", '[headers]\nnever = []\n[folders."src/base"]\nmay_include = ["bse"]\n')
        done = self.check("--rules", self.root / "rules.toml")
        self.assertEqual(done.returncode, 1)
        self.assertIn("src/base may include bse, which is no folder of the table", done.stderr)


if __name__ == "__main__":
    unittest.main()
