#!/usr/bin/env python3
"""The program `muster` from outside: its flags, its config, its exit codes, and a daemon from start to stop.

    cli_test.py PATH_TO_MUSTER [unittest arguments]
"""

import fcntl
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import unittest

MUSTER = ""
PATIENCE_S = 20  # what only a broken program needs

# Each is looked for in everything that the program says (fault 69).
SECRETS = {
    "MUSTER_AUTH_SERVER_TOKEN": "open-sesame-of-the-servers",
    "MUSTER_AUTH_MATCHMAKER_TOKEN": "open-sesame-of-the-matchmakers",
    "MUSTER_AUTH_ADMIN_TOKEN": "open-sesame-of-the-operators",
    "MUSTER_AUTH_PLAYER_KEY": "open-sesame-of-the-players",
}


def environment(extra=None):
    """Ours without any MUSTER_ variable, so that the machine's settings do not reach the test."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_") and k != "JOURNAL_STREAM"}
    return {**kept, **(extra or {})}


def muster(*arguments, env=None, cwd=None):
    return subprocess.run([MUSTER, *arguments], env=environment(env), cwd=cwd, capture_output=True, text=True,
                          timeout=PATIENCE_S)


def soon(condition):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


class Folder(unittest.TestCase):
    """A folder of its own for each test."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def write(self, name, text, mode=0o600):
        path = self.folder / name
        path.write_text(text)
        path.chmod(mode)
        return str(path)


