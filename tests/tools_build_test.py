#!/usr/bin/env python3
"""Shows how ./run and ./test share a build folder; cmake, ninja, ctest and the daemon are stand-ins."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
WAITING = "another ./run or ./test is at work in build/"
PATIENCE = 60  # seconds, against a hang

# Notes when it began, waits until the test lets it go on, notes when it ended.
NINJA = """#!/bin/sh
echo "begin $2" >>"$NOTES"
while [ ! -e "$GO" ]; do sleep 0.02; done
echo "end $2" >>"$NOTES"
"""
# The daemon serves until the test ends it.
DAEMON = """#!/bin/sh
echo serving "$@"
while [ ! -e "$STOP" ]; do sleep 0.02; done
"""
CMAKE = "#!/bin/sh\nmkdir -p build/$2 && touch build/$2/build.ninja\n"
CTEST = """#!/bin/sh
echo "begin ctest" >>"$NOTES"
sleep 0.1
echo "end ctest" >>"$NOTES"
"""


class SharedFolder(unittest.TestCase):
    def setUp(self):
        self.started = 0
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "muster"
        (self.root / "tools").mkdir(parents=True)
        for name in ("run", "test", "CMakePresets.json", "tools/build.sh", "tools/setup.sh", "tools/test_report.py"):
            shutil.copy(ROOT / name, self.root / name)
        bin_folder = pathlib.Path(folder.name) / "bin"
        bin_folder.mkdir()
        for name, script in (("ninja", NINJA), ("cmake", CMAKE), ("ctest", CTEST)):
            (bin_folder / name).write_text(script)
            (bin_folder / name).chmod(0o755)
        self.notes = pathlib.Path(folder.name) / "notes"
        self.notes.write_text("")
        self.go = pathlib.Path(folder.name) / "go"
        self.stop = pathlib.Path(folder.name) / "stop"
        daemon = self.root / "build/daemon/muster"
        daemon.parent.mkdir(parents=True)
        daemon.write_text(DAEMON)
        daemon.chmod(0o755)
        self.variables = {
            **os.environ,
            "PATH": f"{bin_folder}:{os.environ['PATH']}",
            "MUSTER_SETUP": "skip",
            "NOTES": str(self.notes),
            "GO": str(self.go),
            "STOP": str(self.stop),
        }

    def start(self, script, *arguments):
        self.started += 1
        path = self.root / f"{self.started}.log"
        with path.open("w", encoding="utf-8") as log:
            process = subprocess.Popen(
                [self.root / script, *arguments], env=self.variables, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        process.log = path
        return process

    def until(self, happened, what):
        end = time.monotonic() + PATIENCE
        while not happened():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.01)

    def test_two_at_once_build_one_after_the_other_and_the_second_says_that_it_waits(self):
        first = self.start("run", "--version")
        self.until(lambda: "begin" in self.notes.read_text(), "the first builds")
        second = self.start("run", "--version")
        self.until(lambda: WAITING + "daemon" in second.log.read_text(), "the second says that it waits")
        self.assertNotIn(WAITING, first.log.read_text())
        self.stop.touch()
        self.go.touch()
        for process in (first, second):
            self.assertEqual(process.wait(PATIENCE), 0, process.log.read_text())
            self.assertIn("serving --version", process.log.read_text())
        built = [line.split()[0] for line in self.notes.read_text().splitlines()]
        self.assertEqual(built, ["begin", "end", "begin", "end"])

    def test_a_test_run_keeps_the_folder_until_its_tests_are_done(self):
        first = self.start("test", "--quick")
        self.until(lambda: "begin" in self.notes.read_text(), "the first builds")
        second = self.start("test", "--quick")
        self.until(lambda: WAITING + "release" in second.log.read_text(), "the second says that it waits")
        self.go.touch()
        for process in (first, second):
            process.wait(PATIENCE)
        done = [line.split()[0] for line in self.notes.read_text().splitlines()]
        self.assertEqual(done, ["begin", "end"] * 4)

    def test_a_daemon_that_runs_does_not_keep_the_folder(self):
        self.go.touch()
        first = self.start("run")
        self.until(lambda: "serving serve" in first.log.read_text(), "it serves")
        second = self.start("run", "status")
        self.until(lambda: "serving status" in second.log.read_text(), "another command runs beside it")
        self.assertIsNone(first.poll())
        self.assertNotIn(WAITING, second.log.read_text())
        self.stop.touch()


if __name__ == "__main__":
    unittest.main()
