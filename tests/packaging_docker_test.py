#!/usr/bin/env python3
"""The Dockerfile, read and tried as far as it goes without an engine: what it copies is there and is sent, the options and settings
that it gives exist, and its health check tells a live daemon from a dead one.

    packaging_docker_test.py PATH_TO_MUSTER [unittest arguments]
"""

import fnmatch
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from muster_peer import Daemon

MUSTER = ""
ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCKERFILE = ROOT / "packaging/docker/Dockerfile"


def instructions():
    """(word, rest) of each, with its lines joined."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE.read_text(encoding="utf-8"), flags=re.M)
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        if line.strip():
            word, rest = line.split(None, 1)
            yield word, rest


def is_sent(path):
    """Whether .dockerignore lets the path through; the last line that fits decides."""
    sent = True
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        pattern = line.lstrip("!")
        parts = [path] + [str(parent) for parent in pathlib.PurePath(path).parents if str(parent) != "."]
        if any(fnmatch.fnmatch(part, pattern) or fnmatch.fnmatch("/" + part, pattern.replace("**", "*")) for part in parts):
            sent = line.startswith("!")
    return sent


class Dockerfile(unittest.TestCase):
    def test_what_it_copies_is_there_and_is_sent(self):
        stages = [rest.split(" AS ")[1] for word, rest in instructions() if word == "FROM" and " AS " in rest]
        copied = 0
        for word, rest in instructions():
            if word != "COPY":
                continue
            if from_stage := re.match(r"--from=(\w+) ", rest):
                self.assertIn(from_stage[1], stages)
                continue
            for source in rest.split()[:-1]:
                self.assertTrue((ROOT / source).exists(), source)
                self.assertTrue(is_sent(source), f"{source} is in .dockerignore")
                copied += 1
        self.assertGreater(copied, 5)
        for kept_back in ("build", "web/node_modules", ".git"):
            self.assertFalse(is_sent(kept_back), kept_back)

    def test_every_folder_that_the_build_adds_is_copied(self):
        copied = {source for word, rest in instructions() if word == "COPY" for source in rest.split()[:-1]}
        listed = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        optional = {"tests", "bench", "fuzz"}  # options, off in the image
        for folder in set(re.findall(r"add_subdirectory\(([\w/]+)\)", listed)) - optional:
            self.assertTrue(folder in copied or folder.split("/")[0] in copied, folder)

    def test_the_options_it_gives_to_cmake_exist(self):
        commands = " ".join(rest for word, rest in instructions() if word == "RUN")
        sources = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        given = re.findall(r"-D(MUSTER_\w+)=", commands)
        self.assertTrue(given)
        for option in given:
            self.assertRegex(sources, rf"option\({option} ")
        script = re.search(r"/muster/(tools/\S+\.sh) (\w+)", commands)
        self.assertTrue(os.access(ROOT / script[1], os.X_OK))
        self.assertIn(f"[{script[2]}]=", (ROOT / script[1]).read_text(encoding="utf-8"))

    def test_x2_the_daemon_serves_with_its_settings_and_refuses_without_its_secrets(self):
        settings = {}
        for word, rest in instructions():
            if word == "ENV":
                settings.update(re.findall(r"(\w+)=(\S+)", rest))
        self.assertEqual(len(settings), 9)
        with tempfile.TemporaryDirectory() as folder:
            here = {name: value.replace("/run/secrets", folder).replace("/var/lib/muster", folder) for name, value in settings.items()}
            environment = {**{k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}, **here}
            self.assertNotIn("MUSTER_TLS_INSECURE", environment, "S-1: who runs the image says so")
            environment["MUSTER_TLS_INSECURE"] = "true"

            def config():
                return subprocess.run([MUSTER, "config"], env=environment, capture_output=True, text=True, timeout=20)

            self.assertEqual(config().returncode, 78)
            for name, path in here.items():
                if name.endswith("_FILE"):
                    pathlib.Path(path).write_text("a secret of more than sixteen bytes\n")
                    pathlib.Path(path).chmod(0o600)
            good = config()
            self.assertEqual((good.returncode, good.stderr), (0, ""))
            self.assertIn('servers = "0.0.0.0:11032"', good.stdout)
        ports = next(rest for word, rest in instructions() if word == "EXPOSE").split()
        self.assertEqual(sorted(ports), sorted(value.rsplit(":", 1)[1] for name, value in settings.items() if "_LISTEN_" in name))

    @unittest.skipUnless(shutil.which("bash"), "bash is not installed")
    def test_o2_the_health_check_tells_a_live_daemon_from_a_dead_one(self):
        rest = next(rest for word, rest in instructions() if word == "HEALTHCHECK")
        command = json.loads(rest.split(" CMD ", 1)[1])
        with tempfile.TemporaryDirectory() as folder:
            daemon = Daemon(MUSTER, folder)
            port = daemon.ports["http"].rsplit(":", 1)[1]
            command[-1] = command[-1].replace("/11030", f"/{port}")
            alive = subprocess.run(command, timeout=20, capture_output=True)
            self.assertEqual(daemon.stop(), 0)
            daemon.close()
            dead = subprocess.run(command, timeout=20, capture_output=True)
        self.assertEqual(alive.returncode, 0, alive.stderr)
        self.assertNotEqual(dead.returncode, 0)


if __name__ == "__main__":
    MUSTER = os.path.abspath(sys.argv.pop(1))
    unittest.main()
