#!/usr/bin/env python3
"""Plants calls upstream in a tree of its own and shows that tools/check_core.py finds each, by file, line and rule."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHECK = ROOT / "tools" / "check_core.py"

RULES = """
levels = [["ledger"], ["fleet"], ["matches"], ["core"]]
[callbacks]
ledger = "the store"
"""
CLEAN = {
    "records.h": "#pragma once\nstruct Record {};\n",
    "ledger.h": '#include "core/records.h"\nclass Ledger {\n    virtual void submit() = 0;\n};\n',
    "fleet.h": '#include "core/ledger.h"\n// Has no Function<void()> in it.\nclass Fleet {\n};\n',
    "fleet.cpp": '#include "core/fleet.h"\nvoid Fleet::remove() {}\n',
    "offers.h": '#include "core/fleet.h"\nclass Offers {\n};\n',
    "matches.h": '#include "core/fleet.h"\n#include "core/offers.h"\nclass Matches {\n};\n',
    "matches_test.cpp": '#include "core/core.h"\nstd::function<void()> in_a_test;\n',
    "core.h": '#include "core/matches.h"\nclass Core {\n};\n',
}


class CheckCore(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "src" / "core").mkdir(parents=True)
        (self.root / "rules.toml").write_text(RULES, encoding="utf-8")
        for name, text in CLEAN.items():
            self.write(name, text)

    def write(self, name, text):
        (self.root / "src" / "core" / name).write_text(text, encoding="utf-8")

    def check(self):
        command = [sys.executable, CHECK, "--root", self.root, "--rules", self.root / "rules.toml"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def assert_refused(self, *told):
        done = self.check()
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual(done.stdout.splitlines(), list(told))

    def test_a_clean_tree_passes(self):
        done = self.check()
        self.assertEqual((done.returncode, done.stdout), (0, "check_core: clean\n"), done.stderr)

    def test_every_part_in_the_rules_of_this_checkout_exists(self):
        done = subprocess.run([sys.executable, CHECK], capture_output=True, text=True, check=False)
        self.assertNotIn("there is no", done.stdout)

    def test_a_part_includes_no_part_above_it(self):
        self.write("matches.h", "class Matches {\n};\n")
        self.write("fleet.h", '#include "core/ledger.h"\n#include "core/matches.h"\nclass Fleet {\n};\n')
        self.assert_refused("src/core/fleet.h:2: fleet includes matches, which is not on a lower level")

    def test_nor_by_way_of_a_file_that_is_not_in_the_table(self):
        self.write("matches.h", "class Matches {\n};\n")
        self.write("offers.h", '#include "core/matches.h"\nclass Offers {\n};\n')
        self.write("fleet.cpp", '#include "core/offers.h"\nvoid Fleet::remove() {}\n')
        self.assert_refused("src/core/fleet.cpp:1: fleet includes matches, which is not on a lower level")

    def test_a_cpp_of_another_name_belongs_to_the_class_that_it_defines(self):
        self.write("silence.cpp", '#include "core/fleet.h"\n\n#include "core/core.h"\nvoid Fleet::silent() {}\n')
        done = self.check()
        self.assertEqual(done.returncode, 1)
        self.assertIn("src/core/silence.cpp:3: fleet includes core, which is not on a lower level", done.stdout)

    def test_two_files_that_are_not_in_the_table_do_not_include_each_other(self):
        self.write("seats.h", '#include "core/offers.h"\nclass Seats {\n};\n')
        self.write("offers.cpp", '#include "core/seats.h"\nvoid Offers::take() {}\n')
        self.assert_refused("src/core/offers.cpp:1: a circle of includes: offers -> seats -> offers")

    def test_a_callback_needs_an_entry(self):
        rule = "is a callback; return a fact instead"
        self.write("offers.h", "class Offers {\n    Function<void(int)> on_taken;\n};\n")
        self.assert_refused(f"src/core/offers.h:2: Function< {rule}")
        self.write("offers.h", "class Watcher {\n    virtual void taken() = 0;\n};\n")
        self.assert_refused(f"src/core/offers.h:2: virtual {rule}")
        self.write("offers.h", "class Offers {\n};\n")
        self.write("offers.cpp", "Offers::Offers(Events& events) {\n    events.subscribe<event::Left>([] {});\n}\n")
        self.assert_refused(f"src/core/offers.cpp:2: subscribe< {rule}")

    def test_a_part_in_the_rules_that_is_gone_is_told(self):
        (self.root / "src" / "core" / "core.h").unlink()
        self.assert_refused("core_rules.toml: there is no src/core/core.h")

    def test_rules_that_cannot_be_read_are_told(self):
        (self.root / "rules.toml").write_text("levels = [", encoding="utf-8")
        done = self.check()
        self.assertEqual(done.returncode, 1)
        self.assertIn("check_core: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
