"""How a check of the source against a table of rules is called, and how it reports. Used by check_core.py and check_includes.py."""

import argparse
import pathlib
import sys
import tomllib


def run(name, about, rules_file, violations):
    """Prints each line of `violations(root, table)`, and returns the exit code: 0 clean, 1 with violations.

    Ends the program with 64 when it was called wrongly, and with 1 when the rules cannot be read or are no rules:
    `violations` says so by ValueError or KeyError.
    """
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=here.parent, help="the checkout (default: this one)")
    parser.add_argument("--rules", type=pathlib.Path, default=here / rules_file)
    try:
        arguments = parser.parse_args()
    except SystemExit as ended:
        raise SystemExit(64 if ended.code else 0) from None

    try:
        table = tomllib.loads(arguments.rules.read_text(encoding="utf-8"))
        found = list(violations(arguments.root, table))
    except (OSError, ValueError, KeyError) as fault:
        sys.exit(f"{name}: {arguments.rules}: {fault}")
    for line in found:
        print(line)
    if found:
        print(f"{name}: {len(found)} violations; the rules are in {arguments.rules.name}", file=sys.stderr)
        return 1
    print(f"{name}: clean")
    return 0
