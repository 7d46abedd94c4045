#!/usr/bin/env python3
"""The systemd unit: systemd-analyze judges how much of the machine the service can reach, and a traced daemon makes no system
call that the unit forbids.

    packaging_systemd_test.py PATH_TO_MUSTER [unittest arguments]
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from muster_peer import Matchmaker, Daemon, GameServer, Player, until

MUSTER = ""
UNIT = pathlib.Path(__file__).resolve().parent.parent / "packaging/systemd/muster.service"
AGENT_UNIT = UNIT.with_name("muster-agent.service")
EXPOSURE_MAX = 2.0

needs_analyze = unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")


def settings(key):
    return re.findall(rf"^{key}=(.*)$", UNIT.read_text(encoding="utf-8"), re.M)


def system_calls_of(group):
    """The names in a group of systemd's, and in the groups within it."""
    listed = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", group], capture_output=True, text=True, check=True)
    names = set()
    for word in re.findall(r"^ +([@\w-]+)$", listed.stdout, re.M):
        names |= system_calls_of(word) if word.startswith("@") else {word}
    return names


def allowed_system_calls():
    allowed = set()
    for value in settings("SystemCallFilter"):
        for group in value.lstrip("~").split():
            names = system_calls_of(group) if group.startswith("@") else {group}
            allowed = allowed - names if value.startswith("~") else allowed | names
    return allowed


class Unit(unittest.TestCase):
    @needs_analyze
    def test_the_exposure_is_small(self):
        said = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", str(UNIT)], capture_output=True, text=True,
                              timeout=60)
        level = re.search(r"Overall exposure level for muster\.service: ([\d.]+)", said.stdout)
        self.assertIsNotNone(level, said.stdout + said.stderr)
        self.assertLessEqual(float(level[1]), EXPOSURE_MAX, said.stdout)
        print(f"exposure {level[1]}", file=sys.stderr)

    @needs_analyze
    def test_systemd_knows_every_setting(self):
        for unit in (UNIT, AGENT_UNIT):
            # The program and the manual are not installed here: a copy of the unit names ones that are.
            text = unit.read_text(encoding="utf-8").replace("/usr/bin/muster", shutil.which("true"))
            text = re.sub(r"^Documentation=.*\n", "", text, flags=re.M)
            with tempfile.TemporaryDirectory() as folder:
                copy = pathlib.Path(folder) / unit.name
                copy.write_text(text, encoding="utf-8")
                said = subprocess.run(["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, timeout=60)
            about_us = [line for line in said.stderr.splitlines() if unit.name in line]
            self.assertEqual(about_us, [])

    def test_G_7_a_stop_of_the_agents_unit_leaves_its_game_servers_alone(self):
        text = AGENT_UNIT.read_text(encoding="utf-8")
        for setting in ("KillMode=process", "Delegate=yes", "Restart=on-failure", "NoNewPrivileges=yes"):
            self.assertIn(f"\n{setting}\n", text)
        self.assertNotIn("--ends-all", text)

    def test_x3_it_is_told_ready_watched_and_given_time_to_stop(self):
        self.assertEqual(settings("Type"), ["notify"])
        self.assertTrue(settings("WatchdogSec"))
        deadline = re.search(r'\[shutdown\].*?deadline = "(\d+)s"', subprocess.run([MUSTER, "config", "--default"],
                                                                                 capture_output=True, text=True, check=True).stdout, re.S)
        self.assertGreater(int(settings("TimeoutStopSec")[0].rstrip("s")), int(deadline[1]))

    @needs_analyze
    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_a_daemon_at_work_makes_no_forbidden_system_call(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            trace = folder / "trace"
            wrapper = folder / "traced"
            # Traced from its first call on, as a child of the tracer.
            wrapper.write_text(f"#!/bin/sh\nexec strace -f --quiet=all -o '{trace}' '{MUSTER}' \"$@\"\n")
            wrapper.chmod(0o700)
            try:
                daemon = Daemon(str(wrapper), folder)
            except RuntimeError as failure:
                self.skipTest(f"cannot trace here: {failure}")
            traced = self.child_of(daemon.process.pid)
            try:
                self.put_to_work(daemon, traced)
                os.kill(traced, signal.SIGTERM)
                self.assertEqual(daemon.process.wait(60), 0)
            finally:
                if daemon.process.poll() is None:
                    os.kill(traced, signal.SIGKILL)
                    daemon.process.wait()
                daemon.close()
            used = set(re.findall(r"^\d+ +(?:<\.\.\. )?(\w+)", trace.read_text(errors="replace"), re.M)) - {"resumed"}
        self.assertLessEqual({"accept4", "epoll_wait", "openat", "write"}, used)
        if os.geteuid() == 0:
            used.discard("fchown")  # SQLite makes it as root only, and the service is never root
        self.assertEqual(used - allowed_system_calls(), set())

    @staticmethod
    def child_of(pid):
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
        return int(children.read_text().split()[0])

    @staticmethod
    def put_to_work(daemon, process):
        server = GameServer(daemon.ports["servers"], 27015)
        matchmaker = Matchmaker(daemon.ports["matchmakers"])
        player = Player(daemon.ports["players"], "ann")
        matchmaker.request(1)
        server.expect(0x1004)
        server.acknowledge(1)
        matchmaker.expect(0x2003)
        os.kill(process, signal.SIGHUP)
        until(lambda: "Reloaded" in daemon.log_text(), daemon.log_text)
        for peer in (server, matchmaker, player):
            peer.close()


if __name__ == "__main__":
    MUSTER = os.path.abspath(sys.argv.pop(1))
    unittest.main()
