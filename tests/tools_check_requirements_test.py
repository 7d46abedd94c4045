#!/usr/bin/env python3
"""Shows that tools/check_requirements.py knows where an id is tested, and notices when that changes."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parent.parent / "tools" / "check_requirements.py"

SPEC = "# Spec\n\n- **W-1** frames\n- **F-7** load, see W-1\n  and more\n- F-8 silence\n"
FAULTS = "| # | fault |\n| --- | --- |\n| 11 | stopped |\n| 22 | one byte |\n\n## Invariants\n\n1. Capacity\n2. Truth\n"


class CheckRequirements(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("docs/SPEC.md", SPEC)
        self.write("docs/FAULTS.md", FAULTS)
        self.write("src/core/fleet_test.cpp", 'TEST_CASE("F-7, faults 11 and 22: load") {}\n// UTF-8\n// invariant 1\n')
        self.write("src/core/fleet.cpp", "// W-1 is named here, but this is no test\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def run_it(self, *arguments):
        command = [sys.executable, CHECK, "--root", self.root, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def check_list(self, text):
        self.write("open.txt", text)
        return self.run_it("--check", self.root / "open.txt")

    def test_it_answers_where_an_id_is_tested(self):
        for each in ("F-7", "fault 11", "fault 22"):
            self.assertIn("src/core/fleet_test.cpp:1", self.run_it(each).stdout)
        self.assertIn("src/core/fleet_test.cpp:3", self.run_it("invariant 1").stdout)
        self.assertEqual(self.run_it("W-1").stdout.split(), ["W-1", "-"])

    def test_missing_tells_those_that_no_test_names(self):
        told = self.run_it("--missing").stdout
        self.assertEqual([line.split()[0] for line in told.splitlines()[:-1]], ["W-1", "F-8", "invariant"])
        self.assertIn("4 of 7 are named by tests, 3 are not", told)

    def test_the_check_passes_when_the_open_list_is_what_is_missing(self):
        done = self.check_list("W-1  # not built\nF-8\n\n# the simulator\ninvariant 2\n")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_requirement_that_lost_its_test_is_told(self):
        self.write("src/core/fleet_test.cpp", "// faults 11, 22 and invariant 1\n")
        done = self.check_list("W-1\nF-8\ninvariant 2\n")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, "F-7 has no test that names it: write one, or put it on the open list\n")

    def test_an_open_one_that_got_its_test_leaves_the_list_or_is_marked_partly(self):
        done = self.check_list("W-1\nF-7\nF-8\ninvariant 2\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("F-7 is named by src/core/fleet_test.cpp:1: take it off the open list", done.stdout)
        self.assertEqual(self.check_list("W-1\nF-7 partly\nF-8\ninvariant 2\n").returncode, 0)
        done = self.check_list("W-1 partly\nF-8\ninvariant 2\n")
        self.assertIn("W-1 is partly tested by the open list, but no test names it any more", done.stdout)

    def test_an_id_that_no_document_declares_is_told(self):
        self.write("tests/more_test.py", "# F-77 and fault 99\n")
        told = self.check_list("W-1\nF-8\ninvariant 2\nfault 12\n").stdout
        self.assertIn("tests/more_test.py:1 names F-77, which no document declares", told)
        self.assertIn("tests/more_test.py:1 names fault 99, which no document declares", told)
        self.assertIn("fault 12 is on the open list, but no document declares it", told)

    def test_a_wrong_call_says_so(self):
        self.assertEqual(self.run_it("F-99").returncode, 64)
        self.assertEqual(self.run_it("--no-such-flag").returncode, 64)
        self.assertEqual(self.check_list("F-8\nF-8\n").returncode, 1)


if __name__ == "__main__":
    unittest.main()
