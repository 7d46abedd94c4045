#!/usr/bin/env python3
"""Shows what tools/test_report.py makes of a report of ctest."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

REPORT = pathlib.Path(__file__).resolve().parent.parent / "tools" / "test_report.py"

JUNIT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="(empty)" tests="4" failures="1" disabled="1" skipped="1">
  <testcase name="core: F-2: a &lt; b" classname="x" time="0.1" status="run"><system-out>fine</system-out></testcase>
  <testcase name="net: broken, with a comma" classname="x" time="0.1" status="fail">
    <failure message="Failed"/><system-out>what it said</system-out>
  </testcase>
  <testcase name="page: in a browser" classname="x" time="0" status="notrun"><skipped message=""/></testcase>
  <testcase name="off" classname="x" time="0" status="disabled"/>
</testsuite>
"""


class TestReport(unittest.TestCase):
    def read(self, text, *flags):
        with tempfile.NamedTemporaryFile("w", suffix=".xml", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            return subprocess.run([sys.executable, REPORT, file.name, *flags], capture_output=True, text=True, check=False)

    def test_it_counts_and_names_what_failed(self):
        done = self.read(JUNIT)
        self.assertEqual(done.stdout, "1 1 2\nnet: broken, with a comma\n")
        self.assertEqual(done.stderr, "")

    def test_it_shows_what_the_failed_ones_said(self):
        self.assertEqual(self.read(JUNIT, "--outputs").stderr, "\n---- net: broken, with a comma\nwhat it said\n")

    def test_a_report_that_is_cut_off_or_missing_is_a_failure(self):
        self.assertTrue(self.read(JUNIT[:200]).stdout.startswith("0 1 0\nctest: no report: "))
        done = subprocess.run([sys.executable, REPORT, "/nowhere.xml"], capture_output=True, text=True, check=False)
        self.assertTrue(done.stdout.startswith("0 1 0\nctest: no report: "))

    def test_a_wrong_call_says_so(self):
        done = subprocess.run([sys.executable, REPORT], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 64)


if __name__ == "__main__":
    unittest.main()
