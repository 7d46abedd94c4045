#!/usr/bin/env python3
"""Reads the report that ctest --output-junit writes, for ./test.

    tools/test_report.py REPORT [--outputs]

Prints `PASSED FAILED SKIPPED` on the first line, then the name of each test that failed, one a line. With --outputs what
they said goes to standard error. A report that is missing or broken is one failure.
"""

import sys
import xml.etree.ElementTree as xml


def main():
    arguments = sys.argv[1:]
    outputs = "--outputs" in arguments
    paths = [each for each in arguments if each != "--outputs"]
    if len(paths) != 1:
        print(__doc__, file=sys.stderr)
        return 64
    try:
        cases = xml.parse(paths[0]).getroot().findall("testcase")
    except (OSError, xml.ParseError) as problem:
        print(f"0 1 0\nctest: no report: {problem}")
        return 0
    failed = [case for case in cases if case.get("status") == "fail"]
    passed = [case for case in cases if case.get("status") == "run"]
    print(len(passed), len(failed), len(cases) - len(passed) - len(failed))
    for case in failed:
        print(case.get("name"))
        if outputs:
            print(f"\n---- {case.get('name')}\n{case.findtext('system-out', '')}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
