#!/usr/bin/env python3
"""The bug zoo: makes one planted bug after another live and shows which finder sees it, and how fast.

    tools/zoo.py                              every bug by every finder that has no result for it yet
    tools/zoo.py --only no_epoch --finder sim
    tools/zoo.py --list

The bugs are listed in src/base/planted_bugs.inc and stand in the source behind planted(Bug::…). One build, in build/zoo
(for fuzz in build/zoo-fuzz, by clang), has all of them; MUSTER_PLANTED_BUG chooses the one that is live. First each finder
must have no objection while none is.

    unit     the unit tests of every folder, those of the bug's own folder first
    sim      `muster simulate`: the scenarios in turn, 1,000 seeds in all at most
    storm    a storm of 60 s against the real program (docs/STORM.md)
    fuzz     the fuzz targets that have the bug's code in them, 20 s each, from their seeds (docs/FUZZING.md)

Results are kept in docs/zoo.json after every step, so a run that was stopped goes on where it was; docs/ZOO.md is
written from them. Exit 0 when every bug that was asked for was seen by a finder, 1 when one was not or a finder objects
without a bug, 64 for a bad flag.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "zoo"
FUZZ_BUILD = ROOT / "build" / "zoo-fuzz"
FUZZ_SEEDS = FUZZ_BUILD / "seeds"
FINDINGS = FUZZ_BUILD / "findings"  # the inputs that showed a bug
BUGS = ROOT / "src" / "base" / "planted_bugs.inc"
SCENARIOS = ROOT / "src" / "sim" / "scenario.h"
FUZZ_TARGETS = ROOT / "fuzz" / "CMakeLists.txt"
RESULTS = ROOT / "docs" / "zoo.json"
TABLE = ROOT / "docs" / "ZOO.md"

FOLDERS = ["base", "runtime", "protocol", "core", "store", "net", "http", "config", "process", "daemon", "cli", "sim"]
# Whose code is in the simulator, where it is not replaced by a simulated one.
SIMULATED = ["base", "runtime", "protocol", "core", "store"]
SEEDS_MAX = 1000
SEEDS_AT_ONCE = 10
STORM_SEED = 1
STORM_SECONDS = 60
# What of src/ and sdk/ each fuzz target runs.
PLAYED_CORE = ["base/", "runtime/", "protocol/", "core/"]
FUZZED = {
    "servers": ["base/", "protocol/"],
    "matchmakers": ["base/", "protocol/"],
    "players": ["base/", "protocol/"],
    "nodes": ["base/", "protocol/", "relay/node_message.cpp", "relay/relayed_links.cpp", "net/port_inbox.cpp"],
    "core": PLAYED_CORE,
    "tokens": PLAYED_CORE,
    "rows": PLAYED_CORE,
    "sdk": ["base/", "protocol/", "sdk/"],
    "config": ["base/", "config/"],
    "credentials": ["base/", "config/", "daemon/player_credential.cpp"],
    "http": ["base/", "http/"],
    "sdk_bodies": ["base/", "agones/", "gsdk/"],
    "tls": ["base/", "tls/", "certs/"],
}
FUZZ_SEED = 1
FUZZ_SECONDS = 20
NO_BUG = "no bug"  # under this name the results keep what the finders say while none is live
HUNG_AFTER = 300  # seconds of one command
# Worlds of thousands, which take as long as hundreds of small ones.
LARGE_SCENARIOS = {"last_slot", "reconnect"}

INTRODUCTION = f"""# The bug zoo

Bugs put back on purpose, one at a time, and which finder sees each. A finder that sees none of them guards nothing; a bug
that none sees names the judge or the test that is missing.

The bugs stand in the source behind `planted(Bug::name)` and are listed in
[planted_bugs.inc](../src/base/planted_bugs.inc). A build for use has nothing of them: there `planted` is constantly false.
The preset `zoo` compiles all of them in, and the environment variable `MUSTER_PLANTED_BUG` makes one live:

