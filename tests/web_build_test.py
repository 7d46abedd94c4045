#!/usr/bin/env python3
"""Shows how the page gets into a program (cmake/MusterPage.cmake), with and without npm; npm is a stand-in."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLAIN = ("bash", "cmake", "ninja", "c++", "gzip", "touch", "mkdir", "as", "ld", "sh")

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


class Build(unittest.TestCase):
    """O-2: the program has its page where npm works, and is a program all the same where it does not."""

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
        web = self.folder / "project" / "web"
        (web / "src").mkdir(parents=True)
        for name in ("package.json", "package-lock.json", "index.html", "vite.config.ts", "src/main.tsx"):
            (web / name).write_text("")
        self.write("CMakeLists.txt", PROJECT)
        self.write("main.cpp", PROGRAM)
        (self.folder / "project" / "cmake").symlink_to(ROOT / "cmake")

    def write(self, name, text):
        (self.folder / "project" / name).write_text(text)

    def npm(self, script):
        path = self.bin / "npm"
        path.write_text(f'#!{shutil.which("bash")}\necho "$1" >>"{self.calls}"\n{script}\n')
        path.chmod(0o755)

    def call(self, *command):
        # Nothing but what is named above is to be found, npm least of all.
        variables = {**os.environ, "PATH": str(self.bin), "CXX": str(self.bin / "c++")}
        return subprocess.run(command, cwd=self.folder, env=variables, capture_output=True, text=True, check=False)

    def configure(self, *flags):
        done = self.call("cmake", "-G", "Ninja", "-S", "project", "-B", "build", *flags)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def build(self):
        return self.call("cmake", "--build", "build")

    def says(self):
        done = self.build()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return self.call("build/program").stdout.split("\n")[0]

    def asked(self):
        return self.calls.read_text().split()

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


if __name__ == "__main__":
    unittest.main()
