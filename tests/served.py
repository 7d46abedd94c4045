"""A test case with a daemon of its own, and what such tests ask of it."""

import os
import struct
import sys
import tempfile
import unittest

from muster_peer import PATIENCE_S, Daemon, until

LONG = os.environ.get("MUSTER_TEST_LONG") == "1"


class Served(unittest.TestCase):
    muster = ""  # the program
    settings = {}  # of the environment

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.daemon = Daemon(self.muster, folder.name, **self.settings)
        self.addCleanup(self.end)

    def end(self):
        self.daemon.end()

    @staticmethod
    def confirm_matches(servers):
        """After a restart a server is asked once more for each match that nobody reported ready (A-9): these say yes."""
        quiet = 0  # waits in a row in which nobody spoke; a stall of the machine is one of them
        while quiet < 100:
            for server in servers:
                try:
                    code, payload = server.receive(0.01)
                except TimeoutError:
                    quiet += 1
                    continue
                if code == 0x1004:
                    server.acknowledge(struct.unpack_from("<i", payload)[0])
                    quiet = 0

    def get(self, path):
        answer, body = self.daemon.get(path)
        return answer.status, body

    def figures(self, *line_starts):
        """What the metrics say of each at one moment: two answers may tell of two."""
        lines = self.get("/metrics")[1].splitlines()
        found = []
        for start in line_starts:
            line = next((line for line in lines if line.startswith(start)), None)
            if line is None:
                self.fail(f"no metric {start}")
            found.append(float(line.rsplit(" ", 1)[1]))
        return tuple(found)

    def figure(self, line_start):
        return self.figures(line_start)[0]

    @staticmethod
    def soon(condition, what):
        return until(condition, what, PATIENCE_S)


def main():
    """Runs the tests of the file that calls this: FILE PATH_TO_MUSTER [unittest arguments]."""
    Served.muster = os.path.abspath(sys.argv.pop(1))
    unittest.main()
