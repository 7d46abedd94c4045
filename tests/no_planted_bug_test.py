#!/usr/bin/env python3
"""A program for use has nothing of the bug zoo in it: not a name of a bug, nor the variable that makes one live.

    no_planted_bug_test.py PROGRAM
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()


class NoPlantedBug(unittest.TestCase):
    def test_the_program_holds_no_name_of_the_zoo(self):
        listed = (ROOT / "src" / "base" / "planted_bugs.inc").read_text(encoding="utf-8")
        names = re.findall(r"^MUSTER_BUG\((\w+),", listed, re.MULTILINE)
        self.assertGreaterEqual(len(names), 25)
        with tempfile.TemporaryDirectory() as folder:
            stripped = pathlib.Path(folder) / "muster"  # what a debugger reads has the names of every enum
            subprocess.run(["strip", "--strip-all", "-o", stripped, PROGRAM], check=True)
            content = stripped.read_bytes()
        self.assertEqual([name for name in [*names, "MUSTER_PLANTED_BUG"] if name.encode() in content], [])


if __name__ == "__main__":
    unittest.main()
