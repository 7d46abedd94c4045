#!/usr/bin/env python3
"""The link between `muster agent` and Muster: its TLS, its certificates, and what is said when it does not come up.

    agent_link_test.py PATH_TO_MUSTER PATH_TO_ECHO_GAME [unittest arguments]
"""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

import served
from agent_host import AgentCase
from cli_terminal import environment
from free_ports import free_port, free_ports
from tls_daemon import Pki


class SecureAgent(AgentCase):
    """A daemon that wants certificates at its server port, and an agent that has one."""

    scheme = "muster-tls://"

    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.pki = Pki(os.path.join(folder, "pki"))
        self.pki.issue("host-1", "agent")
        self.revoked = os.path.join(folder, "revoked")
        with open(self.revoked, "w", encoding="ascii"):
            pass
        self.settings = {"MUSTER_TLS_PORTS": '["servers"]', "MUSTER_TLS_CERTIFICATE_FILE": self.pki.path("muster.crt"),
                         "MUSTER_TLS_KEY_FILE": self.pki.path("muster.key"), "MUSTER_TLS_CLIENT_CA_FILE": self.pki.path("ca.crt"),
                         "MUSTER_TLS_REVOKED_FILE": self.revoked}
        super().setUp()

    def files(self, name="host-1", authority="ca.crt"):
        return {"MUSTER_CA_FILE": self.pki.path(authority), "MUSTER_CERTIFICATE_FILE": self.pki.path(name + ".crt"),
                "MUSTER_KEY_FILE": self.pki.path(name + ".key")}

    def replace(self, name, by):
        shutil.copy(self.pki.path(by), self.pki.path(name))

    def dated(self, name, role, start, end):
        """A certificate with other dates than `muster certs` gives, such as "20200101000000Z"."""
        key, request, made = (self.pki.path(name + ending) for ending in (".key", ".csr", ".crt"))
        folder = self.pki.path(name + ".ca")
        os.mkdir(folder)
        with open(os.path.join(folder, "index"), "w", encoding="ascii"):
            pass
        with open(os.path.join(folder, "config"), "w", encoding="ascii") as file:
            file.write(f"[ca]\ndefault_ca = one\n[one]\ndatabase = {folder}/index\nrand_serial = yes\nnew_certs_dir = {folder}\n"
                       "default_md = sha256\npolicy = any\n[any]\nCN = supplied\nOU = optional\n")
        for command in (["req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                         f"/OU={role}/CN={name}", "-keyout", key, "-out", request],
                        ["ca", "-batch", "-config", os.path.join(folder, "config"), "-cert", self.pki.path("ca.crt"), "-keyfile",
                         self.pki.path("ca.key"), "-startdate", start, "-enddate", end, "-in", request, "-out", made, "-notext"]):
            subprocess.run(["openssl", *command], check=True, capture_output=True, timeout=30)


class Renewal(SecureAgent):
    def test_S_1_S_3_a_renewed_certificate_is_taken_on_SIGHUP_and_no_link_is_lost(self):
        path = self.write_config(2)
        metrics = free_port()
        with open(path, encoding="utf-8") as file:
            text = file.read().replace("[agent]", f'[agent]\nmetrics = "127.0.0.1:{metrics}"', 1)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        agent = self.start_agent(path, **self.files())
        self.soon(lambda: len(self.connected()) == 2, "both servers at Muster")
        self.assertGreater(self.days_left(metrics), 360)
        before = self.pki.serial("host-1")
        self.pki.run("renew", self.pki.folder, "host-1")
        after = self.pki.serial("host-1")
        agent.send_signal(signal.SIGHUP)
        self.soon(lambda: self.logged(f"certificate {before} -> {after}; new connections show it"), "taken")
        self.soon(lambda: self.logged("Config reloaded: 1 run"), "reloaded")
        self.assertFalse(self.logged("no link to Muster"))
        # Muster refuses the old one from now on: whoever comes back comes with the new one.
        with open(self.revoked, "w", encoding="ascii") as file:
            file.write(before + "\n")
        self.daemon.process.send_signal(signal.SIGHUP)
        self.soon(lambda: self.logged("Process arena-1: no link to Muster"), "the links of the old one are closed")
        self.soon(lambda: len(self.connected()) == 2, "both are back with the new certificate")
        self.soon(lambda: self.ask("GET", "/hosts/host-1")[1].get("connected"), "and so is the host")

    def days_left(self, port):
        answer = None

        def asked():
            nonlocal answer
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
                connection.request("GET", "/metrics")
                answer = re.search(r"(?m)^muster_agent_certificate_expiry_seconds (-?[0-9]+)$", connection.getresponse().read().decode())
            except OSError:
                return False
            return answer

        self.soon(asked, "the certificate's expiry among the metrics")
        return int(answer[1]) / 86400

    def test_S_1_bad_new_files_are_refused_and_the_old_ones_stay_in_force(self):
        agent = self.start_agent(self.write_config(1), **self.files())
        self.soon(lambda: len(self.connected()) == 1, "at Muster")
        shutil.copy(self.pki.path("host-1.crt"), self.pki.path("kept.crt"))
        self.dated("old", "agent", "20200101000000Z", "20210101000000Z")
        for name, by, said in (("host-1.crt", "ca.key", "MUSTER_CERTIFICATE_FILE: cannot read .*host-1.crt: there is no certificate in it"),
                               ("host-1.crt", "muster.crt", "MUSTER_KEY_FILE: .*host-1.key does not belong to the certificate in .*host-1.crt"),
                               ("host-1.crt", "old.crt", "MUSTER_CERTIFICATE_FILE: the certificate has expired")):
            self.replace(name, by)
            agent.send_signal(signal.SIGHUP)
            self.soon(lambda said=said: self.logged("Config not reloaded: " + said), said)
        # A process that starts now is registered with the old files.
        os.kill(self.games()[0], signal.SIGKILL)
        self.soon(lambda: self.agent_log().count("is game server") == 2, "registered again")
        self.assertIsNone(agent.poll())
        self.replace("host-1.crt", "kept.crt")
        agent.send_signal(signal.SIGHUP)
        self.soon(lambda: self.logged("Config reloaded"), "good files are taken")

    def test_S_3_a_certificate_that_expires_soon_is_told_at_the_start(self):
        for ending in (".crt", ".key"):
            os.rename(self.pki.path("host-1" + ending), self.pki.path("long" + ending))
        self.pki.run("issue", self.pki.folder, "host-1", "--role", "agent", "--days", "5")
        self.start_agent(self.write_config(1), **self.files())
        self.soon(lambda: self.logged(r"The TLS certificate \(MUSTER_CERTIFICATE_FILE\) expires in [45] days"), "told")
        self.soon(lambda: len(self.connected()) == 1, "it is good until then")

    def test_S_1_files_that_cannot_be_used_at_the_start_are_refused_by_name_with_78(self):
        path = self.write_config(1)
        files = self.files()

        def refusal(**settings):
            done = subprocess.run([self.muster, "agent", "--config", path], capture_output=True, text=True, timeout=30,
                                  env=environment(**{**files, **settings}), check=False)
            self.assertEqual(done.returncode, 78, done.stderr)
            return done.stderr.strip()

        self.assertEqual(refusal(MUSTER_CA_FILE="/no/ca.crt"), "MUSTER_CA_FILE: cannot read /no/ca.crt: No such file or directory")
        self.assertEqual(refusal(MUSTER_CERTIFICATE_FILE="/no/a.crt"), "MUSTER_CERTIFICATE_FILE: cannot read /no/a.crt: No such file or directory")
        self.assertRegex(refusal(MUSTER_KEY_FILE=self.pki.path("ca.key")), "^MUSTER_KEY_FILE: .*ca.key does not belong to the certificate in .*host-1.crt$")
        self.assertEqual(refusal(MUSTER_KEY_FILE=""), "MUSTER_KEY_FILE: not set; a certificate and its key belong together")


class Names(SecureAgent):
    def test_S_2_a_certificate_registers_the_host_of_its_own_name_and_no_other(self):
        self.pki.issue("host-2", "agent")
        self.start_agent(self.write_config(1), **self.files("host-2"))
        self.soon(lambda: self.logged("Muster refused this host: Host name is not that of the certificate"), "refused")
        self.assertIn("Refused host host-1 from 127.0.0.1: its certificate is for host-2", self.daemon.log_text())
        self.assertEqual(self.ask("GET", "/hosts")[1]["hosts"], [])
        self.start_agent(self.renamed("host-2"), **self.files("host-2"))
        self.soon(lambda: self.logged("This host is listed at Muster as host-2"), "its own name")

    def renamed(self, name):
        with open(self.write_config(1), encoding="utf-8") as file:
            text = file.read().replace('name = "host-1"', f'name = "{name}"').replace("/state", "/other")
        path = os.path.join(self.folder, "renamed.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path


class Reasons(SecureAgent):
    """Why there is no link stands in the agent's log, once for each change of the reason."""

    def told(self, pattern):
        """The log names it for the host, and once."""
        pattern = "No link to Muster for this host: [^ ]+: " + pattern
        self.soon(lambda: self.logged(pattern), lambda: f"{pattern} in {self.agent_log()}")
        self.soon(lambda: self.failures() >= 4, "it tries again")
        self.assertEqual(len(re.findall(pattern, self.agent_log())), 1, self.agent_log())

    def failures(self):
        """The attempts that Muster has refused for their TLS."""
        return sum(float(line.rsplit(" ", 1)[1]) for line in self.get("/metrics")[1].splitlines()
                   if line.startswith("muster_tls_failures_total{"))

    def start_with(self, **settings):
        return self.start_agent(self.write_config(1, sdk="muster"), **{**self.files(), **settings})

    def test_S_2_an_expired_certificate_is_named(self):
        self.dated("old", "agent", "20200101000000Z", "20210101000000Z")
        agent = self.start_agent(self.write_config(1, sdk="muster"), **self.files("old"))
        self.told("Muster refuses the certificate: it has expired")
        self.assertTrue(self.logged(r"The TLS certificate \(MUSTER_CERTIFICATE_FILE\) has expired; peers refuse it"))
        self.assertIsNone(agent.poll())

    def test_S_2_a_revoked_certificate_is_named(self):
        with open(self.revoked, "w", encoding="ascii") as file:
            file.write(self.pki.serial("host-1") + "\n")
        self.daemon.process.send_signal(signal.SIGHUP)
        self.soon(lambda: "0 -> 1 revoked certificates" in self.daemon.log_text(), "revoked")
        self.start_with()
        self.told("Muster refuses the certificate: it was revoked")

    def test_S_2_a_wrong_role_is_named(self):
        self.pki.issue("mm", "matchmaker")
        self.start_agent(self.write_config(1, sdk="muster"), **self.files("mm"))
        self.told("Muster refuses the certificate: its role is not that of this port")

    def test_S_2_no_certificate_is_named(self):
        self.start_with(MUSTER_CERTIFICATE_FILE="", MUSTER_KEY_FILE="")
        self.told("Muster wants a certificate, and none is set")

    def test_S_1_an_authority_that_did_not_sign_musters_certificate_is_named(self):
        other = Pki(os.path.join(self.folder, "other"))
        self.start_with(MUSTER_CA_FILE=other.path("ca.crt"))
        self.told("Muster's certificate is of an unknown authority")

    def test_S_1_a_name_that_is_not_in_musters_certificate_is_named(self):
        path = self.write_config(1, sdk="muster")
        with open(path, encoding="utf-8") as file:
            text = file.read().replace("127.0.0.1:", "127.0.0.2:")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        with socket.create_server(("127.0.0.2", int(self.daemon.ports["servers"].rsplit(":", 1)[1]))) as door:
            threading.Thread(target=self.pass_on, args=(door,), daemon=True).start()
            self.start_agent(path, **self.files())
            self.told("Muster's certificate is for another name")

    def pass_on(self, door):
        """Muster at another address."""
        host, port = self.daemon.ports["servers"].rsplit(":", 1)

        def copy(source, target):
            with contextlib.suppress(OSError):
                while part := source.recv(65536):
                    target.sendall(part)
            with contextlib.suppress(OSError):
                target.shutdown(socket.SHUT_WR)

        with contextlib.suppress(OSError):
            while True:
                one = door.accept()[0]
                other = socket.create_connection((host, int(port)))
                self.addCleanup(one.close)
                self.addCleanup(other.close)
                for pair in ((one, other), (other, one)):
                    threading.Thread(target=copy, args=pair, daemon=True).start()

    def test_S_1_a_port_that_wants_TLS_is_named_to_an_agent_without(self):
        self.scheme = ""
        self.start_with()
        self.told(".* before it said anything: it wants TLS there, or is at a limit; its log says which")
        self.assertIn("it speaks without TLS, and the port wants it (tls.ports)", self.daemon.log_text())

    def test_G_11_nobody_at_the_address_is_named_by_the_machines_words(self):
        self.daemon.process.kill()
        self.daemon.process.wait()
        self.start_with()
        pattern = "No link to Muster for this host: 127.0.0.1:[0-9]+: Connection refused"
        self.soon(lambda: self.logged(pattern), "told, although no process registers through the agent")
        self.assertEqual(len(re.findall(pattern, self.agent_log())), 1)
        self.assertEqual(self.agent_log().count("nobody answers"), 0)


class PlainReasons(AgentCase):
    def test_S_1_a_port_without_TLS_is_named_to_an_agent_with(self):
        pki = Pki(os.path.join(self.folder, "pki"))
        self.scheme = "muster-tls://"
        self.start_agent(self.write_config(1, sdk="muster"), MUSTER_CA_FILE=pki.path("ca.crt"))
        self.soon(lambda: self.logged("during the TLS handshake: it has no TLS there, or is at a limit; its log says which|no TLS 1.3 there"),
                  lambda: self.agent_log())
        self.soon(lambda: "it speaks TLS, and the port has none (tls.ports)" in self.daemon.log_text(), "and Muster's log says so")

    def test_G_1_a_process_that_is_refused_is_told_once_for_each_reason(self):
        self.daemon.env["MUSTER_AUTH_SERVER_TOKEN"] = "another"
        self.daemon.end()
        self.daemon.start()
        self.start_agent(self.write_config(1))
        self.soon(lambda: self.logged("Muster refused this host: Invalid token"), "the host is told")
        self.soon(lambda: self.logged("Process arena-1: .*Invalid token"), "and the process")
        self.soon(lambda: self.figure('muster_auth_failures_total{port="servers"}') > 6, "it was tried again and again")
        self.assertEqual(len(re.findall("Muster refused this host: Invalid token", self.agent_log())), 1)
        self.assertEqual(len(re.findall("Process arena-1: .*Invalid token", self.agent_log())), 1, self.agent_log())


class OpenFiles(AgentCase):
    def test_S_7_a_limit_of_open_files_too_low_for_the_runs_is_told_at_the_start(self):
        first = free_ports(5)[0]  # no more are bound
        path = self.write_config(1, ports=(first, first + 204), run="count_max = 200")
        name, value = self.mark.split("=")
        with open(self.log, "ab") as log:
            agent = subprocess.Popen(["sh", "-c", 'ulimit -n 128 && exec "$@"', "sh", self.muster, "agent", "--config", path],
                                     stdout=log, stderr=log, env=environment(**{name: value}))
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        self.soon(lambda: self.logged("The runs may have 200 processes, which need about 464 open files, and the limit is 128"), self.agent_log)
        self.soon(lambda: len(self.connected()) == 1, "it runs what it can")


class Limits(AgentCase):
    settings = {"MUSTER_LIMITS_CONNECTIONS_PER_IP": "3"}

    def test_S_7_G_12_processes_beyond_the_connections_of_an_address_are_told_on_both_sides(self):
        self.start_agent(self.write_config(5))
        key = "at the servers port, the last of 127.0.0.1: one address may have limits.connections_per_ip = 3; raise it"
        self.soon(lambda: re.search("Refused [0-9]+ connections? " + key, self.daemon.log_text()), "Muster's log names the key")
        self.soon(lambda: self.logged("Process arena-[0-9]: no link to Muster yet: .* or is at a limit; its log says which"), "and the agent's")
        self.assertEqual(len(self.connected()), 2)  # the third is the host's own
        overview = self.ask("GET", "/overview")[1]
        self.assertIn("Connections are refused " + key, json.dumps(overview))


if __name__ == "__main__":
    AgentCase.game = os.path.abspath(sys.argv.pop(2))
    served.main()
