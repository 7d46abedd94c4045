"""Workloads of everything else: timers, sessions, starts, the event history, TLS, and PostgreSQL in place of SQLite."""

import json
import pathlib
import sqlite3
import tempfile
import time

import loads
import machine
import servers


def timers(bench):
    """Timers with a callback, a million of them outstanding."""
    count = 10_000 if bench.few else 1_000_000
    return {"turns": [bench.one("a million timers", lambda: loads.run_json(machine.pinned(map(str, [
        bench.programs / "timers_bench", "--json", "--rounds", 1 if bench.few else max(5, bench.count), "--outstanding", count]), "load")))]}


def sessions(bench):
    """A million players in core, and one MSG_TIME for 15,000 of them."""
    many, told = (2_000, 500) if bench.few else (1_000_000, 15_000)
    program = bench.programs / "sessions_bench"
    return {
        "bytes": [bench.one(f"{many:,} sessions", lambda: loads.run_json([program, "--json", "--players", many]), is_timed=False)],
        "broadcast": bench.interleaved("broadcast", {"Muster": lambda: loads.run_json([program, "--json", "--broadcast", "--players", told])}),
    }


def starts(bench):
    """From kill -9 until /readyz says yes, with a large store."""
    count, matches = (50, 200) if bench.few else (100_000, 500_000)
    found = {}
    for name, running in (("over", 0), ("running", matches)):
        with servers.Muster(bench.muster, cores_least=4) as daemon:
            daemon.kill()
            store = pathlib.Path(daemon.folder.name) / "muster.db"
            for part in store.parent.glob("muster.db*"):
                part.unlink()
            bench.say(f"a store with {count:,} servers and {matches:,} matches")
            loads.run([bench.programs / "store_fill", store, "--servers", count, "--matches", matches, "--running", running])
            daemon.begin()  # the first start after filling is not a restart

            def restart():
                began = time.monotonic()
                daemon.kill()
                daemon.begin()
                return {"seconds": time.monotonic() - began}
            found[name] = [restart() for _ in range(bench.count)]
    return found


def history(bench):
    """A million events of matches that were played, from the daemon's own file; then the API is asked for those of one lobby."""
    matches = 200 if bench.few else 200_000
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder:
        kept = pathlib.Path(folder) / "kept.db"
        bench.say(f"{matches:,} matches are played")
        loads.fleet(bench.programs, bench.muster, "Muster", 1_000 if bench.few else 6_000, matches, servers=20 if bench.few else 1_000,
                    match=0, capacity=100, more=["--keep", kept])
        database = sqlite3.connect(kept)
        size = database.execute("SELECT sum(pgsize) FROM dbstat WHERE name = 'event_blocks'").fetchone()[0]
        events = database.execute("SELECT count(*), max(last_id) FROM event_blocks").fetchone()[1]
        database.close()
        with servers.Muster(bench.muster, cores_least=4, MUSTER_STORE_PATH=str(kept)) as daemon:
            took = []
            for turn in range(bench.count):
                lobby = matches // 2 + turn
                began = time.monotonic()
                status, body = daemon.get(f"/api/v1/events?type=match.&lobby={lobby}")
                took.append({"seconds": time.monotonic() - began})
                if status != 200 or not json.loads(body)["events"]:
                    raise servers.PeerFailed(f"the events of lobby {lobby} are not found: {status} {body[:200]}")
    return {"bytes": [{"bytes": size / events, "events": events}], "search": took}


def tls(bench):
    """What TLS costs; the program has rounds of its own."""
    return {"turns": [bench.one("TLS", lambda: loads.tls(bench.programs, bench.muster, 1 if bench.few else max(5, bench.count), bench.few))]}


def postgres(bench):
    """PostgreSQL in place of SQLite, alone and with a synchronous standby; heartbeats relayed by a second node."""
    try:
        import pg_engine
    except ImportError:
        pg_engine = None
    if pg_engine is None or pg_engine.programs() is None:
        bench.missing["PostgreSQL"] = "apt install postgresql"
        return {}
    rate, seconds, size = (100, 0.3, 20) if bench.few else (5_000, 3, 1000)

    def allocate(url):
        more = ["--store-url", url()] if url else []
        return lambda: loads.fleet(bench.programs, bench.muster, "Muster", rate, rate * seconds, servers=size, more=more)
    found = {}
    bench.say("PostgreSQL starts")
    engine = pg_engine.Engine(shared_buffers="128MB")  # as it is installed

    def fresh():
        url = engine.url(engine.database())
        engine.recycle_log()
        return url
    try:
        whole = 1.0  # the engine is no child of ours: its work looks like that of others
        found.update(bench.interleaved(f"{rate:,} a second", {"SQLite": allocate(None), "PostgreSQL": lambda: allocate(fresh)()},
                                       others_max=whole))
        found.update(bench.interleaved("heartbeats", {"direct": lambda: _beats(bench, fresh(), False), "relayed": lambda: _beats(bench, fresh(), True)},
                                       others_max=whole))
        found["recovery"] = _recoveries(bench, fresh())
        bench.say("a synchronous standby starts")
        standby = pg_engine.Standby(engine)
        try:
            found.update(bench.interleaved(f"{rate:,} a second", {"with a standby": lambda: allocate(fresh)()}, others_max=whole))
        finally:
            standby.end()
    finally:
        engine.end()
    return found


class _Nodes:
    """Both nodes of a relay, as one server to be asked at the second."""

    speaks = "muster"

    def __init__(self, owner, other):
        self.port, self.pids = other.port, [*owner.pids, *(other.pids if other is not owner else [])]


def _beats(bench, url, relayed):
    links, seconds = (5, 0.2) if bench.few else (1_000, 1.5)
    rate = 200 if bench.few else 20_000
    node = lambda name: servers.Muster(bench.muster, links, MUSTER_STORE_URL=url, MUSTER_CLUSTER_NODE=name, MUSTER_CLUSTER_LISTEN="127.0.0.1:0")
    with node("one") as owner:
        servers.until(lambda: _owns(owner), "the first node does not take the cell")
        if not relayed:
            return loads.links(bench.programs, _Nodes(owner, owner), links, seconds, rate=rate)
        with node("two") as other:
            return loads.links(bench.programs, _Nodes(owner, other), links, seconds, rate=rate)


def _recoveries(bench, url):
    """What a node that takes over reads of a large cell (N-6), as it tells itself."""
    count, matches = (50, 200) if bench.few else (100_000, 500_000)
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder:
        store = pathlib.Path(folder) / "muster.db"
        bench.say(f"a database with {count:,} servers and {matches:,} matches")
        loads.run([bench.programs / "store_fill", store, "--servers", count, "--matches", matches, "--running", matches])
        loads.run([bench.muster, "store", "copy", store, url])
    return [_recovery(bench, url) for _ in range(bench.count)]


def _recovery(bench, url):
    with servers.Muster(bench.muster, MUSTER_STORE_URL=url, MUSTER_CLUSTER_NODE="one", MUSTER_CLUSTER_LISTEN="127.0.0.1:0") as node:
        servers.until(lambda: _owns(node), "the node does not take the cell")
        line = next(line for line in node.get("/metrics")[1].splitlines() if line.startswith(b"muster_recovery_seconds "))
        node.kill()
    return {"seconds": float(line.split()[1])}


def _owns(node):
    status, body = node.get("/metrics")
    return status == 200 and b'muster_cell_owned{cell="main"} 1' in body
