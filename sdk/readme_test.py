#!/usr/bin/env python3
"""Fails when a piece of code in README.md is not, line for line, in one of the examples, which are compiled."""

import pathlib
import re
import sys

here = pathlib.Path(__file__).resolve().parent
examples = [path.read_text(encoding="utf-8") for path in sorted((here / "examples").glob("*.c*"))]
readme = (here / "README.md").read_text(encoding="utf-8")
pieces = re.findall(r"^```(?:cpp|c)\n(.*?)^```$", readme, re.M | re.S)
stale = [piece for piece in pieces if not any(piece in example for example in examples)]
for piece in stale:
    print(f"in no example:\n{piece}")
prose = re.sub(r"^```.*?^```$", "", readme, flags=re.M | re.S)
links = re.findall(r"\]\(([^)#]+)\)", prose)
dead = [link for link in links if not (here / link).exists()]
for link in dead:
    print(f"no such file: {link}")
print(f"readme_test: {len(pieces)} pieces of code, {len(links)} links")
sys.exit(1 if stale or dead or len(pieces) < 5 else 0)
