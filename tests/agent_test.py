#!/usr/bin/env python3
"""`muster agent` and real processes: started, registered, restarted, adopted, ended (G-1 to G-11).

    agent_test.py PATH_TO_MUSTER PATH_TO_ECHO_GAME [unittest arguments]
"""

import contextlib
import datetime
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid

import served
from agent_host import EU, AgentCase, with_mark
from cli_terminal import environment
from free_ports import BLOCK_PORTS, claimed_block, free_port, free_ports


class Agent(AgentCase):
    def up(self, count, **options):
        agent = self.start_agent(self.write_config(count, **options))
        self.soon(lambda: len(self.connected()) == count, "all servers at Muster")
        return agent

    def test_G_1_eight_servers_come_up_and_one_that_is_killed_comes_back_with_its_last_words(self):
        """fault 90"""
        self.up(8)
        ports = {each["port"] for each in self.servers()}
        self.assertEqual(len(ports), 8)
        self.assertTrue(all(self.ports[0] <= port <= self.ports[1] for port in ports))
        victim = self.games()[0]
        os.kill(victim, signal.SIGKILL)
        self.soon(lambda: self.logged(r"ended after .*: signal 9 \(SIGKILL\)"), "the signal is told")
        self.soon(lambda: self.logged(r"said: listening on port \d+"), "with its last words")
        self.soon(lambda: len(self.connected()) == 8 and len(self.games()) == 8, "eight again")
        self.assertNotIn(victim, self.games())

    def test_G_10_a_match_is_told_by_signal_and_file_and_its_exit_ends_it(self):
        self.up(1)
        answer = self.allocate(77)
        port = answer["port"]
        self.soon(lambda: self.match(77)["state"] == "ready", "the match is ready")
        self.soon(lambda: b'"lobby":77' in self.game_log(), "the game has read its match")
        self.assertIn(answer["token"].encode(), self.game_log())
        self.say(port, b"end")
        self.soon(lambda: self.match(77)["state"] == "ended", "its exit has ended the match")
        self.soon(lambda: len(self.games()) == 1 and len(self.connected()) == 1, "the next life")
        self.allocate(78)

    def game_log(self, name="arena-1"):
        with open(os.path.join(self.folder, "state", "logs", f"{name}.log"), "rb") as file:
            return file.read()

    def test_G_10_a_neighbour_with_the_port_makes_no_process_ready_and_a_child_with_it_does(self):
        """The game is a child of the process; it is started when the file of its name is there."""
        script = f'while [ ! -e {self.folder}/$MUSTER_PROCESS ]; do sleep 0.05; done; {self.game} & wait'
        self.start_agent(self.write_config(2, command=["sh", "-c", script]))
        self.soon(lambda: len(self.processes()) == 2 and all(each["port"] for each in self.processes().values()), "both run")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as neighbour:
            neighbour.bind(("127.0.0.1", self.processes()["arena-1"]["port"]))
            open(os.path.join(self.folder, "arena-2"), "w").close()
            # Both are looked at together.
            self.soon(lambda: self.processes()["arena-2"]["state"] == "ready", "the one that has its port")
            self.assertEqual(self.processes()["arena-1"]["state"], "starting")
        open(os.path.join(self.folder, "arena-1"), "w").close()
        self.soon(lambda: self.processes()["arena-1"]["state"] == "ready", "now it has its own")

    def processes(self):
        status, host = self.ask("GET", "/hosts/host-1")
        return {each["name"]: each for each in host["processes"]} if status == 200 else {}

    def test_G_8_heartbeats_tell_load_as_a_share_of_what_the_run_may_use(self):
        spins = f"{self.game} & while :; do :; done"
        run = 'cpu = 0.05\nmemory = "1MiB"\n'
        calm = f'[[run]]\nname = "calm"\ncommand = ["{self.game}"]\nsdk = "none"\ncpu = 1000.0\nmemory = "1TiB"\n'
        self.start_agent(self.write_config(1, command=["sh", "-c", spins], run=run + calm))
        self.soon(lambda: len(self.connected()) == 2, "both")
        ports = {name: each["port"] for name, each in self.processes().items()}

        def load(name):
            return next((each["cpu"], each["memory"]) for each in self.servers() if each["port"] == ports[name])
        # More than it may use is all of it.
        self.soon(lambda: load("arena-1") == (100, 100), "a twentieth of a core and 1 MiB are used up")
        self.assertLess(max(load("calm-1")), 1)

    def test_fault_90_a_crash_under_a_match_aborts_it_at_once(self):
        self.up(1)
        port = self.allocate(80)["port"]
        self.say(port, b"crash")
        self.soon(lambda: self.match(80)["state"] == "aborted", "aborted")
        self.soon(lambda: self.logged(r"signal 6 \(SIGABRT\)"), "told")
        self.soon(lambda: self.logged("said: asked to crash"), "with its last words")

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

    def test_G_12_the_agents_metrics_are_served(self):
        path = self.write_config(1)
        port = free_port()
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("[agent]", f'[agent]\nmetrics = "127.0.0.1:{port}"', 1))
        self.start_agent(path)

        def metrics():
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
                connection.request("GET", "/metrics")
                answer = connection.getresponse()
                return answer.read().decode() if answer.status == 200 else ""
            except OSError:
                return ""

        self.soon(lambda: 'muster_agent_processes{run="arena",state="ready"} 1' in metrics(), "one is ready")
        self.assertIn('muster_agent_starts_total{run="arena"} 1', metrics())
        os.kill(self.games()[0], signal.SIGKILL)
        self.soon(lambda: 'muster_agent_exits_total{run="arena",reason="signal"} 1' in metrics(), "its exit")
        self.soon(lambda: "muster_agent_linked 1" in metrics(), "linked")
        second = self.write_config(1)
        with open(second, encoding="utf-8") as file:
            text = file.read()
        with open(second, "w", encoding="utf-8") as file:
            file.write(text.replace("[agent]", f'[agent]\nmetrics = "127.0.0.1:{port}"', 1).replace("/state", "/other"))
        refused = subprocess.run([self.muster, "agent", "--config", second], capture_output=True, text=True, timeout=60)
        self.assertEqual(refused.returncode, 69)  # as for every port that cannot be opened
        self.assertIn("agent.metrics: 127.0.0.1", refused.stderr)

    def test_G_6_a_cgroup_ends_even_a_child_that_hides_where_it_comes_from(self):
        place = os.path.join(self.folder, "cgroup")
        os.mkdir(place)
        words = ["unshare", "-m", "sh", "-c", 'mount -t cgroup2 none "$0" && mkdir "$0/muster-probe" && '
                 'ls "$0/muster-probe/cgroup.kill"; status=$?; rmdir "$0/muster-probe"; exit $status', place]
        probe = subprocess.run(words, capture_output=True, text=True, check=False)
        if probe.returncode != 0:
            self.skipTest(f"no cgroup v2 can be made here: {probe.stderr.strip()}")
        # Those of an agent whose state folder is gone for good; one is still in use.
        left = f"muster-host-1-{uuid.uuid4()}-arena-"
        on_cgroups = ["unshare", "-m", "sh", "-c", 'mount -t cgroup2 none "$0" && cd "$0" && eval "$1"', place]
        self.addCleanup(subprocess.run, [*on_cgroups, f"rmdir {left}2"])
        busy = subprocess.Popen(["sleep", "99999"])
        self.addCleanup(busy.wait)
        self.addCleanup(busy.kill)
        make = (f"mkdir {left}1 {left}1/inner {left}2 && echo {busy.pid} > {left}2/cgroup.procs && "
                f'touch -d "2 minutes ago" {left}1 {left}2')
        subprocess.run([*on_cgroups, make], check=True)
        # The child leaves its session, its parent and its environment behind.
        hidden = os.path.join(self.folder, "hidden")
        script = f'(setsid env -i sh -c "echo \\$\\$ > {hidden}; exec sleep 99999" &) ; exec {self.game}'
        path = self.write_config(1, command=["sh", "-c", script])
        name, value = self.mark.split("=")
        with open(self.log, "ab") as log:
            agent = subprocess.Popen(["unshare", "-m", "sh", "-c", 'mount -t cgroup2 none "$0" && exec "$@"', place,
                                      self.muster, "agent", "--config", path], stdout=log, stderr=log,
                                     env=environment(**{name: value}))
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        self.soon(lambda: len(self.connected()) == 1, "it is at Muster")
        self.assertNotIn("Without cgroups", self.agent_log())
        self.assertTrue(self.logged(r"Removed \d+ empty cgroups? that agents of this machine had left"), self.agent_log())
        there = os.listdir(os.path.join("/proc", str(agent.pid), "root", place.lstrip("/")))
        self.assertNotIn(left + "1", there)
        self.assertIn(left + "2", there)
        self.soon(lambda: os.path.exists(hidden) and os.path.getsize(hidden) > 1, "the child runs")
        with open(hidden, encoding="utf-8") as file:
            child = int(file.read())
        self.addCleanup(lambda: self.alive(child) and os.kill(child, signal.SIGKILL))
        with open(f"/proc/{child}/cgroup", encoding="utf-8") as file:
            self.assertRegex(file.read(), r"0::/.*muster-host-1-[0-9a-f-]+-arena-1")
        os.kill(self.games()[0], signal.SIGKILL)
        self.soon(lambda: not self.alive(child), "the child is ended with it")
        self.soon(lambda: len(self.connected()) == 1 and len(self.games()) == 1, "it is started again")
        # What ends one life must not hit the next, which is started at once.
        for restarts in range(1, 6):
            before = self.games()
            self.assertEqual(self.ask("POST", "/hosts/host-1/processes/arena-1/restart", {})[0], 200)
            self.soon(lambda: len(self.connected()) == 1 and len(self.games()) == 1 and self.games() != before, "another life")
            self.assertEqual(len(re.findall(r"Process arena-1 ended after .* signal 9", self.agent_log())), 1, f"restart {restarts}")
        agent.send_signal(signal.SIGINT)
        self.assertEqual(agent.wait(60), 0)
        self.assertEqual(self.games(), [])

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
            self.soon(lambda: len(self.connected()) == 1 and self.connected()[0]["status"] == "available", "the next life is free")

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

    def test_G_2_ctrl_c_drains_and_ends_all(self):
        agent = self.up(2)
        port = self.allocate(97)["port"]
        agent.send_signal(signal.SIGINT)
        self.soon(lambda: len(self.games()) == 1, "the free one ends")
        time.sleep(0.3)
        self.assertIsNone(agent.poll())
        self.say(port, b"end")
        self.assertEqual(agent.wait(20), 0)
        self.assertEqual(self.games(), [])
        self.assertEqual(self.match(97)["state"], "ended")
        self.soon(lambda: not self.servers(), "and Muster knows")

    def test_G_6_children_that_outlive_their_process_are_ended(self):
        """fault 93: also one that hides in a session of its own and clears its environment."""
        script = os.path.join(self.folder, "forks.sh")
        with open(script, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nsleep 1000 &\nsetsid sleep 1001 &\nsetsid env -i sleep 1002 &\n"
                       f'trap "" TERM\n{self.game} &\nwait\n')
        os.chmod(script, 0o755)
        agent = self.up(1, command=[script])

        def sleepers():
            text = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
            return [line for line in text.splitlines() if "sleep 100" in line and "ps -eo" not in line
                    and self.of_this_test(int(line.split()[0]))]

        self.soon(lambda: len(sleepers()) == 3, "it has forked")
        agent.send_signal(signal.SIGINT)
        self.assertEqual(agent.wait(20), 0)
        self.soon(lambda: not sleepers() and not self.games(), "nothing is left")

    def test_G_6_fault_93_what_no_process_of_the_agent_started_is_left_alone_whoever_ends(self):
        """Without cgroups: a helper of another process that hides all but its life, and one that the agent's own starter made."""
        helper = os.path.join(self.folder, "helper")
        script = (f'[ "$MUSTER_PROCESS" != arena-1 ] || (setsid env -i sh -c "echo \\$\\$ > {helper}; exec sleep 99999" &) ; '
                  f"exec {self.game}")
        path = self.write_config(2, command=["sh", "-c", script])
        name, value = self.mark.split("=")
        sidecar = os.path.join(self.folder, "sidecar")
        starter = f'sleep 88888 & echo $! > {sidecar}; exec "$0" "$@"'
        with open(self.log, "ab") as log:
            agent = subprocess.Popen(["sh", "-c", starter, self.muster, "agent", "--config", path], stdout=log, stderr=log,
                                     env=environment(**{name: value}))
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        self.soon(lambda: len(self.connected()) == 2 and os.path.exists(helper) and os.path.getsize(helper) > 1, "all run")
        beside = []
        for file in (sidecar, helper):
            with open(file, encoding="utf-8") as text:
                beside.append(int(text.read()))
        self.addCleanup(lambda: [os.kill(pid, signal.SIGKILL) for pid in beside if self.alive(pid)])
        crashing = self.pid_named("arena-2")
        os.kill(crashing, signal.SIGKILL)
        self.soon(lambda: len(self.connected()) == 2 and self.pid_named("arena-2") not in (None, crashing), "it is started again")
        self.assertEqual([self.alive(pid) for pid in beside], [True, True])
        os.kill(self.pid_named("arena-1"), signal.SIGKILL)
        self.soon(lambda: not self.alive(beside[1]), "the helper ends with its own process")
        agent.send_signal(signal.SIGINT)
        self.assertEqual(agent.wait(20), 0)
        self.assertTrue(self.alive(beside[0]))

    def pid_named(self, process):
        for pid in self.games():
            with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
                if f"MUSTER_PROCESS={process}".encode() in file.read().split(b"\0"):
                    return pid
        return None

    def test_G_9_a_drain_of_the_host_outlives_the_agent_and_is_lifted_by_the_next(self):
        agent = self.up(2)
        drained = lambda: [server["draining"] for server in self.connected()]
        self.soon(lambda: self.ask("POST", "/hosts/host-1/drain", {"draining": True})[0] == 200, "it is listed")
        self.soon(lambda: drained() == [True, True], "all are drained")
        for how in (signal.SIGTERM, signal.SIGKILL):
            agent.send_signal(how)
            agent.wait(20)
            agent = self.start_agent(os.path.join(self.folder, "agent.toml"))
            self.soon(lambda: self.agent_log().count("Draining: an operator wished so") == 1 + (how == signal.SIGKILL), "it knows")
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

    def test_G_9_fault_93_a_fifo_in_place_of_a_log_holds_up_nobody(self):
        log = os.path.join(self.folder, "state/logs/arena-1.log")
        script = f'if [ ! -e {self.folder}/done ]; then touch {self.folder}/done; rm {log}; mkfifo {log}; exit 1; fi; exec {self.game}'
        agent = self.up(1, command=["sh", "-c", script])
        self.assertTrue(os.path.isfile(log))
        agent.send_signal(signal.SIGINT)
        self.assertEqual(agent.wait(20), 0)

    def test_G_11_a_config_that_became_a_fifo_is_not_waited_for(self):
        agent = self.up(1)
        path = os.path.join(self.folder, "agent.toml")
        os.unlink(path)
        os.mkfifo(path)
        agent.send_signal(signal.SIGHUP)
        self.soon(lambda: f"Config not reloaded: {path} is no regular file" in self.agent_log(), "it is told")
        agent.send_signal(signal.SIGINT)
        self.assertEqual(agent.wait(20), 0)

    def test_X_3_G_11_a_SIGHUP_while_the_agent_starts_is_a_reload_and_does_not_end_it(self):
        path = self.write_config(1)
        with open(path, encoding="utf-8") as file:
            config = file.read()
        os.unlink(path)
        os.mkfifo(path)
        agent = self.start_agent(path)
        with open(path, "w", encoding="utf-8") as file:  # waits for its reader: so far the start has come
            agent.send_signal(signal.SIGHUP)
            file.write(config)
        self.soon(lambda: f"Config not reloaded: {path} is no regular file" in self.agent_log(), "it is told")
        self.soon(lambda: len(self.connected()) == 1, "the server at Muster")
        agent.send_signal(signal.SIGINT)
        self.assertEqual(agent.wait(20), 0)

    def of_this_test(self, pid):
        """By its folder: a game's processes are started in it."""
        try:
            return os.readlink(f"/proc/{pid}/cwd") == os.getcwd()
        except OSError:
            return False

    def test_fault_93_a_process_that_fills_its_log_harms_nobody(self):
        script = os.path.join(self.folder, "floods.sh")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{self.game} &\nhead -c 30000000 /dev/zero | tr '\\0' 'x'\nprintf '\\n\\033[2Jlast\\n'\nwait\n")
        os.chmod(script, 0o755)
        self.up(1, command=[script], run='log_size = "1MiB"\nlog_files = 2')
        logs = os.path.join(self.folder, "state", "logs")
        self.soon(lambda: sum(os.path.getsize(os.path.join(logs, each)) for each in os.listdir(logs)) < 3_000_000
                  and any(each.endswith(".1") for each in os.listdir(logs)), "the log is cut")
        self.allocate(99)

    def test_G_11_a_reload_changes_counts_and_a_bad_one_changes_nothing(self):
        ports = free_ports(8)
        agent = self.up(2, ports=ports)
        self.write_config(4, ports=ports)
        agent.send_signal(signal.SIGHUP)
        self.soon(lambda: len(self.connected()) == 4, "four")
        with open(os.path.join(self.folder, "agent.toml"), "a", encoding="utf-8") as file:
            file.write("cuont = 7\n")
        agent.send_signal(signal.SIGHUP)
        self.soon(lambda: self.logged(r"Config not reloaded: .*did you mean count"), "refused")
        self.assertEqual(len(self.games()), 4)

    def test_G_11_G_12_the_end_of_a_process_whose_run_was_removed_is_told(self):
        ports = free_ports(8)
        old = f'[[run]]\nname = "old"\ncommand = ["{self.game}"]\nsdk = "none"\nstop_grace = "2s"\n'
        agent = self.start_agent(self.write_config(1, ports=ports, run=old))
        self.soon(lambda: len(self.connected()) == 2, "both runs")
        self.write_config(1, ports=ports)
        agent.send_signal(signal.SIGHUP)
        self.soon(lambda: len(self.games()) == 1, "the removed one is ended")

        def told():
            return [each for each in self.ask("GET", "/events?type=process.exited")[1]["events"] if each["process"] == "old-1"]
        self.soon(told, "Muster hears of it")
        self.assertEqual(len(told()), 1)
        self.assertIn("it is not wanted any more", told()[0]["reason"])
        self.soon(lambda: list(self.processes()) == ["arena-1"], "and that it is gone")
        self.assertTrue(self.logged("Process old-1 ended after"))
        self.assertFalse(os.path.exists(os.path.join(self.folder, "state", "processes", "old-1.json")))

    def test_G_5_a_build_that_crashes_at_once_is_a_crash_loop_told_once(self):
        """fault 90"""
        self.start_agent(self.write_config(1, command=["/bin/false"]))
        self.soon(lambda: self.logged("is in a crash loop \\(exit code 1\\)"), "told")
        self.assertEqual(self.agent_log().count("Started process"), 5)

    def test_G_5_G_7_a_crash_loop_outlives_the_agent_whatever_ends_it(self):
        agent = self.start_agent(self.write_config(1, command=["/bin/false"]))
        self.soon(lambda: self.logged("is in a crash loop"), "a crash loop")
        exits = lambda: self.ask("GET", "/events?type=process.exited")[1]["events"]
        for turn, how in enumerate((signal.SIGTERM, signal.SIGKILL), 1):
            agent.send_signal(how)
            agent.wait(20)
            agent = self.start_agent(os.path.join(self.folder, "agent.toml"))
            self.soon(lambda: self.agent_log().count("This host is listed at Muster") == turn + 1, "the next agent")
            told = self.soon(lambda: self.processes().get("arena-1"), "with the process")
            self.assertEqual((told["state"], told["restarts"], told["last_exit"]["code"]), ("crash_loop", 4, 1))
        self.assertEqual(self.agent_log().count("Started process"), 5)
        self.assertEqual(len(exits()), 5)
        self.assertEqual(self.agent_log().count("is in a crash loop"), 1)
        agent.send_signal(signal.SIGINT)
        self.assertEqual(agent.wait(20), 0)
        self.assertEqual(os.listdir(os.path.join(self.folder, "state", "processes")), [])


