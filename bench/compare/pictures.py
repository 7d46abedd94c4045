"""Each picture answers a question that a user has."""

import statistics

import plots
from plots import Panel, Series
from rows import column, goodput, link_bytes, number, rows_of

median = statistics.median
MIB = 2**20


def pictures_of(results, palette):
    """File name without its end → (question, SVG), of what was measured."""
    found = {}
    for name, (sections, question, draw) in PICTURES.items():
        if all(results.get(section) for section in sections):
            svg = draw(results, palette, question)
            if svg:
                found[name] = (question, svg)
    return found


def _bars_of(rows):
    return [(row.work, (row.figures + ", " if row.figures else "") + row.beside, min(row.values), row.got, max(row.values), row.aim.bound,
             row.aim.at_least) for row in rows if row.unit == "×"]


def _allocation_cost(results, palette, question):
    rows = [row for row in rows_of(results) if row.section == "allocations" and row.unit == "×"]
    bars = [(work.replace("durable allocation, ", "").replace(" offered", ""), *rest) for work, *rest in _bars_of(rows)]
    at = next(iter(results["allocations"].items()))
    cpu = median(column(at[1]["Muster"], "cpu_us"))
    return plots.ratio_bars(palette, question, [
        f"{number(cpu)} µs of CPU at {int(at[0]):,} a second, on the disk before it is answered.",
        "Beside the least that does the same: one thread, epoll, one SQLite transaction a round."], bars)


def _capacity(results, palette, question):
    data = results["capacity"]
    knees = {name: median(found) for name, found in data["knees"].items()}
    words = {"Muster": "Muster", "bare": "bare"}
    series = [Series(name, f"{words[name]} {key[:3]}", [(int(rate), median(column(runs, key))) for rate, runs in curve.items()], dashed)
              for name, curve in data["curves"].items() for key, dashed in (("p99_ms", False), ("p50_ms", True))]
    marks = tuple((knees[name], f"{words[name]}: {knees[name]:,.0f}/s", name) for name in knees if knees[name])
    redis = f"; Redis claims {number(median(column(data['redis'], 'per_second')))} if it syncs each" if data["redis"] else ""
    return plots.curves(palette, question, [
        f"With p99 within 50 ms: Muster {knees['Muster']:,.0f}, the bare allocator {knees['bare']:,.0f}{redis}.",
        "1,000 game servers, 32 matchmakers; each match is on the disk before it is answered."],
        [Panel("answer, ms", "allocations offered a second", series, (50, "50 ms"), marks)], height=330)


def _overload(results, palette, question):
    data = results["overload"]
    capacity = next(iter(data.values()))[0]["capacity"]
    times = lambda value: [(int(key), median([value(one) for one in runs])) for key, runs in data.items()]
    refused = [(int(key), median([one["refusal_p99_ms"] for one in runs if one["refused"]])) for key, runs in data.items()
               if any(one["refused"] for one in runs)]
    served = Series("Muster", "given a server", times(goodput))
    offered = Series("bare", "offered", [(int(key), int(key) * capacity) for key in data])
    worst = data[max(data, key=int)]
    kept = median(map(goodput, worst))
    busy = f", and \"Server busy\" in {number(refused[-1][1])} ms" if refused else ""
    waits = [Series("Muster", "given a server", times(lambda one: one["p99_ms"])), Series("other", "Server busy", refused)]
    return plots.curves(palette, question, [
        f"At five times its capacity of {capacity:,.0f} a second, {number(kept)} a second are given a server,",
        f"99 % of them in {number(median(column(worst, 'p99_ms')))} ms{busy}."],
        [Panel("allocations a second", "times the capacity offered", [offered, served]),
         Panel("p99 of the answer, ms", "times the capacity offered", waits, (100, "100 ms"))], height=270)


