"""What the tests of the commands share: the program run once, on a terminal, against a daemon, or against a fake one."""

import contextlib
import fcntl
import http.server
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import threading
import time

from muster_peer import PATIENCE_S, environment
from served import Served

ESCAPE = "\x1b"
USUAL_URL = "http://127.0.0.1:11030"
COMMANDS = ("serve demo status top servers server drain undrain regions matchmakers matches match allocate abort players kick clock events operator operators block unblock blocks "
            "config protocol player-token certs simulate bench completion man").split()


def muster(*arguments, **more):
    """Runs it with `more` in the environment."""
    return subprocess.run([Served.muster, *arguments], env=environment(**more), capture_output=True, text=True, timeout=PATIENCE_S,
                          stdin=subprocess.DEVNULL)


class Terminal:
    """A program on a terminal of its own, of which all that it wrote is kept. Ours, unless another is named."""

    def __init__(self, arguments, rows=40, columns=140, program=None, **more):
        self.ours, theirs = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(theirs)
        self.theirs = theirs
        self.process = subprocess.Popen([program or Served.muster, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
                                        env=environment(**{"TERM": "xterm-256color", **more}),
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.text = ""

    def resize(self, rows, columns):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        """What comes within so long."""
        end = time.monotonic() + seconds
        got = ""
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.ours], [], [], left)[0]:
                break
            try:
                got += os.read(self.ours, 65536).decode(errors="replace")
            except OSError:
                break
        self.text += got
        return got

    def read_until(self, wanted):
        end = time.monotonic() + PATIENCE_S
        start = len(self.text)
        while wanted not in self.text[start:]:
            if time.monotonic() > end or (self.process.poll() is not None and not self.read(0.2)):
                raise AssertionError(f"{wanted!r} is not in {self.text[start:]!r}")
            self.read(0.05)

    def read_frame(self, holds):
        """The lines of the next whole frame of a full screen for which it holds: one that another frame follows."""
        start = len(self.text)
        end = time.monotonic() + PATIENCE_S
        while True:
            for frame in self.text[start:].split("\x1b[H")[1:-1]:
                lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", frame).replace("\r", "").split("\n")
                if holds(lines):
                    return lines
            if time.monotonic() > end:
                raise AssertionError(f"no such frame in {self.text[start:]!r}")
            self.read(0.05)

    def type(self, keys):
        os.write(self.ours, keys.encode())

    def end(self):
        code = self.process.wait(PATIENCE_S)
        self.read(0.1)
        return code

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.ours)
        os.close(self.theirs)


class FakeDaemon:
    """Answers every request by what it is told, however wrong: (status, body), or what makes it of the query."""

    def __init__(self, test, answers):
        seen = self.seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                size = int(self.headers.get("Content-Length") or 0)
                seen.append((self.command, self.path, dict(self.headers), self.rfile.read(size).decode()))
                path, _, query = self.path.removeprefix("/api/v1").partition("?")
                answer = answers.get(path, (404, '{"error":"Not found"}'))
                status, body = answer(query) if callable(answer) else answer
                if status == 0:  # takes the question and goes
                    self.close_connection = True
                    return
                data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = answer

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        # Looks often whether it is to end: each fake is waited for.
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        test.addCleanup(self.server.server_close)
        test.addCleanup(self.server.shutdown)


class WithDaemon(Served):
    def setUp(self):
        super().setUp()
        self.url = "http://" + self.daemon.ports["http"]

    def restart(self):
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon.start()
        self.url = "http://" + self.daemon.ports["http"]

    def run_muster(self, *arguments, **more):
        return muster(*arguments, MUSTER_URL=self.url, **more)

    def ok(self, *arguments, **more):
        """What it prints; it must go well, and without a colour."""
        result = self.run_muster(*arguments, **more)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertNotIn(ESCAPE, result.stdout + result.stderr)
        return result.stdout

    def json(self, *arguments):
        return json.loads(self.ok(*arguments, "--json"))

    def shown(self, wanted, *arguments):
        """Runs it until `wanted` is there: the API's views are up to a second old."""
        self.soon(lambda: wanted in self.ok(*arguments), f"{wanted} is not shown by {arguments}")

    def played(self, server):
        """Takes every offer, on a thread, until the link ends."""
        def play():
            with contextlib.suppress(OSError, AssertionError, ValueError):
                while frame := server.receive():
                    if frame[0] == 0x1004:
                        server.acknowledge(struct.unpack_from("<i", frame[1])[0])
        threading.Thread(target=play, daemon=True).start()
