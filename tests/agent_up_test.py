#!/usr/bin/env python3
"""`muster up`, one command for the daemon and its servers (G-2), and what `muster agent` refuses (G-11).

    agent_up_test.py PATH_TO_MUSTER PATH_TO_ECHO_GAME [unittest arguments]
"""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys

import served
from agent_host import EU, AgentCase, with_mark
from cli_terminal import environment
from free_ports import free_port, free_ports


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
        for arguments, code, words in ((("--", "./none"), 64, "muster: no such file: /"), (("--", "/"), 64, "is a directory"),
                                       (("--", "/etc/passwd"), 64, "is not executable"),
                                       (("--", "none-such"), 64, "there is no program none-such on the PATH"),
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
        self.assertRegex(self.refusal(self.write_config(1, command=["./none"])), r"agent\.toml:10: run arena: command: no such file: /.*/none\n")
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
