"""Workload of several nodes: how long nobody gets a match when an owner or the database is lost."""

import contextlib
import pathlib
import tempfile
import time

import servers

TIMES_A_ROUND = 4  # of each way: 20 in a whole run
SILENCE_S = 5  # the default


def failovers(bench):
    """Three nodes, a PostgreSQL with a standby, and a fleet at all nodes. The owner is lost in each way; so is the primary."""
    try:
        import failover_load
        import failover_ways
        import pg_engine
    except ImportError:
        pg_engine = None
    if pg_engine is None or pg_engine.programs() is None:
        bench.missing["failovers"] = "apt install postgresql"
        return {}
    times = 1 if bench.few else TIMES_A_ROUND * bench.count
    found = {}
    bench.say("PostgreSQL and its standby start")
    with contextlib.ExitStack() as used:
        pair = pg_engine.EnginePair()
        used.callback(pair.end)
        url = pair.url(pair.database("failovers"))
        folder = pathlib.Path(used.enter_context(tempfile.TemporaryDirectory(prefix="muster-bench-")))
        nodes = []
        try:
            for name in ("one", "two", "three"):
                (folder / name).mkdir()
                nodes.append(failover_load.Node(bench.muster, folder / name, name, url, SILENCE_S))
                used.callback(nodes[-1].end)
            fleet = failover_load.Fleet(nodes, seed=1)
            for way in failover_ways.WAYS:
                found[way] = [_lost(bench, failover_ways, fleet, way, number) for number in range(times)]
            found["promotion"] = [_promoted(bench, fleet, pair, number) for number in range(times)]
        except (AssertionError, RuntimeError) as error:
            raise servers.PeerFailed(str(error)) from error
        if fleet.faults:
            raise servers.PeerFailed(f"what was answered does not hold: {fleet.faults[0]}")
    return found


def _lost(bench, failover_ways, fleet, way, number):
    bench.say(f"{way} of the owner, {number + 1}")
    owner = _calm(fleet)
    successor = next(node for node in fleet.nodes if node is not owner)
    took, _ = failover_ways.lose_owner(fleet, way, owner, successor)
    return {"seconds": took}


def _promoted(bench, fleet, pair, number):
    """From the death of the primary on; the engine's own part is that until its standby is promoted."""
    bench.say(f"the primary is killed and its standby promoted, {number + 1}")
    _calm(fleet)
    fleet.watch_for_gap()
    began = time.monotonic()
    pair.fail_over()
    promoted = time.monotonic()
    fleet.until(lambda: fleet.last_asked > promoted, "no allocation after the promotion")
    took = fleet.longest_gap
    pair.mend()
    return {"seconds": took, "engine_seconds": promoted - began}


def _calm(fleet):
    fleet.until(fleet.all_home, "a node is not ready")
    owner = fleet.until(fleet.owner, "nobody owns the cell")
    before = fleet.answers
    fleet.until(lambda: fleet.answers > before + 10, "no allocation")
    return owner