class Up(AgentCase):
    def launched(self, *arguments, **settings):
        name, value = self.mark.split("=")
        up = subprocess.Popen([self.muster, "up", "--folder", os.path.join(self.folder, "up"), *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(**{name: value}, **settings))
        self.addCleanup(up.stdout.close)
        self.addCleanup(up.stderr.close)
        self.addCleanup(up.wait)
        self.addCleanup(up.kill)
        return up

    def test_G_2_one_command_brings_the_daemon_and_eight_servers_and_ctrl_c_ends_it_all(self):
        first, last = free_ports(10)
        up = self.launched("--count", "8", "--ports", f"{first}-{last}", "--region", "eu", "--", self.game)
        said = "".join(up.stdout.readline() for _ in range(7))
        page = re.search(r"http://(\S+)/", said)
        self.assertTrue(page, said)
        self.daemon.ports["http"] = page[1]  # it is asked from now on
        self.soon(lambda: len(self.connected()) == 8, "eight servers")
        os.kill(self.games()[0], signal.SIGKILL)
        self.soon(lambda: len(self.games()) == 7, "one is gone")
        self.soon(lambda: len(self.games()) == 8 and len(self.connected()) == 8, "and back")
        up.send_signal(signal.SIGINT)
        self.assertEqual(up.wait(30), 0)
        self.assertEqual(self.games(), [])
        self.assertIn("All servers and the daemon have ended", up.stdout.read())
        self.assertRegex(up.stderr.read(), r"signal 9 \(SIGKILL\)")

    def test_X_1_the_environment_says_where_the_daemon_of_up_listens(self):
        port = free_port()
        up = self.launched("--", self.game, MUSTER_LISTEN_HTTP=f"127.0.0.1:{port}")
        said = "".join(up.stdout.readline() for _ in range(7))
        self.assertIn(f"http://127.0.0.1:{port}/", said)
        up.send_signal(signal.SIGINT)
        self.assertEqual(up.wait(30), 0)

    def test_G_2_a_closed_terminal_ends_it_all(self):
        first, last = free_ports(4)
        up = self.launched("--ports", f"{first}-{last}", "--", self.game)
        self.soon(lambda: self.games(), "it runs")
        up.send_signal(signal.SIGHUP)
        self.soon(lambda: not with_mark(self.mark), "nothing is left")
        self.assertEqual(up.wait(30), 0)

    def test_G_2_S_1_with_tls_certificates_are_made_on_the_spot_and_used_again(self):
        first, last = free_ports(4)
        authorities = set()
        for _ in range(2):
            up = self.launched("--tls", "--ports", f"{first}-{last}", "--region", "2", "--", self.game)
            said = "".join(up.stdout.readline() for _ in range(7))
            told = re.search(r"MUSTER_URL=(https://\S+) MUSTER_CA_FILE=(\S+)", said)
            self.assertTrue(told, said)
            env = environment(MUSTER_URL=told[1], MUSTER_CA_FILE=told[2])

            def connected():
                shown = subprocess.run([self.muster, "servers", "--json"], env=env, capture_output=True, text=True)
                return shown.returncode == 0 and [each for each in json.loads(shown.stdout)["servers"] if each["connected"]]
            self.soon(connected, "a server that joined over TLS")
            with open(told[2], encoding="utf-8") as authority:
                authorities.add(authority.read())
            up.send_signal(signal.SIGINT)
            self.assertEqual(up.wait(60), 0)
        self.assertEqual(len(authorities), 1)

    def test_G_2_nothing_survives_a_kill_9_of_the_command(self):
        first, last = free_ports(4)
        up = self.launched("--ports", f"{first}-{last}", "--", self.game)
        self.soon(lambda: self.games(), "it runs")
        up.kill()
        self.soon(lambda: not with_mark(self.mark), "nothing is left")

    def with_a_match(self, lobby):
        """A command whose game server has a match."""
        first, last = free_ports(4)
        up = self.launched("--ports", f"{first}-{last}", "--region", "eu", "--", self.game)
        self.daemon.ports["http"] = re.search(r"http://(\S+)/", "".join(up.stdout.readline() for _ in range(7)))[1]
        self.soon(self.connected, "a server")
        self.allocate(lobby)
        self.soon(lambda: self.match(lobby)["state"] == "ready", "the match is ready")
        return up, first

    def test_G_2_an_agent_that_is_killed_is_started_again_and_goes_on_with_its_servers(self):
        first, last = free_ports(10)
        up = self.launched("--count", "2", "--ports", f"{first}-{last}", "--", self.game)
        said = "".join(up.stdout.readline() for _ in range(7))
        self.daemon.ports["http"] = re.search(r"http://(\S+)/", said)[1]
        self.soon(lambda: len(self.connected()) == 2, "two servers")
        before = self.games()
        os.kill(self.agent_of_up(), signal.SIGKILL)
        while "goes on with its servers" not in up.stdout.readline():
            self.assertIsNone(up.poll())
        self.soon(lambda: len(self.connected()) == 2, "two servers again")
        self.assertEqual(self.games(), before)
        up.send_signal(signal.SIGINT)
        self.assertEqual(up.wait(30), 0)
        self.assertEqual(self.games(), [])
        self.assertIn("All servers and the daemon have ended", up.stdout.read())

    def test_G_2_SIGQUIT_ends_it_all_as_SIGTERM_does(self):
        for number in (signal.SIGQUIT, signal.SIGTERM):
            first, last = free_ports(4)
            up = self.launched("--ports", f"{first}-{last}", "--", self.game)
            self.soon(lambda: self.games(), "it runs")
            up.send_signal(number)
            self.assertEqual(up.wait(30), 0)
            self.assertEqual(with_mark(self.mark), [])

    def test_G_2_a_second_command_in_the_folder_is_told_whose_it_is_and_harms_nobody(self):
        up, _ = self.with_a_match(7)
        second = self.launched("--", self.game)
        self.assertEqual(second.wait(30), 73)
        self.assertEqual(second.stderr.read().replace(self.folder, "F"),
                         f"muster: another `muster up` (pid {up.pid}) uses F/up; `kill {up.pid}` ends it, or give this one another "
                         "--folder\n")
        self.assertTrue(os.path.exists(os.path.join(self.folder, "up", "ports.json")))
        self.assertEqual(self.match(7)["state"], "ready")

    def test_G_2_a_match_outlives_a_kill_9_of_the_command_and_the_next_one_is_told_how_to_end_it(self):
        up, port = self.with_a_match(7)
        up.kill()
        up.wait()
        second = self.launched("--", self.game)
        self.assertEqual(second.wait(30), 73)
        self.assertEqual(len(self.games()), 1)
        said = second.stderr.read()
        agent = re.search(r"an agent \(pid (\d+)\) still uses \S+/up/agent\. If an earlier `muster up` was killed, it waits for its "
                          r"matches to end; `kill -INT \1` ends it", said)
        self.assertTrue(agent, said)
        os.kill(int(agent[1]), signal.SIGINT)
        self.soon(lambda: not with_mark(self.mark), "nothing is left")
        third = self.launched("--ports", f"{port}-{port + 3}", "--", self.game)
        self.assertIn("Muster is running", third.stdout.readline())

    def test_G_2_G_6_G_7_a_match_outlives_a_kill_9_of_the_command_that_waits_for_it(self):
        up, port = self.with_a_match(7)
        up.send_signal(signal.SIGINT)
        self.soon(lambda: self.servers()[0]["draining"], "it ends")
        before = self.games()
        up.kill()
        up.wait()
        http_port = self.daemon.ports["http"].split(":")[1]
        self.soon(lambda: not self.listens(int(http_port)), "the daemon has gone with its command")
        agent = self.agent_of_up()
        self.soon(lambda: not self.pending(agent), "the agent has heard of its parent's death")
        self.soon(lambda: self.echoes(port), "the game still plays")
        self.assertEqual(self.games(), before)
        self.say(port, b"end")
        self.soon(lambda: not with_mark(self.mark), "the match's end has ended it all")

    @staticmethod
    def listens(port):
        with contextlib.closing(socket.socket()) as caller:
            return caller.connect_ex(("127.0.0.1", port)) == 0

    @staticmethod
    def echoes(port):
        with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as player:
            player.settimeout(1)
            player.sendto(b"hello", ("127.0.0.1", port))
            with contextlib.suppress(TimeoutError):
                return b"hello" in player.recv(100)
        return False

    @staticmethod
    def pending(pid):
        """The signals that wait for that process to take them."""
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            return any(int(line.split()[1], 16) for line in status if line.startswith(("SigPnd:", "ShdPnd:")))

    def agent_of_up(self):
        config = os.path.join(self.folder, "up", "agent.toml")
        return int(subprocess.run(["pgrep", "-f", f"agent --config {config}"], text=True, capture_output=True, check=True).stdout)

    def test_G_2_a_terminal_that_closes_twice_ends_no_match(self):
        up, port = self.with_a_match(7)
        for _ in range(2):
            up.send_signal(signal.SIGHUP)
            self.soon(lambda: self.servers()[0]["draining"], "it ends")
        self.assertEqual(len(self.games()), 1)
        self.assertEqual(self.match(7)["state"], "ready")
        self.say(port, b"end")
        self.assertEqual(up.wait(30), 0)
        self.assertEqual(with_mark(self.mark), [])
        self.assertNotIn("at once", up.stdout.read() + up.stderr.read())

    def test_G_2_a_reader_that_does_not_read_keeps_nothing_alive(self):
        first, last = free_ports(4)
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        os.set_blocking(writer, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, b"x" * 4096)
        os.set_blocking(writer, True)
        name, value = self.mark.split("=")
        up = subprocess.Popen([self.muster, "up", "--folder", os.path.join(self.folder, "up"), "--ports", f"{first}-{last}", "--",
                               self.game], stdout=writer, stderr=writer, env=environment(**{name: value}))
        os.close(writer)
        self.addCleanup(up.wait)
        self.addCleanup(up.kill)
        self.soon(lambda: self.games(), "it runs")
        up.send_signal(signal.SIGINT)
        self.assertEqual(up.wait(30), 0)
        self.assertEqual(with_mark(self.mark), [])

    def test_G_2_what_cannot_work_is_said_and_nothing_is_left(self):
        for arguments, code, words in ((("--", "./none"), 78, "there is no file /"), (("--", "/"), 78, "is a directory"),
                                       (("--", "/etc/passwd"), 78, "is not executable"),
                                       (("--", "none-such"), 78, "there is no program none-such on the PATH"),
                                       (("--region", "MOON", "--", "x"), 64, "--region: no region MOON; there are USE (0)"),
                                       (("--count", "0", "--", "x"), 64, "--count"), (("--ports", "1-2", "--", "x"), 64, "--ports"),
                                       ((), 64, "give the command after --")):
            up = self.launched(*arguments)
            self.assertEqual(up.wait(30), code)
            self.assertIn(words, up.stderr.read())
        self.assertEqual(with_mark(self.mark), [])


class Refused(AgentCase):
    def refusal(self, path, code=78):
        done = subprocess.run([self.muster, "agent", "--config", path], capture_output=True, text=True, timeout=20,
                              env=environment(), check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr

    def test_G_11_a_region_that_muster_does_not_have_is_told_with_what_to_do(self):
        path = self.write_config(1)
        with open(path, encoding="utf-8") as file:
            text = file.read().replace(f"region = {EU}", "region = 99")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        self.start_agent(path)
        self.soon(lambda: self.logged("Process arena-1: Invalid region .*: give it a region of fleet.regions in Muster's config"), "told")

    def test_G_11_what_cannot_work_is_refused_at_the_start(self):
        self.assertRegex(self.refusal(self.write_config(1, command=["./none"])), r"agent\.toml:10: run arena: command: there is no file /.*/none\n")
        self.assertIn("agent.toml:14: run arena: directory: /no/such is not there", self.refusal(self.write_config(1, run='directory = "/no/such"')))
        self.assertIn("agent.toml:5: agent.ports: 20000-20001 are 2 ports, and the runs may have 9 processes", self.refusal(self.write_config(9, ports=(20000, 20001))))
        path = self.write_config(1)
        with open(path, "a", encoding="utf-8") as file:
            file.write('\n[agent2]\nstate = "/proc/x"\n')
        self.assertIn("agent2: unknown table; did you mean agent?", self.refusal(path))
        self.assertIn("cannot be read", self.refusal("/no/such.toml"))
        path = self.write_config(1)
        agent = self.start_agent(path)
        self.soon(lambda: self.games(), "it runs")
        self.assertIn(f"/state: another agent (pid {agent.pid}) uses this folder; stop it", self.refusal(path, code=73))


if __name__ == "__main__":
    AgentCase.game = os.path.abspath(sys.argv.pop(2))
    served.main()
