"""The machine that measures: what it is, whether something disturbed it, and which cores are for whom."""

import os
import platform
import resource
import statistics
import subprocess
import time

# A round is thrown away when others took more than this part of the machine, or the hypervisor more than that.
OTHERS_MAX = 0.15
STEAL_MAX = 0.05
# Or when its processes were put off the processor so many times as often as in the median of the rounds like it.
SWITCHES_MAX = 3.0
SWITCHES_KNOWN = 3  # rounds like it, before that is judged


def described(repository, muster):
    """With the commit of the source tree; what was installed from a package has a version instead."""
    def said(*command):
        try:
            return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False).stdout.strip()
        except OSError:
            return ""
    memory_kb = _value_of("/proc/meminfo", "MemTotal").split(" ")[0]
    return {
        "processor": _value_of("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(int(memory_kb or 0) / 1024 / 1024, 1),
        "kernel": platform.release().split("-")[0],
        "commit": said("git", "-C", repository, "rev-parse", "--short", "HEAD") or said(muster, "--version") or "unknown",
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def _value_of(path, key):
    try:
        with open(path, encoding="utf-8") as file:
            return next((line.split(":", 1)[1].strip() for line in file if line.startswith(key)), "")
    except OSError:
        return ""


def open_files_max():
    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]


def pinned(command, part, cores_least=2):
    """`command`, kept to the cores of the "server" or of the "load": the load has the last one, the server the others. As it is on a
    machine with fewer than `cores_least`: where several threads of a server must share one core, that is what would be measured."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < cores_least:
        return list(command)
    mine = cores[:-1] if part == "server" else cores[-1:]
    return ["taskset", "-c", ",".join(map(str, mine)), *command]


def processor_seconds():
    """Of everybody since the machine started: (busy, taken by the hypervisor)."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _idle, _wait, irq, soft, steal = map(int, file.readline().split()[1:9])
    tick = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + soft) / tick, steal / tick


class Watch:
    """What else the machine did while a block of code ran. What the block starts has ended when it is over, so that it is known as
    ours."""

    def __init__(self):
        self.others = self.steal = self.switches_a_second = 0.0

    @staticmethod
    def _own():
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(one.ru_utime + one.ru_stime for one in used), used[1].ru_nivcsw

    def __enter__(self):
        self.began = time.monotonic(), processor_seconds(), self._own()
        return self

    def __exit__(self, kind, *_):
        cores = os.cpu_count() or 1
        began, (busy, steal), (own, switches) = self.began
        took = max(time.monotonic() - began, 1e-6)
        (busy_now, steal_now), (own_now, switches_now) = processor_seconds(), self._own()
        self.others = max(0.0, ((busy_now - busy) - (own_now - own)) / took / cores)
        self.steal = (steal_now - steal) / took / cores
        self.switches_a_second = (switches_now - switches) / took

    def disturbance(self, usual, others_max=OTHERS_MAX):
        """What was wrong, or "". `usual` has the switches a second of rounds like this one."""
        if self.others > others_max:
            return f"other programs took {100 * self.others:.0f} % of the machine"
        if self.steal > STEAL_MAX:
            return f"the hypervisor took {100 * self.steal:.0f} % of the machine"
        if len(usual) >= SWITCHES_KNOWN and self.switches_a_second > SWITCHES_MAX * max(100.0, statistics.median(usual)):
            return f"{self.switches_a_second:.0f} involuntary context switches a second"
        return ""
