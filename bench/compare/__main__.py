"""Muster beside its peers and its limits, interleaved: a table, JSON, pictures and BENCHMARKS.md. `muster bench` starts it."""

import argparse
import json
import pathlib
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
# pg_engine, failover_load and failover_ways are the tests'; an installed package has them here.
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests")]

import allocation_work  # noqa: E402
import failover_work  # noqa: E402
import link_work  # noqa: E402
import machine  # noqa: E402
import other_work  # noqa: E402
import report  # noqa: E402
from rounds import Rounds  # noqa: E402
from servers import PeerFailed  # noqa: E402

# name → what it measures, and minutes of a whole run of five rounds.
WORKLOADS = {
    "allocations": ("durable allocations at 5,000, 10,000 and 20,000 a second, beside the bare allocator", 2.5),
    "capacity": ("the highest rate with p99 within 50 ms, beside the bare allocator and Redis", 6),
    "overload": ("twice and five times the capacity offered", 1.5),
    "late_acks": ("game servers that take 0 to 4 s to acknowledge", 1.5),
    "shares": ("how evenly equal servers are used", 0.5),
    "heartbeats": ("heartbeats over 50, 1,000 and 10,000 links, beside bare epoll, Asio and Redis", 2.5),
    "open_loop": ("20,000 and 60,000 heartbeats a second, beside bare epoll and Redis", 1.5),
    "in_flight": ("16 heartbeats in flight, beside Redis", 0.5),
    "instructions": ("user instructions a heartbeat, by callgrind", 1),
    "memory": ("memory of 10,000 idle links, beside Redis", 0.5),
    "link_counts": ("fleets of 1,000 to 100,000 real links, as open files allow", 1),
    "fleet_sizes": ("1,000 to 100,000 servers in core itself", 0.5),
    "timers": ("a million timers, beside the flat wheel, libev and libuv", 0.5),
    "starts": ("kill -9 to ready, with 100,000 servers and 500,000 matches", 1.5),
    "sessions": ("a million players; a broadcast to 15,000", 0.5),
    "history": ("a million events: bytes, and a search", 1),
    "tls": ("what TLS costs, beside plain links and bare OpenSSL", 1),
    "postgres": ("PostgreSQL beside SQLite, alone and with a standby; relayed heartbeats; a takeover of a large cell", 4),
    "failovers": ("seconds without a match when an owner or the database is lost, 20 times each way", 9),
}
MODULES = (allocation_work, failover_work, link_work, other_work)
ROUNDS, QUICK_ROUNDS = 5, 1


class Progress:
    """One line on a terminal, written over; elsewhere a line for each workload."""

    def __init__(self):
        self.began, self.workload, self.shown = time.monotonic(), "", sys.stderr.isatty()

    def begin(self, workload, number, count):
        self.workload = f"{number}/{count} {workload}"
        if not self.shown:
            print(self.workload, file=sys.stderr, flush=True)

    def __call__(self, text):
        if self.shown:
            minutes, seconds = divmod(int(time.monotonic() - self.began), 60)
            print(f"\r\033[K{minutes}:{seconds:02} {self.workload}: {text}"[:150], end="", file=sys.stderr, flush=True)

    def end(self):
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


class Parser(argparse.ArgumentParser):
    """Ends with the exit code that muster has for a bad argument."""

    def error(self, message):
        self.exit(64, f"{self.prog}: {message}\n")


def parsed():
    listing = "\n".join(f"  {name:<13} {what}" for name, (what, _) in WORKLOADS.items())
    parser = Parser(prog="muster bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, epilog=f"workloads:\n{listing}\n")
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="some of those below; all of them when none is named")
    parser.add_argument("--programs", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--muster", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, help=f"rounds of each comparison ({ROUNDS}; with --quick {QUICK_ROUNDS})")
    parser.add_argument("--quick", action="store_true", help="one round of each: minutes, and a rough idea")
    parser.add_argument("--output", type=pathlib.Path, help="writes BENCHMARKS.md and bench/ (pictures, results.json) into this folder; what is "
                        "there of workloads that are not measured now is kept")
    parser.add_argument("--append", action="store_true", help="adds rounds to those that are in --output, instead of replacing them")
    parser.add_argument("--json", action="store_true", help="prints the results as JSON instead of the table")
    parser.add_argument("--few", action="store_true", help=argparse.SUPPRESS)  # for the test: sizes that measure nothing
    arguments = parser.parse_args()
    unknown = set(arguments.workloads) - set(WORKLOADS)
    if unknown:
        parser.error(f"no such workload: {', '.join(sorted(unknown))}; there are: {', '.join(WORKLOADS)}")
    if arguments.append and not arguments.output:
        parser.error("--append needs --output")
    if arguments.rounds is None:
        arguments.rounds = QUICK_ROUNDS if arguments.quick or arguments.few else ROUNDS
    if arguments.rounds < 1:
        parser.error("--rounds is at least 1")
    return arguments


def merged(old, new):
    """Lists of rounds one after the other, wherever they are."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {key: merged(old[key], new[key]) if key in old and key in new else new.get(key, old.get(key)) for key in {**old, **new}}
    return old + new if isinstance(old, list) and isinstance(new, list) else new


def earlier(output):
    try:
        return json.loads((output / "bench" / "results.json").read_text(encoding="utf-8")) if output else {}
    except (OSError, ValueError):
        return {}


def measure(name, rounds, results):
    if name == "overload":
        return allocation_work.overload(rounds, results.get("capacity", {}).get("knees", {}).get("Muster"))
    return next(getattr(module, name) for module in MODULES if hasattr(module, name))(rounds)


def main():
    arguments = parsed()
    progress = Progress()
    wanted = arguments.workloads or list(WORKLOADS)
    minutes = sum(WORKLOADS[name][1] for name in wanted) * arguments.rounds / ROUNDS
    if not arguments.few:
        print(f"{len(wanted)} workloads, {arguments.rounds} rounds each: about {max(1, round(minutes))} minutes. Leave the machine alone "
              "meanwhile.", file=sys.stderr, flush=True)
    results = {"about": {}, **earlier(arguments.output), "machine": machine.described(HERE, arguments.muster)}
    failed = {}
    for number, name in enumerate(wanted, 1):
        progress.begin(name, number, len(wanted))
        rounds = Rounds(arguments.programs, arguments.muster, arguments.rounds, arguments.few, progress)
        about = {"rounds": arguments.rounds, "commit": results["machine"]["commit"], "date": results["machine"]["date"]}
        try:
            data = measure(name, rounds, results)
        except (PeerFailed, OSError) as error:
            failed[name] = str(error)
            continue
        about.update(measured=rounds.measured, rejected=rounds.rejected, missing=rounds.missing)
        if arguments.append and results.get(name):
            before = results["about"].get(name, {"rounds": 0, "measured": 0, "rejected": 0})
            about.update({key: about[key] + before[key] for key in ("rounds", "measured", "rejected")})
            data = merged(results[name], data)
        results[name], results["about"][name] = data, about
        if arguments.output:
            report.write(results, arguments.output)
    progress.end()
    print(json.dumps(results, indent=1) if arguments.json else report.on_terminal(results))
    if arguments.output:
        print(f"wrote {arguments.output / 'BENCHMARKS.md'}", file=sys.stderr)
    for name, why in failed.items():
        print(f"muster bench: {name} failed: {why}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    # So that whoever is being measured is stopped, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
