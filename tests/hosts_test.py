#!/usr/bin/env python3
"""Hosts as Muster shows and steers them: a real daemon, a real agent, and peers that mean harm (G-3, G-9, G-12).

    hosts_test.py PATH_TO_MUSTER PATH_TO_ECHO_GAME [unittest arguments]
"""

import contextlib
import http.client
import os
import signal
import sqlite3
import struct
import subprocess
import sys
import time

import served
from agent_host import EU, AgentCase
from cli_terminal import environment
from muster_peer import PATIENCE_S, HostPeer, Peer, text, until

HELLO, REPORT, PROCESS, ACK, ERROR = 0x1020, 0x1022, 0x1023, 0x102A, 0x1011


class HostCase(AgentCase):
    def hosts(self):
        return self.ask("GET", "/hosts")[1]["hosts"]

    def host(self, name="host-1"):
        return next((each for each in self.hosts() if each["name"] == name), None)

    def process(self, name="arena-1"):
        found = [each for each in (self.host() or {"processes": []})["processes"] if each["name"] == name]
        return found[0] if found else None

    def states(self):
        return sorted(each["state"] for each in (self.host() or {"processes": []})["processes"])

    def events(self, kind):
        return self.ask("GET", f"/events?type={kind}&limit=1000")[1]["events"]

    def read_log(self, process="arena-1", query="", host="host-1"):
        connection = http.client.HTTPConnection(self.daemon.ports["http"], timeout=40)
        connection.request("GET", f"/api/v1/hosts/{host}/processes/{process}/log{query}")
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        return answer, body

    def cli(self, *arguments):
        done = subprocess.run([self.muster, *arguments], capture_output=True, text=True, timeout=60, check=False,
                              env=environment(MUSTER_URL=f"http://{self.daemon.ports['http']}"))
        return done.returncode, done.stdout, done.stderr

    def up(self, count, **options):
        agent = self.start_agent(self.write_config(count, **options))
        self.soon(lambda: self.states().count("ready") == count, "all processes are ready")
        self.soon(lambda: all(each["server_id"] for each in self.host()["processes"]), "all are game servers")
        return agent


