"""The table: each work with what it is measured beside, what is to be reached, and what was got."""

import statistics
from dataclasses import dataclass

from allocation_work import ALLOCATORS


@dataclass(frozen=True)
class Aim:
    """At most `bound`, or at least it."""

    bound: float
    at_least: bool = False

    def met(self, value):
        return value >= self.bound if self.at_least else value <= self.bound

    def text(self, unit):
        return f"{'≥' if self.at_least else '≤'} {self.bound:,g}{unit}"


@dataclass(frozen=True)
class Row:
    """`values` has one figure a round; all of them are in `unit` ("×" for a ratio to what it is beside)."""

    section: str
    work: str
    beside: str
    aim: Aim
    unit: str
    values: list
    figures: str = ""

    @property
    def got(self):
        return statistics.median(self.values)

    @property
    def is_met(self):
        return self.aim.met(self.got)

    def got_text(self):
        return spread(self.values) + (" " + self.unit if self.unit else "")

    def reach_text(self):
        return self.aim.text(" " + self.unit if self.unit else "")


def number(value):
    """Short, for people."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def spread(values):
    """The median, with the least and the most."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return number(middle) if low == high else f"{number(middle)} ({number(low)}–{number(high)})"


def ratios(ours, theirs, key):
    """Of rounds side by side."""
    return [one[key] / other[key] for one, other in zip(ours, theirs) if other[key] > 0]


def both(ours, theirs, key, unit):
    middle = lambda answers: number(statistics.median(one[key] for one in answers))
    return f"{middle(ours)} beside {middle(theirs)} {unit}"


def column(answers, key, factor=1.0):
    return [factor * one[key] for one in answers]


def rows_of(results):
    found = []
    for section, make in MAKERS.items():
        data = results.get(section)
        if data:
            found += [row for row in make(section, data) if row.values]
    return found


def _allocations(section, data):
    aims = (("cpu_us", "CPU", "µs", 1.3), ("p50_ms", "p50", "ms", 1.5), ("p99_ms", "p99", "ms", 2.0))
    for rate, runs in data.items():
        work = f"durable allocation, {int(rate):,}/s offered"
        yield Row(section, f"{work}: answered with a server", "asked", Aim(100, True), "%",
                  [100 * one["succeeded"] / one["asked"] for one in runs["Muster"]])
        for key, what, unit, bound in aims:
            yield Row(section, f"{work}: {what}", ALLOCATORS["bare"], Aim(bound), "×", ratios(runs["Muster"], runs["bare"], key),
                      both(runs["Muster"], runs["bare"], key, unit))


def _capacity(section, data):
    ours, bare = data["knees"]["Muster"], data["knees"]["bare"]
    work = "capacity: the highest rate with p99 ≤ 50 ms"
    yield Row(section, work, ALLOCATORS["bare"], Aim(0.75, True), "×", [one / other for one, other in zip(ours, bare) if other],
              f"{number(statistics.median(ours))} beside {number(statistics.median(bare))} a second")
    claims = column(data["redis"], "per_second")
    if claims:
        yield Row(section, work, "Redis, appendfsync always, only the claim", Aim(2, True), "×",
                  [one / other for one, other in zip(ours, claims)],
                  f"{number(statistics.median(ours))} beside {number(statistics.median(claims))} a second")


def goodput(answer):
    return answer["succeeded"] / answer["seconds"]


def _overload(section, data):
    for times in ("2", "5"):
        runs = data[times]
        work = f"overload, {times} × the capacity offered"
        yield Row(section, f"{work}: goodput", "capacity", Aim(0.9, True), "×", [goodput(one) / one["capacity"] for one in runs],
                  f"{number(statistics.median(map(goodput, runs)))} of {runs[0]['capacity']:,.0f} a second")
        yield Row(section, f"{work}: p99 of what is accepted", "–", Aim(100), "ms", column(runs, "p99_ms"))
        yield Row(section, f"{work}: p99 until \"Server busy\"", "–", Aim(10), "ms",
                  [one["refusal_p99_ms"] for one in runs if one["refused"]])


def _late_acks(section, data):
    yield Row(section, "acks after 0–4 s on shared links: p50", ALLOCATORS["bare"], Aim(1.05), "×", ratios(data["Muster"], data["bare"], "p50_ms"),
              both(data["Muster"], data["bare"], "p50_ms", "ms"))


def _shares(section, data):
    worst = [100 * max(one["share_most"] / one["share_mean"] - 1, 1 - one["share_least"] / one["share_mean"]) for one in data["Muster"]]
    last = data["Muster"][-1]
    yield Row(section, "equal servers' shares, slots reused: farthest from the mean", "mean", Aim(10), "%", worst,
              f"{last['share_least']:.0f} to {last['share_most']:.0f} around {last['share_mean']:.0f}")


def _heartbeats(section, data):
    for links, runs in data.items():
        yield Row(section, f"heartbeat, closed loop over {int(links):,} links: CPU", "bare epoll", Aim(1.1), "×",
                  ratios(runs["Muster"], runs["bare"], "cpu_us"), both(runs["Muster"], runs["bare"], "cpu_us", "µs"))


def _open_loop(section, data):
    for rate, runs in data.items():
        work = f"heartbeat, {int(rate):,}/s open loop over 1,000 links: CPU"
        for peer, name, bound in (("bare", "bare epoll", 1.5), ("Redis", "Redis", 1.0)):
            if peer in runs:
                yield Row(section, work, name, Aim(bound), "×", ratios(runs["Muster"], runs[peer], "cpu_us"),
                          both(runs["Muster"], runs[peer], "cpu_us", "µs"))


