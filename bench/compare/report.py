"""Results as a table, as pictures, and as docs/BENCHMARKS.md."""

import json
import statistics

import plots

AIMS = {"cpu": 1.3, "p50": 1.5, "p99": 2.0}
MUSTER, BARE = "Muster", "bare server"
FRAMES_MUSTER, FRAMES_BARE = "muster threads=1", "bare epoll"


def median(values):
    return statistics.median(values)


def spread(values):
    """Median, least and most, short."""
    values = sorted(values)
    return f"{median(values):.2f} ({values[0]:.2f}–{values[-1]:.2f})" if len(values) > 1 else f"{values[0]:.2f}"


def ratios(ours, theirs, key):
    """Of runs side by side."""
    return [one[key] / other[key] for one, other in zip(ours, theirs) if other[key] > 0]


def rows_of(results):
    """(what, ratios, aim, figures): the smaller, the better."""
    rows = []
    for rate, both in results.get("allocations", {}).items():
        for key, what in (("cpu_us", "CPU"), ("p50_ms", "p50"), ("p99_ms", "p99")):
            unit = "µs" if key == "cpu_us" else "ms"
            figures = f"{median([one[key] for one in both[MUSTER]]):.1f} beside {median([one[key] for one in both[BARE]]):.1f} {unit}"
            rows.append((f"Allocation at {int(rate):,}/s, {what}", ratios(both[MUSTER], both[BARE], key), AIMS[key.split("_")[0]],
                         f"{figures}, bare allocator"))
    for links, found in results.get("heartbeats", {}).items():
        frames = found["frames"]
        both = f"{median([one[FRAMES_MUSTER] for one in frames]):.2f} beside {median([one[FRAMES_BARE] for one in frames]):.2f} µs"
        rows.append((f"Heartbeat over {int(links):,} links, CPU", [one[FRAMES_MUSTER] / one[FRAMES_BARE] for one in frames], 1.1,
                     f"{both}, bare epoll"))
    return [row for row in rows if row[1]]


def tables_of(results):
    """(title, header, rows) of everything, for people."""
    tables = [("Beside the least that does the same (smaller is better)", ("work", "ratio: median (least–most)", "aim", "figures"),
               [(what, spread(found), f"≤ {aim:g}", figures) for what, found, aim, figures in rows_of(results)])]
    capacity = results.get("capacity")
    if capacity:
        knees = capacity["knees"]
        rows = [("Muster", f"{knees[MUSTER]:,}/s"), ("bare allocator", f"{knees[BARE]:,}/s")]
        if capacity.get("redis"):
            rows.append(("Redis, appendfsync always, only the claim", f"{capacity['redis']['per_second']:,.0f}/s"))
        tables.append(("Capacity: the highest rate with all answered and p99 within 50 ms", ("server", "allocations"), rows))
    overload = results.get("overload")
    if overload:
        rows = []
        for times, runs in overload["times"].items():
            goodput = [one["succeeded"] / one["seconds"] / overload["capacity"] for one in runs]
            rows.append((f"{times} ×", spread(goodput), spread([one["p99_ms"] for one in runs]),
                         spread([one["refusal_p99_ms"] for one in runs]) if any(one["refused"] for one in runs) else "none refused"))
        tables.append((f"Overload: more than {overload['capacity']:,}/s offered",
                       ("offered", "goodput / capacity", "p99 of what is accepted, ms", "p99 of \"Server busy\", ms"), rows))
    servers = results.get("servers")
    if servers:
        tables.append(("An allocation with more and more game servers", ("servers", "CPU, µs", "p99, ms", "memory, MiB"), [
            (f"{int(size):,}", spread([one["cpu_us"] for one in both[MUSTER]]), spread([one["p99_ms"] for one in both[MUSTER]]),
             spread([one["peak_bytes"] / 2**20 for one in both[MUSTER]])) for size, both in servers.items()]))
    return [table for table in tables if table[2]]


