#!/usr/bin/env python3
"""The Debian packages: built from the build folder, looked into, installed into a root of their own, run from there, removed.

    packaging_debian_test.py BUILD_FOLDER [unittest arguments]      exit 77 without dpkg or cpack
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from muster_peer import Daemon

BUILD = ""


def run(*command, **options):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=400, **options)
    if result.returncode != 0:
        raise AssertionError(f"{' '.join(str(part) for part in command)}\n{result.stdout}{result.stderr}")
    return result.stdout


def contents(package):
    """path -> (mode, owner) of a package's files."""
    listed = {}
    for line in run("dpkg-deb", "--contents", package).splitlines():
        mode, owner, _, _, _, path = line.split(None, 5)
        listed[path.split(" -> ")[0].lstrip(".")] = (mode, owner)
    return listed


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.work = pathlib.Path(cls.folder.name)
        run("cpack", "-G", "DEB", "--config", pathlib.Path(BUILD) / "CPackConfig.cmake", "-B", cls.work / "packages", cwd=cls.work)
        cls.muster = next((cls.work / "packages").glob("muster_*.deb"))
        cls.agones = next((cls.work / "packages").glob("muster-agones_*.deb"))
        cls.bench = next((cls.work / "packages").glob("muster-bench_*.deb"))
        cls.sdk = next((cls.work / "packages").glob("libmuster-dev_*.deb"))
        cls.library = next((cls.work / "packages").glob("libmuster[0-9]*.deb"))

    def test_the_daemons_package_has_what_runs_it(self):
        listed = contents(self.muster)
        self.assertEqual(listed["/usr/bin/muster"], ("-rwxr-xr-x", "root/root"))
        self.assertEqual(listed["/etc/muster/muster.toml"], ("-rw-r--r--", "root/root"))
        self.assertEqual(listed["/etc/muster/secrets/"], ("drwx------", "root/root"))
        for path in ("/usr/lib/systemd/system/muster.service", "/usr/lib/systemd/system/muster-agent.service", "/usr/share/muster/grafana/muster.json",
                     "/usr/share/muster/prometheus/alerts.yml", "/usr/share/doc/muster/copyright",
                     "/usr/share/doc/muster/guides/quick-start.md"):
            self.assertIn(path, listed)
        self.assertNotIn("/usr/include/", listed)
        program = str(pathlib.Path(BUILD) / "muster")
        written = {"man": "/usr/share/man/man1/muster.1", "completion bash": "/usr/share/bash-completion/completions/muster",
                   "completion zsh": "/usr/share/zsh/vendor-completions/_muster",
                   "completion fish": "/usr/share/fish/vendor_completions.d/muster.fish"}
        for command, path in written.items():
            there = subprocess.run([program, *command.split()], capture_output=True, timeout=20).returncode == 0
            self.assertEqual(path in listed, there, command)

    def test_grpc_is_needed_by_its_own_package_alone_G_20(self):
        self.assertIn("/usr/lib/muster/libmuster-agones.so", contents(self.agones))
        depends = run("dpkg-deb", "--field", self.agones, "Depends")
        self.assertIn("libgrpc++", depends)
        self.assertRegex(depends, r"\bmuster \(= ")
        self.assertNotIn("grpc", run("dpkg-deb", "--field", self.muster, "Depends"))

    def test_the_benchmarks_are_a_package_of_their_own_and_muster_finds_them_O_3(self):
        listed = contents(self.bench)
        for path in ("/usr/lib/muster/bench/compare", "/usr/lib/muster/bench/fleet_load", "/usr/lib/muster/bench/bare_allocator",
                     "/usr/lib/muster/bench/suite/__main__.py", "/usr/lib/muster/bench/suite/pg_engine.py"):
            self.assertIn(path, listed)
        self.assertRegex(run("dpkg-deb", "--field", self.bench, "Depends"), r"\bmuster \(= .*\bpython3\b")
        self.assertFalse([path for path in contents(self.muster) if "bench" in path])
        root = self.work / "with_bench"
        for package in (self.muster, self.bench):
            run("dpkg-deb", "--extract", package, root)
        told = run(root / "usr/bin/muster", "bench", "shares", "--few")
        self.assertIn("equal servers' shares", told)

    def test_its_control_file_says_who_it_is_and_what_it_needs(self):
        fields = run("dpkg-deb", "--field", self.muster)
        version = run(pathlib.Path(BUILD) / "muster", "--version").split()[1]
        self.assertIn("Package: muster\n", fields)
        self.assertIn(f"Version: {version}\n", fields)
        self.assertRegex(fields, r"Depends: .*libsqlite3-0")
        control = self.work / "control"
        run("dpkg-deb", "--control", self.muster, control)
        self.assertEqual((control / "conffiles").read_text(), "/etc/muster/muster.toml\n")
        for script in ("postinst", "prerm", "postrm"):
            self.assertTrue(os.access(control / script, os.X_OK))
            run("sh", "-n", control / script)

    def test_the_sdks_package_has_headers_libraries_and_examples(self):
        listed = contents(self.sdk)
        for name in ("/muster/game_server.h", "/libmuster_sdk.a", "/libmuster.so", "/MusterConfig.cmake", "/muster.pc",
                     "/examples/game_server.cpp"):
            self.assertTrue(any(path.endswith(name) for path in listed), name)
        self.assertNotIn("/usr/bin/muster", listed)
        self.assertFalse([path for path in listed if "libmuster.so." in path], "the library itself is a package of its own")

    def test_the_shared_library_has_a_package_of_its_own_that_the_loader_hears_of(self):
        files = [path for path in contents(self.library) if not path.endswith("/")]
        self.assertTrue(any("/libmuster.so." in path for path in files), files)
        self.assertFalse([path for path in files if "/include/" in path or path.endswith((".so", ".a"))])
        name = run("dpkg-deb", "--field", self.library, "Package").strip()
        version = run("dpkg-deb", "--field", self.library, "Version").strip()
        self.assertIn(f"{name} (= {version})", run("dpkg-deb", "--field", self.sdk, "Depends"))
        control = self.work / "control_library"
        run("dpkg-deb", "--control", self.library, control)
        self.assertRegex((control / "shlibs").read_text(), rf"^libmuster \S+ {name}")
        self.assertIn("ldconfig", (control / "triggers").read_text())

    def test_each_package_says_of_itself_what_it_is(self):
        packages = sorted((self.work / "packages").glob("*.deb"))
        described = [run("dpkg-deb", "--field", package, "Description").splitlines() for package in packages]
        self.assertGreaterEqual(len(packages), 3)
        self.assertEqual(len({lines[0] for lines in described}), len(packages), described)
        self.assertFalse([line for lines in described for line in lines if line.startswith("  ")], "sentences, not a listing")

    def test_the_config_is_short_right_and_has_only_what_differs_from_the_defaults(self):
        root = self.work / "unpacked"
        run("dpkg-deb", "--extract", self.muster, root)
        config = root / "etc/muster/muster.toml"
        program = root / "usr/bin/muster"
        lines = [line for line in config.read_text().splitlines() if line and not line.startswith("#")]
        self.assertEqual(lines, ["[store]", 'path = "/var/lib/muster/muster.db"'])
        checked = run(program, "config", "--check", config)
        self.assertIn(": ok\n", checked)
        self.assertIn(f"auth.server_token_file and {root}/etc/muster/secrets/server_token", checked)
        run(program, "certs", "init", root / "etc/muster/pki")
        proposed = config.read_text().replace("\n#[listen]", "\n[listen]").replace("\n#[tls]", "\n[tls]")
        proposed = proposed.replace('"/etc/muster/pki', f'"{root}/etc/muster/pki')
        for key in ("servers", "matchmakers", "players", "http", "ports", "certificate_file", "key_file", "client_ca_file"):
            proposed = proposed.replace(f"\n#{key} = ", f"\n{key} = ")
        for secret in ("server_token", "matchmaker_token", "admin_token", "player_key"):
            (root / "etc/muster/secrets" / secret).write_text("0123456789abcdef0123456789abcdef\n")
            (root / "etc/muster/secrets" / secret).chmod(0o600)
        config.write_text(proposed)
        self.assertIn(": ok\n", run(program, "config", "--check", config), "the lines that it proposes are right, too")
        self.assertEqual((root / "usr/share/muster/default.toml").read_text(), run(program, "config", "--default"))

    @unittest.skipUnless(os.geteuid() == 0, "only root can install, into whatever folder")
    def test_it_is_installed_serves_is_removed_and_purged_without_a_trace(self):
        root = self.work / "root"
        database = root / "var/lib/dpkg"
        for folder in ("updates", "info", "triggers"):
            (database / folder).mkdir(parents=True)
        (database / "status").touch()
        (database / "available").touch()
        before = self.tree(root)

        def dpkg(*arguments):
            # Its own empty database knows no other package, and the scripts are told the root instead of run inside it.
            return run("dpkg", f"--root={root}", "--force-depends", "--force-script-chrootless", "--log=/dev/null", *arguments)

        dpkg("--install", self.muster)
        self.assertIn("Status: install ok installed", dpkg("--status", "muster"))
        enabled = root / "etc/systemd/system/multi-user.target.wants/muster.service"
        if shutil.which("deb-systemd-helper"):
            self.assertTrue(enabled.is_symlink(), "the service is not enabled")
        self.serve(root)
        config = root / "etc/muster/muster.toml"
        config.write_text(config.read_text() + "# an operator's own\n")
        (root / "etc/muster/secrets/server_token").write_text("secret")
        (root / "var/lib/private/muster").mkdir(parents=True)
        (root / "var/lib/private/muster/muster.db").touch()

        dpkg("--install", self.muster)
        self.assertIn("# an operator's own", config.read_text(), "an upgrade keeps the config")
        dpkg("--remove", "muster")
        self.assertFalse((root / "usr/bin/muster").exists())
        self.assertTrue(config.exists() and (root / "etc/muster/secrets/server_token").exists(), "a removal keeps config and secrets")
        self.assertTrue((root / "var/lib/private/muster/muster.db").exists(), "a removal keeps the store")
        dpkg("--purge", "muster")
        left = {path for path in self.tree(root) - before if not path.is_relative_to("var/lib/dpkg") and not (root / path).is_dir()}
        self.assertEqual(left, set())
        self.assertFalse((root / "etc/muster").exists())
        self.assertFalse((root / "var/lib/private/muster").exists())

    @staticmethod
    def tree(root):
        return {path.relative_to(root) for path in root.rglob("*")}

    def serve(self, root):
        """The installed program with the installed config, but for the ports and the store."""
        state = self.work / "state"
        state.mkdir()
        program, config = root / "usr/bin/muster", root / "etc/muster/muster.toml"
        effective = run(program, "config", "--config", config)
        self.assertRegex(effective, r'path = "/var/lib/muster/muster\.db" ')
        daemon = Daemon(program, state, arguments=["--config", str(config)])
        self.addCleanup(daemon.end)
        self.assertEqual(daemon.stop(), 0, daemon.log_text())


if __name__ == "__main__":
    BUILD = os.path.abspath(sys.argv.pop(1))
    if not shutil.which("dpkg") or not shutil.which("cpack"):
        sys.exit(77)
    unittest.main()
