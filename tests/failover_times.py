#!/usr/bin/env python3
"""How long nobody gets a match when the owner of the cell is killed, stopped, moved or frozen: median and worst.

    failover_times.py PATH_TO_MUSTER [COUNT]      each way COUNT times, 20 if it is not given

Two nodes and a PostgreSQL of its own on this machine; a game server and a matchmaker at the node that takes over. Not a
test: it judges nothing, and prints the table of docs/guides/more-than-one-machine.md.
"""

import os
import signal
import statistics
import sys
import tempfile
import time

import pg_engine
from cluster_test import Cluster
from muster_peer import Daemon, allocated, until


class Times(Cluster):
    def runTest(self):
        pass

    def start_node(self, name, folder):
        node = Daemon(self.muster, folder, MUSTER_STORE_PATH=None, MUSTER_STORE_URL=self.url, MUSTER_CLUSTER_NODE=name)
        node.name = name
        return node

    def lobbies_until(self, matchmaker, server, lobby):
        """Asks until an answer is a match: refusals count as time without."""
        while allocated(matchmaker, server, lobby)[1] != "":
            lobby += 1
        return lobby

    def once(self, how, owner, other, number):
        server, matchmaker = other.game_server(7000 + number % 1000, max_matches=1000), other.matchmaker(f"chat-{number}")
        lobby = self.lobbies_until(matchmaker, server, number * 1000 + 1)
        begun = time.monotonic()
        how(owner, other)
        self.lobbies_until(matchmaker, server, lobby + 1)
        took = time.monotonic() - begun
        self.until_owner(other)
        matchmaker.close()
        server.close()
        return took


def killed(owner, _):
    owner.process.kill()
    owner.process.wait()


def stopped(owner, _):
    owner.process.send_signal(signal.SIGTERM)


def frozen(owner, _):
    owner.process.send_signal(signal.SIGSTOP)


def main():
    Times.muster = os.path.abspath(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    Times.engine = pg_engine.Engine()
    try:
        for name, how in (("kill -9 of the owner", killed), ("SIGTERM of the owner", stopped), ("SIGSTOP of the owner", frozen)):
            times = Times()
            times.setUp()
            with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
                owner, other = times.start_node("one", one), times.start_node("two", two)
                try:
                    times.until_owner(owner)
                    took = []
                    for number in range(count):
                        times.until_standing_by(other, owner.name)
                        until(lambda: len(times.cluster(owner)["nodes"]) == 2, "they do not know of each other")
                        took.append(times.once(how, owner, other, number))
                        if how is frozen:
                            owner.process.send_signal(signal.SIGCONT)
                        else:
                            owner.process.wait()
                            owner.start()
                        owner, other = other, owner
                    print(f"| {name} | {statistics.median(took):.1f} s | {max(took):.1f} s |", flush=True)
                except AssertionError:
                    print(f"--- {owner.name}, the owner\n{owner.log_text()}\n--- {other.name}\n{other.log_text()}")
                    raise
                finally:
                    owner.end()
                    other.end()
    finally:
        Times.engine.end()


if __name__ == "__main__":
    main()
