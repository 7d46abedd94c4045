#!/usr/bin/env python3
"""Runs what the guides in docs/guides tell their readers to run.

    docs_commands_test.py MUSTER BUILD_FOLDER CMAKE [GUIDE…]      all guides when none is named

Each guide gets an empty folder, ports of its own and an installed SDK. Its ```sh blocks are run in order by one shell, which stops
at the first command that fails. A block that begins with `# not run: WHY` is left out. A block of another language whose first line
names a file (`// my_server.cpp`, `# bot.py`) is written to that file before. Links between documents must lead somewhere.
Every program in Python that is shown says in one plain line that there is no Muster, and that Muster refused it. The first game
server keeps what the quick start promises: refused when it is started twice, back by itself after a restart of Muster.
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pg_engine
from agent_host import with_mark
from free_ports import free_port, free_ports
from muster_peer import PATIENCE_S, PORTS as PORT_NAMES, Daemon, until

ROOT = pathlib.Path(__file__).resolve().parent.parent
GUIDES = ROOT / "docs/guides"
TIME_LIMIT_S = 600
# In the guides; each becomes a free one. Those from 11040 on are of a second node, and the last is the first one's node port.
PORTS = ("11030", "11031", "11032", "11033", "11040", "11041", "11042", "11043", "11045", "11035")
NOT_RUN = re.compile(r"# not run: \S")
FILE_NAME = re.compile(r"(?://|#) (\w[\w.-]*\.\w+)$")


class Block:
    def __init__(self, line, language, text):
        self.line, self.language, self.text = line, language, text


def blocks(guide):
    text = guide.read_text(encoding="utf-8")
    for found in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S):
        yield Block(text.count("\n", 0, found.start()) + 1, found[1], found[2])


def ports_of_a_guide():
    first, last = free_ports(len(PORTS))
    return [str(port) for port in range(first, last + 1)]


def with_ports(text, ports):
    for usual, free in zip(PORTS, ports):
        text = re.sub(rf"\b{usual}\b", free, text)
    return text


def write_files(guide, folder, ports):
    for block in blocks(guide):
        if block.language != "sh" and (found := FILE_NAME.match(block.text.split("\n", 1)[0])):
            (folder / found[1]).write_text(with_ports(block.text, ports), encoding="utf-8")


def script_of(guide, ports):
    parts = ["set -eu -o pipefail"]
    left_out = 0
    for block in blocks(guide):
        if block.language != "sh":
            continue
        if NOT_RUN.match(block.text):
            left_out += 1
        else:
            parts.append(f"echo '--- {guide.name}:{block.line}' >&2\n{with_ports(block.text, ports)}")
    return "\n".join(parts) + "\n", len(parts) - 1, left_out


def environment(folder, muster, sdk, ports):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_") and name != "JOURNAL_STREAM"}
    listen = {f"MUSTER_LISTEN_{name}": f"127.0.0.1:{port}" for name, port in zip(("HTTP", "PLAYERS", "SERVERS", "MATCHMAKERS"), ports)}
    library = next(sdk.glob("**/libmuster_sdk.a")).parent
    return {**kept, **listen, "PATH": f"{muster.parent}:{kept['PATH']}", "MUSTER_URL": f"http://127.0.0.1:{ports[0]}",
            "PKG_CONFIG_PATH": str(library / "pkgconfig"), "LD_LIBRARY_PATH": str(library), "NO_COLOR": "1",
            "PYTHONUNBUFFERED": "1", "HOME": str(folder)}


def end_all_of(folder):
    """An agent's processes outlive it, and their keeper writes down how they end."""
    while left := with_mark(f"HOME={folder}"):
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def run(guide, muster, sdk):
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        database = {}
        if "$DATABASE_URL" in guide.read_text(encoding="utf-8"):
            if pg_engine.programs() is None:
                print(f"skipped: {guide.name}: PostgreSQL is not installed")
                return True
            engine = pg_engine.Engine()
            stack.callback(engine.end)
            database["DATABASE_URL"] = engine.url(engine.database())
        folder = pathlib.Path(name)
        ports = ports_of_a_guide()
        if database:
            database["MUSTER_CLUSTER_LISTEN"] = f"127.0.0.1:{ports[-1]}"
        write_files(GUIDES / "quick-start.md", folder, ports)  # others use its game server
        write_files(guide, folder, ports)
        script, count, left_out = script_of(guide, ports)
        began = time.monotonic()
        log = folder / ".output"
        with open(log, "wb") as output:
            # A session of its own, so that whatever it leaves running can be ended with it.
            shell = subprocess.Popen(["bash", "-c", script], cwd=folder, env={**environment(folder, muster, sdk, ports), **database},
                                     stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                status = shell.wait(TIME_LIMIT_S)
            except subprocess.TimeoutExpired:
                status = f"none after {TIME_LIMIT_S} s"
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(shell.pid, signal.SIGKILL)
                shell.wait()
                end_all_of(folder)
        if status == 0:
            print(f"ok: {guide.name}: {count} blocks run, {left_out} not, {time.monotonic() - began:.1f} s")
            return True
        print(f"failed: {guide.name}: exit {status}\n{log.read_text(errors='replace')}")
        return False


def shown_programs(folder, ports):
    """The programs in Python of the README and the guides, in the folder."""
    for document in [ROOT / "README.md", *sorted(GUIDES.glob("*.md"))]:
        for number, block in enumerate(blocks(document)):
            if block.language == "python":
                named = FILE_NAME.match(block.text.split("\n", 1)[0])
                path = folder / (named[1] if named else f"{document.stem}_{number}.py")
                path.write_text(with_ports(block.text, ports), encoding="utf-8")
                yield path


def said_by(program, **more):
    """Its exit code, none if it goes on trying, and its lines."""
    with subprocess.Popen([sys.executable, "-u", program], cwd=program.parent, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **more},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        hangs = threading.Timer(PATIENCE_S, process.kill)
        hangs.start()
        lines = []
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if "trying again" in line and len(lines) == 2:
                process.kill()
        hangs.cancel()
        code = process.wait()
        return None if code == -signal.SIGKILL else code, lines


def refusals_are_plain(muster):
    """Each program, first without a Muster, then with one that takes none of its secrets."""
    good = True
    keys = ("SERVER_TOKEN", "MATCHMAKER_TOKEN", "ADMIN_TOKEN", "PLAYER_KEY")
    for there in (False, True):
        with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
            ports = ports_of_a_guide()
            if there:
                daemon = Daemon(str(muster), name, **{f"MUSTER_AUTH_{key}": "another secret than theirs" for key in keys})
                stack.callback(daemon.close)
                stack.callback(daemon.stop)
                ports = [daemon.ports[port].rsplit(":", 1)[1] for port in ("http", "players", "servers", "matchmakers")]
            folder = pathlib.Path(name) / "programs"
            folder.mkdir()
            for program in list(shown_programs(folder, ports)):
                code, lines = said_by(program, MUSTER_AUTH_PLAYER_KEY="the key of another Muster")
                is_module = code == 0 and not lines  # for others to import
                tries_again = code is None and not there and all("trying again" in line for line in lines)
                plain = is_module or tries_again or (code == 1 and len(lines) == 1 and "Traceback" not in lines[0])
                print(f"{'ok' if plain else 'failed'}: {program.name} {'refused' if there else 'without a Muster'}: {code} {lines}")
                good = good and plain
    return good


def first_server_comes_back(muster):
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        # The same ports after a restart.
        daemon = Daemon(muster, name, **{f"MUSTER_LISTEN_{port.upper()}": f"127.0.0.1:{free_port()}" for port in PORT_NAMES})
        stack.callback(daemon.end)
        folder = pathlib.Path(name) / "programs"
        folder.mkdir()
        write_files(GUIDES / "quick-start.md", folder, [daemon.ports[port].rsplit(":", 1)[1] for port in ("http", "players", "servers", "matchmakers")])
        log = folder / "server.log"
        with open(log, "wb") as output:
            server = subprocess.Popen([sys.executable, "-u", folder / "first_server.py"], stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        stack.callback(server.wait)
        stack.callback(server.kill)
        until(lambda: "registered as server 1\n" in log.read_text(), log.read_text)
        refused = said_by(folder / "first_server.py")
        daemon.stop()
        daemon.start()
        until(lambda: log.read_text().count("registered as server 1\n") == 2, log.read_text)
        good = refused == (1, ["Muster refused 127.0.0.1:27015: Server already registered"])
        print(f"{'ok' if good else 'failed'}: first_server.py comes back with its id, and a second one is told {refused}")
        return good


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def dead_links(document):
    text = re.sub(r"^```.*?^```$", "", document.read_text(encoding="utf-8"), flags=re.M | re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        path, _, part = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        if not target.exists():
            yield link
        elif part and target.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.M)
            if part not in map(anchor, headings):
                yield link


def main():
    muster, build, cmake = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    guides = [GUIDES / name for name in sys.argv[4:]] or sorted(GUIDES.glob("*.md"))
    for tool in ("bash", "curl", "pkg-config", "c++", "sqlite3"):
        if not shutil.which(tool):
            print(f"{tool} is not installed")
            sys.exit(77)
    good = len(guides) > 0
    for document in [ROOT / "README.md", *guides]:
        for link in dead_links(document):
            print(f"failed: {document.name}: no such place: {link}")
            good = False
    good = refusals_are_plain(muster) and good
    good = first_server_comes_back(muster) and good
    with tempfile.TemporaryDirectory() as prefix:
        for component in ("sdk", "library"):
            subprocess.run([cmake, "--install", build, "--prefix", prefix, "--component", component], check=True, stdout=subprocess.DEVNULL)
        for guide in guides:
            good = run(guide, muster, pathlib.Path(prefix)) and good
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
