#!/usr/bin/env python3
"""Shows what tools/setup.sh does on machines that lack something; dpkg-query, apt-get, sudo and id are stand-ins."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
SETUP = ROOT / "tools" / "setup.sh"
PLAIN = ("bash", "env", "mktemp", "rm", "tail", "cat", "sed")


class Setup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.bin = pathlib.Path(folder.name) / "bin"
        self.bin.mkdir()
        self.calls = pathlib.Path(folder.name) / "calls"
        for name in PLAIN:
            (self.bin / name).symlink_to(shutil.which(name))

    def stand_in(self, name, script="", status=0):
        """A command that notes how it was called."""
        path = self.bin / name
        path.write_text(f'#!{shutil.which("bash")}\necho "{name} $*" >>"{self.calls}"\n{script}\nexit {status}\n')
        path.chmod(0o755)

    def debian(self, missing=(), root=True):
        installed = "for each; do case $each in --*) ;; %s *) printf 'installed:%%s ' $each ;; esac; done"
        self.stand_in("dpkg-query", installed % " ".join(f"{each}) ;;" for each in missing), 1 if missing else 0)
        self.stand_in("id", f"echo {0 if root else 1000}")

    def run_setup(self, *groups, **variables):
        return self.call(SETUP, *groups, **variables)

    def need_command(self, command, group):
        """As ./run and ./test do."""
        return self.call("-c", '. "$1" && need_command "$2" "$3"', "need", SETUP, command, group)

    def call(self, *arguments, **variables):
        self.calls.write_text("")
        done = subprocess.run(
            [shutil.which("bash"), *arguments],
            env={"PATH": str(self.bin), **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return done, self.calls.read_text().splitlines()

    def test_nothing_runs_when_nothing_is_missing(self):
        self.debian()
        self.stand_in("apt-get")
        done, calls = self.run_setup("build", "test")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([call.split()[0] for call in calls], ["dpkg-query"])

    def test_only_what_is_missing_is_installed_after_an_update(self):
        self.debian(missing=("ninja-build", "doctest-dev"))
        self.stand_in("apt-get")
        done, calls = self.run_setup("build", "test")
        self.assertEqual(done.returncode, 0, done.stderr)
        apt = [call for call in calls if call.startswith("apt-get")]
        self.assertEqual(len(apt), 2)
        self.assertTrue(apt[0].endswith(" update"), apt)
        self.assertTrue(apt[1].endswith(" ninja-build doctest-dev"), apt)

    def test_a_user_who_is_not_root_goes_by_sudo(self):
        self.debian(missing=("cmake",), root=False)
        self.stand_in("apt-get")
        self.stand_in("sudo", 'while [[ $1 == --* ]]; do shift; done; "$@"')
        done, calls = self.run_setup("build")
        self.assertEqual(done.returncode, 0, done.stderr)
        by_sudo = [call for call in calls if call.startswith("sudo --non-interactive ")]
        self.assertTrue(by_sudo and by_sudo[-1].endswith(" cmake"), calls)

    def test_without_sudo_the_exact_command_is_told(self):
        self.debian(missing=("cmake", "g++"), root=False)
        self.stand_in("apt-get")
        done, calls = self.run_setup("build")
        self.assertEqual(done.returncode, 77)
        self.assertFalse([call for call in calls if call.startswith("apt-get")])
        install = "sudo apt-get install --yes --no-install-recommends cmake g++"
        self.assertIn(f"sudo apt-get update && {install}\n", done.stderr)

    def test_a_failed_installation_shows_why_and_the_command(self):
        self.debian(missing=("cmake",))
        self.stand_in("apt-get", "echo E: no such package", status=100)
        done, _ = self.run_setup("build")
        self.assertEqual(done.returncode, 69)
        self.assertIn("E: no such package", done.stderr)
        self.assertIn("apt-get install --yes --no-install-recommends cmake\n", done.stderr)

    def test_another_system_is_told_what_is_needed(self):
        done, _ = self.run_setup("build", "lint")
        self.assertEqual(done.returncode, 69)
        self.assertIn("not a Debian system", done.stderr)
        self.assertIn("  libboost1.81-dev\n", done.stderr)
        self.assertIn("  clang-tidy-19\n", done.stderr)
        done, calls = self.run_setup("build", MUSTER_SETUP="skip")
        self.assertEqual((done.returncode, calls), (0, []))

    def test_a_command_that_is_there_needs_no_package(self):
        self.debian(missing=("npm", "chromium"))
        self.stand_in("apt-get")
        self.stand_in("npm")
        done, calls = self.need_command("npm", "page")
        self.assertEqual((done.returncode, calls), (0, []))
        done, calls = self.need_command("chromium", "browser")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(calls[-1].endswith(" chromium"), calls)

    def test_a_command_that_cannot_be_had_is_an_answer(self):
        self.debian(missing=("npm",))
        self.stand_in("apt-get", "echo E: no such package", status=100)
        done, _ = self.need_command("npm", "page")
        self.assertEqual(done.returncode, 69)
        self.assertIn("apt-get install --yes --no-install-recommends npm\n", done.stderr)

    def test_an_unknown_group_is_refused(self):
        self.debian()
        done, _ = self.run_setup("biuld")
        self.assertEqual(done.returncode, 64)
        self.assertIn("build test lint fuzz bench", done.stderr)


class Scripts(unittest.TestCase):
    """O-1: the two commands at the root explain themselves and refuse what they do not know."""

    def call(self, *command):
        variables = {**os.environ, "MUSTER_SETUP": "skip"}
        return subprocess.run(
            command, cwd="/", env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )

    def test_each_command_explains_itself_O_1(self):
        for script in ("run", "test"):
            done = self.call(ROOT / script, "--help")
            self.assertEqual(done.returncode, 0)
            self.assertTrue(done.stdout.startswith(f"usage: ./{script} "), done.stdout)

    def test_bad_flags_show_usage(self):
        for flags in (["--nope"], ["--fuzz"], ["--fuzz", "soon"], ["--fuzz", "0"], ["--filter"], ["--quick", "extra"]):
            with self.subTest(flags):
                done = self.call(ROOT / "test", *flags)
                self.assertEqual(done.returncode, 64)
                self.assertIn("usage: ./test", done.stderr)


if __name__ == "__main__":
    unittest.main()
