#!/usr/bin/env python3
"""What is built names no path of the machine that built it, so that two builds of one commit are the same.

    built_anywhere_test.py PROGRAM
"""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()


class BuiltAnywhere(unittest.TestCase):
    def test_the_program_holds_no_path_of_the_source(self):
        self.assertNotIn(f"{ROOT}/".encode(), PROGRAM.read_bytes())


if __name__ == "__main__":
    unittest.main()
