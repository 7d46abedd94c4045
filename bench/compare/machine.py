"""The machine that measures: what it is, whether somebody else used it, and which cores are for whom."""

import os
import platform
import resource
import subprocess
import time

# A round in which others took more than this part of the machine is thrown away.
OTHERS_MAX = 0.15


def described(repository):
    def line_of(path, key):
        try:
            with open(path, encoding="utf-8") as file:
                return next((line.split(":", 1)[1].strip() for line in file if line.startswith(key)), "")
        except OSError:
            return ""

    commit = subprocess.run(["git", "-C", str(repository), "rev-parse", "--short", "HEAD"], capture_output=True, text=True,
                            check=False).stdout.strip()
    memory_kb = line_of("/proc/meminfo", "MemTotal").split(" ")[0]
    return {
        "processor": line_of("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(int(memory_kb or 0) / 1024 / 1024, 1),
        "kernel": platform.release().split("-")[0],
        "commit": commit or "unknown",
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def cores_for():
    """The server's cores and the load's, as taskset takes them; None where there are too few to share out."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 4:
        return None
    return {"server": ",".join(map(str, cores[:-1])), "load": str(cores[-1])}


def busy_seconds():
    """CPU time of everybody since the machine started, without idling and waiting."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _idle, _wait, irq, soft, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def own_seconds(also=()):
    """CPU time of this process, of its children that have ended, and of the processes `also`."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        total += used.ru_utime + used.ru_stime
    return total + sum(cpu_seconds(pid) for pid in also)


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Watch:
    """Tells which part of the machine others took while a block of code ran."""

    def __init__(self, also=()):
        self.also = also
        self.others = 0.0

    def __enter__(self):
        self.began = time.monotonic(), busy_seconds(), own_seconds(self.also)
        return self

    def __exit__(self, *_):
        took = max(time.monotonic() - self.began[0], 1e-6)
        others = (busy_seconds() - self.began[1]) - (own_seconds(self.also) - self.began[2])
        self.others = max(0.0, others / took / (os.cpu_count() or 1))
