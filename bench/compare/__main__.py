"""All comparisons of Muster with its peers, interleaved: a table, JSON, pictures and docs/BENCHMARKS.md.

    muster bench compare -- [--rounds N] [--sections NAME,…] [--output FOLDER] [--short]

Programs come from the build folder. Redis takes part when redis-server and redis-benchmark are installed. With --output,
what is there from an earlier run is kept for the sections that are not measured now, so that a long run can be taken in parts.
With --short everything is run once and briefly: it shows that the tool works, and says nothing about Muster.
"""

import argparse
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import machine  # noqa: E402
import peers  # noqa: E402
import report  # noqa: E402
import rounds  # noqa: E402

SECTIONS = ["allocations", "capacity", "overload", "heartbeats", "servers"]


class Progress:
    """One line on a terminal, written over; nothing elsewhere."""

    def __init__(self):
        self.began, self.section, self.shown = time.monotonic(), "", sys.stderr.isatty()

    def __call__(self, text):
        if self.shown:
            print(f"\r\033[K{time.monotonic() - self.began:5.0f} s  {self.section}: {text}", end="", file=sys.stderr, flush=True)

    def end(self):
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def parsed():
    parser = argparse.ArgumentParser(prog="muster bench compare --", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--build", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each comparison (5)")
    parser.add_argument("--sections", default=",".join(SECTIONS), help="some of: " + ", ".join(SECTIONS))
    parser.add_argument("--output", type=pathlib.Path, help="writes BENCHMARKS.md and benchmarks/ into this folder")
    parser.add_argument("--short", action="store_true", help="once and briefly, to see that it works")
    arguments = parser.parse_args()
    arguments.sections = arguments.sections.split(",")
    unknown = set(arguments.sections) - set(SECTIONS)
    if unknown or arguments.rounds < 1:
        parser.error(f"no such section: {', '.join(sorted(unknown))}" if unknown else "--rounds is at least 1")
    return arguments


def earlier(output):
    try:
        return json.loads((output / "benchmarks" / "results.json").read_text(encoding="utf-8")) if output else {}
    except (OSError, ValueError):
        return {}


def main():
    arguments = parsed()
    progress = Progress()
    measure = rounds.Rounds(arguments.build / "bench", arguments.rounds, arguments.short, progress)
    results = {**earlier(arguments.output), "machine": machine.described(pathlib.Path(__file__).parent)}
    results["rounds"] = {**results.get("rounds", {}), **{section: measure.count for section in arguments.sections}}
    for section in arguments.sections:
        progress.section = section
        if section == "overload":
            knee = results.get("capacity", {}).get("knees", {}).get("Muster") or (200 if arguments.short else 10_000)
            results[section] = measure.overload(knee)
        else:
            results[section] = getattr(measure, section)()
    progress.end()
    results["rejected"] = results.get("rejected", 0) + measure.rejected
    for table in report.tables_of(results):
        print(report.text_table(*table))
    if arguments.output:
        report.write(results, arguments.output)
        print(f"Wrote {arguments.output / 'BENCHMARKS.md'}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except peers.PeerFailed as error:
        print(f"compare: {error}", file=sys.stderr)
        sys.exit(1)