```sh
tools/zoo.py --list
tools/zoo.py --only no_epoch          # builds, plays it to every finder, writes this table
MUSTER_PLANTED_BUG=no_epoch build/zoo/muster simulate --scenario lossy --seeds 100
```

`unit` are the unit tests of all folders, the bug's own first; the time is CPU time up to the objection. `simulator` is
`muster simulate` over its scenarios in turn, {SEEDS_AT_ONCE} seeds each, {SEEDS_MAX:,} in all at most; CPU time and seeds up to the
objection. `storm` is one storm of {STORM_SECONDS} s with seed {STORM_SEED}; seconds from its start. `fuzz` are the fuzz targets that have the
bug's code in them, in turn, {FUZZ_SECONDS} s each with seed {FUZZ_SEED}, from the seeds of our own encoders, at the lowest priority; CPU time
and runs up to the objection (build them with `cmake --preset zoo-fuzz`; the input that showed it is kept in
`build/zoo-fuzz/findings`). Times do not count building. "Not in it": the simulator, the storm or any fuzz target has none
of that code. "–" was not run.

"""


def fail(text):
    print(f"zoo: {text}", file=sys.stderr)
    sys.exit(64)


def bugs():
    """Name, what it breaks and what is wrong of each bug, in the order of the list."""
    return re.findall(r'^MUSTER_BUG\((\w+), "([^"]+)", "([^"]+)"\)$', BUGS.read_text(), re.MULTILINE)


def homes(bug):
    """The sources that hold the bug."""
    mark = f"planted(Bug::{bug})"
    sources = [path for folder in ("src", "sdk") for path in sorted((ROOT / folder).rglob("*"))
               if path.suffix in (".cpp", ".h") and not path.stem.startswith("planted")]
    return [path for path in sources if mark in path.read_text()]


def places_of(bug):
    return [path.relative_to(ROOT).as_posix().removeprefix("src/") for path in homes(bug)]


def folders_of(bug):
    return [place.split("/")[0] for place in places_of(bug)]


def targets_of(bug):
    """The fuzz targets that have the bug's code in them; without a bug those that have any bug's."""
    places = places_of(bug) if bug else [place for name, _, _ in bugs() for place in places_of(name)]
    return [target for target, parts in FUZZED.items() if any(place.startswith(tuple(parts)) for place in places)]


def scenarios():
    listed = re.search(r"scenarios\{(.*?)\};", SCENARIOS.read_text(), re.DOTALL)[1]
    # All weathers at once are the likeliest to show a bug.
    names = sorted(re.findall(r"Scenario::(\w+)", listed), key=lambda name: name != "mixed")
    return [name for name in names if name not in LARGE_SCENARIOS]


class Runner:
    """Runs commands with a bug live, and knows the CPU seconds that they took."""

    def __init__(self, prefix):
        self.prefix = prefix

    def run(self, command, bug="", most=HUNG_AFTER):
        """Exit code, or None when it did not end; what it said; its CPU seconds."""
        environment = {**os.environ, "MUSTER_PLANTED_BUG": bug}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with subprocess.Popen([*self.prefix, *map(str, command)], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              start_new_session=True) as child:
            try:
                said, _ = child.communicate(timeout=most)
                code = child.returncode
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                code, said = None, child.communicate()[0]
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return code, said, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def last_line(said):
    lines = [line for line in said.strip().splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


def aborted(said):
    """What a check of ours said when it ended the program."""
    found = re.search(r"broken invariant at (?:\.\./)*(.*)", said)
    return "broken invariant at " + found[1].strip() if found else "the program ended: " + last_line(said)


def failed_test(said):
    """The name of the test that failed; others may have said something too."""
    names = re.findall(r"TEST CASE: +(.+)", re.split(r": (?:FATAL )?ERROR: ", said)[0])
    return names[-1].strip() if names else last_line(said)


def unit(runner, bug):
    first = folders_of(bug) if bug else []
    spent = 0.0
    for folder in sorted([*FOLDERS, "sdk"], key=lambda name: name not in first):
        place = BUILD / "sdk" if folder == "sdk" else BUILD / "src" / folder
        code, said, seconds = runner.run([place / f"{folder}_tests", "--no-colors", "--abort-after=1"], bug)
        spent += seconds
        if code != 0:
            by = "does not end" if code is None else failed_test(said)
            return {"found": True, "seconds": round(spent, 1), "by": f"{folder}: {by}"}
    return {"found": False, "seconds": round(spent, 1)}


def sim(runner, bug):
    if bug and not any(folder in SIMULATED for folder in folders_of(bug)):
        return {"found": False, "seconds": 0.0, "seeds": 0}
    spent, played, first = 0.0, 0, 1
    while True:
        for scenario in scenarios():
            if played >= SEEDS_MAX:
                return {"found": False, "seconds": round(spent, 1), "seeds": played}
            code, said, seconds = runner.run([BUILD / "muster", "simulate", "--json", "--scenario", scenario, "--seed",
                                              first, "--seeds", SEEDS_AT_ONCE], bug)
            spent += seconds
            if code != 0:
                try:
                    report = json.JSONDecoder().raw_decode(said)[0]
                    played += report["runs"]
                    by = f"{report['rule']}: {report['what']}"
                except (ValueError, KeyError):
                    played += SEEDS_AT_ONCE
                    by = "does not end" if code is None else aborted(said)
                return {"found": True, "seconds": round(spent, 1), "seeds": played, "by": f"{scenario}: {by}"}
            played += SEEDS_AT_ONCE
        first += SEEDS_AT_ONCE


def storm(runner, bug):
    if bug and set(folders_of(bug)) == {"sdk"}:  # its peers are its own
        return {"found": False, "seconds": 0.0, "runs": 0}
    begun = time.monotonic()
    code, said, _ = runner.run([BUILD / "tests" / "storm", "--program", BUILD / "muster", "--preload",
                                BUILD / "tests" / "libstorm_preload.so", "--seed", STORM_SEED, "--seconds",
                                STORM_SECONDS], bug)
    took = re.search(r"objection in ([0-9.]+) s", said)
    seconds = float(took[1]) if took else time.monotonic() - begun
    if code == 0:
        return {"found": False, "seconds": round(seconds, 1)}
    told = re.search(r"OBJECTION: (.+)", said)
    return {"found": True, "seconds": round(seconds, 1), "by": told[1].strip() if told else last_line(said)}


def finding_of(said):
    """What ended a fuzz target: a check of ours, a sanitizer, or the fuzzer itself."""
    if "broken invariant at " in said:
        return aborted(said)
    found = re.search(r"runtime error: .*|ERROR: .*", said)
    return found[0].strip() if found else last_line(said)


def fuzz(runner, bug):
    spent, runs = 0.0, 0
    FINDINGS.mkdir(parents=True, exist_ok=True)
    for target in targets_of(bug):
        with tempfile.TemporaryDirectory() as learned:
            code, said, seconds = runner.run(
                ["nice", "-n", 19, FUZZ_BUILD / "fuzz" / f"fuzz_{target}", f"-seed={FUZZ_SEED}",
                 f"-max_total_time={FUZZ_SECONDS}", "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1",
                 f"-artifact_prefix={FINDINGS}/{bug or 'no_bug'}-{target}-", learned, FUZZ_SEEDS / target], bug)
        spent += seconds
        executed = re.search(r"^stat::number_of_executed_units: *(\d+)", said, re.MULTILINE)
        runs += max(1, int(executed[1])) if executed else 1
        if code != 0:
            by = "does not end" if code is None else finding_of(said)
            return {"found": True, "seconds": round(spent, 1), "runs": runs, "by": f"{target}: {by}"}
    return {"found": False, "seconds": round(spent, 1), "runs": runs}


FINDERS = {"unit": unit, "sim": sim, "storm": storm, "fuzz": fuzz}
COLUMNS = {"unit": "unit", "sim": "simulator", "storm": "storm", "fuzz": "fuzz"}


def commands_of(finders):
    """What builds all that the finders need."""
    targets = {"muster"}
    if "unit" in finders:
        targets |= {f"{folder}_tests" for folder in [*FOLDERS, "sdk"]}
    if "storm" in finders:
        targets.add("storm")
    commands = []
    if set(finders) != {"fuzz"}:
        commands += [["cmake", "--preset", "zoo"], ["ninja", "-C", BUILD, *sorted(targets)]]
    if "fuzz" in finders:
        commands += [["cmake", "--preset", "zoo-fuzz"], ["ninja", "-C", FUZZ_BUILD, "fuzz_targets"],
                     [FUZZ_BUILD / "fuzz" / "make_seeds", FUZZ_SEEDS]]
    return commands


def build(runner, finders):
    """True when it is built; the compiler's words when not."""
    for command in commands_of(finders):
        code, said, _ = (Runner([]) if command[0] == "cmake" else runner).run(command, most=None)
        if code != 0:
            print(said[-4000:], file=sys.stderr)
            return False
    return True


