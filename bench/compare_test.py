"""The comparisons' tool works: everything runs once and briefly, and what it writes is whole. No time is judged.

    compare_test.py BUILD_FOLDER [unittest arguments]
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path()
PICTURES = ["ratios", "load", "links", "servers"]

sys.path.insert(0, str(HERE / "compare"))

import plots  # noqa: E402
import report  # noqa: E402
import rounds  # noqa: E402


class Compare(unittest.TestCase):
    def test_O_3_the_short_form_writes_table_json_and_pictures(self):
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder)
            done = subprocess.run([BUILD / "bench" / "compare", "--short", "--output", output], capture_output=True, text=True,
                                  check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("Allocation at 200/s, CPU", done.stdout)
            self.assertIn("Overload", done.stdout)
            results = json.loads((output / "benchmarks" / "results.json").read_text())
            self.assertEqual(set(results) & {"allocations", "capacity", "overload", "heartbeats", "servers"},
                             {"allocations", "capacity", "overload", "heartbeats", "servers"})
            for name in PICTURES:
                for scheme in ("light", "dark"):
                    xml.etree.ElementTree.parse(output / "benchmarks" / f"{name}-{scheme}.svg")
            page = (output / "BENCHMARKS.md").read_text()
            for name in PICTURES:
                self.assertIn(f"benchmarks/{name}-light.svg", page)

    def test_the_knee_is_the_highest_rate_that_is_answered_in_time(self):
        def runs(p99, succeeded=10):
            return [{"p99_ms": p99, "asked": 10, "succeeded": succeeded}]

        self.assertEqual(rounds.knee({"100": runs(1), "200": runs(50), "400": runs(51)}), 200)
        self.assertEqual(rounds.knee({"100": runs(1), "200": runs(2, 9)}), 100)
        self.assertEqual(rounds.knee({"100": runs(99)}), 0)

    def test_pictures_show_whatever_the_figures_are(self):
        one = plots.curves(plots.DARK, "a < b", "&", "x", "y", [("zero", [(1, 0.0), (10, 5.0)], None)], (50, "bound"), [(10, "knee", 0)])
        xml.etree.ElementTree.fromstring(one)
        xml.etree.ElementTree.fromstring(plots.curves(plots.LIGHT, "t", "q", "x", "y", []))
        xml.etree.ElementTree.fromstring(plots.ratio_bars(plots.LIGHT, "t", "q", [("w", 25.0, 1.3, "f"), ("w", 0.1, None, "f")]))
        self.assertEqual(report.spread([3.0, 1.0, 2.0]), "2.00 (1.00–3.00)")


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
