#!/usr/bin/env python3
"""Shows that tools/zoo.py finds what its list, the source and its table disagree about, and refuses bad flags."""

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


class Zoo(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("src/base/planted_bugs.inc", LIST)
        self.write("src/core/fleet.cpp", SOURCE)
        self.write("docs/ZOO.md", TABLE)
        (self.root / "tools").mkdir()
        shutil.copy(ROOT / "tools" / "zoo.py", self.root / "tools")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

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
        written = (self.root / "docs" / "ZOO.md").read_text(encoding="utf-8")
        self.assertIn("| `no_epoch` | F-9 | a server keeps its old epoch | – | **2.5 s, 31 seeds**: F-9 | – |", written)
        self.assertEqual(self.zoo("--check")[0], 0)

    def test_the_list_says_where_each_bug_stands(self):
        self.assertIn("src/core/fleet.cpp", self.zoo("--list")[1])

    def test_an_unknown_bug_and_an_unknown_flag_are_refused(self):
        self.assertEqual(self.zoo("--only", "no_such"), (64, "zoo: there is no bug 'no_such'; --list names them\n"))
        self.assertEqual(self.zoo("--nonsense")[0], 64)


if __name__ == "__main__":
    unittest.main()
