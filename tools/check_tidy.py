#!/usr/bin/env python3
"""Runs clang-tidy over src and sdk, only on files that changed since they were last found clean.

    tools/check_tidy.py [--build DIR] [--deep] [--jobs N] [FILE…]

A file is checked again when it, a header of ours that it includes, its compile command, .clang-tidy or clang-tidy
itself changed. --deep adds the static analyzer, which takes twice as long. Exit 0 when clean, 1 with findings, 64 when
called wrongly, 77 without clang-tidy-19.
"""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHECKED = ("src", "sdk")
INCLUDE_ROOTS = ("src", "sdk/include")
TIDY = "clang-tidy-19"
SKIPPED = 77

# Tests build small things in plain loops, copy freely and look at what was moved from; doctest's macros make chains.
TEST_CHECKS = (
    "-performance-inefficient-vector-operation,-performance-unnecessary-copy-initialization,"
    "-performance-unnecessary-value-param,-bugprone-use-after-move,-bugprone-chained-comparison,"
    "-misc-use-internal-linkage"
)
# The compile commands are g++'s: it has warnings that clang has not, and its -Wconversion leaves signs alone.
AS_GCC = ("-Wno-unknown-warning-option", "-Wno-sign-conversion")
DEEP_CHECKS = "clang-analyzer-*,-clang-analyzer-optin.performance.Padding"
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
JOINED = re.compile(r"unity_\d+_cxx\.cxx")
FINDING = re.compile(r"^(?P<place>[^\s:]+:\d+:\d+): (?P<kind>error|warning): (?P<text>.*)$")


@functools.cache
def content_and_includes(path):
    """What a file of ours holds, hashed, and which files of ours it includes."""
    data = path.read_bytes()
    found = []
    for name in INCLUDE.findall(data):
        for folder in (*(ROOT / each for each in INCLUDE_ROOTS), path.parent):
            candidate = folder / name.decode()
            if candidate.is_file():
                found.append(candidate.resolve())
                break
    return hashlib.sha256(data).digest(), found


def everything_it_reads(path):
    """The file and every header of ours that it pulls in, in a fixed order."""
    seen, open_ends = {path}, [path]
    while open_ends:
        for header in content_and_includes(open_ends.pop())[1]:
            if header not in seen:
                seen.add(header)
                open_ends.append(header)
    return sorted(seen)


def key_of(path, command, checks, tool):
    """Names the verdict on a file: another key when anything that it rests on is another."""
    key = hashlib.sha256()
    for part in (tool, checks, command):
        key.update(part.encode() + b"\0")
    key.update((ROOT / ".clang-tidy").read_bytes())
    for each in everything_it_reads(path):
        key.update(str(each.relative_to(ROOT)).encode() + b"\0" + content_and_includes(each)[0])
    return key.hexdigest()


def extra_checks(path, deep):
    checks = [DEEP_CHECKS] if deep else []
    if path.stem.endswith("_test"):
        checks.append(TEST_CHECKS)
    return ",".join(checks)


def run_tidy(path, build, checks):
    """Clang-tidy's findings on one file, as text; empty when clean."""
    command = [TIDY, "-p", str(build), "--quiet", f"--checks={checks}", *(f"--extra-arg={each}" for each in AS_GCC)]
    command.append(str(path))
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode == 0 and not FINDING.search(done.stdout):
        return ""
    return done.stdout or done.stderr or f"{path}: {TIDY} ended with {done.returncode}"


def sources_of(path):
    """The sources that CMake compiles by that file: those it joins, or itself."""
    if not JOINED.fullmatch(path.name):
        return [path]
    return [pathlib.Path(name.decode()) for name in INCLUDE.findall(path.read_bytes())]


def compile_commands(build):
    """Source file -> its compile command, for what we check. One that is compiled together with others has a command of its own."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        compiled = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        if not compiled.is_file():
            continue
        for path in sources_of(compiled):
            if any(path.is_relative_to(ROOT / folder) for folder in CHECKED):
                commands.setdefault(path, entry["command"].replace(str(compiled), str(path)))
    return commands


def write_database(folder, build, commands):
    """The same for clang-tidy, which looks for a file's own command."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = [{"directory": str(build.resolve()), "file": str(path), "command": command} for path, command in commands.items()]
    (folder / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")


class Report:
    """Shows progress, and each finding once however many files it was seen from."""

    def __init__(self, total):
        self.total, self.done, self.told = total, 0, set()
        self.on_terminal = sys.stderr.isatty()

    def add(self, text):
        self.done += 1
        if self.on_terminal:
            print(f"\rchecking {self.done}/{self.total} ", end="", file=sys.stderr, flush=True)
        if not text:
            return
        if self.on_terminal:
            print("\r", end="", file=sys.stderr)
        telling = True
        for line in text.splitlines():
            line = line.replace(f"{ROOT}/", "").replace(",-warnings-as-errors]", "]")
            if FINDING.match(line):
                telling = line not in self.told
                self.told.add(line)
            if telling:
                print(line)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="has compile_commands.json")
    deep = bool(os.environ.get("MUSTER_TEST_LONG"))
    parser.add_argument("--deep", action="store_true", default=deep, help="with the static analyzer")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="all of src and sdk when none is named")
    try:
        return parser.parse_args()
    except SystemExit as ended:
        raise SystemExit(64 if ended.code else 0) from None


def main():
    arguments = parse_arguments()
    if shutil.which(TIDY) is None:
        print(f"check_tidy: {TIDY} is missing; tools/setup.sh lint installs it", file=sys.stderr)
        return SKIPPED
    try:
        commands = compile_commands(arguments.build)
    except OSError as fault:
        print(f"check_tidy: {fault}; configure first: cmake --preset release", file=sys.stderr)
        return 1
    if arguments.files:
        wanted = {path.resolve() for path in arguments.files}
        for path in wanted - commands.keys():
            print(f"check_tidy: {path} has no compile command in {arguments.build}", file=sys.stderr)
            return 1
        commands = {path: command for path, command in commands.items() if path in wanted}

    database = ROOT / "build" / "tidy-commands"
    write_database(database, arguments.build, commands)
    began = time.monotonic()
    tool = subprocess.run([TIDY, "--version"], capture_output=True, text=True, check=True).stdout
    cache = ROOT / "build" / "tidy-clean"
    cache.mkdir(parents=True, exist_ok=True)
    work = []
    for path, command in commands.items():
        checks = extra_checks(path, arguments.deep)
        clean = cache / key_of(path, command, checks, tool)
        if clean.exists():
            clean.touch()
        else:
            work.append((path, checks, clean))

    report, faulty = Report(len(work)), 0
    # The largest first, so that none of them runs on alone at the end.
    work.sort(key=lambda item: -sum(each.stat().st_size for each in everything_it_reads(item[0])))
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        running = {pool.submit(run_tidy, path, database, checks): clean for path, checks, clean in work}
        for finished in concurrent.futures.as_completed(running):
            text = finished.result()
            report.add(text)
            if text:
                faulty += 1
            else:
                running[finished].touch()
    forget_old(cache)

    took = f"{len(work)} of {len(commands)} files checked in {time.monotonic() - began:.0f} s"
    print(f"check_tidy: {took}" + (f", {len(report.told)} findings in {faulty} of them" if faulty else ", clean"))
    return 1 if faulty else 0


def forget_old(cache, days=30):
    """Verdicts nobody asked for lately."""
    oldest = time.time() - days * 86_400
    for clean in cache.iterdir():
        if clean.stat().st_mtime < oldest:
            clean.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
