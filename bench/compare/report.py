"""Results as a table on the terminal, as JSON, as pictures, and as docs/BENCHMARKS.md."""

import json
import pathlib

import plots
from pictures import pictures_of
from rows import rows_of

HEADER = ("work", "beside", "reach", "got: median (least–most)", "", "figures")


def table_rows(results):
    return [(row.work, row.beside, row.reach_text(), row.got_text(), "reached" if row.is_met else "missed", row.figures) for row in rows_of(results)]


def text_table(header, rows):
    widths = [max(len(str(row[i])) for row in (header, *rows)) for i in range(len(header))]
    lines = ["  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip() for row in (header, *rows)]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]]) + "\n"


def counted(results):
    rows = rows_of(results)
    return f"{sum(row.is_met for row in rows)} of {len(rows)} reached"


def rounds_told(results):
    about = results["about"].values()
    rejected, measured = sum(one["rejected"] for one in about), sum(one["measured"] for one in about)
    return f"{rejected} of {measured} measurements were disturbed by the machine and rejected"


def missing_told(results):
    """Lines about what could not be measured here."""
    return [f"{what}: {why}" for one in results["about"].values() for what, why in one["missing"].items()]


def disturbed(results):
    """How many answers are kept although each try at them was disturbed."""
    def count(value):
        if isinstance(value, dict):
            return ("disturbed" in value) + sum(map(count, value.values()))
        return sum(map(count, value)) if isinstance(value, list) else 0
    return count({name: data for name, data in results.items() if name not in ("about", "machine")})


def on_terminal(results):
    lines = [text_table(HEADER, table_rows(results)), f"{counted(results)}; {rounds_told(results)}."]
    if disturbed(results):
        lines.append(f"{disturbed(results)} figures are of a machine that was busy with other work each time.")
    lines += [f"not measured: {line}" for line in missing_told(results)]
    return "\n".join(lines)


def picture_markdown(name, question):
    return (f'<picture><source media="(prefers-color-scheme: dark)" srcset="bench/{name}-dark.svg">'
            f'<img alt="{question}" src="bench/{name}-light.svg"></picture>\n')


def markdown(results):
    about, machine = results["about"], results["machine"]
    commits = sorted({one["commit"] for one in about.values()})
    dates = sorted({one["date"] for one in about.values()})
    counts = sorted({one["rounds"] for one in about.values()})
    kept = disturbed(results)
    rounds = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    parts = [
        "# Benchmarks\n\nWritten by `muster bench --output docs`; do not edit. Ratios compare between machines, absolute figures do not. "
        "Contenders take turns in one run. The load runs on the same machine as what it measures.\n",
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, Linux {machine['kernel']}; "
        f"commit {', '.join(commits)}; {' to '.join(dict.fromkeys((dates[0], dates[-1])))}. Medians of {rounds} rounds, with the least and "
        f"the most. {rounds_told(results)}.\n",
        f"## What is to be reached, and what was got\n\n{counted(results)}.\n",
        "\n".join("| " + " | ".join(map(str, row)) + " |" for row in (
            ("work", "beside", "reach", "got: median (least–most)", "", "figures"), ["---"] * len(HEADER),
            *[(*row[:4], row[4] if row[4] == "reached" else f"**{row[4]}**", row[5]) for row in table_rows(results)])) + "\n"]
    if kept:
        parts.insert(2, f"**{kept} figures are of a machine that was busy with other work each time they were measured.** Times, and rates "
                        "with a bound on the time, are worse for that; ratios of CPU are less.\n")
    missing = missing_told(results)
    if missing:
        parts.append("Not measured here, and what that needs: " + "; ".join(missing) + ".\n")
    for name, (question, _) in pictures_of(results, plots.LIGHT).items():
        parts.append(f"## {question}\n\n" + picture_markdown(name, question))
    parts.append(PEERS)
    return "\n".join(parts)


PEERS = """## Who is beside whom

- The **bare allocator** (`bench/limits/bare_allocator.cpp`): one thread, epoll, one SQLite transaction a round. No time-outs, no
  retries, no checks, no history.
- **Bare epoll** (`bench/limits/bare_epoll.cpp`): answers the bytes of a heartbeat, and knows nothing.
- The **flat-pool wheel** (`bench/limits/flat_wheel.h`): timers with a plain function each. No groups, no second time base.
- **Redis**, **libev**, **libuv**, **PostgreSQL**: Debian's packages. Redis syncs each command (`appendfsync always`) where it
  claims lobbies, and nothing elsewhere.
- PostgreSQL has its default settings, and is one that has been in use: segments of its log are written anew, so that no
  commit waits for a new file.
- **Muster** is the whole daemon as it is installed, all of its threads counted; only limits of one address are lifted.

A measurement is taken again when other programs took more than 15 % of the machine meanwhile, the hypervisor more than 5 %, or the
scheduler took the processor away three times as often as usual; three times at most. Servers and load have cores of their own for
heartbeats; for allocations only on machines with four cores or more.
"""


def write(results, output):
    folder = pathlib.Path(output) / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    for palette in (plots.LIGHT, plots.DARK):
        for name, (_, svg) in pictures_of(results, palette).items():
            (folder / f"{name}-{palette.name}.svg").write_text(svg, encoding="utf-8")
    (pathlib.Path(output) / "BENCHMARKS.md").write_text(markdown(results), encoding="utf-8")