def _servers(results, palette, question):
    data = results["link_counts"]
    names = [("Muster", "Muster"), ("bare", "bare epoll"), ("Redis", "Redis")]
    line = lambda name, value: [(int(links), value(int(links), runs[name])) for links, runs in data.items() if name in runs]
    share = lambda links, runs: 100 * median(column(runs, "cpu_us")) * links / 10 / 1e6
    memory = lambda links, runs: median(column(runs, "resident_after")) / MIB
    most, runs = max(((int(links), runs["Muster"]) for links, runs in data.items()), key=lambda pair: pair[0])
    return plots.curves(palette, question, [
        f"{most:,} that heartbeat every 10 s take {share(most, runs):.1f} % of one core and {memory(most, runs):.0f} MiB.",
        "Whole processes, measured over real links: CPU and resident memory."],
        [Panel("CPU, % of one core", "game servers", [Series(name, words, line(name, share)) for name, words in names]),
         Panel("memory, MiB", "game servers", [Series(name, words, line(name, memory)) for name, words in names if name != "bare"])], height=250)


def _fleet(results, palette, question):
    data = results["fleet_sizes"]
    line = lambda key, factor: [(int(size), factor * median(column(runs["Muster"], key))) for size, runs in data.items()]
    most = max(data, key=int)
    bytes_each = median(column(data[most]["Muster"], "bytes"))
    return plots.curves(palette, question, [
        f"A server is {bytes_each:.0f} bytes in a fleet of {int(most):,}. CPU of the game thread, without sockets and disk;",
        "an allocation from the request to the end of its match."],
        [Panel("a heartbeat, ns", "game servers", [Series("Muster", "Muster", line("heartbeat_ns", 1))], starts_at_zero=True),
         Panel("an allocation, µs", "game servers", [Series("Muster", "Muster", line("allocation_ns", 1e-3))], starts_at_zero=True)],
        height=230)


def _memory(results, palette, question):
    bars = [("Muster", "Muster", median(link_bytes(results["memory"]["Muster"])))]
    tls = results.get("tls", {}).get("turns")
    if tls:
        bars.append(("second", "Muster, mutual TLS", bars[0][2] + 1024 * median(one["memory"][1] - one["memory"][0] for one in tls)))
    if "Redis" in results["memory"]:
        bars.append(("Redis", "Redis", median(link_bytes(results["memory"]["Redis"]))))
    links = results["memory"]["Muster"][0]["links"]
    return plots.value_bars(palette, question, [f"What the process grows by for each of {links:,} game servers that are connected and idle."],
                            [("bytes a link", "B", bars, 700)])


def _tls(results, palette, question):
    turns = results["tls"]["turns"]
    at = lambda key, index: median(one[key][index] for one in turns)
    ratio = at("heartbeat", 2)
    return plots.value_bars(palette, question, [f"A heartbeat takes {ratio:.2f} times the CPU, and a link some more memory. Mutual TLS 1.3."], [
        ("CPU of a heartbeat", "µs", [("Muster", "plain", at("heartbeat", 0)), ("second", "TLS", at("heartbeat", 1))], 1.35 * at("heartbeat", 0)),
        ("memory of a link at rest", "KiB", [("Muster", "plain", at("memory", 0)), ("second", "TLS", at("memory", 1))], 12 + at("memory", 0)),
        ("CPU of a full handshake", "µs", [("second", "Muster", at("handshake", 0)),
                                           ("bare", "bare OpenSSL", at("handshake", 0) * at("handshake", 2))], None)])


def _heartbeat(results, palette, question):
    data = results["heartbeats"]
    names = [("Muster", "Muster"), ("bare", "bare epoll"), ("Asio", "Boost.Asio"), ("Redis", "Redis SET")]
    series = [Series(name, words, [(int(links), median(column(runs[name], "cpu_us"))) for links, runs in data.items()])
              for name, words in names if all(name in runs for runs in data.values())]
    most = max(data, key=int)
    cpu = median(column(data[most]["Muster"], "cpu_us"))
    return plots.curves(palette, question, [
        f"{number(cpu)} µs of the whole daemon's CPU over {int(most):,} links; one core has 1,000,000 µs a second.",
        "Closed loop: each link has one request outstanding."], [Panel("CPU a request, µs", "links", series, starts_at_zero=True)],
        height=260)


