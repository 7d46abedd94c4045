#!/usr/bin/env python3
"""The commands of `muster` that need no daemon: simulate, bench, and what is printed for shells and for man (O-3).

    cli_local_test.py PATH_TO_MUSTER [unittest arguments]
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import served
from cli_terminal import COMMANDS, PATIENCE_S, Terminal, environment, muster
from served import Served


class Simulate(unittest.TestCase):
    def test_a_seed_plays_the_same_run_again_and_tells_a_summary_O_3(self):
        runs = [muster("simulate", "--scenario", "calm", "--seed", "7", "--minutes", "1", "--servers", "2", "--matchmakers", "1", "--json")
                for _ in range(2)]
        self.assertEqual(runs[0].returncode, 0, runs[0].stderr)
        self.assertEqual(runs[0].stdout, runs[1].stdout)
        report = json.loads(runs[0].stdout)
        self.assertTrue(report["kept"])
        self.assertGreater(report["virtual_seconds"], 60)
        crowd = json.loads(muster("simulate", "--scenario", "calm", "--seed", "7", "--minutes", "1", "--players", "12", "--json").stdout)
        self.assertTrue(crowd["kept"])
        self.assertGreaterEqual(crowd["player_logins"], 12)
        text = muster("simulate", "--scenario", "calm", "--seeds", "2", "--minutes", "1", "--slots", "2", "--asks", "6")
        self.assertEqual(text.returncode, 0, text.stderr)
        self.assertRegex(text.stdout, r"played +2 runs, ")
        self.assertEqual(text.stderr, "", "no progress where there is no terminal")

    def test_the_help_says_what_each_scenario_does_O_3(self):
        text = muster("simulate", "--help").stdout
        told = dict(re.findall(r"^  ([a-z_]+) +(\S.*)$", text.split("Scenarios:")[1], re.M))
        choices = re.search(r"sunny is none of (calm, [a-z_, ]+)", muster("simulate", "--scenario", "sunny").stderr)[1].split(", ")
        self.assertEqual(list(told), choices)
        self.assertEqual(len(told), 15)

    def test_the_summary_wraps_at_the_width_of_the_terminal_O_3(self):
        terminal = Terminal(["simulate", "--seed", "3"], columns=60, NO_COLOR="1")
        self.addCleanup(terminal.close)
        self.assertEqual(terminal.end(), 0)
        summary = terminal.text.rsplit("\x1b[K", 1)[-1].replace("\r", "")
        self.assertLessEqual(max(map(len, summary.split("\n"))), 60)
        self.assertRegex(summary, r"refusals +\d+ × .*\n {13}\S")

    def test_what_cannot_be_played_is_64(self):
        for bad in (["--scenario", "sunny"], ["--minutes", "0"], ["--servers", "0"], ["--seeds", "0"], ["--asks", "-1"], ["--players", "0"], ["--hours", "9999"]):
            self.assertEqual(muster("simulate", *bad).returncode, 64, bad)

    def test_a_calm_simulation_looks_as_healthy_as_it_is_O_3(self):
        calm = json.loads(muster("simulate", "--scenario", "calm", "--seeds", "8", "--json").stdout)
        self.assertEqual((calm["kept"], calm["failures"], calm["servers_removed"]), (True, {}, 0))
        self.assertGreater(calm["allocated"], 50)
        full = json.loads(muster("simulate", "--scenario", "calm", "--slots", "1", "--servers", "1", "--asks", "60", "--json").stdout)
        self.assertIn("No servers available", full["failures"], "whoever asks for a small fleet gets one")


class Bench(unittest.TestCase):
    def test_the_yardsticks_are_listed_and_one_that_is_not_built_says_how_O_3(self):
        listed = json.loads(muster("bench", "--list", "--json").stdout)["yardsticks"]
        self.assertIn("fleet_load", [one["name"] for one in listed])
        with open(os.path.join(os.path.dirname(__file__), "../bench/README.md"), encoding="utf-8") as readme:
            self.assertEqual(re.findall(r"^\| `(\w+)`", readme.read(), re.M), [one["name"] for one in listed], "the README has them all")
        self.assertIn("MEASURES", muster("bench", "--list").stdout)
        self.assertEqual(muster("bench", "idle_bench", "--list").returncode, 64)
        self.assertIn("--quick", muster("bench", "--help").stdout)
        with tempfile.TemporaryDirectory() as folder:
            alone = shutil.copy(Served.muster, folder)
            for which in (["idle_bench"], []):
                result = subprocess.run([alone, "bench", *which], capture_output=True, text=True, timeout=PATIENCE_S, env=environment())
                self.assertEqual(result.returncode, 1)
                self.assertIn("apt install muster-bench", result.stderr)
                self.assertIn("cmake --preset release", result.stderr)
            os.mkdir(f"{folder}/bench")
            fake = f"{folder}/bench/idle_bench"
            with open(fake, "w") as script:
                script.write('#!/bin/sh\necho "told $*"\nexit $1\n')
            os.chmod(fake, 0o755)
            good = subprocess.run([alone, "bench", "idle_bench", "--", "0", "--more"], capture_output=True, text=True, timeout=PATIENCE_S)
            self.assertEqual((good.returncode, good.stdout), (0, "told 0 --more\n"), good.stderr)
            bad = subprocess.run([alone, "bench", "idle_bench", "--", "3"], capture_output=True, text=True, timeout=PATIENCE_S)
            self.assertEqual(bad.returncode, 1)
            self.assertIn("idle_bench ended with 3", bad.stderr)
            # What takes its time is seen to be at it, and what it prints stands above that.
            with open(fake, "w") as script:
                script.write('#!/bin/sh\necho begun\nread line\necho done\n')
            terminal = Terminal(["bench", "idle_bench"], program=alone)
            self.addCleanup(terminal.close)
            terminal.read_until("begun")
            terminal.read_until("idle_bench 1 s")
            terminal.type("go on\n")
            self.assertEqual(terminal.end(), 0)
            self.assertRegex(terminal.text, r"\r\x1b\[Kdone")


class Shells(unittest.TestCase):
    def test_completion_of_bash_is_right_and_offers_commands_flags_and_values_O_3(self):
        script = muster("completion", "bash").stdout
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)

        def offered(*words):
            line = " ".join(f"'{word}'" for word in words)
            program = f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _muster; printf '%s\\n' \"${{COMPREPLY[@]}}\""
            return subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True).stdout.split()

        self.assertEqual(offered("muster", "sta"), ["status"])
        self.assertEqual(set(COMMANDS) - set(offered("muster", "")), set())
        self.assertEqual(offered("muster", "servers", "--st"), ["--status"])
        self.assertEqual(offered("muster", "servers", "--status", "of"), ["offline"])
        self.assertEqual(offered("muster", "completion", "z"), ["zsh"])
        self.assertEqual(offered("muster", "events", "--limit", ""), [])
        self.assertEqual(offered("muster", "servers", "--status", "=", "of"), ["offline"])
        self.assertEqual(set(offered("muster", "servers", "--status", "=")), {"available", "full", "draining", "offline"})

    def test_completion_of_zsh_and_fish_names_every_command(self):
        for shell in ("zsh", "fish"):
            script = muster("completion", shell).stdout
            for command in COMMANDS:
                self.assertIn(command, script)
        self.assertEqual(muster("completion", "csh").returncode, 64)

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish_loads_the_completion_and_offers_commands_flags_and_values_O_3(self):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(f"{folder}/fish/completions")
            with open(f"{folder}/fish/completions/muster.fish", "w") as file:
                file.write(muster("completion", "fish").stdout)
            os.symlink(Served.muster, f"{folder}/muster")  # it completes what it finds

            def offered(line):
                result = subprocess.run(["fish", "-c", f"complete -C '{line}'"], capture_output=True, text=True, timeout=PATIENCE_S,
                                        env=environment(XDG_CONFIG_HOME=folder, XDG_DATA_HOME=folder, HOME=folder,
                                                        PATH=f"{folder}:{os.environ['PATH']}"))
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                return [each.split("\t")[0] for each in result.stdout.splitlines()]

            self.assertEqual(set(COMMANDS) - set(offered("muster ")), set())
            self.assertEqual(offered("muster sta"), ["status"])
            self.assertEqual(offered("muster servers --st"), ["--status"])
            self.assertEqual(offered("muster servers --status of"), ["offline"])
            self.assertEqual(offered("muster completion z"), ["zsh"])
            self.assertEqual(offered("muster serve --config /etc/host"), [path for path in sorted(glob.glob("/etc/host*")) if os.path.isfile(path)])

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_loads_the_completion_and_offers_commands_flags_and_values_O_3(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/_muster", "w") as file:
                file.write(muster("completion", "zsh").stdout)
            # At a real prompt: zsh completes nowhere else.
            shell = Terminal(["-f", "-i"], program="zsh", HOME=folder, PS1="", TERM="dumb")
            self.addCleanup(shell.close)
            shell.type(f"PS1= RPS1= fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D; unsetopt auto_menu; echo rea''dy\n")
            shell.read_until("ready")
            for typed, wanted in (("muster stat", "status"), ("muster servers --stat", "--status"), ("muster servers --status offl", "offline"),
                                  ("muster completion z", "zsh"), ("muster serve --config /etc/hostn", "/etc/hostname"),
                                  ("muster servers --re", "Reverse the sort order"), ("muster ", "List game servers")):
                with self.subTest(typed):
                    shell.type(typed + "\t")
                    shell.read_until(wanted)
                    shell.type("\x15")  # an empty line again

    def test_the_manual_has_every_command_and_flag_and_renders_without_a_warning_O_3(self):
        page = muster("man").stdout
        for command in COMMANDS:
            self.assertIn("muster " + command.replace("-", "\\-"), page)
        self.assertIn("\\-\\-ports\\-file", page)
        self.assertIn("MUSTER_URL", page)
        if not shutil.which("groff"):
            self.skipTest("groff is not installed")
        self.assertTrue(page.isascii(), "not every roff reads UTF-8")
        rendered = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-rLL=80n", "-P-cbou"], input=page, capture_output=True,
                                  text=True, timeout=PATIENCE_S)
        self.assertEqual((rendered.returncode, rendered.stderr), (0, ""))
        self.assertEqual([line for line in rendered.stdout.splitlines() if len(line) > 80], [], "it fits a terminal of 80 columns")
        for wanted in ("muster", "EXIT STATUS", "ENVIRONMENT", "EXAMPLES", "muster remove ID… ["):
            self.assertIn(wanted, rendered.stdout)

    def test_every_command_has_help_and_the_exit_codes_are_in_it_O_3(self):
        text = muster("--help").stdout
        for wanted in (*COMMANDS, "MUSTER_URL", "MUSTER_ADMIN_TOKEN", "NO_COLOR", "69", "77"):
            self.assertIn(wanted, text)
        listed = dict(re.findall(r"^  (\d+) +(\S.*)$", text.split("Exit codes:")[1], re.M))
        self.assertEqual(list(listed), "0 1 64 65 69 70 73 74 77 78".split())
        for command in COMMANDS:
            told = muster(command, "--help")
            self.assertEqual(told.returncode, 0, command)
            # These print a script, a page, a screen, or serve: there is nothing to put into JSON.
            self.assertEqual("--json" in told.stdout, command not in ("serve", "top", "completion", "man"), command)

    def test_what_needs_no_daemon_has_json_too_O_3(self):
        config = json.loads(muster("config", "--json", MUSTER_CLOCK_SPEED="60", MUSTER_AUTH_ADMIN_TOKEN="open-sesame").stdout)
        self.assertEqual(config["clock"]["speed"], {"value": 60, "from": "MUSTER_CLOCK_SPEED"})
        self.assertEqual(config["fleet"]["heartbeat_timeout"], {"value": "30s", "from": "default"})
        self.assertEqual(config["auth"]["admin_token"]["set"], True)
        self.assertNotIn("open-sesame", json.dumps(config))
        self.assertEqual(config["auth"]["server_token"], {"set": False, "from": "default"})
        servers = json.loads(muster("protocol", "--json").stdout)["ports"]["servers"]
        beat = next(one for one in servers["messages"] if one["code"] == 0x1002)
        self.assertEqual((servers["byte_order"], beat["name"], beat["direction"], beat["bytes_min"]), ("little", "NET_CHAT_SV_HEARTBEAT", "in", 16))
        made = json.loads(muster("player-token", "Ann", "--account", "7", "--json", MUSTER_AUTH_PLAYER_KEY="a-key-that-is-long-enough").stdout)
        self.assertEqual((made["name"], made["account"]), ("Ann", 7))
        self.assertTrue(made["credential"].startswith("v1."), made)
        self.assertLess(abs(made["expires_at_ms"] / 1000 - time.time() - 3600), 60)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    served.main()