class Daemon:
    """A running `muster serve` on free ports."""

    def __init__(self, test, config="", env=None, stderr=None, **listen):
        self.folder = test.folder
        self.ports_file = test.folder / "ports.json"
        self.ports_file.unlink(missing_ok=True)
        self.log_file = test.folder / "log"
        config_file = test.write("serve.toml", config)
        addresses = {name: listen.get(name, "127.0.0.1:0") for name in ("servers", "matchmakers", "players", "http")}
        variables = {f"MUSTER_LISTEN_{name.upper()}": address for name, address in addresses.items()}
        variables["MUSTER_STORE_PATH"] = str(test.folder / "muster.db")
        with open(self.log_file, "wb") as log:
            self.process = subprocess.Popen(
                [MUSTER, "serve", "--config", config_file, "--ports-file", str(self.ports_file)],
                env=environment({**variables, **(env or {})}), stdout=log, stderr=stderr or log)
        test.addCleanup(self.kill)

    def wait_until_ready(self):
        if not soon(lambda: self.ports_file.exists() or self.process.poll() is not None) or self.process.poll() is not None:
            raise AssertionError(f"muster serve did not become ready: {self.log()}")
        self.ports = json.loads(self.ports_file.read_text())
        return self

    def log(self):
        return self.log_file.read_text()

    def get(self, path, host=None):
        address, port = self.ports["http"].rsplit(":", 1)
        connection = http.client.HTTPConnection(address, int(port), timeout=PATIENCE_S)
        connection.request("GET", path, headers={"Host": host} if host else {})
        response = connection.getresponse()
        body = response.read().decode()
        connection.close()
        return response, body

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class CommandLine(Folder):
    def test_help_shows_commands_examples_and_exit_codes(self):
        result = muster("--help")
        self.assertEqual(result.returncode, 0)
        for wanted in ("serve", "config", "protocol", "Examples:", "muster serve --config", "Exit codes:", "78"):
            self.assertIn(wanted, result.stdout)
        for command in ("serve", "config", "protocol"):
            self.assertEqual(muster(command, "--help").returncode, 0)
        self.assertIn("--ports-file", muster("serve", "--help").stdout)

    def test_version_is_name_and_number(self):
        result = muster("--version")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"^muster \d+\.\d+\.\d+\n$")

    def test_a_bad_flag_or_command_shows_usage_and_the_nearest_and_exits_64(self):
        for arguments, complaint in (
            (["serv"], "unknown command serv; did you mean serve?"),
            (["banana"], "unknown command banana\n"),
            (["serve", "--confg", "x"], "unknown flag --confg; did you mean --config?"),
            (["serve", "--config"], "--config"),
            (["serve", "more"], "too many arguments"),
            (["config", "--default", "--config", "x"], "excludes"),
            (["--verson"], "unknown flag --verson; did you mean --version?"),
            ([], "a command is needed"),
        ):
            with self.subTest(arguments):
                result = muster(*arguments)
                self.assertEqual(result.returncode, 64)
                self.assertEqual(result.stdout, "")
                self.assertIn(complaint, result.stderr)
                self.assertIn("Usage: muster", result.stderr)

    def test_x2_a_secret_on_the_command_line_is_refused_and_not_repeated(self):
        for arguments in (["serve", "--server-token=hunter2"], ["serve", "--server-token", "hunter2"],
                          ["--admin-token=hunter2", "serve"]):
            with self.subTest(arguments):
                result = muster(*arguments)
                self.assertEqual(result.returncode, 64)
                self.assertNotIn("hunter2", result.stdout + result.stderr)

    def test_protocol_prints_the_reference(self):
        result = muster("protocol")
        self.assertEqual(result.returncode, 0)
        self.assertIn("NET_CHAT_SV_HANDSHAKE", result.stdout)

    def test_output_that_cannot_be_written_is_exit_74(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([MUSTER, "config", "--default"], env=environment(), stdout=full,
                                    stderr=subprocess.PIPE, timeout=PATIENCE_S)
        self.assertEqual(result.returncode, 74)


class Config(Folder):
    def test_x1_the_default_file_is_valid_and_gives_the_defaults_again(self):
        default = muster("config", "--default")
        self.assertEqual(default.returncode, 0)
        parsed = tomllib.loads(default.stdout)
        self.assertEqual(parsed["fleet"]["heartbeat_timeout"], "30s")
        self.assertEqual(parsed["listen"]["http"], "127.0.0.1:11030")
        path = self.write("default.toml", default.stdout)
        again = muster("config", "--config", path)
        self.assertEqual((again.returncode, again.stderr), (0, ""))
        self.assertEqual(tomllib.loads(again.stdout), tomllib.loads(muster("config").stdout))

    def test_x1_the_effective_config_says_where_each_value_came_from(self):
        path = self.write("muster.toml", "[clock]\nspeed = 60\n")
        result = muster("config", "--config", path, env={"MUSTER_FLEET_TOKEN_TTL": "60s"})
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, rf'\nspeed = 60 +# {path}:2\n')
        self.assertRegex(result.stdout, r'\ntoken_ttl = "60s" +# MUSTER_FLEET_TOKEN_TTL\n')
        self.assertRegex(result.stdout, r'\nheartbeat_timeout = "30s" +# default\n')

    def test_x1_without_a_flag_no_file_is_looked_for(self):
        self.write("muster.toml", "[clock]\nspeed = 60\n")
        self.assertRegex(muster("config", cwd=self.folder).stdout, r"\nspeed = 1 +# default\n")

    def test_x1_a_bad_config_is_refused_with_file_line_key_and_the_nearest_and_exits_78(self):
        path = self.write("muster.toml", '[fleet]\nheartbeat_timout = "3s"\n[clock]\nspeed = 0\n')
        for command in ("config", "serve"):
            with self.subTest(command):
                result = muster(command, "--config", path)
                self.assertEqual(result.returncode, 78)
                self.assertEqual(result.stderr.splitlines(), [
                    f"{path}:2: fleet.heartbeat_timout: unknown key; did you mean heartbeat_timeout?",
                    f"{path}:4: clock.speed: 0 is not allowed; give a whole number from 1 to 3600",
                ])
                self.assertEqual(result.stdout, "")
        self.assertEqual(muster("serve", "--config", str(self.folder / "missing")).returncode, 78)
        bad_variable = muster("serve", env={"MUSTER_CLOCK_SPEED": "fast"})
        self.assertEqual(bad_variable.returncode, 78)
        self.assertIn("MUSTER_CLOCK_SPEED", bad_variable.stderr)

    def test_x2_off_loopback_a_missing_secret_is_exit_78_and_names_the_key(self):
        for listen, key in (("SERVERS", "auth.server_token"), ("MATCHMAKERS", "auth.matchmaker_token"),
                            ("PLAYERS", "auth.player_key"), ("HTTP", "auth.admin_token")):
            with self.subTest(listen):
                result = muster("serve", env={f"MUSTER_LISTEN_{listen}": "0.0.0.0:0"}, cwd=self.folder)
                self.assertEqual(result.returncode, 78)
                self.assertIn(key, result.stderr)
        open_credentials = {"MUSTER_LISTEN_PLAYERS": "0.0.0.0:0", "MUSTER_PLAYERS_CREDENTIALS": "open", **SECRETS}
        result = muster("serve", env=open_credentials, cwd=self.folder)
        self.assertEqual(result.returncode, 78)
        self.assertIn("players.credentials", result.stderr)

    def test_x2_a_secret_in_the_file_is_refused_and_not_repeated(self):
        path = self.write("muster.toml", '[auth]\nserver_token = "hunter2"\n')
        result = muster("serve", "--config", path)
        self.assertEqual(result.returncode, 78)
        self.assertIn("auth.server_token", result.stderr)
        self.assertNotIn("hunter2", result.stderr)

    def test_fault_69_no_secret_is_printed(self):
        token_file = self.write("token", "open-sesame-from-a-file\n")
        path = self.write("muster.toml", f'[auth]\nadmin_token_file = "{token_file}"\n')
        env = {name: value for name, value in SECRETS.items() if "ADMIN" not in name}
        result = muster("config", "--config", path, env=env)
        self.assertEqual(result.returncode, 0)
        self.assertIn("# server_token: set (environment)", result.stdout)
        self.assertIn(f'# admin_token: set (file "{token_file}")', result.stdout)
        self.assertNotIn("open-sesame", result.stdout + result.stderr)
        bad = muster("config", env={**SECRETS, "MUSTER_AUTH_SERVER_TOKNE": "open-sesame", "MUSTER_CLOCK_SPEED": "0"})
        self.assertEqual(bad.returncode, 78)
        self.assertNotIn("open-sesame", bad.stdout + bad.stderr)