class Hosts(HostCase):
    def stored(self, query):
        with contextlib.closing(sqlite3.connect(f"file:{self.daemon.folder}/muster.db?mode=ro", uri=True)) as store:
            return store.execute(query).fetchall()

    def stored_hosts(self):
        """Names, and when they were lost."""
        return dict(self.stored("SELECT name, lost_at FROM hosts"))

    def stored_processes(self):
        return {row[0]: row[1:] for row in self.stored("SELECT name, pid, port, server, restarts FROM host_processes")}

    def shown_processes(self):
        return {each["name"]: (each["pid"], each["port"], each["server_id"], each["restarts"]) for each in self.host()["processes"]}

    def restart_daemon(self, **more):
        self.daemon.env.update(more)
        self.daemon.process.kill()
        self.daemon.process.wait()
        self.daemon.start()

    def test_G_12_a_host_is_shown_with_its_processes_and_a_crash_with_its_last_lines(self):
        self.up(2)
        host = self.host()
        self.assertTrue(host["connected"])
        self.assertEqual((host["address"], host["region"], host["draining"]), ("127.0.0.1", EU, False))
        self.assertEqual({each["server_id"] for each in host["processes"]}, {each["id"] for each in self.servers()})
        self.assertEqual({each["port"] for each in host["processes"]}, {each["port"] for each in self.servers()})
        victim = self.process()
        os.kill(victim["pid"], signal.SIGKILL)
        self.soon(lambda: (self.process()["last_exit"] or {}).get("signal") == 9, "the signal is shown")
        self.assertIn("SIGKILL", self.process()["last_exit"]["reason"])
        self.assertIn("listening on port", self.process()["last_exit"]["last_lines"])
        self.soon(lambda: self.process()["state"] == "ready" and self.process()["restarts"] == 1, "it is back")
        self.assertNotEqual(self.process()["pid"], victim["pid"])
        exited = self.soon(lambda: self.events("process.exited"), "the event is there")
        self.assertEqual((exited[0]["host"], exited[0]["process"], exited[0]["signal"]), ("host-1", "arena-1", 9))
        self.assertNotIn("last_lines", exited[0], "events are for viewers, output is not")
        self.soon(lambda: self.events("host.joined"), "its event is durable")
        self.soon(lambda: len(self.events("process.started")) == 3 and len(self.events("process.ready")) == 3, "three lives")
        self.soon(lambda: self.figure('muster_process_exits_total{reason="signal"}') == 1, "counted")
        self.soon(lambda: self.figures('muster_hosts{state="connected"}', 'muster_host_processes{state="ready"}') == (1, 2), "the gauges")

    def read_in_pieces(self, size):
        text, place = "", 0
        while True:
            answer, piece = self.read_log(query=f"?bytes={size}&from={place}")
            place = int(answer.headers["X-Log-Position"])
            if not piece:
                return text
            text += piece

    def test_G_9_logs_are_read_from_afar_and_followed(self):
        self.up(1)
        answer, body = self.read_log()
        self.assertEqual(answer.status, 200, body)
        self.assertTrue(answer.headers["Content-Type"].startswith("text/plain"))
        self.assertIn("listening on port", body)
        place = answer.headers["X-Log-Position"]
        self.assertEqual(self.read_log(query=f"?from={place}")[1], "")
        self.say(self.process()["port"], b"\x1b[2Jharmless?")
        self.assertEqual(self.read_log(query="?bytes=5")[0].status, 200)
        self.assertEqual(self.read_in_pieces(10), self.read_log(query="?from=0")[1])
        self.assertEqual(self.read_log("arena-77")[0].status, 404)
        code, out, _ = self.cli("logs", "host-1/arena-1")
        self.assertEqual(code, 0)
        self.assertIn("listening on port", out)
        follower = subprocess.Popen([self.muster, "logs", "host-1/arena-1", "--follow"], stdout=subprocess.PIPE, text=True,
                                    env=environment(MUSTER_URL=f"http://{self.daemon.ports['http']}"))
        self.addCleanup(follower.stdout.close)
        self.addCleanup(follower.wait)
        self.addCleanup(follower.kill)
        self.assertIn("listening on port", follower.stdout.readline())
        os.kill(self.process()["pid"], signal.SIGKILL)
        self.assertIn("listening on port", follower.stdout.readline())
        follower.send_signal(signal.SIGINT)
        self.assertEqual(follower.wait(timeout=20), 0, "stopped on request")

    def test_G_3_restart_scale_and_drain_from_afar_and_no_further(self):
        self.up(2, run="count_max = 3")
        pid = self.process()["pid"]
        status, answer = self.ask("POST", "/hosts/host-1/processes/arena-1/restart", {})
        self.assertEqual(status, 200, answer)
        self.soon(lambda: self.process()["pid"] not in (None, pid) and self.process()["state"] == "ready", "restarted")
        self.assertEqual(self.ask("POST", "/hosts/host-1/processes/arena-9/restart", {})[0], 404)

        self.assertEqual(self.ask("POST", "/hosts/host-1/runs/arena", {"count": 3})[0], 200)
        self.soon(lambda: self.states() == ["ready"] * 3, "three")
        status, answer = self.ask("POST", "/hosts/host-1/runs/arena", {"count": 4})
        self.assertEqual(status, 409)
        self.assertIn("the count of arena is 0 to 3", answer["error"])
        self.assertEqual(len(self.games()), 3)
        status, answer = self.ask("POST", "/hosts/host-1/runs/other", {"count": 1})
        self.assertEqual((status, answer["error"]), (404, "No such run on this host"))
        self.assertEqual(self.ask("POST", "/hosts/host-1/runs/arena", {"count": 1, "command": ["sh"]})[0], 400)

        self.assertEqual(self.ask("POST", "/hosts/host-1/drain", {"draining": True})[0], 200)
        self.soon(lambda: self.host()["draining"] and all(each["status"] == "draining" for each in self.servers()), "drained")
        self.assertEqual(self.cli("undrain", "--host", "host-1")[0], 0)
        self.soon(lambda: not self.host()["draining"] and all(each["status"] == "available" for each in self.servers()), "free")
        code, _, said = self.cli("scale", "host-1/arena", "77")
        self.assertEqual(code, 1)
        self.assertIn("count_max", said)
        self.assertEqual(self.cli("scale", "host-1/other", "1"),
                         (1, "", "muster: No such run on this host; `muster host host-1` shows what it runs\n"))
        self.assertEqual(self.cli("scale", "host-1/arena", "1"), (0, "host-1/arena: 1 process is wanted\n", ""))
        self.soon(lambda: len(self.games()) == 1, "one")
        self.assertEqual(self.cli("restart", "host-1/arena-1")[0], 0)
        self.assertEqual(self.cli("restart", "nowhere/arena-1")[0], 1)
        self.assertEqual(self.cli("host", "forget"), (64, "", "muster: forget wants a host's name: muster host forget eu-1\n"))
        code, out, _ = self.cli("hosts")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"host-1 +connected +127.0.0.1 +EU")
        code, out, _ = self.cli("host", "host-1")
        self.assertEqual(code, 0)
        self.assertIn("arena-1", out)

    def test_G_3_a_count_that_an_operator_set_outlives_the_agent(self):
        agent = self.up(1, run="count_max = 3")
        self.assertEqual(self.ask("POST", "/hosts/host-1/runs/arena", {"count": 2})[0], 200)
        self.soon(lambda: self.states() == ["ready"] * 2, "two")
        agent.send_signal(signal.SIGTERM)
        self.assertEqual(agent.wait(20), 0)
        self.start_agent(os.path.join(self.folder, "agent.toml"))
        self.soon(lambda: self.host()["connected"] and self.states() == ["ready"] * 2, "still two")
        self.assertEqual(len(self.games()), 2)

    def test_G_3_a_wish_that_the_agents_disk_does_not_keep_is_refused_and_changes_nothing(self):
        agent = self.up(1, run="count_max = 3")
        state = os.path.join(self.folder, "state")
        for name in ("counts.new", "draining.new"):  # where the next one would be written
            os.mkdir(os.path.join(state, name))
        code, out, said = self.cli("scale", "host-1/arena", "3")
        self.assertEqual((code, out), (1, ""), said)
        self.assertIn("the agent cannot write its state folder; is its disk full? Nothing has changed", said)
        code, _, said = self.cli("drain", "--host", "host-1")
        self.assertEqual(code, 1)
        self.assertIn("cannot write its state folder", said)
        agent.send_signal(signal.SIGTERM)
        self.assertEqual(agent.wait(20), 0)
        self.start_agent(os.path.join(self.folder, "agent.toml"))
        self.soon(lambda: self.host()["connected"] and self.states() == ["ready"], "still one")
        self.assertEqual((len(self.games()), self.host()["draining"]), (1, False))
        for name in ("counts.new", "draining.new"):
            os.rmdir(os.path.join(state, name))
        self.assertEqual(self.cli("scale", "host-1/arena", "3")[0], 0)
        self.soon(lambda: self.states() == ["ready"] * 3, "the disk takes it again")

    def test_G_3_a_count_in_a_config_that_changed_while_no_agent_ran_wins(self):
        agent = self.up(1, run="count_max = 3")
        self.assertEqual(self.ask("POST", "/hosts/host-1/runs/arena", {"count": 3})[0], 200)
        self.soon(lambda: self.states() == ["ready"] * 3, "three")
        agent.send_signal(signal.SIGTERM)
        self.assertEqual(agent.wait(20), 0)
        self.start_agent(self.write_config(2, ports=self.ports, run="count_max = 3"))
        self.soon(lambda: self.host()["connected"] and self.states().count("ready") == 2 and len(self.games()) == 2, "two")

    def test_G_12_a_host_that_is_lost_is_shown_with_its_servers_and_matches_and_comes_back(self):
        agent = self.up(2)
        lobby = 501
        self.allocate(lobby)
        servers = {each["server_id"] for each in self.host()["processes"]}
        agent.kill()
        agent.wait()
        self.soon(lambda: not self.host()["connected"], "it is shown as lost")
        self.assertEqual({each["server_id"] for each in self.host()["processes"]}, servers)
        self.assertIsNotNone(self.host()["lost_at_ms"])
        reasons = self.soon(lambda: [each for each in self.ask("GET", "/overview")[1]["health"]["reasons"] if "host-1" in each],
                            "health says so")
        self.assertEqual(reasons, ["Host host-1 is lost: 2 servers, 1 match"])
        self.assertEqual(self.ask("POST", "/hosts/host-1/drain", {"draining": True})[0], 503)
        self.soon(lambda: self.events("host.left"), "its event is durable")
        self.start_agent(os.path.join(self.folder, "agent.toml"))
        self.soon(lambda: self.host()["connected"], "it is back")
        self.soon(lambda: self.states() == ["allocated", "ready"], "with its match")
        self.soon(lambda: self.match(lobby)["state"] in ("ready", "started"), "which Muster has, too")

    def test_G_12_a_restart_of_muster_loses_nothing_that_agents_know(self):
        self.up(2)
        os.kill(self.process()["pid"], signal.SIGKILL)
        self.soon(lambda: self.process()["restarts"] == 1 and self.process()["state"] == "ready", "back")
        self.soon(lambda: all(each["server_id"] for each in self.host()["processes"]), "registered")
        before = {each["name"]: (each["pid"], each["restarts"], each["last_exit"]) for each in self.host()["processes"]}
        self.restart_daemon()
        self.soon(lambda: (self.host() or {}).get("connected") and len(self.host()["processes"]) == 2, "all known again")
        after = {each["name"]: (each["pid"], each["restarts"], each["last_exit"]) for each in self.host()["processes"]}
        self.assertEqual(after, before)
        # What was known before is no news.
        self.assertEqual(len(self.events("process.exited")), 1)

    def test_G_12_a_host_that_does_not_return_after_a_restart_of_muster_is_awaited_then_lost_then_forgotten(self):
        agent = self.up(2)
        os.kill(self.process()["pid"], signal.SIGKILL)
        self.soon(lambda: self.process()["restarts"] == 1 and self.process()["state"] == "ready", "back")
        self.soon(lambda: all(each["server_id"] for each in self.host()["processes"]), "registered")
        # What was told is stored with the next report.
        self.soon(lambda: self.stored_processes() == self.shown_processes(), "the store has it")
        known = self.shown_processes()
        agent.kill()
        agent.wait()
        self.soon(lambda: self.host()["lost_at_ms"], "lost")
        self.soon(lambda: self.events("host.left"), "and its event is durable")
        # It was lost before, and it is lost still, with what it had.
        self.restart_daemon()
        self.assertIsNotNone(self.host()["lost_at_ms"])
        self.assertEqual(self.shown_processes(), known)
        self.assertEqual(self.process()["last_exit"]["signal"], 9)
        self.assertEqual(self.process()["last_exit"]["last_lines"], "", "output is not stored")
        self.assertEqual(len(self.events("host.left")), 1, "a restart is no second loss")

        # It comes back, and does not survive the next restart of Muster.
        agent = self.start_agent(os.path.join(self.folder, "agent.toml"))
        self.soon(lambda: self.host()["connected"] and self.states() == ["ready"] * 2, "back")
        self.soon(lambda: all(each["server_id"] for each in self.host()["processes"]), "registered")
        self.soon(lambda: (self.stored_hosts(), self.stored_processes()) == ({"host-1": 0}, self.shown_processes()), "which is stored")
        agent.kill()
        self.restart_daemon(MUSTER_FLEET_HOST_RETURN_TIMEOUT="10m")
        self.assertEqual((self.host()["connected"], self.host()["lost_at_ms"]), (False, None))
        self.assertEqual({each["name"] for each in self.host()["processes"]}, set(known))
        self.assertRegex(self.cli("hosts")[1], r"host-1 +awaited")
        self.soon(lambda: self.figures('muster_hosts{state="awaited"}', 'muster_hosts{state="lost"}') == (1, 0), "the gauges")
        self.assertEqual(self.ask("POST", "/hosts/host-1/drain", {"draining": True})[0], 503)

        self.restart_daemon(MUSTER_FLEET_HOST_RETURN_TIMEOUT="200ms")
        self.soon(lambda: self.host()["lost_at_ms"], "it has not returned in time")
        self.assertIn("Host host-1 is lost: 2 servers, 0 matches",
                      self.soon(lambda: self.ask("GET", "/overview")[1]["health"]["reasons"], "health says so"))
        left = self.soon(lambda: [each for each in self.events("host.left") if each["reason"] == "Not back since Muster's restart"],
                         "its event")
        self.assertEqual((left[0]["host"], left[0]["processes"]), ("host-1", 2))
        self.soon(lambda: self.figures('muster_hosts{state="lost"}', "muster_host_losses_total") == (1, 1), "the gauges")
        self.assertRegex(self.cli("hosts")[1], r"host-1 +lost")

        self.restart_daemon(MUSTER_FLEET_HOST_MEMORY="10s")
        self.soon(lambda: self.hosts() == [], "lost for too long")
        self.soon(lambda: self.events("host.forgotten"), "its event")
        self.restart_daemon()
        self.assertEqual(self.hosts(), [])
        self.assertEqual(self.stored_processes(), {})

    def test_G_12_a_host_that_was_lost_for_too_long_while_muster_was_away_is_told_as_forgotten(self):
        """The event comes with the first pass, before the store has given a number for it."""
        peer = self.daemon.host()
        peer.process("arena-1")
        peer.report()
        peer.expect(ACK)
        peer.close()
        self.soon(lambda: self.stored_hosts().get("host-1"), "its loss is stored")
        lost_ms = self.stored_hosts()["host-1"]
        self.soon(lambda: time.time() * 1000 > lost_ms + 1000, "that is too long ago")
        self.restart_daemon(MUSTER_FLEET_HOST_MEMORY="1s")
        self.soon(lambda: self.hosts() == [], "lost for too long")
        self.soon(lambda: self.events("host.forgotten"), "its event")

    def test_G_12_an_operator_forgets_a_host_that_will_not_return_and_only_such_a_one(self):
        agent = self.up(1)
        self.soon(lambda: self.stored_hosts() == {"host-1": 0}, "it is stored")
        code, _, said = self.cli("host", "forget", "host-1")
        self.assertEqual(code, 1)
        self.assertIn("The host is connected", said)
        self.assertTrue(self.host()["connected"])
        agent.kill()
        agent.wait()
        self.soon(lambda: self.host()["lost_at_ms"], "lost")
        self.assertEqual(self.cli("host", "forget", "host-2")[0], 1)
        self.assertEqual(self.cli("host", "host-1", "--reason", "x")[0], 64)
        self.assertEqual(self.cli("host", "forget", "host-1", "--reason", "sold")[0], 0)
        self.assertEqual(self.hosts(), [])
        self.assertEqual(self.ask("POST", "/hosts/host-1/forget", {})[0], 404)
        done = self.soon(lambda: [each for each in self.events("operator.action") if each["action"] == "forget"], "the audit")
        self.assertEqual((done[0]["target"], done[0]["reason"]), ("host host-1", "sold"))
        self.soon(lambda: self.stored_hosts() == {}, "the store has forgotten it, too")
        self.soon(lambda: self.ask("GET", "/overview")[1]["health"]["reasons"] == [] or
                  not any("host-1" in each for each in self.ask("GET", "/overview")[1]["health"]["reasons"]), "no warning")
        # Whoever comes back is welcome.
        self.start_agent(os.path.join(self.folder, "agent.toml"))
        self.soon(lambda: (self.host() or {}).get("connected"), "back")

    def test_G_12_an_agent_that_ends_all_takes_its_host_with_it(self):
        agent = self.up(1)
        agent.send_signal(signal.SIGINT)
        self.assertEqual(agent.wait(20), 0)
        self.soon(lambda: self.hosts() == [], "no host is left")
        self.assertEqual(self.ask("GET", "/overview")[1]["health"]["reasons"], [])

    def test_G_12_a_crash_loop_is_an_alarm(self):
        self.start_agent(self.write_config(1, command=["/bin/false"]))
        until(lambda: (self.process() or {}).get("state") == "crash_loop", "the crash loop is shown", 4 * PATIENCE_S)
        self.assertEqual(self.process()["last_exit"]["code"], 1)
        self.assertEqual(len(self.soon(lambda: self.events("process.crash_loop"), "its event")), 1)
        self.soon(lambda: "Crash loop: host-1/arena-1" in self.ask("GET", "/overview")[1]["health"]["reasons"], "health")
        self.soon(lambda: self.figure("muster_crash_loops ") == 1, "the gauge")

    def test_G_21_a_crash_aborts_the_match_with_those_words(self):
        self.up(1)
        port = self.allocate(601)["port"]
        self.say(port, b"crash")
        self.soon(lambda: self.match(601)["state"] == "aborted", "aborted")
        self.assertEqual(self.match(601)["reason"], "Server crashed")