def _timers(results, palette, question):
    turn = results["timers"]["turns"][-1]
    names = [("Muster", "muster timers", "Muster"), ("bare", "flat wheel", "flat-pool wheel"), ("Redis", "libev", "libev"), ("other", "libuv", "libuv")]
    groups = [(words, "ns", [(colour, label, median(turn["operations"][operation][name])) for colour, name, label in names], None)
              for operation, words in (("fresh", "schedule and cancel"), ("reschedule", "move to another time"))]
    groups.append(("memory of a timer", "B", [(colour, label, turn["bytes"][name]) for colour, name, label in names], 64))
    return plots.value_bars(palette, question, ["With a callback, a million others outstanding."], groups)


def _postgres(results, palette, question):
    data = results["postgres"]
    kinds = [("Muster", "SQLite", "SQLite"), ("second", "PostgreSQL", "PostgreSQL"), ("other", "with a standby", "and sync standby")]
    bars = lambda key: [(colour, label, median(column(data[name], key))) for colour, name, label in kinds if name in data]
    groups = [("p50 of an allocation at 5,000 a second", "ms", bars("p50_ms"), None),
              ("p99 of an allocation at 5,000 a second", "ms", bars("p99_ms"), 3 * median(column(data["SQLite"], "p99_ms")))]
    if "relayed" in data:
        direct = median(column(data["direct"], "cpu_us"))
        groups.append(("CPU of a heartbeat, both nodes", "µs", [("Muster", "to the owner", direct),
                                                              ("second", "relayed", median(column(data["relayed"], "cpu_us")))], 2.2 * direct))
    return plots.value_bars(palette, question, ["Engine, standby, nodes and load are all on this one machine."], groups)


def _summary(results, palette, question):
    rows = [row for row in rows_of(results) if row.unit == "×"]
    return plots.ratio_bars(palette, question, ["Everything that has a peer in the same run. Where the aim says ≥, longer is better."],
                            [(_brief(work), _brief(figures), *rest) for work, figures, *rest in _bars_of(rows)])


def _brief(words):
    """What the table says at length, in the room that a picture has."""
    for long, short in (("durable allocation", "allocation"), (" offered:", ":"), ("capacity: the highest rate with p99 ≤ 50 ms", "capacity"),
                        (" with a callback, 1 million", ""), (" open loop over 1,000 links", " open loop"), (", closed loop", ""),
                        ("heartbeats with 16 in flight, for the same CPU", "16 heartbeats in flight"), (", appendfsync always, only the claim", ""),
                        ("allocation, 5,000/s on", "allocation on"), (" with a synchronous standby", " and standby"), (" the capacity", ""), ("relayed by a second node: CPU of both", "relayed: CPU of both nodes"),
                        (" on shared links", "")):
        words = words.replace(long, short)
    return words


PICTURES = {
    "capacity": (("capacity",), "How many allocations a second can one Muster promise?", _capacity),
    "allocation-cost": (("allocations",), "What does an allocation cost?", _allocation_cost),
    "overload": (("overload",), "What happens when I ask for more than it can do?", _overload),
    "servers": (("link_counts",), "How many servers can one Muster hold?", _servers),
    "fleet": (("fleet_sizes",), "What does a large fleet cost?", _fleet),
    "heartbeat": (("heartbeats",), "What does a heartbeat cost?", _heartbeat),
    "memory": (("memory",), "What does a link cost in memory?", _memory),
    "tls": (("tls",), "What does TLS cost?", _tls),
    "postgres": (("postgres",), "What does PostgreSQL cost?", _postgres),
    "timers": (("timers",), "What does a timer cost?", _timers),
    "summary": (("allocations",), "How near is Muster to the least that does the same?", _summary),
}
