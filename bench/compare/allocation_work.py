"""Workloads of allocations: each request is answered when it is on the disk, beside the bare allocator that does the same."""

import statistics

import loads
import servers

KNEE_P99_MS = 50
BOTH = ("Muster", "bare")
ALLOCATORS = {"Muster": "Muster", "bare": "bare allocator"}


def _fleet(bench, name, rate, seconds, **more):
    return lambda: loads.fleet(bench.programs, bench.muster, name, rate, rate * seconds, **more)


def allocations(bench):
    """CPU and latency of durable allocations at rates that all should take."""
    seconds, size = (0.3, 20) if bench.few else (3, 1000)
    rates = [100] if bench.few else [5_000, 10_000, 20_000]
    return {str(rate): bench.interleaved(f"{rate:,} a second", {name: _fleet(bench, name, rate, seconds, servers=size) for name in BOTH})
            for rate in rates}


def in_time(answer):
    return answer["p99_ms"] <= KNEE_P99_MS and answer["succeeded"] == answer["asked"]


def capacity(bench):
    """Each climbs from rate to rate until it is too slow twice in a row; the rates of all rounds make the curve."""
    seconds, size = (0.3, 20) if bench.few else (2, 1000)
    ladder = [100, 200] if bench.few else [2_500, 5_000, 7_500, 9_000, 11_000, 13_000, 16_000, 19_000, 23_000, 28_000, 34_000, 41_000]
    found = {"curves": {name: {} for name in BOTH}, "knees": {name: [] for name in BOTH}, "redis": []}
    for _ in range(bench.count):
        climbing = {name: {"knee": 0, "misses": 0} for name in BOTH}
        for rate in ladder:
            for name, climb in climbing.items():
                if climb["misses"] >= 2:
                    continue
                answer = bench.one(f"{rate:,} a second, {name}", _fleet(bench, name, rate, seconds, servers=size))
                found["curves"][name].setdefault(str(rate), []).append(answer)
                climb["misses"] = 0 if in_time(answer) else climb["misses"] + 1
                climb["knee"] = rate if in_time(answer) else climb["knee"]
        for name, climb in climbing.items():
            found["knees"][name].append(climb["knee"])
        if servers.Redis.is_there():
            found["redis"].append(_most_claims(bench))
    if not servers.Redis.is_there():
        bench.missing["Redis claims"] = "apt install redis-server redis-tools"
    return found


def _most_claims(bench):
    """Of a Redis that syncs every command: claims a second over the number of links that suits it best."""
    def claims(links):
        with servers.Redis(durable=True, links=links) as redis:
            return loads.redis_claims(redis, links, 200 if bench.few else 20_000 + 40 * links)
    tried = [bench.one(f"Redis claims over {links} links", lambda links=links: claims(links)) for links in ([8] if bench.few else [32, 128, 512])]
    good = [one for one in tried if one["p99_ms"] <= KNEE_P99_MS] or tried
    return max(good, key=lambda one: one["per_second"])


def overload(bench, knees):
    """Goodput, and how long those wait who are accepted or refused, at and beyond the capacity."""
    known = statistics.median(knees) if knees else 0
    rate = known or (200 if bench.few else 10_000)
    seconds, size = (0.3, 20) if bench.few else (3, 1000)
    calls = {str(times): _fleet(bench, "Muster", int(times * rate), seconds, servers=size) for times in (1, 2, 5)}
    runs = bench.interleaved("offered, times the capacity", calls)
    for answers in runs.values():
        for answer in answers:
            answer["capacity"] = rate
    return runs


def late_acks(bench):
    """Game servers take 0 to 4 s to acknowledge, many offers on each link."""
    wait, seconds, rate, size = (40, 0.3, 100, 20) if bench.few else (4_000, 3, 1_000, 1000)
    return bench.interleaved("acks after 0 to 4 s", {
        name: _fleet(bench, name, rate, seconds, servers=size, ack=wait, match=200, capacity=50) for name in BOTH})


def shares(bench):
    """Equal servers at a low load, their slots used again and again."""
    rate, size, each = (200, 5, 10) if bench.few else (1_000, 100, 25)
    return bench.interleaved("equal servers", {
        "Muster": _fleet(bench, "Muster", rate, size * each / rate, servers=size, match=100, capacity=10)})


def fleet_sizes(bench):
    """What a heartbeat and an allocation cost core itself with more and more game servers, without sockets and disk."""
    sizes = [100] if bench.few else [1_000, 10_000, 100_000]
    count = 1_000 if bench.few else 20_000
    return {str(size): bench.interleaved(f"{size:,} servers", {"Muster": lambda size=size: loads.run_json(
        [bench.programs / "fleet_bench", "--json", "--servers", size, "--allocations", count])}) for size in sizes}