class Hostile(HostCase):
    def peer(self, **more):
        return self.daemon.keep(HostPeer(self.daemon.ports["servers"], **more))

    def test_G_12_thousands_of_processes_and_absurd_names_harm_nobody(self):
        server = self.daemon.game_server(7777)
        peer = self.peer(name="evil")
        for number in range(2500):
            peer.process(f"p-{number}")
        for name in ("", "a/b", "../../etc", "x" * 80, "\x1b[2J", "💥"):
            peer.process(name)
        peer.process("p-0", reason="r" * 256, lines="l" * 1024, exit_at=-1, signal_number=-9)
        peer.report(float("nan"), float("inf"))
        refused = 0
        while True:
            code, payload = peer.receive()
            if code == ACK:
                break
            self.assertEqual(code, ERROR, payload)
            refused += 1
        self.assertEqual(refused, 500 + 6)
        host = self.host("evil")
        self.assertEqual(len(host["processes"]), 2000)
        self.assertEqual((host["cpu"], host["memory"]), (0, 0))
        server.heartbeat()
        server.expect(0x1003)

    def test_G_12_garbage_is_refused_and_closes_its_own_link_only(self):
        server = self.daemon.game_server(7777)
        address = self.daemon.ports["servers"]
        for name in ("a b", "", "..", "a/b"):
            self.assertEqual(self.peer(name=name).refused, "Invalid host name")
        self.assertEqual(self.peer(ip="not an address").refused, "Invalid host address")
        self.assertIsNone(self.peer(name="twice").refused)
        self.assertEqual(self.peer(name="twice").refused, "Host already registered")
        for code, payload in ((PROCESS, b"\x07" * 40), (PROCESS, b""), (REPORT, b"\0\0"), (HELLO, b""), (0x1030, b"\0" * 5),
                              (0x10FF, b""), (0x1002, b"\0" * 16), (0x1025, b"\xff" * 9), (0x1026, b"\xff" * 20)):
            peer = self.peer(name=f"garbage-{code:x}-{len(payload)}")
            peer.send(code, payload)
            while (frame := peer.receive()) is not None:
                self.assertGreaterEqual(frame[0], 0x1000)
        stranger = self.daemon.keep(Peer(address))
        stranger.send(REPORT, struct.pack("<ffb", 1, 1, 0))  # without a hello
        self.assertEqual(stranger.receive()[0], ERROR)
        self.assertIsNone(stranger.receive())
        server.send(REPORT, struct.pack("<ffb", 1, 1, 0))  # a game server is no host
        self.assertEqual(server.receive()[0], ERROR)
        self.assertTrue(self.host("twice")["connected"])

    def test_G_12_answers_that_nobody_asked_for_and_a_silent_agent(self):
        peer = self.peer(name="mute")
        peer.process("arena-1")
        peer.report()
        peer.expect(ACK)
        peer.send(0x1025, struct.pack("<Ib", 1, 1) + text(""))
        peer.send(0x1026, struct.pack("<Iqb", 99, 0, 1) + text("made up"))
        peer.report()
        peer.expect(ACK)  # so both came before the question
        status, answer = self.ask("POST", "/hosts/mute/processes/arena-1/restart", {})
        self.assertEqual((status, answer["error"]), (504, "The agent did not answer in time; it may still carry this out"))
        self.assertEqual(self.read_log("arena-1", host="mute")[1], '{"error":"The agent did not answer in time"}\n')
        self.assertTrue(self.host("mute")["connected"])

    def test_G_12_a_wrong_token_is_no_host(self):
        self.daemon.end()
        self.daemon.env["MUSTER_AUTH_SERVER_TOKEN"] = "right"
        self.daemon.start()
        self.assertEqual(self.peer(token="wrong").refused, "Invalid token")
        self.assertEqual(self.hosts(), [])
        self.assertIsNone(self.peer(token="right").refused)


if __name__ == "__main__":
    AgentCase.game = os.path.abspath(sys.argv.pop(2))
    served.main()
