#!/usr/bin/env python3
"""Shows that tools/zoo.py finds what its list, the source and its table disagree about, plays a bug to the fuzz targets
that have its code, and refuses bad flags."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent

LIST = 'MUSTER_BUG(no_epoch, "F-9", "a server keeps its old epoch")\n'
SOURCE = "if (!planted(Bug::no_epoch)) server.epoch = epoch;\n"
TABLE = "| bug | breaks |\n| --- | --- |\n| `no_epoch` | F-9 |\n"
# Stands in for a fuzz target: says what one says, and objects when the bug is live.
TARGET = """#!/bin/sh
echo "stat::number_of_executed_units: %d"
[ "$MUSTER_PLANTED_BUG" != "%s" ] && exit 0
echo "broken invariant at fuzz/fuzz_tokens.cpp:7: nobody is let in twice (first)"
echo "==1== ERROR: libFuzzer: deadly signal"
exit 77
"""


class Zoo(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("src/base/planted_bugs.inc", LIST)
        self.write("src/core/fleet.cpp", SOURCE)
        self.write("docs/ZOO.md", TABLE)
        for name in ("tools", "fuzz"):
            (self.root / name).mkdir()
        shutil.copy(ROOT / "fuzz" / "CMakeLists.txt", self.root / "fuzz")
        shutil.copy(ROOT / "tools" / "zoo.py", self.root / "tools")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def fuzz_target(self, name, runs, bug):
        path = f"build/zoo-fuzz/fuzz/fuzz_{name}"
        self.write(path, TARGET % (runs, bug))
        (self.root / path).chmod(0o755)

    def row(self):
        written = (self.root / "docs" / "ZOO.md").read_text(encoding="utf-8")
        return next(line for line in written.splitlines() if line.startswith("| `no_epoch`"))

    def zoo(self, *flags):
        done = subprocess.run([sys.executable, self.root / "tools" / "zoo.py", *flags], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def test_a_list_a_source_and_a_table_that_agree_are_fine(self):
        self.assertEqual(self.zoo("--check"), (0, "zoo: 1 bugs\n"))

    def test_a_bug_without_a_row_is_found(self):
        self.write("docs/ZOO.md", "")
        code, said = self.zoo("--check")
        self.assertEqual(code, 1)
        self.assertIn("0 rows for no_epoch", said)

    def test_a_row_without_a_bug_is_found(self):
        self.write("docs/ZOO.md", TABLE + "| `no_brake` | F-8 |\n")
        code, said = self.zoo("--check")
        self.assertEqual(code, 1)
        self.assertIn("no_brake, which is no bug", said)

    def test_a_bug_that_stands_nowhere_is_found(self):
        self.write("src/core/fleet.cpp", "")
        code, said = self.zoo("--check")
        self.assertEqual(code, 1)
        self.assertIn("no_epoch is listed and stands nowhere", said)

    def test_the_table_is_written_from_the_results(self):
        self.write("docs/zoo.json", '{"no_epoch": {"sim": {"found": true, "seconds": 2.5, "seeds": 31, "by": "F-9"}}}')
        self.assertEqual(self.zoo("--write")[0], 0)
        self.assertEqual(self.row(),
                         "| `no_epoch` | F-9 | a server keeps its old epoch | – | **2.5 s, 31 seeds**: F-9 | – | – |")
        self.assertEqual(self.zoo("--check")[0], 0)

    def test_the_table_names_what_unit_tests_alone_see(self):
        alone = '"unit": {"found": true, "seconds": 1.0, "by": "core: F-9"}'
        for more, named in (('"storm": {"found": false, "seconds": 60.0}', True),
                            ('"storm": {"found": true, "seconds": 6.0, "by": "two"}', False)):
            self.write("docs/zoo.json", '{"no_epoch": {%s, %s}}' % (alone, more))
            self.assertEqual(self.zoo("--write")[0], 0)
            written = (self.root / "docs" / "ZOO.md").read_text(encoding="utf-8")
            self.assertEqual("Seen by unit tests alone: `no_epoch`." in written, named)

    def test_a_fuzz_target_that_nobody_knows_is_found(self):
        listed = (ROOT / "fuzz" / "CMakeLists.txt").read_text(encoding="utf-8")
        self.write("fuzz/CMakeLists.txt", listed.replace("fuzz_target(rows ", "fuzz_target(columns "))
        code, said = self.zoo("--check")
        self.assertEqual(code, 1)
        self.assertIn("has the target columns; tools/zoo.py does not know what it runs", said)
        self.assertIn("knows the fuzz target rows, which fuzz/CMakeLists.txt does not have", said)

    def test_a_bug_is_played_to_the_fuzz_targets_that_have_its_code_until_one_objects(self):
        self.fuzz_target("core", 2000, "none")
        self.fuzz_target("tokens", 1, "no_epoch")  # the next, rows, is not there and not asked for
        code, said = self.zoo("--only", "no_epoch", "--finder", "fuzz", "--no-build", "--no-baseline")
        self.assertEqual(code, 0, said)
        self.assertRegex(self.row(), r"\| \*\*[0-9.]+ s, 2,001 runs\*\*: tokens: broken invariant at "
                                     r"fuzz/fuzz_tokens\.cpp:7: nobody is let in twice \(first\) \|$")

    def test_a_bug_that_no_fuzz_target_sees_is_not_seen_in_so_many_runs(self):
        for target in ("core", "tokens", "rows"):
            self.fuzz_target(target, 500, "none")
        code, said = self.zoo("--only", "no_epoch", "--finder", "fuzz", "--no-build", "--no-baseline")
        self.assertEqual(code, 1)
        self.assertIn("no_epoch: seen by no finder that was run", said)
        self.assertTrue(self.row().endswith("| not seen in 1,500 runs |"), self.row())

    def test_a_bug_whose_code_no_fuzz_target_has_is_not_in_it(self):
        self.write("src/core/fleet.cpp", "")
        self.write("src/daemon/game.cpp", SOURCE)
        self.zoo("--only", "no_epoch", "--finder", "fuzz", "--no-build", "--no-baseline")
        self.assertTrue(self.row().endswith("| not in it |"), self.row())

    def test_a_bug_of_the_sdk_is_not_in_the_storm(self):
        self.write("src/core/fleet.cpp", "")
        self.write("sdk/src/clock_estimate.cpp", SOURCE)
        self.zoo("--only", "no_epoch", "--finder", "storm", "--no-build", "--no-baseline")
        self.assertTrue(self.row().endswith("| not in it | – |"), self.row())

    def test_a_fuzz_target_that_objects_without_a_bug_is_not_asked_about_bugs(self):
        self.fuzz_target("core", 1, "")
        code, said = self.zoo("--only", "no_epoch", "--finder", "fuzz", "--no-build")
        self.assertEqual(code, 1)
        self.assertIn("zoo: fuzz objects without a bug", said)

    def test_the_list_says_where_each_bug_stands(self):
        self.assertIn("src/core/fleet.cpp", self.zoo("--list")[1])

    def test_an_unknown_bug_and_an_unknown_flag_are_refused(self):
        self.assertEqual(self.zoo("--only", "no_such"), (64, "zoo: there is no bug 'no_such'; --list names them\n"))
        self.assertEqual(self.zoo("--nonsense")[0], 64)


if __name__ == "__main__":
    unittest.main()
