"""The programs that put a load on servers, and what they print."""

import csv
import io
import json
import re
import subprocess

import machine
from servers import PeerFailed

PATIENCE_S = 390


def run(command):
    words = [str(part) for part in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired as error:
        raise PeerFailed(f"{' '.join(words[:4])} takes longer than {PATIENCE_S} s") from error
    if done.returncode != 0:
        raise PeerFailed(f"{' '.join(words[:4])} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


def run_json(command):
    return json.loads(run(command).splitlines()[-1])


def fleet(programs, muster, server, rate, allocations, servers=1000, matchmakers=32, ack=0, match=500, capacity=None, more=()):
    """fleet_load against `server`: "Muster" or "bare"."""
    only = "--no-bare" if server == "Muster" else "--only-bare"
    capacity = capacity or max(10, int(4 * rate / servers))
    command = [programs / "fleet_load", "--json", only, "--muster", muster, "--servers", servers, "--matchmakers", matchmakers, "--ack", ack,
               "--match", match, "--capacity", capacity, "--rate", rate, "--allocations", max(50, int(allocations)), *more]
    return run_json(command)


def links(programs, server, count, seconds, in_flight=1, rate=0):
    """link_load against a running server: heartbeats, or SET for Redis."""
    how = ["--rate", rate] if rate else ["--in-flight", in_flight]
    command = [programs / "link_load", "--speaks", server.speaks, "--port", server.port, "--links", count, "--pids",
               ",".join(map(str, server.pids)), "--seconds", seconds, *how]
    return run_json(machine.pinned(map(str, command), "load"))


def redis_claims(redis, connections, count):
    """Claims of lobbies that nobody has, each on the disk before its answer."""
    out = run(machine.pinned(["redis-benchmark", "-p", str(redis.port), "-c", str(connections), "-n", str(count), "-r", "1000000000",
                              "--csv", "SET", "lobby:__rand_int__", "MATCH_1_0", "NX"], "load", cores_least=4))
    row = list(csv.DictReader(io.StringIO(out)))[-1]
    return {"per_second": float(row["rps"]), "p99_ms": float(row["p99_latency_ms"])}


TLS_LINES = {
    "heartbeat": re.compile(r"^heartbeats.*plain ([\d.]+) us, TLS ([\d.]+) us.*ratio ([\d.]+) \(([\d.]+) to ([\d.]+)\)", re.M),
    "memory": re.compile(r"^memory.*plain ([\d.]+) KiB, TLS ([\d.]+) KiB", re.M),
    "handshake": re.compile(r"^handshakes +full, ([\d.]+) us of CPU.*?([\d.]+) \([\d.]+ to [\d.]+\) of the rate of signature, new key"
                            r".*?([\d.]+) \([\d.]+ to [\d.]+\) of the rate of bare", re.M | re.S),
}


def tls(programs, muster, rounds, few):
    size = ["--links", 20, "--idle-links", 50, "--beats", 2, "--handshakes", 5] if few else []
    out = run([programs / "tls_load", "--muster", muster, "--rounds", rounds, *size])
    found = {}
    for name, line in TLS_LINES.items():
        match = line.search(out)
        if not match:
            raise PeerFailed(f"tls_load printed no line about: {name}")
        found[name] = [float(number) for number in match.groups()]
    return found
