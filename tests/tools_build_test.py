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
echo "begin $*" >>"$NOTES"
while [ ! -e "$GO" ]; do sleep 0.02; done
echo "end $*" >>"$NOTES"
"""
# The daemon serves until the test ends it.
DAEMON = """#!/bin/sh
echo serving "$@"
while [ ! -e "$STOP" ]; do sleep 0.02; done
"""
CMAKE = """#!/bin/sh
echo "cmake $*" >>"$NOTES"
case $1 in
    --install) mkdir -p "$4/lib" && touch "$4/lib/libmuster_sdk.a" ;;
    *) mkdir -p build/$2 && touch build/$2/build.ninja ;;
esac
"""
CPACK = """#!/bin/sh
echo "cpack $*" >>"$NOTES"
mkdir -p build/packages/_CPack_Packages && touch build/packages/muster_0.1.0_amd64.deb
"""
CTEST = """#!/bin/sh
echo "begin ctest" >>"$NOTES"
echo "end ctest" >>"$NOTES"
"""


class SharedFolder(unittest.TestCase):
    def setUp(self):
        self.started = 0
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "muster"
        (self.root / "tools").mkdir(parents=True)
        for name in ("run", "test", "CMakePresets.json", "tools/build.sh", "tools/install.sh", "tools/setup.sh", "tools/test_report.py"):
            shutil.copy(ROOT / name, self.root / name)
        bin_folder = pathlib.Path(folder.name) / "bin"
        bin_folder.mkdir()
        for name, script in (("ninja", NINJA), ("cmake", CMAKE), ("cpack", CPACK), ("ctest", CTEST)):
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

    def steps(self, *kinds):
        """The first words of what was noted, of these kinds."""
        words = [line.split()[0] for line in self.notes.read_text().splitlines()]
        return [word for word in words if word in kinds]

    def done(self, *arguments):
        """Its output; it must go well."""
        self.go.touch()
        process = self.start("run", *arguments)
        self.assertEqual(process.wait(PATIENCE), 0, process.log.read_text())
        return process.log.read_text()

    def test_package_builds_everything_that_a_package_has_packs_it_and_says_where_it_is(self):
        said = self.done("package")
        self.assertEqual(self.steps("begin", "cpack"), ["begin", "cpack"])
        self.assertIn("begin -C build/daemon\n", self.notes.read_text(), "all targets, not the program alone")
        self.assertIn(f"sudo apt install {self.root}/build/packages/muster_0.1.0_amd64.deb", said)
        self.assertEqual([path.name for path in (self.root / "build/packages").iterdir()], ["muster_0.1.0_amd64.deb"])

    def test_install_sdk_builds_the_libraries_installs_both_components_and_tells_the_paths(self):
        prefix = self.root / "a place"
        said = self.done("install-sdk", "--prefix", str(prefix))
        notes = self.notes.read_text()
        self.assertIn("begin -C build/daemon muster_sdk_bundle muster_c\n", notes)
        for component in ("sdk", "library"):
            self.assertIn(f"cmake --install build/daemon --prefix {prefix} --component {component}\n", notes)
        self.assertIn(f"export PKG_CONFIG_PATH='{prefix}/lib/pkgconfig'\n", said)
        self.assertIn(f"export LD_LIBRARY_PATH='{prefix}/lib'", said)

    def test_install_sdk_without_a_prefix_is_64_with_the_usage(self):
        for arguments in ((), ("--prefix",), ("--prefix", "a", "b"), ("/usr/local",)):
            process = self.start("run", "install-sdk", *arguments)
            self.assertEqual(process.wait(PATIENCE), 64)
            self.assertIn("usage: ./run install-sdk --prefix DIR", process.log.read_text())

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
        self.assertEqual(self.steps("begin", "end"), ["begin", "end", "begin", "end"])

    def test_a_test_run_keeps_the_folder_until_its_tests_are_done(self):
        first = self.start("test", "--quick")
        self.until(lambda: "begin" in self.notes.read_text(), "the first builds")
        second = self.start("test", "--quick")
        self.until(lambda: WAITING + "release" in second.log.read_text(), "the second says that it waits")
        self.go.touch()
        for process in (first, second):
            process.wait(PATIENCE)
        self.assertEqual(self.steps("begin", "end"), ["begin", "end"] * 4)

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
