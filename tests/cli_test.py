#!/usr/bin/env python3
"""The program `muster` from outside: its flags, its config, its exit codes, and a daemon from start to stop.

    cli_test.py PATH_TO_MUSTER [unittest arguments]
"""

import fcntl
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import unittest

from muster_peer import PATIENCE_S, Daemon, environment, until

MUSTER = ""

# Each is looked for in everything that the program says (fault 69).
SECRETS = {
    "MUSTER_AUTH_SERVER_TOKEN": "open-sesame-of-the-servers",
    "MUSTER_AUTH_MATCHMAKER_TOKEN": "open-sesame-of-the-matchmakers",
    "MUSTER_AUTH_ADMIN_TOKEN": "open-sesame-of-the-operators",
    "MUSTER_AUTH_PLAYER_KEY": "open-sesame-of-the-players",
}


def muster(*arguments, env=None, cwd=None):
    return subprocess.run([MUSTER, *arguments], env=environment(**(env or {})), cwd=cwd, capture_output=True, text=True,
                          timeout=PATIENCE_S)


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


def serve(test, config="", stderr=None, **settings):
    """A daemon with this config in the test's folder."""
    daemon = Daemon(MUSTER, test.folder, arguments=["--config", test.write("serve.toml", config)], stderr=stderr, **settings)
    test.addCleanup(daemon.end)
    return daemon


