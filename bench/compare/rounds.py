"""The comparisons. Contenders take turns within each round, so that whatever the machine does meets all of them."""

import statistics
import sys

import machine
import peers

TRIES = 3  # of a round that was disturbed
KNEE_P99_MS = 50


class Rounds:
    """`progress(text)` is told what runs; `few` makes everything short, to see that it works."""

    def __init__(self, programs, count, few, progress):
        self.programs = programs
        self.count = 1 if few else count
        self.few = few
        self.progress = progress
        self.rejected = 0

    def measured(self, what, call, also=()):
        """`call`'s answer from a round in which the machine was ours; the last one's, marked, when it never was."""
        for attempt in range(1, TRIES + 1):
            self.progress(f"{what}{'' if attempt == 1 else f', try {attempt}'}")
            with machine.Watch(also) as watch:
                answer = call()
            if watch.others <= machine.OTHERS_MAX or self.few:
                return answer
            self.rejected += 1
        print(f"the machine was busy with other work during: {what}", file=sys.stderr)
        return {**answer, "disturbed": True}

    def interleaved(self, contenders):
        """{name: call} → {name: [answers]}, one of each in every round."""
        found = {name: [] for name in contenders}
        for turn in range(self.count):
            for name, (call, also) in contenders.items():
                found[name].append(self.measured(f"round {turn + 1} of {self.count}: {name}", call, also))
        return found

    def allocations(self):
        """CPU and latency of durable allocations at rates that all can take."""
        seconds = 0.5 if self.few else 4
        rates = [200] if self.few else [5_000, 10_000, 20_000]
        servers = 50 if self.few else 1000
        found = {}
        for rate in rates:
            found[str(rate)] = self.interleaved({
                f"{name} at {rate}/s": (lambda name=name, rate=rate: peers.allocations(self.programs, name, rate, seconds, servers),
                                        ()) for name in ("Muster", "bare server")})
        return {rate: {name.split(" at ")[0]: answers for name, answers in both.items()} for rate, both in found.items()}

    def capacity(self):
        """p50 and p99 against the offered rate, and the highest rate with p99 within 50 ms."""
        seconds = 0.5 if self.few else 3
        rates = [200, 400] if self.few else [2_500, 5_000, 10_000, 15_000, 20_000, 25_000, 30_000, 40_000]
        servers = 50 if self.few else 1000
        curves = {"Muster": {}, "bare server": {}}
        for rate in rates:
            both = self.interleaved({name: (lambda name=name, rate=rate: peers.allocations(self.programs, name, rate, seconds,
                                                                                           servers), ()) for name in curves})
            for name, answers in both.items():
                curves[name][str(rate)] = answers
        knees = {name: knee(curve) for name, curve in curves.items()}
        return {"curves": curves, "knees": knees, "redis": self.redis_claims()}

    def redis_claims(self):
        """Redis that syncs every command, doing only the claim of a lobby: requests a second with p99 within 50 ms."""
        if not peers.Redis.is_there():
            return None
        best = []
        for links in [8] if self.few else [32, 128, 512]:
            with peers.Redis(durable=True) as redis:
                count = 500 if self.few else 60_000
                call = lambda: redis.benchmark(links, count, "SET", "lobby:__rand_int__", "MATCH_1_0", "NX")
                best += [self.measured(f"Redis, claims over {links} links", call, (redis.process.pid,)) for _ in range(self.count)]
        good = [one for one in best if one["p99_ms"] <= KNEE_P99_MS]
        return max(good, key=lambda one: one["per_second"]) if good else None

    def overload(self, capacity):
        """Goodput, and how long those wait who are accepted or refused, beyond the capacity."""
        found = {}
        for times in [1, 2, 5]:
            rate = int(times * capacity)
            found[str(times)] = self.interleaved(
                {"Muster": (lambda rate=rate: peers.allocations(self.programs, "Muster", rate, 0.5 if self.few else 3,
                                                                50 if self.few else 1000), ())})["Muster"]
        return {"capacity": capacity, "times": found}

    def heartbeats(self):
        """Server CPU a heartbeat against the number of links."""
        sizes = [10] if self.few else [50, 1_000, 10_000]
        found = {}
        for links in sizes:
            found[str(links)] = {"frames": [], "Redis": []}
            for turn in range(self.count):
                found[str(links)]["frames"].append(
                    self.measured(f"round {turn + 1} of {self.count}: heartbeats over {links} links",
                                  lambda: peers.heartbeats(self.programs, links, 100 if self.few else 500)))
                if peers.Redis.is_there():
                    with peers.Redis(durable=False) as redis:
                        call = lambda: redis.benchmark(links, 2_000 if self.few else 100_000, "SET", "server:42", "12 20 30")
                        found[str(links)]["Redis"].append(
                            self.measured(f"round {turn + 1} of {self.count}: Redis over {links} links", call,
                                          (redis.process.pid,)))
        return found

    def servers(self):
        """What an allocation costs with more and more servers."""
        sizes = [20] if self.few else [1_000, 10_000, 30_000]
        rate, seconds = (100, 0.5) if self.few else (3_000, 3)
        return {str(size): self.interleaved(
            {name: (lambda name=name, size=size: peers.allocations(self.programs, name, rate, seconds, size), ())
             for name in ("Muster", "bare server")}) for size in sizes}


def knee(curve):
    """The highest rate at which all succeed and the median p99 is within the bound."""
    good = [int(rate) for rate, answers in curve.items()
            if statistics.median(one["p99_ms"] for one in answers) <= KNEE_P99_MS
            and all(one["succeeded"] == one["asked"] for one in answers)]
    return max(good, default=0)