def said_of(result):
    """One field of the table."""
    if result is None:
        return "–"
    counts = [f"{result[what]:,} {what if result[what] != 1 else what[:-1]}" for what in ("seeds", "runs")
              if what in result]
    if 0 in (result.get("seeds"), result.get("runs")):
        return "not in it"
    if not result["found"]:
        return " in ".join(["not seen", *counts])
    figures = ", ".join([f"{result['seconds']:.1f} s" if "seconds" in result else "objects", *counts])
    by = result["by"].replace("|", "\\|")
    return f"**{figures}**: {by[:160]}"


def finders_that_saw(result):
    return [finder for finder in FINDERS if result.get(finder, {}).get("found")]


def table(results):
    columns = ["bug", "breaks", "what is wrong", *(COLUMNS[finder] for finder in FINDERS)]
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    for name, breaks, wrong in bugs():
        fields = [said_of(results.get(name, {}).get(finder)) for finder in FINDERS]
        lines.append(f"| `{name}` | {breaks} | {wrong} | " + " | ".join(fields) + " |")
    seen = {finder: sum(1 for name, _, _ in bugs() if results.get(name, {}).get(finder, {}).get("found"))
            for finder in FINDERS}
    run = {finder: sum(1 for name, _, _ in bugs() if finder in results.get(name, {})) for finder in FINDERS}
    unseen = [f"`{name}`" for name, _, _ in bugs() if results.get(name) and
              not any(result["found"] for result in results[name].values())]
    counts = ", ".join(f"{finder} {seen[finder]} of {run[finder]} that were run" for finder in FINDERS)
    calm = ", ".join(f"{finder} {said_of(results.get(NO_BUG, {}).get(finder))}" for finder in FINDERS)
    lines += ["", f"While no bug is live: {calm.replace('not seen', 'no objection')}.",
              "", f"{len(bugs())} bugs. Seen: {counts}. "
              + (f"Seen by no finder that was run: {', '.join(unseen)}." if unseen else "Each was seen by a finder.")]
    only_unit = [f"`{name}`" for name, _, _ in bugs() if finders_that_saw(results.get(name, {})) == ["unit"]]
    if only_unit:
        lines += ["", f"Seen by unit tests alone: {', '.join(only_unit)}."]
    return "\n".join(lines) + "\n"


