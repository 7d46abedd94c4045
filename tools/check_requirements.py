#!/usr/bin/env python3
"""Tells which requirement and which fault has a test that names it, and where.

    tools/check_requirements.py                 every requirement and fault, with the tests that name it
    tools/check_requirements.py F-7 "fault 11"  where are these tested?
    tools/check_requirements.py --missing       what no test names yet
    tools/check_requirements.py --check FILE    fails when that differs from the list of open ones in FILE

Ids come from docs/SPEC.md (F-7), the rows of docs/FAULTS.md (fault 11) and the invariants at its end (invariant 3). A row
of FAULTS.md also says how it is shown, and each way is an id of its own: `fault 11 P` needs a test of the whole program.

Only the name of a test counts, no comment, and each id by itself: "faults 22, 24 and 42" names three, "faults 22-42"
none. Where a test stands says which way it goes:

    U  *_test.cpp in src and sdk, *_test.ts in web/src
    S  *_test.cpp in src/sim, src/hostsim and src/nodesim
    P  tests, web/tests, sdk/*_test.py, and what CMake gives to add_test(NAME "…")
    Z  fuzz: FUZZ_TARGET("…")

Exit 0 when fine, 1 when not, 64 when called wrongly.
"""

import argparse
import pathlib
import re
import sys

SIMULATORS = (("src", "sim"), ("src", "hostsim"), ("src", "nodesim"))
WAYS = {"U": "unit test", "S": "simulator", "P": "whole program", "Z": "fuzzer"}

DECLARED_REQUIREMENT = re.compile(r"^- \**([A-Z]-[0-9]+)\b", re.MULTILINE)
DECLARED_FAULT = re.compile(r"^\| *([0-9]+) *\|(.*)$", re.MULTILINE)
DECLARED_INVARIANT = re.compile(r"^([0-9]+)\. ", re.MULTILINE)
HOW_COLUMN = 2  # of a fault's row, after its number: fault, required, how

STRINGS = r'((?:\s*"(?:[^"\\]|\\.)*")+)'
CPP_NAME = re.compile(r"\b(?:TEST_CASE(?:_TEMPLATE)?\(|TEST_CASE_FIXTURE\([^,]*,|FUZZ_TARGET\()" + STRINGS)
PYTHON_NAME = re.compile(r"^\s*def (test_\w+)\(", re.MULTILINE)
SCRIPT_NAME = re.compile(r"\b(?:it|test)(?:\.each\([^)]*\))?\(\s*" + STRINGS)
CMAKE_NAME = re.compile(r"\badd_test\(\s*NAME" + STRINGS)

NAMED_REQUIREMENT = re.compile(r"(?<![\w-])([A-Z]-[0-9]+)\b(?!-)")
NAMED_ROWS = re.compile(r"\b(fault|invariant)s? ([0-9]+(?:(?:, and |, | and )[0-9]+)*)(?![0-9–-])", re.IGNORECASE)


def declared_ids(root):
    """Id -> the ways in which it must be shown, none for one way of any kind. In the order of the two documents."""
    spec = (root / "docs/SPEC.md").read_text(encoding="utf-8")
    faults = (root / "docs/FAULTS.md").read_text(encoding="utf-8")
    ids = {each: [] for each in DECLARED_REQUIREMENT.findall(spec)}
    for number, row in DECLARED_FAULT.findall(faults):
        columns = row.split("|")
        how = columns[HOW_COLUMN] if len(columns) > HOW_COLUMN else ""
        ids[f"fault {number}"] = [way for way in WAYS if re.search(rf"\b{way}\b", how)]
    ids.update({f"invariant {number}": [] for number in DECLARED_INVARIANT.findall(faults)})
    return ids


def needed_ids(declared):
    """What needs a test: an id, or an id with each of its ways."""
    for each, ways in declared.items():
        yield from [f"{each} {way}" for way in ways] or [each]


def names_in(path, text):
    """Each name of a test in the file, with where it stands in the text."""
    if path.suffix == ".py":
        for found in PYTHON_NAME.finditer(text):
            words = re.sub(r"(?<![A-Za-z0-9])([A-Z])_([0-9]+)(?![0-9])", r"\1-\2", found[1])
            yield words.replace("_", " "), found.start(1)
        return
    pattern = {".cpp": CPP_NAME, ".ts": SCRIPT_NAME}.get(path.suffix, CMAKE_NAME)
    for found in pattern.finditer(text):
        yield "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', found[1])), found.start(1)


