"""Workloads of links: heartbeats in closed and open loop, and links at rest, beside a bare epoll server, Boost.Asio and Redis."""

import pathlib
import re
import shutil

import loads
import machine
import servers


def _contenders(bench, names, links):
    """name → how to start it; who is not installed is left out, and said so."""
    ways = {
        "Muster": lambda: servers.Muster(bench.muster, links),
        "bare": lambda: servers.PortTeller(bench.programs / "bare_epoll"),
        "Asio": lambda: servers.PortTeller(bench.programs / "asio_server"),
        "Redis": lambda: servers.Redis(links=links),
    }
    if not servers.Redis.is_there():
        bench.missing["Redis"] = "apt install redis-server redis-tools"
        names = [name for name in names if name != "Redis"]
    if not (bench.programs / "asio_server").exists():
        names = [name for name in names if name != "Asio"]
    return {name: ways[name] for name in names}


def _measured(start, measure):
    def call():
        with start() as server:
            return measure(server)
    return call


def _turns(bench, about, names, links, count=None, **how):
    starts = _contenders(bench, names, links)
    return bench.interleaved(about, {name: _measured(start, lambda server: loads.links(bench.programs, server, links, **how))
                                     for name, start in starts.items()}, count, is_timed=how["seconds"] > 0)


def heartbeats(bench):
    """Each link has one heartbeat outstanding, as fast as the answers come."""
    sizes, seconds = ([5], 0.1) if bench.few else ([50, 1_000, 10_000], 0.7)
    return {str(links): _turns(bench, f"{links:,} links", ("Muster", "bare", "Asio", "Redis"), links, seconds=seconds) for links in sizes}


def open_loop(bench):
    """Heartbeats that are due at their moments, over 1,000 links."""
    links, rates, seconds = (5, [200], 0.2) if bench.few else (1_000, [20_000, 60_000], 1.5)
    return {str(rate): _turns(bench, f"{rate:,} a second", ("Muster", "bare", "Redis"), links, seconds=seconds, rate=rate) for rate in rates}


def in_flight(bench):
    """16 heartbeats outstanding on each of 50 links."""
    links, seconds = (2, 0.1) if bench.few else (50, 1)
    return _turns(bench, "16 in flight", ("Muster", "bare", "Redis"), links, seconds=seconds, in_flight=16)


def memory(bench):
    """Links at rest, after one heartbeat each."""
    return _turns(bench, "links at rest", ("Muster", "Redis"), 50 if bench.few else 10_000, seconds=0)


def link_counts(bench):
    """A fleet that heartbeats every 10 s, as long as open files allow."""
    found = {}
    for links in [20] if bench.few else [1_000, 10_000, 100_000]:
        if links + 200 > machine.open_files_max():
            bench.missing[f"{links:,} links"] = f"more open files: ulimit -Hn {links + 200} (it is {machine.open_files_max():,})"
            continue
        found[str(links)] = _turns(bench, f"{links:,} links, a heartbeat in 10 s each", ("Muster", "bare", "Redis"), links,
                                   count=min(bench.count, 3), seconds=0.2 if bench.few else 2, rate=100 if bench.few else links / 10)
    return found


def instructions(bench):
    """User instructions of the whole daemon a heartbeat, counted by callgrind: the same on a busy machine."""
    test = pathlib.Path(__file__).resolve().parents[2] / "tests" / "instructions_test.py"
    if not shutil.which("valgrind") or not test.exists():
        bench.missing["Instructions"] = "apt install valgrind" if test.exists() else "the source tree: tests/instructions_test.py counts them"
        return {}
    if bench.few:
        return {}  # a minute under callgrind; ./test runs it anyway
    bench.say("callgrind counts")
    counted = re.search(r"(\d+) instructions a heartbeat", loads.run(["python3", test, bench.muster]))
    if not counted:
        raise servers.PeerFailed("tests/instructions_test.py said no count")
    return {"Muster": [{"instructions": int(counted[1])}]}