class CommandLine(Folder):
    def test_help_shows_commands_examples_and_exit_codes(self):
        result = muster("--help")
        self.assertEqual(result.returncode, 0)
        for wanted in ("serve", "config", "protocol", "Examples:", "muster serve --config", "Exit codes:", "78"):
            self.assertIn(wanted, result.stdout)
        for command in ("serve", "config", "protocol"):
            self.assertEqual(muster(command, "--help").returncode, 0)
        self.assertIn("--ports-file", muster("serve", "--help").stdout)

    def test_help_and_version_are_also_words_O_3(self):
        self.assertEqual(muster("help").stdout, muster("--help").stdout)
        self.assertEqual(muster("help", "drain").stdout, muster("drain", "--help").stdout)
        self.assertEqual(muster("version").stdout, muster("--version").stdout)

    def test_version_is_name_and_number(self):
        result = muster("--version")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"^muster \d+\.\d+\.\d+\n$")

    def test_a_bad_flag_or_command_shows_usage_or_where_help_is_and_the_nearest_and_exits_64(self):
        for arguments, complaint in (
            (["serv"], "unknown command serv; did you mean serve?"),
            (["banana"], "unknown command banana\n"),
            (["serve", "--confg", "x"], "unknown flag --confg; did you mean --config?"),
            (["serve", "--config"], "--config"),
            (["serve", "more"], "too many arguments"),
            (["config", "--default", "--config", "x"], "excludes"),
            (["servers", "--sort", "laod"], "--sort: laod is none of id, load, "),
            (["servers", "--sort", "laod"], "; did you mean load?"),
            (["serv", "--help"], "unknown command serv; did you mean serve?"),
            (["help", "serv"], "unknown command serv; did you mean serve?"),
            (["--verson"], "unknown flag --verson; did you mean --version?"),
            ([], "a command is needed"),
        ):
            with self.subTest(arguments):
                result = muster(*arguments)
                self.assertEqual(result.returncode, 64)
                self.assertEqual(result.stdout, "")
                self.assertIn(complaint, result.stderr)
                if arguments and arguments[0] in ("serve", "config", "servers"):
                    self.assertIn("Usage: muster", result.stderr)
                elif arguments:
                    self.assertEqual(result.stderr.splitlines()[1:], ["`muster --help` lists all commands."])
                else:
                    self.assertIn("  muster serve ", result.stderr)

    def test_a_usage_line_names_the_arguments_of_its_command_O_3(self):
        drain = "Usage: muster drain (ID… | --region REGION | --address IP[:PORT] | --host NAME) [--reason TEXT] [--json]\n"
        self.assertIn(drain, muster("drain", "--help").stdout)
        wrong = muster("drain", "--raeson", "x")
        self.assertEqual(wrong.returncode, 64)
        self.assertIn("unknown flag --raeson; did you mean --reason?", wrong.stderr)
        self.assertIn(drain, wrong.stderr)
        self.assertIn("which servers? Give their ids, --region, --address or --host", muster("drain").stderr)

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
        for arguments in (["config", "--default"], ["--version"], ["version"], ["--help"], ["help"], ["help", "serve"]):
            with self.subTest(arguments), open("/dev/full", "wb") as full:
                result = subprocess.run([MUSTER, *arguments], env=environment(), stdout=full, stderr=subprocess.PIPE,
                                        timeout=PATIENCE_S)
                self.assertEqual(result.returncode, 74)
                self.assertIn(b"cannot write to standard output", result.stderr)

    def test_a_port_that_is_none_in_muster_url_is_exit_64(self):
        for port in ("99999", "65536", "0", "-1"):
            with self.subTest(port):
                result = subprocess.run([MUSTER, "status"], capture_output=True, text=True, timeout=PATIENCE_S,
                                        env=environment() | {"MUSTER_URL": f"http://127.0.0.1:{port}"})
                self.assertEqual(result.returncode, 64, result.stderr)
                self.assertIn("the port must be a number from 1 to 65535", result.stderr)


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
                self.assertIn(f'tls.insecure is false, but listen.{listen.lower()} = 0.0.0.0:0 is not on loopback', result.stderr)
        open_credentials = {"MUSTER_LISTEN_PLAYERS": "0.0.0.0:0", "MUSTER_PLAYERS_CREDENTIALS": "open", "MUSTER_TLS_INSECURE": "true", **SECRETS}
        result = muster("serve", env=open_credentials, cwd=self.folder)
        self.assertEqual(result.returncode, 78)
        self.assertIn("players.credentials", result.stderr)

    def test_x2_a_secret_in_the_file_is_refused_and_not_repeated(self):
        path = self.write("muster.toml", '[auth]\nserver_token = "hunter2"\n')
        result = muster("serve", "--config", path)
        self.assertEqual(result.returncode, 78)
        self.assertIn("auth.server_token", result.stderr)
        self.assertNotIn("hunter2", result.stderr)

    def test_x1_a_config_is_checked_before_a_restart_and_each_secret_has_its_place(self):
        (self.folder / "secrets").mkdir(mode=0o700)
        self.write("secrets/admin_token", "open-sesame-from-a-file\n")
        path = self.write("muster.toml", '[tls]\ninsecure = true\n[listen]\nhttp = "10.0.0.5:11030"\n')
        result = muster("config", "--check", path)
        self.assertEqual((result.returncode, result.stderr), (0, "warning: auth.player_key is not set: players can log in under any name without "
                                                              "a credential; set MUSTER_AUTH_PLAYER_KEY or auth.player_key_file to require one\n"))
        self.assertIn(f"{path}: ok\n", result.stdout)
        self.assertIn(f"  admin_token            set: {self.folder}/secrets/admin_token\n", result.stdout)
        self.assertIn("  server_token           not set, not required (looked for MUSTER_AUTH_SERVER_TOKEN, auth.server_token_file and "
                      f"{self.folder}/secrets/server_token)\n", result.stdout)
        self.assertIn("  store.password         not set, not required (looked for MUSTER_STORE_PASSWORD, store.password_file and ", result.stdout)
        wrong = muster("config", "--check", self.write("muster.toml", '[listen]\nservers = "10.0.0.5:11032"\n[fleet]\ntoken_tll = "1s"\n'))
        self.assertEqual(wrong.returncode, 78)
        self.assertIn("did you mean token_ttl?", wrong.stderr)
        open_port = muster("config", "--check", self.write("muster.toml", '[tls]\ninsecure = true\n[listen]\nservers = "10.0.0.5:11032"\n'))
        self.assertEqual(open_port.returncode, 78)
        self.assertIn("auth.server_token is not set", open_port.stderr)
        self.assertIn("  server_token           not set (looked for ", open_port.stdout)
        self.assertIn("the daemon would not start", open_port.stdout)
        self.assertNotIn("open-sesame", result.stdout + result.stderr + wrong.stdout + wrong.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "only root can be somebody else")
    def test_x2_whoever_may_read_the_config_may_check_it_and_is_told_what_only_the_service_may_read(self):
        self.folder.chmod(0o755)
        (self.folder / "secrets").mkdir(mode=0o700)
        self.write("secrets/admin_token", "open-sesame-from-a-file\n")
        path = self.write("muster.toml", '[tls]\ninsecure = true\n[listen]\nhttp = "10.0.0.5:11030"\n', mode=0o644)
        program = self.folder / "muster"
        shutil.copy(MUSTER, program)  # nobody may not look into the build folder, perhaps
        result = subprocess.run([program, "config", "--check", path], env=environment(), user=65534, group=65534, capture_output=True, text=True,
                                timeout=PATIENCE_S)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"  admin_token            not checked, this user may not read it: {self.folder}/secrets/admin_token: Permission denied\n",
                      result.stdout)

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
        daemon = serve(self)
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
        self.assertRegex(daemon.log_text(), r"(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info  Listening on 127\.0\.0\.1:\d+ port=http$")

    def test_ctrl_c_stops_it_too(self):
        self.assertEqual(serve(self).stop(signal.SIGINT), 0)

    def test_the_ports_file_names_ports_that_are_open(self):
        daemon = serve(self)
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
        daemon = serve(self)
        self.assertEqual(daemon.get("/", Host="evil.example")[0].status, 421)
        self.assertEqual(daemon.get("/", Host="localhost:1234")[0].status, 200)
        self.assertEqual(daemon.get("/healthz", Host="muster.internal")[0].status, 200)

    def test_fault_7_a_port_in_use_is_exit_69_with_port_and_address_and_the_first_is_untouched(self):
        first = serve(self)
        taken = first.ports["http"]
        other = tempfile.TemporaryDirectory()
        self.addCleanup(other.cleanup)
        listen = {f"MUSTER_LISTEN_{name}": "127.0.0.1:0" for name in ("SERVERS", "MATCHMAKERS", "PLAYERS")}
        result = muster("serve", env={**listen, "MUSTER_LISTEN_HTTP": taken,
                                      "MUSTER_STORE_PATH": os.path.join(other.name, "muster.db")})
        self.assertEqual(result.returncode, 69)
        self.assertIn(f"cannot listen on {taken} (http): address in use\n  is another Muster running?", result.stderr)
        self.assertEqual(first.get("/healthz")[0].status, 200)
        self.assertEqual(first.stop(), 0)

    def test_x3_sighup_takes_over_what_can_change_and_a_bad_reload_keeps_the_old(self):
        daemon = serve(self)
        config = self.folder / "serve.toml"
        config.write_text('[log]\nlevel = "debug"\n[clock]\nspeed = 2\n')
        daemon.process.send_signal(signal.SIGHUP)
        until(lambda: 'Changed log.level: "info" -> "debug"' in daemon.log_text(), daemon.log_text)
        until(lambda: "Changes at the next restart: clock.speed: 1 -> 2" in daemon.log_text(), daemon.log_text)
        config.write_text('[log]\nlevel = "loud"\n')
        daemon.process.send_signal(signal.SIGHUP)
        until(lambda: f'Reload refused: {config}:2: log.level: "loud" is not allowed' in daemon.log_text(), daemon.log_text)
        self.assertEqual(daemon.get("/readyz")[0].status, 200)
        self.assertEqual(daemon.stop(), 0)

    def test_fault_69_a_running_daemon_tells_no_secret_and_dumps_no_core(self):
        daemon = serve(self, config='[log]\nlevel = "debug"\n', **SECRETS)
        told = "".join(daemon.get(path)[1] for path in ("/healthz", "/readyz", "/metrics", "/", "/nothing"))
        limits = pathlib.Path(f"/proc/{daemon.process.pid}/limits").read_text()
        self.assertRegex(limits, r"Max core file size +0 +0 ")
        daemon.process.send_signal(signal.SIGHUP)
        self.assertEqual(daemon.stop(), 0)
        self.assertNotIn("open-sesame", told + daemon.log_text())

    def test_x2_without_a_player_key_it_warns(self):
        daemon = serve(self)
        self.assertEqual(daemon.stop(), 0)
        self.assertIn("auth.player_key is not set", daemon.log_text())
        with_key = serve(self, **SECRETS)
        self.assertEqual(with_key.stop(), 0)
        self.assertEqual(with_key.log_text().count("auth.player_key is not set"), 1, "only by the first")

    def test_fault_16_a_log_pipe_that_nobody_reads_holds_up_neither_serving_nor_the_end(self):
        unread, stderr = os.pipe()
        os.set_blocking(stderr, False)
        try:
            while True:
                os.write(stderr, b"x" * 4096)
        except BlockingIOError:
            pass
        os.set_blocking(stderr, True)
        daemon = serve(self, stderr=stderr)
        self.assertEqual(daemon.get("/healthz")[0].status, 200)
        begun = time.monotonic()
        self.assertEqual(daemon.stop(), 0)
        self.assertLess(time.monotonic() - begun, 10)
        self.assertTrue(fcntl.fcntl(stderr, fcntl.F_GETFL) & os.O_NONBLOCK == 0)
        os.close(unread)
        os.close(stderr)

    def test_fault_16_a_log_reader_that_is_gone_does_not_end_it(self):
        unread, stderr = os.pipe()
        os.close(unread)
        daemon = serve(self, stderr=stderr)
        self.assertEqual(daemon.get("/healthz")[0].status, 200)
        self.assertEqual(daemon.stop(), 0)
        os.close(stderr)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    MUSTER = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
