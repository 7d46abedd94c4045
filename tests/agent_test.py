#!/usr/bin/env python3
"""`muster agent` and real processes: started, registered, told of matches, restarted, ended (G-1 to G-12).

    agent_test.py PATH_TO_MUSTER PATH_TO_ECHO_GAME [unittest arguments]
"""

import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
import uuid

import served
from agent_host import AgentCase
from cli_terminal import environment
from free_ports import free_port, free_ports


class Agent(AgentCase):
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
        self.assertIn("its run was removed from the config", told()[0]["reason"])
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


if __name__ == "__main__":
    AgentCase.game = os.path.abspath(sys.argv.pop(2))
    served.main()
