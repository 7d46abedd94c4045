#!/usr/bin/env python3
"""Failovers under load on a real PostgreSQL with a standby, judged from outside: a few of them, or 1,000 with MUSTER_TEST_LONG=1.

    failovers_test.py PATH_TO_MUSTER [unittest arguments]

Several clusters of three nodes each lose their owners, one after another, while game servers and matchmakers play on; now and
then the engine's primary dies and its standby takes over, whatever the nodes are doing. MUSTER_TEST_FAILOVERS says how many.
"""

import collections
import os
import pathlib
import random
import re
import statistics
import tempfile
import threading
import time
import unittest

import pg_engine
from failover_load import Fleet, Node
from failover_ways import WAYS, lose_owner
from served import LONG, Served, main

FAILOVERS = int(os.environ.get("MUSTER_TEST_FAILOVERS", "1000" if LONG else "12"))
LANES = 3 if LONG else 2
PROMOTION_EVERY = 40 if LONG else 4  # failovers
SETTLED_EVERY = 25  # failovers of a lane
SILENCE_S = 3


class Lane:
    """One cluster and its fleet. `run()` on a thread of its own."""

    def __init__(self, number, muster, url, count):
        self.number, self.muster, self.url, self.count = number, muster, url, count
        self.chance = random.Random(1000 + number)
        self.took = collections.defaultdict(list)  # way → seconds without an allocation
        self.done = 0
        self.error = None
        self.fleet, self.nodes = None, []

    def run(self, promotions, is_over):
        with tempfile.TemporaryDirectory() as folder:
            try:
                self.lose_owners(pathlib.Path(folder), promotions, is_over)
            except BaseException as error:  # told by the test's own thread
                logs = "".join(f"--- {node.name}\n{node.log_text()[-5000:]}\n" for node in self.nodes)
                self.error = f"cluster {self.number}, after {self.done} failovers: {type(error).__name__}: {error}\n{logs}"
            finally:
                for node in self.nodes:
                    node.end()

    def lose_owners(self, folder, promotions, is_over):
        for name in ("one", "two", "three"):
            (folder / name).mkdir()
            self.nodes.append(Node(self.muster, folder / name, name, self.url, SILENCE_S))
        fleet = self.fleet = Fleet(self.nodes, self.number)
        owner = fleet.until(fleet.owner, "nobody owns the cell")
        fleet.until(lambda: fleet.answers > 20, "no allocation")
        while self.done < self.count and not is_over.is_set():
            way = self.chance.choice(list(WAYS))
            # Most wait until all is well again; some come while a node that was lost is still on its way.
            if self.chance.random() < 0.8 or way == "move":
                fleet.until(fleet.all_home, "a node is not ready")
                owner = fleet.until(fleet.owner, "nobody owns the cell")
            successor = self.chance.choice([node for node in self.nodes if node is not owner])
            before = promotions()
            took, owner = lose_owner(fleet, way, owner, successor)
            self.took[way if before == promotions() else f"{way}, with a promotion"].append(took)
            self.done += 1
            fleet.check(owner)
            if self.done % SETTLED_EVERY == 0 or self.done == self.count:
                fleet.until(fleet.all_home, "a node is not ready")
                fleet.settle(fleet.until(fleet.owner, "nobody owns the cell"))
            if fleet.faults:
                raise AssertionError("; ".join(fleet.faults[:10]) + "\n" + self.story(owner, fleet.faults[0]))


    @staticmethod
    def story(owner, fault):
        """What the cluster tells of the lobby that a fault is about."""
        lobby = re.search(r"lobby (\d+)", fault)
        if not lobby:
            return ""
        asked = (f"/api/v1/matches/{lobby[1]}", f"/api/v1/events?lobby={lobby[1]}", "/api/v1/servers")
        return "\n".join(f"{path}: {owner.ask('GET', path)}" for path in asked)


class Failovers(Served):
    def setUp(self):
        if pg_engine.programs() is None:
            raise unittest.SkipTest("PostgreSQL is not installed: nothing was tried")
        self.pair = pg_engine.EnginePair()
        self.addCleanup(self.pair.end)

    def test_N_2_N_3_N_5_N_6_faults_80_81_82_no_failover_loses_doubles_or_undoes_an_answer(self):
        promoted = 0
        is_over = threading.Event()
        self.addCleanup(is_over.set)
        lanes = [Lane(i, self.muster, self.pair.url(self.pair.database(f"lane_{i}")), FAILOVERS // LANES + (i < FAILOVERS % LANES))
                 for i in range(LANES)]
        threads = [threading.Thread(target=lane.run, args=(lambda: promoted, is_over)) for lane in lanes]
        began = told = time.monotonic()
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads) and not any(lane.error for lane in lanes):
                is_over.wait(0.2)
                done = sum(lane.done for lane in lanes)
                if done >= (promoted + 1) * PROMOTION_EVERY:
                    promoted += 1
                    self.pair.fail_over()
                    self.pair.mend()
                if time.monotonic() - told > 60:
                    told = time.monotonic()
                    print(f"{done} failovers, {promoted} promotions, {sum(lane.fleet.answers for lane in lanes if lane.fleet)} allocations "
                          f"in {told - began:.0f} s", flush=True)
        finally:
            is_over.set()
            for thread in threads:
                thread.join()
        self.tell(lanes, promoted, time.monotonic() - began)
        self.assertFalse(any(lane.error for lane in lanes), "\n".join(lane.error for lane in lanes if lane.error))
        self.assertEqual(sum(lane.done for lane in lanes), FAILOVERS)
        self.assertGreaterEqual(promoted, 1)

    @staticmethod
    def tell(lanes, promoted, seconds):
        fleets = [lane.fleet for lane in lanes if lane.fleet]
        took = collections.defaultdict(list)
        for lane in lanes:
            for way, times in lane.took.items():
                took[way] += times
        print(f"{sum(lane.done for lane in lanes)} failovers and {promoted} promotions of the standby in {seconds:.0f} s, with "
              f"{sum(fleet.answers for fleet in fleets)} allocations answered, {sum(fleet.checked for fleet in fleets)} asked for again, "
              f"{sum(fleet.uses for fleet in fleets)} tokens used, {sum(len(fleet.ended) for fleet in fleets)} matches played")
        for way, times in sorted(took.items()):
            print(f"| {way} | {len(times)} | {statistics.median(times):.1f} s | {max(times):.1f} s |")


if __name__ == "__main__":
    main()
