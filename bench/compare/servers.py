"""Servers under measurement: each is started on free ports with a folder of its own, and stopped by its process id."""

import http.client
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

import machine

PATIENCE_S = 60


class PeerFailed(Exception):
    """A program under measurement did not do its part."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(condition, what):
    end = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        if time.monotonic() > end:
            raise PeerFailed(what)
        time.sleep(0.005)
    return found


class Server:
    """One process. `pids` are those whose CPU and memory count."""

    speaks = "muster"

    def __init__(self, command, environment=None, stdout=subprocess.DEVNULL, cores_least=2):
        self.folder = tempfile.TemporaryDirectory(prefix="muster-bench-")
        self.command, self.environment, self.stdout, self.cores_least = command, environment, stdout, cores_least
        self.port = 0
        self.begin()

    def begin(self):
        with open(pathlib.Path(self.folder.name) / "log.txt", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(machine.pinned(map(str, self.command), "server", self.cores_least), env=self.environment,
                                            stdin=subprocess.DEVNULL, stdout=self.stdout, stderr=log)

    @property
    def pids(self):
        return [self.process.pid]

    def log_end(self):
        return (pathlib.Path(self.folder.name) / "log.txt").read_text(encoding="utf-8", errors="replace")[-500:]

    def until_up(self, condition):
        """Stopped again when it does not come."""
        def up_or_gone():
            if self.process.poll() is not None:
                raise PeerFailed(f"{pathlib.Path(self.command[0]).name} does not start: {self.log_end()}")
            return condition()
        try:
            return until(up_or_gone, f"{self.command[0]} does not start: {self.log_end()}")
        except PeerFailed:
            self.close()
            raise

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
        if self.process.stdout:
            self.process.stdout.close()
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class PortTeller(Server):
    """A bare server, which prints "PORT n" first."""

    speaks = "bare"

    def __init__(self, program):
        super().__init__([program], stdout=subprocess.PIPE)
        words = self.process.stdout.readline().split()
        if len(words) != 2:
            self.close()
            raise PeerFailed(f"{program} does not start")
        self.port = int(words[1])


class Muster(Server):
    """The daemon as it is installed, with limits that let one address be a whole fleet. `settings` are environment variables."""

    def __init__(self, program, links=100, cores_least=2, **settings):
        self.given = settings
        ours = {key: value for key, value in os.environ.items() if not key.startswith("MUSTER_") and key != "JOURNAL_STREAM"}
        self.ports_file = None
        limits = {"CONNECTIONS_PER_IP": links + 100, "ACCEPTS_PER_SECOND_IP": 1_000_000, "MESSAGES_PER_SECOND_SERVERS": 1_000_000}
        self.settings = {**ours, **{f"MUSTER_LIMITS_{key}": str(value) for key, value in limits.items()},
                         **{f"MUSTER_LISTEN_{port}": "127.0.0.1:0" for port in ("SERVERS", "MATCHMAKERS", "PLAYERS", "HTTP")},
                         "MUSTER_LOG_LEVEL": "warning"}
        super().__init__([program, "serve"], cores_least=cores_least)

    def begin(self):
        folder = pathlib.Path(self.folder.name)
        self.ports_file = folder / "ports.json"
        self.ports_file.unlink(missing_ok=True)
        store = {} if "MUSTER_STORE_URL" in self.given else {"MUSTER_STORE_PATH": str(folder / "muster.db")}
        self.environment = {**self.settings, **store, **self.given}
        self.command = [self.command[0], "serve", "--ports-file", self.ports_file]
        super().begin()
        self.until_up(self.ready)

    def ready(self):
        try:
            ports = json.loads(self.ports_file.read_text(encoding="utf-8"))
            self.port = int(ports["servers"].rsplit(":", 1)[1])
            self.http = ports["http"]
            return self.get("/readyz")[0] == 200
        except (OSError, ValueError, KeyError):
            return False

    def get(self, path):
        link = http.client.HTTPConnection(self.http, timeout=PATIENCE_S)
        try:
            link.request("GET", path)
            answer = link.getresponse()
            return answer.status, answer.read()
        finally:
            link.close()


class Redis(Server):
    """Debian's Redis. With `durable`, each command is synced before its answer."""

    speaks = "redis"

    def __init__(self, durable=False, links=100):
        kept = ["--appendonly", "yes", "--appendfsync", "always"] if durable else ["--appendonly", "no"]
        port = free_port()
        super().__init__(["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--maxclients", links + 100, "--dir", "/", *kept])
        self.port = port
        self.until_up(self.answers)

    def begin(self):
        self.command[self.command.index("--dir") + 1] = self.folder.name
        super().begin()

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            return True
        except OSError:
            return False

    @staticmethod
    def is_there():
        return bool(shutil.which("redis-server") and shutil.which("redis-benchmark"))