def read_results():
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def write(results):
    known = {NO_BUG, *(name for name, _, _ in bugs())}
    kept = {name: result for name, result in results.items() if name in known}
    RESULTS.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    TABLE.write_text(INTRODUCTION + table(kept))


def objections_to_list():
    """What is wrong between the list of bugs, the source and the table."""
    found = []
    listed = [name for name, _, _ in bugs()]
    rows = re.findall(r"^\| `(\w+)` \|", TABLE.read_text(), re.MULTILINE) if TABLE.exists() else []
    for name in listed:
        if not homes(name):
            found.append(f"{name} is listed and stands nowhere in the source")
        if rows.count(name) != 1:
            found.append(f"docs/ZOO.md has {rows.count(name)} rows for {name}; tools/zoo.py --write writes it")
    found += [f"docs/ZOO.md names {name}, which is no bug" for name in rows if name not in listed]
    targets = re.findall(r"^fuzz_(?:text_)?target\((\w+)", FUZZ_TARGETS.read_text(), re.MULTILINE)
    found += [f"fuzz/CMakeLists.txt has the target {target}; tools/zoo.py does not know what it runs"
              for target in targets if target not in FUZZED]
    return found + [f"tools/zoo.py knows the fuzz target {target}, which fuzz/CMakeLists.txt does not have"
                    for target in FUZZED if target not in targets]


