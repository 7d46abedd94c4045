"""A daemon and an agent on this machine, and what tests of them share."""

import contextlib
import glob
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time

from cli_terminal import environment
from free_ports import free_port, free_ports
from served import Served

EU = 2


def with_mark(mark):
    """The processes whose environment has it."""
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            if mark.encode() in file.read().split(b"\0"):
                found.append(int(path.split("/")[2]))
    return found


class AgentCase(Served):
    """A daemon with an agent beside it. The game is sdk/examples/echo_game."""

    game = ""  # the program
    scheme = ""  # of the address that the agent joins

    def setUp(self):
        # The agent finds it there again after a restart.
        self.settings = {**self.settings, "MUSTER_LISTEN_SERVERS": f"127.0.0.1:{free_port()}"}
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.folder = folder.name
        self.addCleanup(folder.cleanup)
        self.mark = f"AGENT_OF_TEST={os.path.basename(self.folder)}"
        self.addCleanup(self.end_marked)
        self.log = os.path.join(self.folder, "agent.log")

    def end_marked(self):
        for pid in with_mark(self.mark):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def write_config(self, count=1, ports=None, run="", command=None, name="arena", sdk="none"):
        self.ports = ports or free_ports(count + 4)
        words = json.dumps(command or [self.game])
        text = (f'[agent]\nname = "host-1"\njoin = ["{self.scheme}{self.daemon.ports["servers"]}"]\nregion = {EU}\n'
                f'ports = "{self.ports[0]}-{self.ports[1]}"\nstate = "{self.folder}/state"\n\n'
                f'[[run]]\nname = "{name}"\ncommand = {words}\ncount = {count}\nsdk = "{sdk}"\nstop_grace = "2s"\n{run}\n')
        path = os.path.join(self.folder, "agent.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def start_agent(self, path, *arguments, **settings):
        """`settings` are of the environment."""
        name, value = self.mark.split("=")
        with open(self.log, "ab") as log:
            agent = subprocess.Popen([self.muster, "agent", "--config", path, *arguments], stdout=log, stderr=log,
                                     env=environment(**{name: value}, **settings))
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        return agent

    def up(self, count, **options):
        """An agent of a config with those options, once its servers are at Muster."""
        agent = self.start_agent(self.write_config(count, **options))
        self.soon(lambda: len(self.connected()) == count, "all servers at Muster")
        return agent

    def agent_log(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def games(self):
        """The pids of the games that run."""
        found = []
        for pid in with_mark(self.mark):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
                if file.read().split(b"\0")[0] == self.game.encode() and self.alive(pid):
                    found.append(pid)
        return sorted(found)

    @staticmethod
    def alive(pid):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
        return False

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection(self.daemon.ports["http"], timeout=40)
        connection.request(method, "/api/v1" + path, body=None if body is None else json.dumps(body),
                           headers={} if body is None else {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, json.loads(text)

    def servers(self):
        return self.ask("GET", "/servers")[1]["servers"]

    def connected(self):
        return [each for each in self.servers() if each["connected"]]

    def processes(self):
        """Of the host as Muster knows it, by name."""
        status, host = self.ask("GET", "/hosts/host-1")
        return {each["name"]: each for each in host["processes"]} if status == 200 else {}

    def match(self, lobby):
        # For a moment it is neither among the live ones nor among those that are over.
        return {"state": "unknown", **self.ask("GET", f"/matches/{lobby}")[1]}

    def allocate(self, lobby):
        status, answer = self.ask("POST", "/matches", {"lobby_id": lobby, "region": EU, "game_type": 1, "game_mode": 2,
                                                       "player_count": 2, "average_rating": 1500})
        self.assertEqual(status, 200, answer)
        return answer

    @staticmethod
    def say(port, text):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as player:
            player.sendto(text, ("127.0.0.1", port))

    def pid_of(self, port):
        found = [pid for pid in self.games() if pid in with_mark(f"PORT={port}")]
        self.assertEqual(len(found), 1, f"who has port {port}")
        return found[0]

    def logged(self, pattern):
        return re.search(pattern, self.agent_log()) is not None
