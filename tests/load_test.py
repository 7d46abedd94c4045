#!/usr/bin/env python3
"""The real daemon under a whole fleet, which bench/fleet_load plays and judges.

    load_test.py PATH_TO_FLEET_LOAD PATH_TO_MUSTER [unittest arguments]

With MUSTER_TEST_LONG=1 also at full size: some minutes, 22,000 open files.
"""

import os
import subprocess
import sys
import unittest

FLEET_LOAD = MUSTER = ""
LONG = os.environ.get("MUSTER_TEST_LONG") == "1"


class Load(unittest.TestCase):
    def run_load(self, **options):
        """Fails, with what fleet_load printed, when it missed one of its targets."""
        command = [FLEET_LOAD, "--muster", MUSTER, "--no-bare", "--check"]
        for name, value in options.items():
            command.append("--" + name.replace("_", "-"))
            if value is not True:
                command.append(str(value))
        ran = subprocess.run(command, capture_output=True, text=True, timeout=600)
        print(ran.stdout, end="", flush=True)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran.stdout


class ReconnectAtOnce(Load):
    """Fault 28: all come back within 10 s, each as the server it was."""

    def test_fault_28_2000_servers_whose_links_were_cut(self):
        self.run_load(servers=2_000, reconnect="links")

    def test_fault_28_2000_servers_after_a_restart(self):
        self.run_load(servers=2_000, reconnect="restart")

    @unittest.skipUnless(LONG, "long")
    def test_fault_28_10000_servers_whose_links_were_cut(self):
        self.run_load(servers=10_000, reconnect="links")

    @unittest.skipUnless(LONG, "long")
    def test_fault_28_10000_servers_after_a_restart(self):
        self.run_load(servers=10_000, reconnect="restart")


class ReconnectOverTls(Load):
    """Fault 28, S-1: the same with mutual TLS, where each comes back by its ticket."""

    def test_fault_28_1000_servers_after_a_restart_over_tls_S_1(self):
        self.run_load(servers=1_000, reconnect="restart", tls=True)

    @unittest.skipUnless(LONG, "long")
    def test_fault_28_10000_servers_after_a_restart_over_tls_S_1(self):
        """Judged by the daemon's own CPU, which has to be below 10 s, and by the clock with the room of a busy machine:
        two cores also play the fleet, whose half of each handshake costs as much as the daemon's."""
        told = self.run_load(servers=10_000, reconnect="restart", tls=True)
        self.assertRegex(told, r"10020 by a ticket")


class Allocations(Load):
    """A-12, F-7: its targets, seen by the peers; no server ever holds more than its capacity."""

    def test_equal_servers_get_equal_shares(self):
        self.run_load(servers=200, allocations=5_000, capacity=50, ack=0, match=-1, even=True)

    def test_matches_are_played_to_their_end_and_their_slots_used_again(self):
        self.run_load(servers=50, allocations=3_000, capacity=20, ack=200, match=100, rate=600, even=True)

    @unittest.skipUnless(LONG, "long")
    def test_1000_servers_that_take_up_to_4_s_to_acknowledge(self):
        self.run_load()


if __name__ == "__main__":
    FLEET_LOAD = os.path.abspath(sys.argv.pop(1))
    MUSTER = os.path.abspath(sys.argv.pop(1))
    unittest.main()