def _in_flight(section, data):
    if "Redis" in data:
        yield Row(section, "heartbeats with 16 in flight, for the same CPU", "Redis", Aim(2.5, True), "×",
                  ratios(data["Redis"], data["Muster"], "cpu_us"), both(data["Muster"], data["Redis"], "cpu_us", "µs"))


def _instructions(section, data):
    yield Row(section, "user instructions a heartbeat, end to end", "bare 87, Redis 9,805", Aim(1000), "", column(data["Muster"], "instructions"))


def link_bytes(answers):
    return [(one["resident_after"] - one["resident_before"]) / one["links"] for one in answers]


def _memory(section, data):
    redis = f"Redis {number(statistics.median(link_bytes(data['Redis'])))} B" if "Redis" in data else "–"
    yield Row(section, "memory a link, 10,000 idle game servers", redis, Aim(700), "B", link_bytes(data["Muster"]))


def _timers(section, data):
    for turn in data["turns"]:
        for operation, words in (("fresh", "schedule and cancel"), ("reschedule", "reschedule")):
            took = turn["operations"][operation]
            for peer, name, bound in (("flat wheel", "flat-pool wheel", 2.0), ("libev", "libev", 1.0)):
                ours, theirs = took["muster timers"], took[peer]
                yield Row(section, f"a timer with a callback, 1 million: {words}", name, Aim(bound), "×",
                          [one / other for one, other in zip(ours, theirs)],
                          f"{number(statistics.median(ours))} beside {number(statistics.median(theirs))} ns")
        yield Row(section, "a timer with a callback: bytes", "–", Aim(64), "B", [turn["bytes"]["muster timers"]])


def _starts(section, data):
    for name, words in (("over", "over"), ("running", "running")):
        yield Row(section, f"kill -9 to ready: 100,000 servers, 500,000 matches that are {words}", "–", Aim(1), "s", column(data[name], "seconds"))


def _sessions(section, data):
    yield Row(section, "broadcast of one MSG_TIME to 15,000 players: longest pass", "–", Aim(10), "ms",
              column(data["broadcast"]["Muster"], "longest_pass_ms"))
    yield Row(section, "1 million sessions: bytes each", "–", Aim(256), "B", column(data["bytes"], "bytes"))


def _history(section, data):
    yield Row(section, "event history: bytes on disk an event", "–", Aim(120), "B", column(data["bytes"], "bytes"))
    yield Row(section, f"event history: {data['bytes'][-1]['events']:,} events filtered by type and lobby", "–", Aim(200), "ms",
              column(data["search"], "seconds", 1000))


def _tls(section, data):
    turns = data["turns"]
    plain, sealed = (statistics.median(one["heartbeat"][i] for one in turns) for i in (0, 1))
    yield Row(section, "heartbeat over mutual TLS: CPU", "plain", Aim(1.35), "×", [value for one in turns for value in
              (one["heartbeat"][3], one["heartbeat"][2], one["heartbeat"][4])], f"{number(sealed)} beside {number(plain)} µs")
    yield Row(section, "memory of a TLS link at rest, more than a plain one", "plain", Aim(12), "KiB",
              [one["memory"][1] - one["memory"][0] for one in turns])
    yield Row(section, "full TLS handshakes a second", "what the key allows", Aim(0.8, True), "×", [one["handshake"][1] for one in turns],
              f"{number(statistics.median(one['handshake'][2] for one in turns))} × bare OpenSSL's")


def _postgres(section, data):
    for name in ("PostgreSQL", "with a standby"):
        if name not in data:
            continue
        words = "PostgreSQL" if name == "PostgreSQL" else "PostgreSQL with a synchronous standby"
        yield Row(section, f"durable allocation, 5,000/s on {words}: answered with a server", "asked", Aim(100, True), "%",
                  [100 * one["succeeded"] / one["asked"] for one in data[name]])
        yield Row(section, f"durable allocation, 5,000/s on {words}: p99", "SQLite", Aim(3), "×", ratios(data[name], data["SQLite"], "p99_ms"),
                  both(data[name], data["SQLite"], "p99_ms", "ms"))
    if "relayed" in data:
        yield Row(section, "heartbeat relayed by a second node: CPU of both", "direct", Aim(2.2), "×",
                  ratios(data["relayed"], data["direct"], "cpu_us"), both(data["relayed"], data["direct"], "cpu_us", "µs"))
    if "recovery" in data:
        yield Row(section, "a takeover reads 100,000 servers and 500,000 running matches", "–", Aim(2), "s", column(data["recovery"], "seconds"))


def _failovers(section, data):
    # The aims are of the default silence of 5 s; a promotion is judged by what Muster adds to the engine's own part.
    aims = {"kill -9": 8, "SIGTERM": 1, "SIGSTOP": 8, "move": 1}
    for way, aim in aims.items():
        took = column(data[way], "seconds")
        yield Row(section, f"time without allocations, {way} of the owner", "–", Aim(aim), "s", took)
    took = column(data["kill -9"], "seconds")
    yield Row(section, f"time without allocations, kill -9 of the owner: worst of {len(took)}", "–", Aim(15), "s", [max(took)])
    promotions = data["promotion"]
    yield Row(section, "time without allocations, the standby promoted: more than the engine's own", "–", Aim(1), "s",
              [one["seconds"] - one["engine_seconds"] for one in promotions], f"{number(statistics.median(column(promotions, 'seconds')))} s in all")


MAKERS = {
    "allocations": _allocations, "capacity": _capacity, "overload": _overload, "late_acks": _late_acks, "shares": _shares,
    "heartbeats": _heartbeats, "open_loop": _open_loop, "in_flight": _in_flight, "instructions": _instructions, "memory": _memory,
    "timers": _timers, "starts": _starts, "sessions": _sessions, "history": _history, "tls": _tls, "postgres": _postgres,
    "failovers": _failovers,
}