class Serve(Folder):
    def test_o1_serve_answers_its_probes_and_stops_on_sigterm_with_exit_0(self):
        daemon = Daemon(self).wait_until_ready()
        for path, content_type in (("/healthz", "application/json"), ("/readyz", "application/json"),
                                   ("/metrics", "text/plain; version=0.0.4"), ("/", "text/")):
            response, body = daemon.get(path)
            self.assertEqual(response.status, 200, path)
            self.assertTrue(response.headers["Content-Type"].startswith(content_type), path)
            self.assertEqual(response.headers["X-Content-Type-Options"], "nosniff")
            self.assertTrue(body)
        self.assertIn("muster_build_info", daemon.get("/metrics")[1])
        response, body = daemon.get("/nothing")
        self.assertEqual((response.status, json.loads(body)), (404, {"error": "Not found"}))
        self.assertEqual(daemon.stop(), 0)
        self.assertFalse(daemon.ports_file.exists())
        self.assertRegex(daemon.log(), r"(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info  Listening on 127\.0\.0\.1:\d+ port=http$")

    def test_ctrl_c_stops_it_too(self):
        self.assertEqual(Daemon(self).wait_until_ready().stop(signal.SIGINT), 0)

    def test_the_ports_file_names_ports_that_are_open(self):
        daemon = Daemon(self).wait_until_ready()
        self.assertIn("http", daemon.ports)
        for address in daemon.ports.values():
            host, port = address.rsplit(":", 1)
            socket.create_connection((host, int(port)), PATIENCE_S).close()
        self.assertEqual([p.name for p in self.folder.iterdir() if "ports" in p.name], ["ports.json"])

    def test_a_ports_file_that_cannot_be_written_is_an_error_at_the_start(self):
        result = muster("serve", "--ports-file", "/nonexistent/ports.json",
                        env={"MUSTER_LISTEN_HTTP": "127.0.0.1:0", "MUSTER_STORE_PATH": str(self.folder / "muster.db")})
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("cannot write the ports file /nonexistent/ports.json", result.stderr)

    def test_fault_70_a_foreign_host_is_refused_but_probes_may_ask_by_any_name(self):
        daemon = Daemon(self).wait_until_ready()
        self.assertEqual(daemon.get("/", host="evil.example")[0].status, 421)
        self.assertEqual(daemon.get("/", host="localhost:1234")[0].status, 200)
        self.assertEqual(daemon.get("/healthz", host="muster.internal")[0].status, 200)

    def test_fault_7_a_port_in_use_is_exit_69_with_port_and_address_and_the_first_is_untouched(self):
        first = Daemon(self).wait_until_ready()
        taken = first.ports["http"]
        other = tempfile.TemporaryDirectory()
        self.addCleanup(other.cleanup)
        listen = {f"MUSTER_LISTEN_{name}": "127.0.0.1:0" for name in ("SERVERS", "MATCHMAKERS", "PLAYERS")}
        result = muster("serve", env={**listen, "MUSTER_LISTEN_HTTP": taken,
                                      "MUSTER_STORE_PATH": os.path.join(other.name, "muster.db")})
        self.assertEqual(result.returncode, 69)
        self.assertIn(f"cannot listen on {taken} (http): address in use", result.stderr)
        self.assertEqual(first.get("/healthz")[0].status, 200)
        self.assertEqual(first.stop(), 0)

    def test_x3_sighup_takes_over_what_can_change_and_a_bad_reload_keeps_the_old(self):
        daemon = Daemon(self).wait_until_ready()
        config = self.folder / "serve.toml"
        config.write_text('[log]\nlevel = "debug"\n[clock]\nspeed = 2\n')
        daemon.process.send_signal(signal.SIGHUP)
        self.assertTrue(soon(lambda: 'Changed log.level: "info" -> "debug"' in daemon.log()), daemon.log())
        self.assertTrue(soon(lambda: "Changes at the next restart: clock.speed: 1 -> 2" in daemon.log()))
        config.write_text('[log]\nlevel = "loud"\n')
        daemon.process.send_signal(signal.SIGHUP)
        self.assertTrue(soon(lambda: f'Reload refused: {config}:2: log.level: "loud" is not allowed' in daemon.log()))
        self.assertEqual(daemon.get("/readyz")[0].status, 200)
        self.assertEqual(daemon.stop(), 0)

    def test_fault_69_a_running_daemon_tells_no_secret_and_dumps_no_core(self):
        daemon = Daemon(self, config='[log]\nlevel = "debug"\n', env=SECRETS).wait_until_ready()
        told = "".join(daemon.get(path)[1] for path in ("/healthz", "/readyz", "/metrics", "/", "/nothing"))
        limits = pathlib.Path(f"/proc/{daemon.process.pid}/limits").read_text()
        self.assertRegex(limits, r"Max core file size +0 +0 ")
        daemon.process.send_signal(signal.SIGHUP)
        self.assertEqual(daemon.stop(), 0)
        self.assertNotIn("open-sesame", told + daemon.log())

    def test_x2_without_a_player_key_it_warns(self):
        daemon = Daemon(self).wait_until_ready()
        self.assertEqual(daemon.stop(), 0)
        self.assertIn("auth.player_key is not set", daemon.log())
        with_key = Daemon(self, env=SECRETS).wait_until_ready()
        self.assertEqual(with_key.stop(), 0)
        self.assertNotIn("auth.player_key", with_key.log())

    def test_fault_16_a_log_pipe_that_nobody_reads_holds_up_neither_serving_nor_the_end(self):
        unread, stderr = os.pipe()
        os.set_blocking(stderr, False)
        try:
            while True:
                os.write(stderr, b"x" * 4096)
        except BlockingIOError:
            pass
        os.set_blocking(stderr, True)
        daemon = Daemon(self, stderr=stderr).wait_until_ready()
        self.assertEqual(daemon.get("/healthz")[0].status, 200)
        begun = time.monotonic()
        self.assertEqual(daemon.stop(), 0)
        self.assertLess(time.monotonic() - begun, 5)
        self.assertTrue(fcntl.fcntl(stderr, fcntl.F_GETFL) & os.O_NONBLOCK == 0)
        os.close(unread)
        os.close(stderr)

    def test_fault_16_a_log_reader_that_is_gone_does_not_end_it(self):
        unread, stderr = os.pipe()
        os.close(unread)
        daemon = Daemon(self, stderr=stderr).wait_until_ready()
        self.assertEqual(daemon.get("/healthz")[0].status, 200)
        self.assertEqual(daemon.stop(), 0)
        os.close(stderr)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    MUSTER = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
