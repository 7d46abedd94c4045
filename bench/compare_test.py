"""The comparisons' tool works: everything runs once and briefly, and what it writes is whole. No time is judged.

    compare_test.py BUILD_FOLDER [unittest arguments]
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path()

sys.path[:0] = [str(HERE / "compare")]

import allocation_work  # noqa: E402
import machine  # noqa: E402
import pictures  # noqa: E402
import plots  # noqa: E402
import report  # noqa: E402
import rounds  # noqa: E402
import rows  # noqa: E402


def muster_bench(*arguments, **environment):
    return subprocess.run([BUILD / "muster", "bench", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=900,
                          env={**os.environ, **environment})


class Whole(unittest.TestCase):
    def test_O_3_the_short_form_runs_every_workload_and_writes_table_json_and_pictures(self):
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder)
            done = muster_bench("--few", "--output", output)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("durable allocation, 100/s offered: CPU", done.stdout)
            results = json.loads((output / "bench" / "results.json").read_text())
            page = (output / "BENCHMARKS.md").read_text()
            for workload in re.findall(r"^\d+/\d+ (\w+)$", done.stderr, re.M):
                self.assertIn(workload, results)
                known = results[workload] or results["about"][workload]["missing"] or workload == "instructions"
                self.assertTrue(known, f"{workload} measured nothing and says nothing")
            drawn = pictures.pictures_of(results, plots.LIGHT)
            self.assertLessEqual({"capacity", "allocation-cost", "overload", "servers", "memory", "tls"}, set(drawn))
            for name, (question, _) in drawn.items():
                self.assertTrue(question.endswith("?"), question)
                self.assertIn(f"## {question}\n", page)
                for scheme in ("light", "dark"):
                    self.assertIn(f"bench/{name}-{scheme}.svg", page)
                    root = xml.etree.ElementTree.parse(output / "bench" / f"{name}-{scheme}.svg").getroot()
                    self.assertEqual(root.findtext("{http://www.w3.org/2000/svg}text"), question, "the question is the title")
            self.assertIn(results["machine"]["commit"], page)
            # A part measured again is added, or takes the place of what was there; the rest stays.
            done = muster_bench("shares", "--few", "--append", "--output", output)
            self.assertEqual(done.returncode, 0, done.stderr)
            again = json.loads((output / "bench" / "results.json").read_text())
            self.assertEqual(len(again["shares"]["Muster"]), 2 * len(results["shares"]["Muster"]))
            self.assertEqual(again["allocations"], results["allocations"])

    def test_O_3_a_peer_that_is_missing_is_named_with_its_package_and_the_rest_goes_on(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(sys.executable, pathlib.Path(folder) / "python3")
            os.symlink(shutil.which("taskset"), pathlib.Path(folder) / "taskset")
            done = muster_bench("in_flight", "--few", PATH=folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("not measured: Redis: apt install redis-server", done.stdout)

    def test_O_3_a_workload_that_does_not_exist_is_refused_with_those_that_do(self):
        done = muster_bench("nothing")
        self.assertEqual(done.returncode, 64)
        self.assertIn("no such workload: nothing; there are: allocations, capacity", done.stderr)


class Judging(unittest.TestCase):
    def test_a_rate_is_within_the_capacity_when_all_is_answered_in_time(self):
        answer = {"p99_ms": 50, "asked": 10, "succeeded": 10}
        self.assertTrue(allocation_work.in_time(answer))
        self.assertFalse(allocation_work.in_time({**answer, "p99_ms": 50.1}))
        self.assertFalse(allocation_work.in_time({**answer, "succeeded": 9}))

    def test_a_row_is_judged_by_its_median_and_shows_the_spread(self):
        row = rows.Row("s", "w", "b", rows.Aim(1.3), "×", [1.2, 9.0, 1.3])
        self.assertTrue(row.is_met)
        self.assertEqual(row.got_text(), "1.30 (1.20–9.00) ×")
        self.assertFalse(rows.Row("s", "w", "b", rows.Aim(1.3), "×", [1.2, 9.0, 1.31]).is_met)
        self.assertFalse(rows.Row("s", "w", "b", rows.Aim(0.75, True), "×", [0.74]).is_met)

    def test_ratios_are_of_rounds_side_by_side(self):
        self.assertEqual(rows.ratios([{"x": 2}, {"x": 9}], [{"x": 1}, {"x": 3}], "x"), [2, 3])


class Disturbed(unittest.TestCase):
    """A round that the machine disturbed is taken again, three times at most."""

    def answers(self, disturbances, rounds_wanted=2):
        said = iter(disturbances)
        watched = machine.Watch.disturbance
        machine.Watch.disturbance = lambda *_: next(said)
        self.addCleanup(setattr, machine.Watch, "disturbance", watched)
        counted = rounds.Rounds(None, None, rounds_wanted, False, lambda text: None)
        calls = iter(range(10))
        return counted.one("what", lambda: {"call": next(calls)}), counted

    def test_a_calm_round_counts_at_once(self):
        answer, counted = self.answers([""])
        self.assertEqual((answer, counted.rejected, counted.measured), ({"call": 0}, 0, 1))

    def test_a_disturbed_round_is_measured_again(self):
        answer, counted = self.answers(["steal", ""])
        self.assertEqual((answer, counted.rejected, counted.measured), ({"call": 1}, 1, 2))

    def test_what_was_disturbed_each_time_is_marked(self):
        answer, counted = self.answers(["steal", "load", "switches"])
        self.assertEqual((answer, counted.rejected), ({"call": 2, "disturbed": "switches"}, 3))
        self.assertEqual(report.disturbed({"about": {}, "machine": {}, "a": {"b": [answer]}}), 1)

    def test_a_machine_that_is_never_calm_is_not_waited_for(self):
        answer, counted = self.answers(["steal", "load", "switches"], rounds_wanted=0)
        self.assertEqual((answer, counted.measured), ({"call": 0, "disturbed": "steal"}, 1))

    def test_steal_load_and_switches_are_each_seen(self):
        watch = machine.Watch()
        self.assertEqual(watch.disturbance([]), "")
        watch.others = 0.16
        self.assertIn("other programs took 16 %", watch.disturbance([]))
        watch.others, watch.steal = 0.0, 0.06
        self.assertIn("hypervisor", watch.disturbance([]))
        watch.steal, watch.switches_a_second = 0.0, 1_000
        self.assertEqual(watch.disturbance([100, 100]), "", "too few rounds like it to know what is usual")
        self.assertIn("context switches", watch.disturbance([100, 100, 100]))


class Drawing(unittest.TestCase):
    def test_pictures_show_whatever_the_figures_are(self):
        for palette in (plots.LIGHT, plots.DARK):
            zero = plots.Series("Muster", "a < b", [(1, 0.0), (10, 5.0)])
            one = plots.Series("Redis", "only one", [(10, 5.0)])
            for series in ([zero], [zero, one], [one], [plots.Series("bare", "none", [])]):
                panel = plots.Panel("c", "x", series, (50, "bound"), ((10, "knee", "Muster"),))
                xml.etree.ElementTree.fromstring(plots.curves(palette, "q?", ["&"], [panel, panel]))
            xml.etree.ElementTree.fromstring(plots.ratio_bars(palette, "q?", [], [("w", "f", 20.0, 25.0, 30.0, 1.3, False),
                                                                                ("w", "f", 0.1, 0.1, 0.1, 2, True)]))
            xml.etree.ElementTree.fromstring(plots.value_bars(palette, "q?", [], [("c", "B", [("Muster", "w", 0.0)], None),
                                                                                  ("c", "B", [("x", "w", 5.0)], 7)]))

    def test_labels_at_the_ends_of_lines_do_not_lie_on_each_other(self):
        apart = plots._apart([[100.0, 50, "a"], [101.0, 50, "b"], [100.5, 50, "c"]])
        self.assertGreaterEqual(min(lower[0] - upper[0] for upper, lower in zip(apart, apart[1:])), 14.9)


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
