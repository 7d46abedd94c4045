#!/usr/bin/env python3
"""Runs what the guides in docs/guides tell their readers to run.

    docs_commands_test.py MUSTER BUILD_FOLDER CMAKE [GUIDE…]      all guides when none is named

Each guide gets an empty folder, ports of its own and an installed SDK. Its ```sh blocks are run in order by one shell, which stops
at the first command that fails. A block that begins with `# not run: WHY` is left out. A block of another language whose first line
names a file (`// my_server.cpp`, `# bot.py`) is written to that file before. Links between documents must lead somewhere.
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
GUIDES = ROOT / "docs/guides"
TIME_LIMIT_S = 120
PORTS = ("11030", "11031", "11032", "11033")  # in the guides; each becomes a free one
NOT_RUN = re.compile(r"# not run: \S")
FILE_NAME = re.compile(r"(?://|#) (\w[\w.-]*\.\w+)$")


class Block:
    def __init__(self, line, language, text):
        self.line, self.language, self.text = line, language, text


def blocks(guide):
    text = guide.read_text(encoding="utf-8")
    for found in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S):
        yield Block(text.count("\n", 0, found.start()) + 1, found[1], found[2])


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [str(each.getsockname()[1]) for each in sockets]


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


def run(guide, muster, sdk):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ports = free_ports(len(PORTS))
        write_files(GUIDES / "quick-start.md", folder, ports)  # others use its game server
        write_files(guide, folder, ports)
        script, count, left_out = script_of(guide, ports)
        began = time.monotonic()
        log = folder / ".output"
        with open(log, "wb") as output:
            # A session of its own, so that whatever it leaves running can be ended with it.
            shell = subprocess.Popen(["bash", "-c", script], cwd=folder, env=environment(folder, muster, sdk, ports),
                                     stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                status = shell.wait(TIME_LIMIT_S)
            except subprocess.TimeoutExpired:
                status = f"none after {TIME_LIMIT_S} s"
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(shell.pid, signal.SIGKILL)
                shell.wait()
        if status == 0:
            print(f"ok: {guide.name}: {count} blocks run, {left_out} not, {time.monotonic() - began:.1f} s")
            return True
        print(f"failed: {guide.name}: exit {status}\n{log.read_text(errors='replace')}")
        return False


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
    with tempfile.TemporaryDirectory() as prefix:
        subprocess.run([cmake, "--install", build, "--prefix", prefix, "--component", "sdk"], check=True, stdout=subprocess.DEVNULL)
        for guide in guides:
            good = run(guide, muster, pathlib.Path(prefix)) and good
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
