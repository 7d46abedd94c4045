#!/usr/bin/env python3
"""Shows that tools/check_requirements.py knows where an id is tested, and notices when that changes."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parent.parent / "tools" / "check_requirements.py"

SPEC = "# Spec\n\n- **W-1** frames\n- **F-7** load, see W-1\n  and more\n- F-8 silence\n"
FAULTS = """| # | fault | required | how |
| --- | --- | --- | --- |
| 11 | stopped | nobody is removed | P, S |
| 22 | one byte | as one | U all sizes, Z |

## Invariants

1. Capacity
2. Truth
"""
OPEN = "W-1\nF-8\ninvariant 2\nfault 11 P\nfault 11 S\nfault 22 Z\n"


class CheckRequirements(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("docs/SPEC.md", SPEC)
        self.write("docs/FAULTS.md", FAULTS)
        self.write(
            "src/core/fleet_test.cpp",
            'TEST_CASE("F-7, faults 11 and 22: load") {}\n// UTF-8, F-8\nTEST_CASE_FIXTURE(A, "invariant 1: "\n "x") {}\n',
        )
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

    def named(self, each):
        return self.run_it(each).stdout.split()

    def test_it_answers_where_an_id_is_tested(self):
        self.assertEqual(self.named("F-7"), ["F-7", "src/core/fleet_test.cpp:1"])
        self.assertEqual(self.named("invariant 1"), ["invariant", "1", "src/core/fleet_test.cpp:3"])
        self.assertEqual(self.named("W-1"), ["W-1", "-"])

    def test_a_row_is_told_by_each_of_its_ways(self):
        told = self.run_it("fault 22").stdout.splitlines()
        self.assertEqual([line.split() for line in told], [["fault", "22", "U", "src/core/fleet_test.cpp:1"], ["fault", "22", "Z", "-"]])

    def test_where_a_test_stands_is_its_way(self):
        self.write("src/sim/stop_test.cpp", 'TEST_CASE("fault 11: in the simulator") {}\n')
        self.write("tests/stop_test.py", "class A:\n    def test_it_stands_still_F_8_faults_11_and_22(self):\n")
        self.write("fuzz/fuzz_bytes.cpp", 'FUZZ_TARGET("fault 22: bytes") {}\n')
        self.write("web/src/a_test.ts", 'it("W-1: shown", () => {});\n')
        self.write("CMakeLists.txt", 'add_test(NAME "invariant 2: truth"\n  COMMAND x)\n')
        done = self.check_list("")
        self.assertEqual((done.returncode, done.stdout), (0, "check_requirements: 9 of 9 are named by tests\n"))

    def test_comments_and_ranges_name_nothing(self):
        self.write("src/core/fleet_test.cpp", '// F-7\nTEST_CASE("faults 11-22: load") {}\nTEST_CASE("faults 11–22") {}\n')
        told = self.check_list(OPEN).stdout
        self.assertIn("F-7 has no test that names it: write one\n", told)
        self.assertIn("fault 22 U has no test as unit test that names it: write one\n", told)
        self.assertIn("invariant 1 has no test", told)

    def test_missing_tells_those_that_no_test_names(self):
        told = self.run_it("--missing").stdout
        self.assertEqual([line.split("  ")[0].strip() for line in told.splitlines()[:-1]], sorted(OPEN.splitlines(), key=told.index))
        self.assertIn("3 of 9 are named by tests, 6 are not", told)

    def test_the_check_passes_when_the_open_list_is_what_is_missing(self):
        done = self.check_list("# the simulator\n\n" + OPEN.replace("W-1", "W-1  # not built"))
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_an_open_one_that_got_its_test_leaves_the_list(self):
        done = self.check_list(OPEN + "F-7\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("F-7 is named by src/core/fleet_test.cpp:1: take it off the open list", done.stdout)

    def test_an_id_that_no_document_declares_is_told(self):
        self.write("tests/more_test.py", "def test_F_77_and_fault_99():\n")
        told = self.check_list(OPEN + "fault 12\n").stdout
        self.assertIn("tests/more_test.py:1 names F-77, which no document declares", told)
        self.assertIn("tests/more_test.py:1 names fault 99, which no document declares", told)
        self.assertIn("fault 12 is on the open list, but no document asks for it", told)

    def test_a_wrong_call_says_so(self):
        self.assertEqual(self.run_it("F-99").returncode, 64)
        self.assertEqual(self.run_it("--no-such-flag").returncode, 64)
        self.assertEqual(self.check_list("F-8\nF-8\n").returncode, 1)


if __name__ == "__main__":
    unittest.main()
