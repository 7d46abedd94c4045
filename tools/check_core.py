#!/usr/bin/env python3
"""Fails when a part of src/core knows who calls it: the rules are in core_rules.toml beside this file.

    tools/check_core.py [--root DIR] [--rules FILE]

Three rules. No two files include each other, directly or in a circle; a header and its .cpp files are one file here. A
part includes parts of lower levels only. A callback stands only where the rules list it.
Exit 0 when clean, 1 with violations, 64 when called wrongly.
"""

import re
import sys

import rule_check

INCLUDE = re.compile(r'^#include "core/([^"]+)\.h"', re.MULTILINE)
CLASS = re.compile(r"^(?:class|struct) (\w+)[^;]*$", re.MULTILINE)
MEMBER = re.compile(r"^(?:[\w:<>,*& ]+ )?[*&]?(\w+)::~?\w+(?:::\w+)*\(", re.MULTILINE)
CALLBACK = re.compile(r"\b(?:std::function|Function)<|\bvirtual\b|\bsubscribe(?:_all\b|<)")
COMMENT = re.compile(r"//.*")


def is_product(file):
    return not file.stem.endswith(("_test", "_fixture"))


def units(folder):
    """A header with the .cpp files that define its classes, by the header's stem: {stem: [file]}."""
    found = {file.stem: [file] for file in sorted(folder.glob("*.h")) if is_product(file)}
    home = {name: stem for stem, (header,) in found.items() for name in CLASS.findall(header.read_text("utf-8"))}
    for file in sorted(folder.glob("*.cpp")):
        if not is_product(file):
            continue
        defined = [home[name] for name in MEMBER.findall(file.read_text("utf-8")) if name in home]
        stem = file.stem if file.stem in found else defined[0] if defined else file.stem
        found.setdefault(stem, []).append(file)
    return found


def include_graph(files_of):
    """{stem: {included stem: 'file:line'}}, without what a unit includes of itself."""
    graph = {}
    for stem, files in files_of.items():
        edges = graph.setdefault(stem, {})
        for file in files:
            text = file.read_text("utf-8")
            for found in INCLUDE.finditer(text):
                if found[1] != stem and found[1] in files_of:
                    line = text.count("\n", 0, found.start()) + 1
                    edges.setdefault(found[1], f"src/core/{file.name}:{line}")
    return graph


def circles(graph):
    """Yields each circle once, as the list of stems on it."""
    done, path = set(), []

    def walk(stem):
        if stem in path:
            yield path[path.index(stem):] + [stem]
            return
        if stem in done:
            return
        path.append(stem)
        for included in sorted(graph[stem]):
            yield from walk(included)
        path.pop()
        done.add(stem)

    for stem in sorted(graph):
        yield from walk(stem)


def reached(graph, start):
    """Yields (stem, 'file:line' of the first include on the way there) for all that `start` includes at last."""
    seen = {start}
    waiting = [(included, place) for included, place in sorted(graph[start].items())]
    while waiting:
        stem, place = waiting.pop(0)
        if stem in seen:
            continue
        seen.add(stem)
        yield stem, place
        waiting += [(included, place) for included in sorted(graph[stem])]


def violations(root, rules):
    """Yields one line of text per violation."""
    files_of = units(root / "src" / "core")
    graph = include_graph(files_of)
    level = {part: height for height, parts in enumerate(rules["levels"]) for part in parts}
    for part in [*level, *rules["callbacks"]]:
        if part not in files_of:
            yield f"core_rules.toml: there is no src/core/{part}.h"

    for circle in circles(graph):
        yield f"{graph[circle[0]][circle[1]]}: a circle of includes: {' -> '.join(circle)}"
    for part in sorted(level.keys() & graph.keys()):
        for other, place in reached(graph, part):
            if level.get(other, -1) >= level[part]:
                yield f"{place}: {part} includes {other}, which is not on a lower level"
    for stem, files in sorted(files_of.items()):
        if stem in rules["callbacks"]:
            continue
        for file in files:
            for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
                if found := CALLBACK.search(COMMENT.sub("", line)):
                    yield f"src/core/{file.name}:{number}: {found[0].strip()} is a callback; return a fact instead"


if __name__ == "__main__":
    sys.exit(rule_check.run("check_core", __doc__, "core_rules.toml", violations))
