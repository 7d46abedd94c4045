"""Who is measured: Muster and the bare servers by the programs of bench/, Redis by its own benchmark."""

import csv
import io
import json
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time

import machine

PATIENCE_S = 300


class PeerFailed(Exception):
    """A program under measurement did not do its part."""


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    if done.returncode != 0:
        raise PeerFailed(f"{pathlib.Path(command[0]).name} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


def allocations(programs, server, rate, seconds, servers=1000, matchmakers=32):
    """fleet_load against `server` ("Muster" or "bare server"): acks at once, matches of half a second."""
    only = "--no-bare" if server == "Muster" else "--only-bare"
    cores = machine.cores_for()
    pinned = ["taskset", "-c", cores["load"]] if cores and shutil.which("taskset") else []
    capacity = max(10, int(4 * rate / servers))
    out = run([*pinned, programs / "fleet_load", "--json", only, "--servers", servers, "--matchmakers", matchmakers, "--ack", 0,
               "--match", 500, "--capacity", capacity, "--rate", rate, "--allocations", max(100, int(rate * seconds))])
    return json.loads(out.splitlines()[-1])


FRAMES_LINE = re.compile(r"^\s*(\d+) links\s+(.+?)\s+([\d.]+) us\s+([\d.]+) x")


def heartbeats(programs, links, milliseconds):
    """Server CPU in microseconds a heartbeat, by server: each answers one after the other, as fast as they come."""
    out = run([programs / "frames_bench", "--links", links, "--rounds", 1, "--measure-ms", milliseconds, "--no-asio"])
    found = (FRAMES_LINE.match(line) for line in out.splitlines())
    return {match[2]: float(match[3]) for match in found if match}


class Redis:
    """A Redis of our own on a free port, gone at the end. With `durable`, each command is synced before its answer."""

    def __init__(self, durable):
        self.folder = tempfile.TemporaryDirectory(prefix="muster-bench-redis-")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        kept = ["--appendonly", "yes", "--appendfsync", "always"] if durable else ["--appendonly", "no"]
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", self.folder.name, *kept],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 10
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError as error:
                if time.monotonic() > end or self.process.poll() is not None:
                    self.close()
                    raise PeerFailed("redis-server does not answer") from error
                time.sleep(0.02)

    @staticmethod
    def is_there():
        return bool(shutil.which("redis-server") and shutil.which("redis-benchmark"))

    def benchmark(self, links, count, *command, in_flight=1):
        """Requests a second, p99 in ms, and server CPU in microseconds each."""
        before = machine.cpu_seconds(self.process.pid)
        out = run(["redis-benchmark", "-p", self.port, "-c", links, "-n", count, "-P", in_flight, "-r", 1_000_000_000, "--csv",
                   *command])
        rows = list(csv.DictReader(io.StringIO(out)))
        used = machine.cpu_seconds(self.process.pid) - before
        return {"per_second": float(rows[-1]["rps"]), "p99_ms": float(rows[-1]["p99_latency_ms"]), "cpu_us": 1e6 * used / count}

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