def test_files(root):
    """Every file with tests, and which way they go."""
    for pattern, way in (
        ("src/**/*_test.cpp", "U"),
        ("sdk/**/*_test.cpp", "U"),
        ("web/src/**/*_test.ts", "U"),
        ("tests/**/*_test.py", "P"),
        ("tests/**/*_test.cpp", "P"),
        ("web/tests/**/*_test.*", "P"),
        ("sdk/*_test.py", "P"),
        ("**/CMakeLists.txt", "P"),
        ("**/*.cmake", "P"),
        ("fuzz/*.cpp", "Z"),
    ):
        for path in sorted(root.glob(pattern)):
            inner = path.relative_to(root)
            if inner.parts[0] in ("build", ".git") or "node_modules" in inner.parts:
                continue
            if path.name.startswith("tools_check_"):  # they quote ids as examples
                continue
            yield path, inner, "S" if inner.parts[:2] in SIMULATORS and way == "U" else way


def ids_named(name, letters):
    """The ids that a test's name names. `letters` are those that requirements begin with."""
    found = [each for each in NAMED_REQUIREMENT.findall(name) if each[0] in letters]
    for kind, numbers in NAMED_ROWS.findall(name):
        found += [f"{kind.lower()} {number}" for number in re.split(r", and |, | and ", numbers)]
    return found


def places(root, letters):
    """Id, and id with its way -> where tests name it, as file:line."""
    named = {}
    for path, inner, way in test_files(root):
        text = path.read_text(encoding="utf-8", errors="replace")
        for name, at in names_in(path, text):
            place = f"{inner}:{text.count(chr(10), 0, at) + 1}"
            for each in ids_named(name, letters):
                for key in (each, f"{each} {way}"):
                    if place not in named.setdefault(key, []):
                        named[key].append(place)
    return named


def read_open_list(path):
    """What has no test yet: an id a line, or an id with a way, then anything after a #."""
    entries = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        name = line.partition("#")[0].strip()
        if name in entries:
            raise ValueError(f"{path}:{number}: {name} is there twice")
        if name:
            entries.append(name)
    return entries


def differences(declared, named, open_list):
    """What --check complains about, each with what to do."""
    needed = list(needed_ids(declared))
    for each in open_list:
        if each not in needed:
            yield f"{each} is on the open list, but no document asks for it"
    for each, where in named.items():
        if each not in declared and not each[-1].isalpha():
            yield f"{where[0]} names {each}, which no document declares"
    for each in needed:
        if each not in named and each not in open_list:
            way = f" as {WAYS[each[-1]]}" if each[-1] in WAYS else ""
            yield f"{each} has no test{way} that names it: write one"
        elif each in named and each in open_list:
            yield f"{each} is named by {named[each][0]}: take it off the open list"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ids", nargs="*", metavar="ID", help='such as F-7, "fault 11" or "invariant 3"')
    parser.add_argument("--missing", action="store_true", help="only what no test names")
    parser.add_argument("--check", type=pathlib.Path, metavar="FILE", help="compare with the list of open ones")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    try:
        arguments = parser.parse_args()
    except SystemExit as ended:
        raise SystemExit(64 if ended.code else 0) from None

    declared = declared_ids(arguments.root)
    needed = list(needed_ids(declared))
    named = places(arguments.root, {each[0] for each in declared if "-" in each})
    unknown = [each for each in arguments.ids if each not in declared]
    if unknown:
        print(f"check_requirements: no document declares {', '.join(unknown)}", file=sys.stderr)
        return 64

    tested = sum(each in named for each in needed)
    if arguments.check:
        try:
            faults = list(differences(declared, named, read_open_list(arguments.check)))
        except (OSError, ValueError) as fault:
            print(f"check_requirements: {fault}", file=sys.stderr)
            return 1
        for line in faults:
            print(line)
        if not faults:
            print(f"check_requirements: {tested} of {len(needed)} are named by tests")
        return 1 if faults else 0

    for each in needed:
        if arguments.ids and not any(each == one or each[:-2] == one for one in arguments.ids):
            continue
        where = named.get(each, [])
        if not (arguments.missing and where):
            print(f"{each:<13} {', '.join(where) if where else '-'}")
    if not arguments.ids:
        print(f"{tested} of {len(needed)} are named by tests, {len(needed) - tested} are not")
    return 0


if __name__ == "__main__":
    sys.exit(main())
