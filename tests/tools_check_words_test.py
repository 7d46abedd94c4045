#!/usr/bin/env python3
"""Shows that tools/check_words.sh refuses paths of one machine, unfinished work and bad test names, and little else."""

import pathlib
import subprocess
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parent.parent / "tools" / "check_words.sh"

# In two parts each, so that this file may hold them.
PATHS = ["/wo" "rk/main", "/ro" "ot/.cache", "/ro" "ot", "/ho" "me/ann/x", "/tm" "p/abc1"]
MARKERS = ["TO" "DO", "FIX" "ME", "XX" "X", "HA" "CK"]
FINE = ["/tmp", "network/", "homework/x", "mktemp -d muster.XXXXXX", "hackney", "example.org/work", "todos", "src/root/x",
        'TEST_CASE("T-1: a, b") {', 'const auto list = values["a"];', 'if (text == ";") {']


class CheckWords(unittest.TestCase):
    def check(self, line):
        with tempfile.NamedTemporaryFile("w", suffix=".md") as file:
            file.write(f"first\n{line}\n")
            file.flush()
            done = subprocess.run([CHECK, file.name], capture_output=True, text=True, check=False)
            return done.returncode, done.stderr.replace(file.name, "FILE")

    def test_paths_of_one_machine_are_refused_with_their_place(self):
        for each in PATHS:
            with self.subTest(each):
                status, told = self.check(f'open("{each}")')
                self.assertEqual(status, 1)
                self.assertTrue(told.startswith("FILE:2:"), told)
                self.assertIn("a path of one machine", told)

    def test_markers_of_unfinished_work_are_refused_with_their_place(self):
        for each in MARKERS:
            with self.subTest(each):
                status, told = self.check(f"// {each}: later")
                self.assertEqual(status, 1)
                self.assertTrue(told.startswith("FILE:2:"), told)
                self.assertIn("unfinished work", told)

    def test_names_that_ctest_takes_apart_are_refused(self):
        for each in ("TEST_CASE(\"a; b\") {", "TEST_CASE_FIXTURE(World, \"a [b\") {", "        \"T-1: a] b\") {"):
            with self.subTest(each):
                status, told = self.check(each)
                self.assertEqual(status, 1)
                self.assertIn("a test's name", told)

    def test_what_only_looks_like_it_passes(self):
        for each in FINE:
            with self.subTest(each):
                self.assertEqual(self.check(each), (0, ""))

    def test_a_wrong_call_says_so(self):
        self.assertEqual(subprocess.run([CHECK, "--nope"], capture_output=True, check=False).returncode, 64)


if __name__ == "__main__":
    unittest.main()