def text_table(title, header, rows):
    widths = [max(len(str(row[i])) for row in (header, *rows)) for i in range(len(header))]
    lines = ["  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip() for row in (header, *rows)]
    return "\n".join([title, lines[0], "-" * len(lines[0]), *lines[1:]]) + "\n"


def pictures_of(results, palette):
    """File name without its end → SVG."""
    found = {}
    rows = [(what, median(each), aim, figures) for what, each, aim, figures in rows_of(results)]
    if rows:
        found["ratios"] = plots.ratio_bars(palette, "What Muster costs", "Beside the least that does the same, in the same run; the green tick is the aim", rows)
    capacity = results.get("capacity")
    if capacity:
        lines, marks = [], []
        for i, (name, curve) in enumerate(capacity["curves"].items()):
            for key, dash in (("p99_ms", ""), ("p50_ms", "4 3")):
                lines.append((f"{name}, {key[:3]}", [(int(rate), median([one[key] for one in runs])) for rate, runs in curve.items()], dash))
            if capacity["knees"][name]:
                marks.append((capacity["knees"][name], f"{name}: {capacity['knees'][name]:,}/s", i))
        found["load"] = plots.curves(palette, "How many allocations a second can one Muster promise?",
                                     "Each is on the disk before it is answered; 1,000 game servers, 32 matchmakers",
                                     "allocations offered a second", "ms", lines, (50, "p99 within 50 ms"), marks)
    if results.get("heartbeats"):
        lines = [("Muster", FRAMES_MUSTER), ("bare epoll", FRAMES_BARE)]
        drawn = [(name, [(int(links), median([one[key] for one in at["frames"]])) for links, at in results["heartbeats"].items()], None)
                 for name, key in lines]
        redis = [(int(links), median([one["cpu_us"] for one in at["Redis"]])) for links, at in results["heartbeats"].items() if at["Redis"]]
        if redis:
            drawn.append(("Redis SET", redis, None))
        found["links"] = plots.curves(palette, "How many game servers can one Muster hold?", "Server CPU a heartbeat; one core has 1,000,000 µs a second, a server sends one in 10 s",
                                      "links", "µs", drawn)
    if results.get("servers"):
        drawn = [(name, [(int(size), median([one["cpu_us"] for one in both[key]])) for size, both in results["servers"].items()], None)
                 for name, key in (("Muster", MUSTER), ("bare allocator", BARE))]
        found["servers"] = plots.curves(palette, "What does an allocation cost in a large fleet?", "Server CPU an allocation at 3,000 a second", "game servers",
                                        "µs", drawn)
    return found


def picture_markdown(name, words):
    return (f'<picture><source media="(prefers-color-scheme: dark)" srcset="benchmarks/{name}-dark.svg">'
            f'<img alt="{words}" src="benchmarks/{name}-light.svg"></picture>\n')


QUESTIONS = {"ratios": "What Muster costs beside the least that does the same", "load": "Latency against offered load",
             "links": "CPU a heartbeat against the number of links", "servers": "CPU an allocation against the number of game servers"}


def markdown(results):
    machine = results["machine"]
    rounds = ", ".join(f"{section} {count}" for section, count in results["rounds"].items())
    parts = ["# Benchmarks\n\nWritten by `muster bench compare -- --output docs`; do not edit. Ratios compare between machines, absolute "
             "figures do not. Contenders take turns in one run; rounds in which other programs took more than 15 % of the machine are "
             "measured again.\n",
             f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, Linux {machine['kernel']}; commit "
             f"{machine['commit']}, {machine['date']}; medians of rounds ({rounds}); {results['rejected']} disturbed rounds were measured "
             "again. The load runs on the same machine.\n"]
    for name in pictures_of(results, plots.LIGHT):
        parts.append(picture_markdown(name, QUESTIONS[name]))
    for title, header, rows in tables_of(results):
        lines = ["| " + " | ".join(map(str, row)) + " |" for row in (header, ["---"] * len(header), *rows)]
        parts.append(f"## {title}\n\n" + "\n".join(lines) + "\n")
    parts.append("The bare allocator (`bench/limits/bare_allocator.cpp`) is one thread with epoll and one SQLite transaction a round: no "
                 "time-outs, no retries, no checks, no history. The bare epoll server (`bench/limits/bare_epoll.cpp`) answers a heartbeat "
                 "and knows nothing.\n")
    return "\n".join(parts)


def write(results, output):
    folder = output / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    for palette in (plots.LIGHT, plots.DARK):
        for name, svg in pictures_of(results, palette).items():
            (folder / f"{name}-{palette.name}.svg").write_text(svg, encoding="utf-8")
    (output / "BENCHMARKS.md").write_text(markdown(results), encoding="utf-8")
