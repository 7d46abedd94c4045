#!/usr/bin/env python3
"""Tells which requirement and which fault has a test that names it, and where.

    tools/check_requirements.py                 every requirement and fault, with the places that name it
    tools/check_requirements.py F-7 "fault 11"  where are these tested?
    tools/check_requirements.py --missing       what no test names yet
    tools/check_requirements.py --check FILE    fails when that differs from the list of open ones in FILE

Ids come from docs/SPEC.md (F-7), the rows of docs/FAULTS.md (fault 11) and the invariants at its end (invariant 3).
A test names one in its title or in a comment; "faults 22, 24 and 42" names three.
Exit 0 when fine, 1 when not, 64 when called wrongly.
"""

import argparse
import pathlib
import re
import sys

# Where tests live: beside their file, and in folders of their own.
TEST_FILES = ("src/**/*_test.cpp", "sdk/**/*_test.cpp", "tests/**/*", "fuzz/**/*", "src/sim/**/*")
TEST_SUFFIXES = {".cpp", ".h", ".py", ".sh", ".toml", ".cmake", ".ts"}

DECLARED_REQUIREMENT = re.compile(r"^- \**([A-Z]-[0-9]+)\b", re.MULTILINE)
DECLARED_FAULT = re.compile(r"^\| *([0-9]+) *\|", re.MULTILINE)
DECLARED_INVARIANT = re.compile(r"^([0-9]+)\. ", re.MULTILINE)

NAMED_REQUIREMENT = re.compile(r"(?<![\w-])([A-Z]-[0-9]+)\b(?!-)")
NAMED_ROWS = re.compile(r"\b(fault|invariant)s? ([0-9]+(?:(?:, and |, | and |–|-)[0-9]+)*)", re.IGNORECASE)


def declared_ids(root):
    """Every id of the two documents, in their order."""
    spec = (root / "docs/SPEC.md").read_text(encoding="utf-8")
    faults = (root / "docs/FAULTS.md").read_text(encoding="utf-8")
    ids = DECLARED_REQUIREMENT.findall(spec)
    ids += [f"fault {number}" for number in DECLARED_FAULT.findall(faults)]
    ids += [f"invariant {number}" for number in DECLARED_INVARIANT.findall(faults)]
    return list(dict.fromkeys(ids))


def ids_named(line, letters):
    """The ids that a line of a test names. `letters` are those that requirements begin with."""
    found = [each for each in NAMED_REQUIREMENT.findall(line) if each[0] in letters]
    for kind, numbers in NAMED_ROWS.findall(line):
        for part in re.split(r", and |, | and ", numbers):
            first, _, last = part.replace("–", "-").partition("-")
            # A test that names a long range names nothing in particular.
            for number in range(int(first), min(int(last or first), int(first) + 20) + 1):
                found.append(f"{kind.lower()} {number}")
    return found


def places(root, letters):
    """Id -> where tests name it, as file:line."""
    named = {}
    for pattern in TEST_FILES:
        for path in sorted(root.glob(pattern)):
            if path.suffix not in TEST_SUFFIXES or not path.is_file() or path.name.startswith("tools_check_"):
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
                for each in ids_named(line, letters):
                    place = f"{path.relative_to(root)}:{number}"
                    if place not in named.setdefault(each, []):
                        named[each].append(place)
    return named


def read_open_list(path):
    """Id -> whether it is only partly tested. A line: `F-7`, or `F-7 partly`, then anything after a #."""
    entries = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        name, _, state = line.rpartition(" ") if line.endswith(" partly") else (line, "", "")
        if name in entries:
            raise ValueError(f"{path}:{number}: {name} is there twice")
        entries[name] = state == "partly"
    return entries


def differences(declared, named, open_list):
    """What --check complains about, each with what to do."""
    for each in open_list.keys() - set(declared):
        yield f"{each} is on the open list, but no document declares it"
    for each, where in named.items():
        if each not in declared:
            yield f"{where[0]} names {each}, which no document declares"
    for each in declared:
        if each not in named and each not in open_list:
            yield f"{each} has no test that names it: write one, or put it on the open list"
        elif each not in named and open_list[each]:
            yield f"{each} is partly tested by the open list, but no test names it any more"
        elif each in named and each in open_list and not open_list[each]:
            yield f"{each} is named by {named[each][0]}: take it off the open list, or mark it partly"


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
    named = places(arguments.root, {each[0] for each in declared if "-" in each})
    unknown = [each for each in arguments.ids if each not in declared]
    if unknown:
        print(f"check_requirements: no document declares {', '.join(unknown)}", file=sys.stderr)
        return 64

    if arguments.check:
        try:
            faults = list(differences(declared, named, read_open_list(arguments.check)))
        except (OSError, ValueError) as fault:
            print(f"check_requirements: {fault}", file=sys.stderr)
            return 1
        for line in faults:
            print(line)
        if not faults:
            tested = sum(each in named for each in declared)
            print(f"check_requirements: {tested} of {len(declared)} are named by tests")
        return 1 if faults else 0

    for each in arguments.ids or declared:
        where = named.get(each, [])
        if arguments.missing and where:
            continue
        print(f"{each:<13} {', '.join(where) if where else '-'}")
    if not arguments.ids:
        tested = sum(each in named for each in declared)
        print(f"{tested} of {len(declared)} are named by tests, {len(declared) - tested} are not")
    return 0


if __name__ == "__main__":
    sys.exit(main())
