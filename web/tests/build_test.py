#!/usr/bin/env python3
"""Shows how the page gets into a program (cmake/MusterPage.cmake) and where its tests run (web/tests/run.sh), with
and without npm; npm is a stand-in."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PLAIN = ("bash", "cmake", "ninja", "c++", "gzip", "touch", "mkdir", "as", "ld", "sh", "dirname", "env", "grep")
SKIPPED = 77

PROJECT = f"""
cmake_minimum_required(VERSION 3.25)
project(page CXX)
list(APPEND CMAKE_MODULE_PATH {ROOT}/cmake)
add_executable(program main.cpp)
target_include_directories(program PRIVATE {ROOT}/src)
target_compile_features(program PRIVATE cxx_std_20)
include(MusterPage)
muster_page(program)
"""
PROGRAM = """
#include <cstdio>
#include "http/embedded_file.h"
int main() {
    if (&muster::embedded_page == nullptr) return std::puts("no page") < 0;
    for (const auto& file : muster::embedded_page.files) std::printf("%.*s\\n", int(file.name.size()), file.name.data());
}
"""
# `npm ci` notes what it installed, vite makes its files.
NPM = """
case $1 in
    ci) mkdir -p node_modules; touch node_modules/.package-lock.json ;;
    exec) mkdir -p "${@: -1}"; echo "<!doctype html>" >"${@: -1}/index.html" ;;
esac
"""


class Machine(unittest.TestCase):
    """One that has the commands named above, and npm when a test says so."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.calls = self.folder / "calls"
        self.calls.write_text("")
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        for name in PLAIN:
            (self.bin / name).symlink_to(shutil.which(name))
        self.project = self.folder / "project"
        web = self.project / "web"
        (web / "src").mkdir(parents=True)
        for name in ("package.json", "package-lock.json", "index.html", "vite.config.ts", "src/main.tsx"):
            (web / name).write_text("")

    def write(self, name, text):
        (self.project / name).write_text(text)

    def npm(self, script):
        self.command("npm", script)

    def command(self, name, script):
        path = self.bin / name
        path.write_text(f'#!{shutil.which("bash")}\necho "$1" >>"{self.calls}"\n{script}\n')
        path.chmod(0o755)

    def call(self, *command):
        # Nothing but what is named above is to be found, npm least of all.
        variables = {**os.environ, "PATH": str(self.bin), "CXX": str(self.bin / "c++")}
        return subprocess.run(command, cwd=self.folder, env=variables, capture_output=True, text=True, check=False)

    def asked(self):
        return self.calls.read_text().split()


class Build(Machine):
    """O-2: the program has its page where npm works, and is a program all the same where it does not."""

    def setUp(self):
        super().setUp()
        self.write("CMakeLists.txt", PROJECT)
        self.write("main.cpp", PROGRAM)
        (self.project / "cmake").symlink_to(ROOT / "cmake")

    def configure(self, *flags):
        done = self.call("cmake", "-G", "Ninja", "-S", "project", "-B", "build", *flags)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def build(self):
        return self.call("cmake", "--build", "build")

    def says(self):
        done = self.build()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return self.call("build/program").stdout.split("\n")[0]

    def test_without_npm_there_is_a_program_and_with_it_the_next_build_has_the_page(self):
        self.configure()
        self.assertEqual(self.says(), "no page")
        before = (self.folder / "build" / "program").stat().st_mtime_ns
        self.assertEqual(self.says(), "no page")
        self.assertEqual((self.folder / "build" / "program").stat().st_mtime_ns, before, "linked again for nothing")

        self.npm(NPM)
        self.assertEqual(self.says(), "index.html")
        self.assertEqual(self.asked(), ["ci", "exec"])
        self.assertEqual(self.says(), "index.html")
        self.assertEqual(self.asked(), ["ci", "exec"], "built again for nothing")

    def test_what_is_installed_is_not_installed_again(self):
        self.npm(NPM)
        self.configure()
        self.assertEqual(self.says(), "index.html")
        self.write("web/src/main.tsx", "// another page")
        self.assertEqual(self.says(), "index.html")
        self.assertEqual(self.asked(), ["ci", "exec", "exec"])

    def test_another_build_folder_and_touched_files_need_no_npm(self):
        self.npm(NPM)
        self.configure()
        self.assertEqual(self.says(), "index.html")
        shutil.rmtree(self.folder / "build")
        self.configure()
        self.assertEqual(self.says(), "index.html")
        (self.project / "web/src/main.tsx").touch()
        self.assertEqual(self.says(), "index.html")
        self.assertEqual(self.asked(), ["ci", "exec"])

    def test_npm_that_fails_leaves_a_program_and_is_asked_again(self):
        self.npm("echo the registry is away >&2; exit 1")
        self.configure()
        self.assertIn("the registry is away", self.build().stdout)
        self.assertEqual(self.says(), "no page")
        self.npm(NPM)
        self.assertEqual(self.says(), "index.html")

    def test_a_page_that_is_asked_for_and_cannot_be_built_fails_the_build(self):
        self.configure("-DMUSTER_PAGE=ON")
        done = self.build()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("npm was not found", done.stdout + done.stderr)

    def test_a_page_that_is_not_wanted_is_not_built(self):
        self.npm(NPM)
        self.configure("-DMUSTER_PAGE=OFF")
        self.assertEqual(self.says(), "no page")
        self.assertEqual(self.asked(), [])


class Runner(Machine):
    """O-1: the page's tests run where they can, and say why where they cannot."""

    def setUp(self):
        super().setUp()
        (self.project / "web/tests").mkdir()
        shutil.copy(ROOT / "web/tests/run.sh", self.project / "web/tests")

    def run_tests(self, *which):
        done = self.call("bash", "project/web/tests/run.sh", *which)
        return done.returncode, done.stdout

    def test_without_npm_they_are_skipped(self):
        status, said = self.run_tests("logic")
        self.assertEqual((status, said), (SKIPPED, "page tests: skipped, npm is not installed\n"))

    def test_without_the_registry_they_are_skipped(self):
        self.npm("echo npm error code EAI_AGAIN >&2; exit 1")
        status, said = self.run_tests("logic")
        self.assertEqual((status, said), (SKIPPED, "page tests: skipped, npm's registry cannot be reached\n"))

    def test_packages_that_do_not_fit_their_lock_fail_them(self):
        self.npm("echo npm error code EUSAGE >&2; exit 1")
        self.assertEqual(self.run_tests("logic")[0], 1)

    def test_without_chromium_only_the_browser_is_skipped(self):
        self.npm(NPM)
        self.assertEqual(self.run_tests("logic")[0], 0)
        status, said = self.run_tests("browser")
        self.assertEqual((status, said), (SKIPPED, "page tests: skipped, chromium is not installed\n"))
        self.command("chromium", "")
        self.assertEqual(self.run_tests("browser")[0], 0)
        self.assertEqual(self.asked(), ["ci", "test", "run"])

    def test_a_test_that_fails_is_told(self):
        self.npm(NPM + "[ $1 != test ]")
        self.assertEqual(self.run_tests("logic")[0], 1)


if __name__ == "__main__":
    unittest.main()
