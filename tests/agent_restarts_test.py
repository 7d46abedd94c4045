#!/usr/bin/env python3
"""What goes on when the agent, a keeper or Muster dies or comes back: no match is lost, and nothing is left behind (faults 91 and 92).

    agent_restarts_test.py PATH_TO_MUSTER PATH_TO_ECHO_GAME [unittest arguments]
"""

import contextlib
import datetime
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import served
from agent_host import EU, AgentCase, with_mark
from free_ports import BLOCK_PORTS, claimed_block, free_ports


class Outlives(AgentCase):
    def test_fault_91_kill_9_of_the_agent_loses_no_match(self):
        """G-7"""
        agent = self.up(3)
        ports = [self.allocate(lobby)["port"] for lobby in (90, 91)]
        before = self.games()
        agent.kill()
        agent.wait()
        self.assertEqual(self.games(), before)
        again = self.start_agent(os.path.join(self.folder, "agent.toml"))
        self.soon(lambda: self.agent_log().count("Adopted process") == 3, "all adopted")
        self.soon(lambda: len(self.connected()) == 3, "all at Muster again")
        self.assertEqual(self.games(), before)
        for lobby in (90, 91):
            self.soon(lambda: self.match(lobby)["state"] in ("ready", "started"), f"match {lobby} is there")
        # The new agent hears how they end.
        self.say(ports[0], b"end")
        self.soon(lambda: self.match(90)["state"] == "ended", "the adopted match ends")
        again.send_signal(signal.SIGTERM)
        self.assertEqual(again.wait(20), 0)
        self.assertIn(self.pid_of(ports[1]), self.games())
        self.assertIn(self.match(91)["state"], ("ready", "started"))

    def test_G_7_fault_91_what_runs_without_a_record_is_ended_by_the_next_agent(self):
        agent = self.up(3)
        self.soon(lambda: len(self.connected()) == 3, "three servers")
        agent.kill()
        agent.wait()
        self.soon(lambda: not self.connected(), "Muster has noticed")
        before = self.games()
        self.assertEqual(len(before), 3)
        records = os.path.join(self.folder, "state", "processes")
        os.remove(os.path.join(records, "arena-1.json"))  # killed between the start and its record
        with open(os.path.join(records, "arena-2.json"), "w", encoding="utf-8") as file:
            file.write('{"version":99}')  # of a newer agent, or damaged
        self.start_agent(os.path.join(self.folder, "agent.toml"))
        self.soon(lambda: len(self.connected()) == 3 and len(self.games()) == 3, "three again, and no fourth")
        self.assertEqual(len(set(before) & set(self.games())), 1, "the one with a record is adopted")
        self.soon(lambda: self.logged(r"left no record of it"), "told")

    def test_fault_91_the_match_of_a_damaged_record_is_aborted_as_soon_as_its_process_is_ended(self):
        agent = self.up(2)
        port = self.allocate(98)["port"]
        self.soon(lambda: self.match(98)["state"] == "ready", "the match is ready")
        agent.kill()
        agent.wait()
        name = next(name for name, each in self.processes().items() if each["port"] == port)
        with open(os.path.join(self.folder, "state", "processes", f"{name}.json"), "w", encoding="utf-8") as file:
            file.write("{")
        self.start_agent(os.path.join(self.folder, "agent.toml"))
        self.soon(lambda: self.logged(r"left no record of it"), "told")
        self.soon(lambda: self.match(98)["state"] == "aborted", "Muster has heard")
        self.assertIn("Server crashed", json.dumps(self.match(98)))
        self.soon(lambda: len(self.connected()) == 2 and len(self.games()) == 2, "it is started again")

    def test_fault_91_a_game_that_ends_while_no_agent_watches_ends_its_match(self):
        agent = self.up(2)
        port = self.allocate(95)["port"]
        self.soon(lambda: self.match(95)["state"] == "ready", "the match is ready")
        before = self.games()
        agent.kill()
        agent.wait()
        self.say(port, b"end")
        self.soon(lambda: len(self.games()) == 1, "it has ended")
        self.start_agent(os.path.join(self.folder, "agent.toml"))
        self.soon(lambda: self.match(95)["state"] == "ended", "Muster hears so")
        self.soon(lambda: self.logged("ended while no agent watched"), "and the log")
        self.soon(lambda: len(self.connected()) == 2 and len(self.games()) == 2, "it is started again")
        self.assertEqual(len(set(before) & set(self.games())), 1)
        processes = self.ask("GET", "/hosts/host-1")[1]["processes"]
        self.assertEqual([each["last_exit"] is not None for each in processes].count(True), 1, processes)

    def test_fault_91_G_5_a_crash_is_told_as_one_whoever_watched(self):
        """Of an adopted process, and of one that nobody watched: the match is no good end, and the signal is known."""
        agent = self.up(2)
        for turn, adopts_first in enumerate((True, False)):
            lobby = 700 + turn
            port = self.allocate(lobby)["port"]
            self.soon(lambda: self.match(lobby)["state"] == "ready", "the match is ready")
            name = next(name for name, each in self.processes().items() if each["port"] == port)
            victim = self.pid_of(port)
            agent.kill()
            agent.wait()
            adopted = self.agent_log().count("Adopted process")
            if adopts_first:
                agent = self.start_agent(os.path.join(self.folder, "agent.toml"))
                self.soon(lambda: self.agent_log().count("Adopted process") == adopted + 2, "both adopted")
                self.soon(lambda: len(self.connected()) == 2, "both at Muster")
            self.say(port, b"crash")
            self.soon(lambda: not self.alive(victim), "it has crashed")
            if not adopts_first:
                agent = self.start_agent(os.path.join(self.folder, "agent.toml"))
            self.soon(lambda: self.match(lobby)["state"] == "aborted", "aborted")
            self.assertIn("Server crashed", json.dumps(self.match(lobby)))
            self.soon(lambda: (self.processes()[name]["last_exit"] or {}).get("signal") == signal.SIGABRT, "its signal is told")
            self.soon(lambda: len(self.connected()) == 2 and len(self.games()) == 2, "it is started again")

    def keepers(self):
        """The processes that have started the games, and wait for their ends."""
        found = []
        for pid in with_mark(self.mark):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
                if file.read().startswith(b"muster-keeper\0") and self.alive(pid):
                    found.append(pid)
        return found

    def test_fault_91_G_7_a_keeper_that_is_killed_ends_nothing_and_is_replaced(self):
        self.up(2)
        keepers, games = self.keepers(), self.games()
        self.assertEqual(len(keepers), 1, "one for all processes")
        os.kill(keepers[0], signal.SIGKILL)
        self.soon(lambda: not self.keepers(), "it is gone")
        self.assertEqual(self.games(), games)
        port = self.allocate(710)["port"]
        self.soon(lambda: self.match(710)["state"] == "ready", "the match is ready")
        self.say(port, b"crash")
        self.soon(lambda: self.match(710)["state"] == "aborted", "aborted")
        self.assertIn("Server crashed", json.dumps(self.match(710)))
        self.soon(lambda: self.logged(r"signal 6 \(SIGABRT\)"), "the agent knows the signal")
        self.soon(lambda: len(self.connected()) == 2 and len(self.games()) == 2, "it is started again")
        self.soon(lambda: self.logged(r"The keeper of processes \(pid \d+\) was lost; another one is started"), "told")
        self.assertEqual(len(self.keepers()), 1)

    def test_fault_91_G_10_an_end_that_nobody_saw_ends_no_match_well(self):
        """The agent and the keeper are killed, then the game ends: nobody can know how."""
        agent = self.up(1)
        port = self.allocate(711)["port"]
        self.soon(lambda: self.match(711)["state"] == "ready", "the match is ready")
        agent.kill()
        agent.wait()
        for keeper in self.keepers():
            os.kill(keeper, signal.SIGKILL)
        self.soon(lambda: not self.keepers(), "nobody watches")
        self.say(port, b"end")
        self.soon(lambda: not self.games(), "it has ended")
        self.start_agent(os.path.join(self.folder, "agent.toml"))
        self.soon(lambda: self.match(711)["state"] == "aborted", "aborted")
        self.assertIn("Server left", json.dumps(self.match(711)))
        told = self.soon(lambda: self.processes()["arena-1"]["last_exit"], "its last exit")
        self.assertEqual((told["code"], told["signal"], told["reason"]), (None, None, "exit status unknown"))

    def test_fault_91_an_agent_killed_while_it_starts_processes_leaves_none_behind(self):
        path = self.write_config(12)
        for turn in range(6):
            agent = self.start_agent(path)
            # Another instant each time: while it starts the first, the last, or none any more.
            self.soon(lambda n=turn: len(with_mark(self.mark)) > 2 * n, "it starts some")
            agent.kill()
            agent.wait()
            again = self.start_agent(path)
            self.soon(lambda: len(self.connected()) == 12 and len(self.games()) == 12, "all are there, and no more")
            again.send_signal(signal.SIGINT)
            self.assertEqual(again.wait(60), 0)
            self.assertEqual(self.games(), [])

    def test_G_7_each_of_many_processes_is_written_down_and_told_before_the_last_one_starts(self):
        count = BLOCK_PORTS - 10
        first, claim = claimed_block()
        self.addCleanup(claim.close)
        self.start_agent(self.write_config(count, ports=(first, first + BLOCK_PORTS - 1), command=["sleep", "100000"],
                                           run='ready_after = "1h"'))
        self.soon(lambda: len(self.processes()) == count and all(each["pid"] for each in self.processes().values()), "all run")
        first_told = re.search(r"(\S+)Z info  Started process", self.agent_log())[1]
        told_at = datetime.datetime.fromisoformat(first_told).replace(tzinfo=datetime.timezone.utc).timestamp()
        last_start = max(self.started_at(each["pid"]) for each in self.processes().values())
        self.assertGreater(last_start, told_at + 0.02)

    @staticmethod
    def started_at(pid):
        """To some 10 ms."""
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            ticks = int(file.read().rsplit(")", 1)[1].split()[19])
        return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / os.sysconf("SC_CLK_TCK")

    def test_fault_91_an_adopted_process_keeps_how_its_last_life_ended(self):
        agent = self.up(1)
        os.kill(self.games()[0], signal.SIGKILL)

        def last_exit():
            processes = self.ask("GET", "/hosts/host-1")[1].get("processes") or [{}]
            return processes[0].get("state") == "ready" and processes[0]["last_exit"]

        killed = lambda: (last_exit() or {}).get("signal") == 9
        self.soon(killed, "it was killed, and is back")
        agent.kill()
        agent.wait()
        self.start_agent(os.path.join(self.folder, "agent.toml"))
        self.soon(lambda: self.logged("Adopted process"), "adopted")
        self.soon(lambda: self.ask("GET", "/hosts/host-1")[1].get("connected") and killed(), "told to Muster")

    def test_G_7_a_copy_of_the_state_folder_adopts_and_ends_nothing_of_another_agent(self):
        self.up(2)
        port = self.allocate(96)["port"]
        before = self.games()
        path = os.path.join(self.folder, "copy.toml")
        with open(os.path.join(self.folder, "agent.toml"), encoding="utf-8") as file:
            config = file.read()
        first, last = free_ports(6)
        config = config.replace(f"{self.folder}/state", f"{self.folder}/copy").replace('"host-1"', '"host-2"')
        with open(path, "w", encoding="utf-8") as file:
            file.write(re.sub(r'ports = ".*"', f'ports = "{first}-{last}"', config))
        shutil.copytree(os.path.join(self.folder, "state"), os.path.join(self.folder, "copy"))
        copied = self.start_agent(path)
        self.assertEqual(copied.wait(30), 73)
        self.assertTrue(self.logged(r"/copy: is a copy of the folder that another agent \(pid \d+\) uses"))
        # With an id of its own it is another agent, and the records in it are not about its processes.
        os.remove(os.path.join(self.folder, "copy", "id"))
        self.start_agent(path)
        self.soon(lambda: len(self.connected()) == 4, "two servers of its own")
        self.assertEqual(set(before) & set(self.games()), set(before))
        self.assertIn(self.match(96)["state"], ("ready", "started"))
        self.assertNotIn("Adopted", self.agent_log())
        self.say(port, b"end")
        self.soon(lambda: self.match(96)["state"] == "ended", "it is still the first one's")

    def test_G_7_a_state_folder_that_is_removed_is_made_again(self):
        agent = self.up(2)
        port = self.allocate(96)["port"]
        self.soon(lambda: self.match(96)["state"] == "ready", "the match is ready")
        before = self.games()
        shutil.rmtree(os.path.join(self.folder, "state"))
        self.soon(lambda: self.logged("state folder .* was removed; it is made again"), "told")
        second = subprocess.run([self.muster, "agent", "--config", os.path.join(self.folder, "agent.toml")],
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(second.returncode, 73)
        self.assertIn(f"another agent (pid {agent.pid}) uses this folder", second.stderr)
        agent.kill()
        agent.wait()
        self.start_agent(os.path.join(self.folder, "agent.toml"))
        self.soon(lambda: self.agent_log().count("Adopted process") == 2, "all adopted")
        self.assertEqual(self.games(), before)
        self.say(port, b"end")
        self.soon(lambda: self.match(96)["state"] == "ended", "the adopted match ends")

    def test_G_6_G_7_another_agent_of_the_same_name_on_this_machine_harms_nobody(self):
        self.up(2)
        games = self.games()
        with open(self.write_config(2), encoding="utf-8") as file:
            text = file.read().replace(f'{self.folder}/state"', f'{self.folder}/other"')
        other = os.path.join(self.folder, "other.toml")
        with open(other, "w", encoding="utf-8") as file:
            file.write(text)
        self.start_agent(other)
        self.soon(lambda: len(self.connected()) == 4, "all four servers at Muster")
        self.assertEqual(set(games) - set(self.games()), set(), self.agent_log())

    def test_fault_92_a_restart_of_muster_is_survived(self):
        self.up(2)
        self.allocate(95)
        games = self.games()
        self.daemon.process.kill()
        self.daemon.process.wait()
        self.daemon.start()
        self.soon(lambda: len(self.connected()) == 2, "both are back")
        self.assertEqual(self.games(), games)
        self.soon(lambda: self.match(95)["state"] in ("ready", "started"), "with its match")

    def muster_goes(self):
        """And the agent has noticed: all its links have been lost when it finds nobody there."""
        self.daemon.process.kill()
        self.daemon.process.wait()
        self.soon(lambda: self.logged("Connection refused"), "the agent knows that Muster is away")

    def test_fault_92_G_10_a_match_that_ends_while_muster_is_away_is_told_as_ended(self):
        self.up(1)
        port = self.allocate(96)["port"]
        self.soon(lambda: self.match(96)["state"] == "ready", "the match is ready")
        before = self.games()
        self.muster_goes()
        self.say(port, b"end")
        self.soon(lambda: self.games() and self.games() != before, "the next life has begun")
        self.daemon.start()
        self.soon(lambda: self.match(96)["state"] == "ended", "Muster hears that it has ended")
        # A heartbeat that crossed the end may still count the match until the next one.
        self.soon(lambda: self.ask("POST", "/matches", {"lobby_id": 97, "region": 2, "player_count": 2})[0] == 200,
                  "the next life takes matches")

    def test_fault_92_G_21_a_crash_while_muster_is_away_is_told_as_one_before_the_next_life_registers(self):
        self.up(1)
        for lobby, signal_number in ((730, signal.SIGSEGV), (731, signal.SIGKILL)):
            self.soon(lambda: len(self.connected()) == 1 and self.connected()[0]["status"] == "available", "it is free")
            port = self.allocate(lobby)["port"]
            self.soon(lambda: self.match(lobby)["state"] == "ready", "the match is ready")
            before = self.games()
            self.muster_goes()
            os.kill(self.pid_of(port), signal_number)
            self.soon(lambda: self.games() and self.games() != before, "the next life has begun")
            self.daemon.start()
            self.soon(lambda: self.match(lobby)["state"] == "aborted", "Muster hears of the crash")
            self.assertEqual(self.match(lobby)["reason"], "Server crashed")

    def test_fault_92_G_10_a_match_whose_end_is_lost_with_the_link_is_told_as_ended(self):
        """Muster is killed with the end unread: once before the next life of the process begins, and once after."""
        self.up(1)
        for lobby, waits in ((720, False), (721, True)):
            port = self.allocate(lobby)["port"]
            self.soon(lambda: self.match(lobby)["state"] == "ready", "the match is ready")
            before = self.games()
            self.daemon.process.send_signal(signal.SIGSTOP)
            self.say(port, b"end")
            self.soon(lambda: self.games() != before, "it has ended")
            if waits:
                self.soon(lambda: self.games() and self.games() != before, "the next life has begun")
            self.daemon.process.kill()
            self.daemon.process.wait()
            self.daemon.start()
            self.soon(lambda: self.match(lobby)["state"] == "ended", "Muster hears that it has ended")
            self.soon(lambda: [one["status"] for one in self.connected()] == ["available"], "the next life is free")

    def test_fault_92_G_1_the_next_life_takes_matches_though_the_last_was_drained_when_muster_went(self):
        self.up(1)
        port = self.allocate(98)["port"]
        self.soon(lambda: self.match(98)["state"] == "ready", "the match is ready")
        self.assertEqual(self.ask("POST", "/hosts/host-1/processes/arena-1/restart", {})[0], 200)
        self.soon(lambda: any(each["type"] == "server.draining" for each in self.ask("GET", "/events")[1]["events"]),
                  "it takes no more matches, on the disk too")
        before = self.games()
        self.muster_goes()
        self.say(port, b"end")
        self.soon(lambda: self.games() and self.games() != before, "the next life has begun")
        self.daemon.start()
        self.soon(lambda: self.ask("POST", "/matches", {"lobby_id": 99, "region": EU, "player_count": 2})[0] == 200,
                  "the next life takes matches")
        self.assertFalse(self.connected()[0]["draining"])

    def test_G_9_a_drain_of_the_host_outlives_the_agent_and_is_lifted_by_the_next(self):
        agent = self.up(2)
        drained = lambda: [server["draining"] for server in self.connected()]
        self.soon(lambda: self.ask("POST", "/hosts/host-1/drain", {"draining": True})[0] == 200, "it is listed")
        self.soon(lambda: drained() == [True, True], "all are drained")
        for how in (signal.SIGTERM, signal.SIGKILL):
            agent.send_signal(how)
            agent.wait(20)
            agent = self.start_agent(os.path.join(self.folder, "agent.toml"))
            self.soon(lambda: self.agent_log().count("Still draining (operator request)") == 1 + (how == signal.SIGKILL), "it knows")
            os.kill(self.games()[0], signal.SIGKILL)  # one that is started later is drained, too
            self.soon(lambda: drained() == [True, True] and len(self.games()) == 2, "all are drained again")
        self.soon(lambda: self.ask("POST", "/hosts/host-1/drain", {"draining": False})[0] == 200, "it is listed again")
        self.soon(lambda: drained() == [False, False], "none is")
        agent.send_signal(signal.SIGINT)
        self.assertEqual(agent.wait(20), 0)

    def test_G_7_what_ran_in_a_state_folder_that_was_lost_while_no_agent_ran_is_ended(self):
        agent = self.up(2)
        before = self.games()
        agent.kill()
        agent.wait()
        shutil.rmtree(os.path.join(self.folder, "state"))
        agent = self.start_agent(os.path.join(self.folder, "agent.toml"))
        self.soon(lambda: len(self.games()) == 2 and not set(self.games()) & set(before), "others run in their place")
        self.assertEqual(self.agent_log().count("an earlier agent started it and left no record of it"), 2)
        agent.send_signal(signal.SIGINT)
        self.assertEqual(agent.wait(20), 0)


if __name__ == "__main__":
    AgentCase.game = os.path.abspath(sys.argv.pop(2))
    served.main()
