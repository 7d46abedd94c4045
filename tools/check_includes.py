#!/usr/bin/env python3
"""Fails when a folder includes what it may not: the rules are in include_rules.toml beside this file.

    tools/check_includes.py [--root DIR] [--rules FILE]

Each violation is one line: file:line: the include, and the rule that it breaks.
Exit 0 when clean, 1 with violations, 64 when called wrongly.
"""

import pathlib
import re
import sys

import rule_check

SOURCE_SUFFIXES = {".h", ".hpp", ".cpp", ".cc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]*)"|<([^>]*)>)')
SDK_PREFIX = "muster"  # the SDK's public headers are included as "muster/…"


class Rules:
    """The table, by path of the folder from the root, such as src/net."""

    def __init__(self, table):
        self.header_never = tuple(table["headers"]["never"])
        self.part_of = table["headers"].get("part_of", {})
        self.folders = table["folders"]
        # What a folder is called in an #include: src/net is net, sdk is sdk.
        self.names = {pathlib.PurePosixPath(path).name: path for path in self.folders if path.count("/") < 2}
        for path, rule in self.folders.items():
            for entry in rule["may_include"]:
                if entry.split("/")[0] not in self.names:
                    raise ValueError(f"{path} may include {entry}, which is no folder of the table")

    def folder_of(self, path):
        """The innermost folder of the table that holds the file, or None."""
        for parent in path.parents:
            if parent.as_posix() in self.folders:
                return parent.as_posix()
        return None


def includes(text):
    """Yields (line number, is quoted, header); what stands in a block comment does not count."""
    in_comment = False
    for number, line in enumerate(text.splitlines(), 1):
        if in_comment:
            _, closed, line = line.partition("*/")
            in_comment = not closed
        if found := INCLUDE.match(line):
            yield number, found[1] is not None, found[1] if found[1] is not None else found[2]
            continue
        bare = re.sub(r'"(\\.|[^"\\])*"|//.*|/\*.*?\*/', "", line)
        in_comment = in_comment or "/*" in bare


def broken_rule(root, rules, path, quoted, header):
    """Why `path` may not include `header`, or None."""
    folder = rules.folder_of(path)
    rule = rules.folders[folder]

    owner = rules.part_of.get(f"src/{header}") if quoted else None
    if owner and path.as_posix() != owner:
        return f"{header} is a part of {owner} alone"
    if path.suffix in {".h", ".hpp"} and path.as_posix() not in rules.part_of:
        for start in rules.header_never:
            if header.startswith(start):
                return f"{start} stays out of headers: include it in a .cpp"
    if not path.stem.endswith("_test"):
        for start in rule.get("never", ()):
            if header == start or "/" in start and header.startswith(start):
                return f"{folder} never includes {start}"

    first = header.split("/")[0]
    if ".." in header.split("/"):
        return 'includes start at src, such as "base/time.h"'
    if not quoted:
        # <net/if.h> is the system's; <net/frame.h> would be ours.
        in_tree = (root / "src" / header).is_file()
        return f'ours are included with quotes: "{header}"' if in_tree else None
    if first == SDK_PREFIX:
        name = "sdk"
    elif first in rules.names and "/" in header:
        name = first
    else:
        return "a quoted include names its folder, such as \"base/time.h\"; others' headers stand in <>"

    own = folder.split("/")[1] if folder.startswith("src/") else folder.split("/")[0]
    if name == own:
        return None
    if name == "testing":
        return None if path.stem.endswith(("_test", "_fixture")) else "only tests and their fixtures include testing"
    stem = header.rsplit(".", 1)[0]
    if any(entry in (name, stem) for entry in rule["may_include"]):
        return None
    allowed = ", ".join(rule["may_include"]) or "the standard library only"
    return f"{folder} may include {allowed}; not {name}"


def violations(root, table):
    """Yields one line of text per violation, in order of files."""
    rules = Rules(table)
    for top in ("src", "sdk"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in SOURCE_SUFFIXES or not file.is_file():
                continue
            path = file.relative_to(root)
            if rules.folder_of(path) is None:
                yield f"{path}:1: its folder has no entry in the include rules"
                continue
            for number, quoted, header in includes(file.read_text(encoding="utf-8")):
                if why := broken_rule(root, rules, path, quoted, header):
                    shown = f'"{header}"' if quoted else f"<{header}>"
                    yield f"{path}:{number}: includes {shown}: {why}"


if __name__ == "__main__":
    sys.exit(rule_check.run("check_includes", __doc__, "include_rules.toml", violations))
