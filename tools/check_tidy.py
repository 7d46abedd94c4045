#!/usr/bin/env python3
"""Runs clang-tidy over src and sdk, only on files that changed since they were last found clean.

    tools/check_tidy.py [--build DIR] [--deep] [--jobs N] [FILE…]

Files that CMake joins are checked as they are compiled, together: nearly all of the time goes into their headers. They
are checked again when one of them, a header of ours that they include, the compile command, .clang-tidy or clang-tidy
itself changed. --deep adds the static analyzer, which takes twice as long. Exit 0 when clean, 1 with findings, 64 when
called wrongly, 77 without clang-tidy-19.

What can only be seen when each file stands alone is looked for besides: a header that leans on what is included before
it (g++ reads it alone), and a name of one file alone that nobody uses (by its text).
"""

import argparse
import concurrent.futures
import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
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
# A joined file includes sources, as it should.
JOINED_CHECKS = "-bugprone-suspicious-include"
# The compile commands are g++'s: it has warnings that clang has not, and what both have does not say the same
# (cmake/MusterBuild.cmake).
AS_GCC = (
    "-Wno-unknown-warning-option", "-Wno-sign-conversion", "-Wno-deprecated-declarations", "-Wno-invalid-offsetof",
)
DEEP_CHECKS = "clang-analyzer-*,-clang-analyzer-optin.performance.Padding"
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
JOINED = re.compile(r"unity_\d+_cxx\.cxx")
# Names at the start of a line of a source that only that file can use. Clang and clang-tidy look for unused ones in the
# main file alone, and that is the joined one.
OWN_NAME = re.compile(
    r"^(?:using (?:\w+::)+(\w+);|namespace (\w+) =|(?:static |inline )*constexpr .*?\b(\w+)(?: = |\{|\[|\())", re.MULTILINE
)
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


def everything_read_by(paths):
    """The files and every header of ours that they pull in, in a fixed order."""
    seen, open_ends = set(paths), list(paths)
    while open_ends:
        for header in content_and_includes(open_ends.pop())[1]:
            if header not in seen:
                seen.add(header)
                open_ends.append(header)
    return sorted(seen)


@dataclasses.dataclass
class Unit:
    """What is compiled as one file: the file, the sources of ours in it, and its commands (more in several programs)."""

    path: pathlib.Path
    sources: list
    commands: list

    def key(self, checks, tool):
        """Names the verdict: another key when anything that it rests on is another."""
        key = hashlib.sha256()
        for part in (tool, checks, *self.commands):
            key.update(part.encode() + b"\0")
        key.update((ROOT / ".clang-tidy").read_bytes() + pathlib.Path(__file__).read_bytes())
        for each in everything_read_by(self.sources):
            key.update(str(each.relative_to(ROOT)).encode() + b"\0" + content_and_includes(each)[0])
        return key.hexdigest()


def units_of(build):
    """The units with sources that we check."""
    units = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        if not path.is_file():
            continue
        named = [path]
        if JOINED.fullmatch(path.name):
            named = [pathlib.Path(name.decode()) for name in INCLUDE.findall(path.read_bytes())]
        sources = [each for each in named if any(each.is_relative_to(ROOT / folder) for folder in CHECKED)]
        if sources:
            units.setdefault(path, Unit(path, sources, [])).commands.append(entry["command"])
    return list(units.values())


def headers_alone(units):
    """As units: the headers that stand first in a source that is joined behind another one. The build reads all others
    alone, or first (cmake/MusterFolder.cmake)."""
    found = {}
    for unit in units:
        for source in unit.sources[1:]:
            first = content_and_includes(source)[1][:1]
            if first and first[0].stem == source.stem.removesuffix("_test"):
                found.setdefault(first[0], Unit(first[0], first, unit.commands[:1]))
    return list(found.values())


def checks_for(unit, deep):
    checks = [DEEP_CHECKS] if deep else []
    if JOINED.fullmatch(unit.path.name):
        checks.append(JOINED_CHECKS)
    if all(source.stem.endswith("_test") for source in unit.sources):
        checks.append(TEST_CHECKS)
    return ",".join(checks)


def output_of(command, **more):
    """What it says, when it complains; empty when all is well."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode == 0 and not FINDING.search(done.stdout):
        return ""
    return done.stdout or done.stderr or f"{command[0]} ended with {done.returncode}"


def run_tidy(unit, build, checks):
    """The findings in one unit, as text; empty when there are none."""
    command = [TIDY, "-p", str(build), "--quiet", f"--checks={checks}", *(f"--extra-arg={each}" for each in AS_GCC)]
    unused = "".join(unused_names(source) for source in unit.sources)
    return unused + output_of([*command, str(unit.path)], stdin=subprocess.DEVNULL)


def unused_names(source):
    text = source.read_text(encoding="utf-8")
    found = ""
    for match in OWN_NAME.finditer(text):
        name = match[match.lastindex]
        if len(re.findall(rf"\b{name}\b", text)) == 1:
            line = text.count("\n", 0, match.start()) + 1
            found += f"{source}:{line}:1: error: nobody uses '{name}' [unused-name]\n"
    return found


def read_alone(unit):
    """The compiler's complaints about a header by itself; empty when there are none."""
    command = shlex.split(unit.commands[0])
    command = [*command[: command.index("-o")], "-w", "-fsyntax-only", "-x", "c++", "-"]
    return output_of(command, input=f'#include "{unit.path}"\n')


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
        units = units_of(arguments.build)
    except OSError as fault:
        print(f"check_tidy: {fault}; configure first: cmake --preset release", file=sys.stderr)
        return 1
    headers = headers_alone(units)
    if arguments.files:
        wanted = {path.resolve() for path in arguments.files}
        units = [unit for unit in units if not wanted.isdisjoint(unit.sources)]
        headers = [unit for unit in headers if unit.path in wanted]
        for path in wanted.difference(*(unit.sources for unit in units + headers)):
            print(f"check_tidy: {arguments.build} has nothing to check in {path}", file=sys.stderr)
            return 1

    began = time.monotonic()
    tool = subprocess.run([TIDY, "--version"], capture_output=True, text=True, check=True).stdout
    cache = ROOT / "build" / "tidy-clean"
    cache.mkdir(parents=True, exist_ok=True)
    work = []
    for unit in units + headers:
        checks = "alone" if unit in headers else checks_for(unit, arguments.deep)
        clean = cache / unit.key(checks, tool)
        if clean.exists():
            clean.touch()
        elif unit in headers:
            work.append((unit, clean, functools.partial(read_alone, unit)))
        else:
            work.append((unit, clean, functools.partial(run_tidy, unit, arguments.build, checks)))

    report, faulty = Report(len(work)), 0
    # The largest first, so that none of them runs on alone at the end.
    work.sort(key=lambda item: -sum(each.stat().st_size for each in item[0].sources))
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        running = {pool.submit(check): clean for _, clean, check in work}
        for finished in concurrent.futures.as_completed(running):
            text = finished.result()
            report.add(text)
            if text:
                faulty += 1
            else:
                running[finished].touch()
    forget_old(cache)

    took = f"{len(work)} of {len(units + headers)} units checked in {time.monotonic() - began:.0f} s"
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