def without_bug(runner, finders):
    """The finders that object although no bug is live."""
    wrong = []
    for finder in finders:
        print(f"no bug: {finder} …", end="", flush=True)
        result = FINDERS[finder](runner, "")
        print(f" objects: {result['by']}" if result["found"] else f" no objection ({result['seconds']} s)", flush=True)
        if result["found"]:
            wrong.append(finder)
        results = read_results()
        results.setdefault(NO_BUG, {})[finder] = result
        write(results)
    return wrong


def play(runner, wanted, finders, again):
    """Whether each was seen by some finder."""
    all_seen = True
    results = read_results()
    steps = [(name, finder) for name in wanted for finder in finders
             if again or finder not in results.get(name, {})]
    for number, (name, finder) in enumerate(steps, 1):
        print(f"[{number}/{len(steps)}] {name}: {finder} …", end="", flush=True)
        result = FINDERS[finder](runner, name)
        print(f" {said_of(result)}", flush=True)
        results = read_results()  # another run may have added its own
        results.setdefault(name, {})[finder] = result
        write(results)
    for name in wanted:
        if results.get(name) and not any(result["found"] for result in results[name].values()):
            print(f"{name}: seen by no finder that was run")
            all_seen = False
    return all_seen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.error = fail
    parser.add_argument("--list", action="store_true", help="the bugs, and the files that hold them")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="only this bug (may be repeated)")
    parser.add_argument("--finder", action="append", default=[], choices=FINDERS, help="only this one (may be repeated)")
    parser.add_argument("--again", action="store_true", help="also what has a result")
    parser.add_argument("--no-build", action="store_true", help="takes the builds as they are")
    parser.add_argument("--no-baseline", action="store_true", help="does not play the finders without a bug first")
    parser.add_argument("--prefix", default="", metavar="COMMAND", help="runs everything through this one, such as nice")
    parser.add_argument("--write", action="store_true", help="writes docs/ZOO.md from the results so far, and ends")
    parser.add_argument("--check", action="store_true", help="compares list, source and docs/ZOO.md, and ends")
    options = parser.parse_args()

    if options.list:
        for name, breaks, wrong in bugs():
            print(f"{name}: {wrong} ({breaks}; {', '.join(str(one.relative_to(ROOT)) for one in homes(name))})")
        return 0
    if options.check:
        wrong = objections_to_list()
        print("\n".join(wrong) or f"zoo: {len(bugs())} bugs")
        return 1 if wrong else 0
    if options.write:
        write(read_results())
        return 0

    names = [name for name, _, _ in bugs()]
    for name in options.only:
        if name not in names:
            fail(f"there is no bug '{name}'; --list names them")
    finders = options.finder or list(FINDERS)
    runner = Runner(shlex.split(options.prefix))
    if not options.no_build and not build(runner, finders):
        return 1
    if not options.no_baseline:
        if wrong := without_bug(runner, finders):
            print(f"zoo: {', '.join(wrong)} objects without a bug, so its word on a bug says nothing", file=sys.stderr)
            return 1
    return 0 if play(runner, options.only or names, finders, options.again) else 1


if __name__ == "__main__":
    sys.exit(main())
