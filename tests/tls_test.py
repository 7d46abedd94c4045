#!/usr/bin/env python3
"""TLS on the game ports, seen by foreign clients: Python's ssl module and openssl s_client (S-1, S-2, faults 75 and 76).

    tls_test.py PATH_TO_MUSTER [unittest arguments]
"""

import http.client
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

from muster_peer import PATIENCE_S, Daemon, GameServer, Matchmaker, Peer, Player

MUSTER = sys.argv[1]


class Pki:
    """Certificates as an operator makes them."""

    def __init__(self, folder):
        self.folder = folder
        self.run("init", folder)

    def run(self, *arguments):
        return subprocess.run([MUSTER, "certs", *arguments], check=True, text=True, capture_output=True, timeout=30).stdout

    def path(self, name):
        return os.path.join(self.folder, name)

    def issue(self, name, role):
        self.run("issue", self.folder, name, "--role", role)
        return self.serial(name)

    def serial(self, name):
        return re.search(r"(?m)^serial +([0-9A-F]+)$", self.run("show", self.path(name + ".crt")))[1]

    def context(self, name=None, authority=None):
        made = ssl.create_default_context(cafile=authority or self.path("ca.crt"))
        if name:
            made.load_cert_chain(self.path(name + ".crt"), self.path(name + ".key"))
        return made


def eventually(holds):
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError("it did not come to pass")
        time.sleep(0.02)


class TlsDaemon(unittest.TestCase):
    """A daemon with certificates, and peers for it."""

    ports = '["servers", "matchmakers", "players"]'

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.pki = Pki(os.path.join(self.folder, "pki"))
        self.serials = {name: self.pki.issue(name, role) for name, role in
                        (("eu-1", "server"), ("eu-2", "server"), ("mm", "matchmaker"))}
        self.revoked = os.path.join(self.folder, "revoked")
        self.revoke("# none yet\n")
        self.data = os.path.join(self.folder, "data")
        os.mkdir(self.data)
        # Tokens are set, and nobody here sends one: certificates take their place.
        self.daemon = Daemon(MUSTER, self.data, MUSTER_TLS_PORTS=self.ports, MUSTER_TLS_CERTIFICATE_FILE=self.pki.path("muster.crt"),
                             MUSTER_TLS_KEY_FILE=self.pki.path("muster.key"), MUSTER_TLS_CLIENT_CA_FILE=self.pki.path("ca.crt"),
                             MUSTER_TLS_REVOKED_FILE=self.revoked, MUSTER_AUTH_SERVER_TOKEN="a token that nobody knows",
                             MUSTER_AUTH_MATCHMAKER_TOKEN="a token that nobody knows", MUSTER_AUTH_ADMIN_TOKEN="the first admin's")
        self.addCleanup(self.end)

    def end(self):
        if self.daemon.process.poll() is None:
            self.daemon.process.kill()
        self.daemon.process.wait()
        self.daemon.close()

    def revoke(self, text):
        with open(self.revoked, "w", encoding="ascii") as file:
            file.write(text)

    def metric(self, name, **labels):
        with urllib.request.urlopen(f"http://{self.daemon.ports['http']}/metrics", timeout=PATIENCE_S) as answer:
            text = answer.read().decode()
        found = 0
        for line in text.splitlines():
            if line.startswith(name + "{") or line.startswith(name + " "):
                if all(f'{key}="{value}"' in line for key, value in labels.items()):
                    found += float(line.rsplit(" ", 1)[1])
        return found

    def wait_for_log(self, text):
        eventually(lambda: text in self.daemon.log_text())

    def refusals(self, reason):
        return self.metric("muster_tls_failures_total", reason=reason)

    def reload(self):
        self.daemon.process.send_signal(signal.SIGHUP)

    def server(self, context, port=20001):
        return type("TlsGameServer", (GameServer,), {"tls": context})(self.daemon.ports["servers"], port)

    def knock(self, context):
        """What a client hears that is let in by its own side only: in TLS 1.3 the refusal comes behind the handshake."""
        peer = type("TlsPeer", (Peer,), {"tls": context})(self.daemon.ports["servers"])
        self.addCleanup(peer.close)
        try:
            return peer.receive()
        except ssl.SSLError as error:
            return error.reason

    def nameless(self, name):
        """A server's certificate of our authority that has no CN."""
        key, request, made = (self.pki.path(name + ending) for ending in (".key", ".csr", ".crt"))
        for command in (["req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/OU=server", "-keyout", key, "-out", request],
                        ["x509", "-req", "-in", request, "-CA", self.pki.path("ca.crt"), "-CAkey", self.pki.path("ca.key"), "-CAcreateserial", "-days", "2", "-out", made]):
            subprocess.run(["openssl", *command], check=True, capture_output=True, timeout=PATIENCE_S)

    def address(self, port):
        host, number = self.daemon.ports[port].rsplit(":", 1)
        return host, int(number)

class GamePorts(TlsDaemon):
    def test_a_match_over_tls_without_tokens_S_1_S_2(self):
        server = self.server(self.pki.context("eu-1"))
        self.assertIsNone(server.refused)
        matchmaker = type("TlsMatchmaker", (Matchmaker,), {"tls": self.pki.context("mm")})(self.daemon.ports["matchmakers"])
        self.assertIsNone(matchmaker.refused)
        matchmaker.request(77)
        self.assertEqual(server.expect(0x1004).take("i"), 77)
        server.acknowledge(77)
        answer = matchmaker.expect(0x2003)
        self.assertEqual(answer.take("b"), 1)
        player = type("TlsPlayer", (Player,), {"tls": self.pki.context()})(self.daemon.ports["players"], "ann")
        self.assertIsNone(getattr(player, "refused", None))
        self.assertEqual(self.metric("muster_tls_handshakes_total", kind="full"), 3)
        self.assertGreater(self.metric("muster_certificate_expiry_seconds"), 360 * 86400)
        for peer in (server, matchmaker, player):
            peer.close()

    def test_each_bad_peer_is_refused_with_its_reason_and_links_that_are_up_notice_nothing_fault_75(self):
        up = self.server(self.pki.context("eu-1"))
        other = Pki(os.path.join(self.folder, "other"))
        other.issue("eu-1", "server")
        foreign = other.context("eu-1", authority=self.pki.path("ca.crt"))
        self_signed = ssl.create_default_context(cafile=self.pki.path("ca.crt"))
        self_signed.load_cert_chain(other.path("ca.crt"), other.path("ca.key"))
        self.revoke(self.serials["eu-2"] + "\n")
        self.reload()
        self.wait_for_log("tls.revoked_file: 0 -> 1 revoked certificates")
        self.assertNotIn("nothing changed", self.daemon.log_text())
        for context, reason, told in ((self.pki.context(), "no_certificate", "CERTIFICATE_REQUIRED"),
                                      (self.pki.context("mm"), "wrong_role", "HANDSHAKE_FAILURE"),
                                      (self.pki.context("eu-2"), "revoked", "CERTIFICATE_REVOKED"),
                                      (foreign, "unknown_ca", "UNKNOWN_CA"),
                                      (self_signed, "self_signed", "UNKNOWN_CA")):
            with self.subTest(reason):
                self.assertIn(told, self.knock(context))
                eventually(lambda: self.refusals(reason) == 1)
                self.wait_for_log(f"reason={reason}")
        with self.subTest("a certificate without a name"):
            self.nameless("nobody")
            self.assertIn("CERTIFICATE", self.knock(self.pki.context("nobody")))
            eventually(lambda: self.refusals("bad_certificate") == 1)
        with self.subTest("a client that does not trust us"), self.assertRaises(ssl.SSLCertVerificationError):
            self.knock(self.pki.context("eu-1", authority=other.path("ca.crt")))
        eventually(lambda: self.refusals("refused_by_peer") == 1)
        with self.subTest("a name that is not ours"):
            with socket.create_connection(self.address("servers"), timeout=PATIENCE_S) as plain, self.assertRaises(ssl.SSLCertVerificationError):
                self.pki.context("eu-1").wrap_socket(plain, server_hostname="elsewhere.example")
        with self.subTest("TLS 1.2"):
            old = self.pki.context("eu-1")
            old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_2
            with self.assertRaises(ssl.SSLError):
                self.knock(old)
            eventually(lambda: self.refusals("version") == 1)
        up.heartbeat()
        up.expect(0x1003)
        up.close()

    def test_plain_bytes_and_unfinished_handshakes_are_closed_not_kept_fault_75(self):
        up = self.server(self.pki.context("eu-1"))
        for data, reason in ((b"GET / HTTP/1.0\r\n\r\n", "not_tls"), (b"\x30\x00\x00\x10" + bytes(44), "not_tls"),
                             (b"\x16\x03\x01\x00\x05\x01\xff\xff\xff\xff", "broken")):
            before = self.refusals(reason)
            with socket.create_connection(self.address("servers"), timeout=PATIENCE_S) as peer:
                peer.sendall(data)
                answer = peer.recv(1000)
                while answer:
                    self.assertEqual(answer[:1], b"\x15", "an alert, or nothing")
                    answer = peer.recv(1000)
            eventually(lambda: self.refusals(reason) == before + 1)
        with socket.create_connection(self.address("servers"), timeout=PATIENCE_S) as peer:
            peer.sendall(b"\x16\x03\x01\x02")
        eventually(lambda: self.refusals("incomplete") == 1)
        up.heartbeat()
        up.expect(0x1003)
        up.close()

    def test_a_flood_of_handshakes_does_not_hold_up_links_that_are_up_fault_75(self):
        up = self.server(self.pki.context("eu-1"))
        context = self.pki.context("eu-2")
        over = threading.Event()

        def flood():
            while not over.is_set():
                try:
                    with socket.create_connection(self.address("servers"), timeout=PATIENCE_S) as plain:
                        context.wrap_socket(plain, server_hostname="127.0.0.1").close()
                except OSError:
                    pass  # the limit of newcomers a second

        threads = [threading.Thread(target=flood) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(20):
                up.heartbeat()
                up.expect(0x1003, timeout=5)
        finally:
            over.set()
            for thread in threads:
                thread.join()
        self.assertGreater(self.metric("muster_tls_handshakes_total"), 10)
        up.close()

    def test_a_reload_takes_new_files_and_drops_no_link_and_a_bad_one_keeps_the_old_fault_76(self):
        context = self.pki.context("eu-1")
        up = self.server(context)

        def shown():
            peer = type("TlsPeer", (Peer,), {"tls": context})(self.daemon.ports["servers"])
            number = peer.socket.getpeercert()["serialNumber"].lstrip("0")
            peer.close()
            return number

        first = self.pki.serial("muster")
        self.assertEqual(shown(), first)
        self.pki.run("renew", self.pki.folder, "muster")
        second = self.pki.serial("muster")
        self.assertNotEqual(first, second)
        self.assertEqual(shown(), first, "until SIGHUP")
        self.reload()
        eventually(lambda: shown() == second)
        for _ in range(3):
            up.heartbeat()
            up.expect(0x1003)

        other = Pki(os.path.join(self.folder, "other"))
        shutil.copy(other.path("muster.key"), self.pki.path("muster.key"))
        self.reload()
        self.wait_for_log("does not belong to the certificate")
        os.unlink(self.pki.path("muster.crt"))
        self.reload()
        self.wait_for_log("Reload refused: tls.certificate_file: cannot read")
        for ending in (".crt", ".key"):
            shutil.copy(self.pki.path("eu-1" + ending), self.pki.path("muster" + ending))
        self.reload()
        self.wait_for_log("is for clients only")
        self.assertEqual(shown(), second)
        up.heartbeat()
        up.expect(0x1003)
        up.close()

    def test_revoking_a_certificate_closes_its_open_links_and_no_other_S_2(self):
        stays, goes = self.server(self.pki.context("eu-1")), self.server(self.pki.context("eu-2"), 20002)
        self.revoke(f"{self.serials['eu-2'].lower()}  # stolen\n")
        self.reload()
        self.assertIsNone(goes.receive())
        goes.close()
        stays.heartbeat()
        stays.expect(0x1003)
        eventually(lambda: self.metric("muster_connections_closed_total", reason="revoked") == 1)
        stays.close()

    @unittest.skipUnless(shutil.which("openssl"), "needs the openssl command")
    def test_openssl_gets_tls_1_3_and_nothing_older_S_1(self):
        def s_client(*arguments):
            return subprocess.run(["openssl", "s_client", "-connect", self.daemon.ports["players"], "-CAfile", self.pki.path("ca.crt"),
                                   "-verify_return_error", "-verify_ip", "127.0.0.1", *arguments],
                                  input="", text=True, capture_output=True, timeout=PATIENCE_S)

        good = s_client()
        self.assertIn("Verification: OK", good.stdout)
        self.assertRegex(good.stdout, r"New, TLSv1\.3, Cipher is TLS_")
        self.assertIn("Compression: NONE", good.stdout)
        for old in ("-tls1_2", "-tls1_1", "-tls1"):
            self.assertNotEqual(s_client(old).returncode, 0, old)


class Https(TlsDaemon):
    ports = '["http"]'

    def setUp(self):
        super().setUp()
        self.url = f"https://{self.daemon.ports['http']}"

    def metric(self, name, **labels):
        with urllib.request.urlopen(self.url + "/metrics", timeout=PATIENCE_S, context=self.pki.context()) as answer:
            return sum(float(line.rsplit(" ", 1)[1]) for line in answer.read().decode().splitlines()
                       if line.startswith(name + "{") and all(f'{key}="{value}"' in line for key, value in labels.items()))

    def command(self, *arguments, **settings):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
        return subprocess.run([MUSTER, *arguments], env={**kept, "MUSTER_URL": self.url, **settings}, text=True, capture_output=True,
                              timeout=PATIENCE_S)

    def test_commands_speak_https_and_say_what_is_wrong_S_1(self):
        good = self.command("status", MUSTER_CA_FILE=self.pki.path("ca.crt"))
        self.assertEqual(good.returncode, 0, good.stderr)
        stranger = self.command("status")
        self.assertEqual(stranger.returncode, 69)
        self.assertIn("MUSTER_CA_FILE", stranger.stderr)
        plain = self.command("status", MUSTER_URL=self.url.replace("https", "http"))
        self.assertEqual(plain.returncode, 69)
        self.assertIn("https://", plain.stderr)
        bad = self.command("status", MUSTER_CA_FILE="/nowhere")
        self.assertEqual(bad.returncode, 78)
        self.assertIn("/nowhere", bad.stderr)
        events = subprocess.Popen([MUSTER, "events", "--follow"], env={**os.environ, "MUSTER_URL": self.url, "MUSTER_CA_FILE": self.pki.path("ca.crt")},
                                  text=True, stdout=subprocess.PIPE)
        try:
            GameServer(self.daemon.ports["servers"], 20001, token="a token that nobody knows").close()
            self.assertIn("server", events.stdout.readline())
        finally:
            events.kill()
            events.communicate()

    def test_requests_go_on_over_one_connection_and_bad_peers_are_told_apart_S_1_fault_75(self):
        host, port = self.address("http")
        connection = http.client.HTTPSConnection(host, port, timeout=PATIENCE_S, context=self.pki.context())
        for _ in range(3):
            connection.request("GET", "/readyz")
            answer = connection.getresponse()
            self.assertEqual((answer.status, bool(answer.read())), (200, True))
        connection.close()
        with socket.create_connection((host, port), timeout=PATIENCE_S) as plain:
            plain.sendall(b"GET / HTTP/1.0\r\n\r\n")
            while plain.recv(1000):
                pass
        eventually(lambda: self.metric("muster_tls_failures_total", port="http", reason="not_tls") == 1)
        self.pki.run("renew", self.pki.folder, "muster")
        self.reload()
        self.wait_for_log("new connections get it")
        self.assertGreaterEqual(self.metric("muster_tls_handshakes_total", port="http"), 2)

    def test_an_operator_needs_no_token_with_its_certificate_S_2_S_5(self):
        self.pki.issue("alice", "operator")
        serial = self.pki.issue("bob", "operator")
        self.pki.issue("eve", "operator")
        trust = {"MUSTER_CA_FILE": self.pki.path("ca.crt")}
        admin = {**trust, "MUSTER_ADMIN_TOKEN": "the first admin's"}

        def as_operator(name, *arguments):
            return self.command(*arguments, **trust, MUSTER_CERTIFICATE_FILE=self.pki.path(name + ".crt"), MUSTER_KEY_FILE=self.pki.path(name + ".key"))

        for name, role in (("alice", "operator"), ("bob", "viewer")):
            self.assertEqual(self.command("operator", "add", name, "--role", role, **admin).returncode, 0)
        self.assertEqual(as_operator("alice", "clock", "--speed", "2").returncode, 0)
        refused = as_operator("bob", "clock", "--speed", "2")
        self.assertEqual(refused.returncode, 77, refused.stderr)
        self.assertIn("role is viewer", refused.stderr)
        stranger = as_operator("eve", "clock", "--speed", "2")
        self.assertIn("No operator is named eve", stranger.stderr)
        other = as_operator("eu-1", "clock", "--speed", "2")
        self.assertEqual(other.returncode, 77, "a game server is no operator, and is asked for a token")
        told = self.command("events", "--json", "--type", "operator.action", **admin).stdout
        self.assertIn('"operator":"alice"', told.replace('": "', '":"'))

        host, port = self.address("http")
        connection = http.client.HTTPSConnection(host, port, timeout=PATIENCE_S, context=self.pki.context("bob"))

        def who():
            connection.request("GET", "/api/v1/operators")
            answer = connection.getresponse()
            answer.read()
            return answer.status

        self.assertEqual(who(), 200)
        self.revoke(serial + "\n")
        self.reload()
        self.wait_for_log("tls.revoked_file: 0 -> 1 revoked certificates")
        with self.assertRaises((http.client.HTTPException, OSError)):
            who()
            who()
        connection.close()

    @unittest.skipUnless(shutil.which("curl"), "needs the curl command")
    def test_curl_gets_tls_1_3_and_nothing_older_S_1(self):
        def curl(*arguments):
            return subprocess.run(["curl", "-sS", "--cacert", self.pki.path("ca.crt"), *arguments, self.url + "/readyz"], text=True,
                                  capture_output=True, timeout=PATIENCE_S)

        self.assertEqual(curl().returncode, 0, curl().stderr)
        self.assertNotEqual(curl("--tls-max", "1.2").returncode, 0)


class Sdk(TlsDaemon):
    """The SDK's examples, in C++ and in C."""

    def example(self, name, certificate=None, authority=None, host=None, port=27020):
        path = os.path.join(os.path.dirname(os.path.abspath(MUSTER)), "sdk/examples", name)
        if not os.path.exists(path):
            self.skipTest(f"{name} is not built")
        env = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
        env["MUSTER_CA_FILE"] = authority or self.pki.path("ca.crt")
        if certificate:
            env.update(MUSTER_CERTIFICATE_FILE=self.pki.path(certificate + ".crt"), MUSTER_KEY_FILE=self.pki.path(certificate + ".key"))
        address = self.daemon.ports["servers"].replace("127.0.0.1", host or "127.0.0.1")
        process = subprocess.Popen([path, "muster-tls://" + address, str(port)], env=env, text=True, stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_examples_register_over_mutual_tls_S_1_S_2(self):
        for name, certificate in (("game_server", "eu-1"), ("c_game_server", "eu-2")):
            with self.subTest(name):
                process = self.example(name, certificate, port=27020 if name == "game_server" else 27021)
                self.assertIn("online as server", process.stdout.readline())
                process.kill()

    def test_each_failure_is_told_by_its_own_code_S_1_fault_75(self):
        other = Pki(os.path.join(self.folder, "other"))
        for settings, code, words in (({"certificate": "mm"}, "tls_refused", "its role is not that of this port"),
                                      ({}, "tls_refused", "wants a certificate"),
                                      ({"certificate": "eu-1", "authority": other.path("ca.crt")}, "tls_untrusted", "unknown authority"),
                                      ({"certificate": "eu-1", "host": "127.1"}, "tls_wrong_name", "for another name")):
            with self.subTest(code + " " + words):
                line = self.example("c_game_server", **settings).stdout.readline()
                self.assertIn(f"({code})", line)
                self.assertIn(words, line)


class TlsAtAPlainPort(unittest.TestCase):
    def test_tls_to_a_plain_port_is_told_and_closed_at_once_fault_75(self):
        with tempfile.TemporaryDirectory() as folder:
            daemon = Daemon(MUSTER, folder)
            try:
                for port in ("servers", "matchmakers", "players"):
                    host, number = daemon.ports[port].rsplit(":", 1)
                    begun = time.monotonic()
                    with socket.create_connection((host, int(number)), timeout=PATIENCE_S) as plain, self.assertRaises(OSError):
                        ssl.create_default_context().wrap_socket(plain, server_hostname="localhost")
                    self.assertLess(time.monotonic() - begun, 8, "before the deadlines of handshakes and frames")
                eventually(lambda: daemon.log_text().count("reason=unexpected_tls") == 3)
            finally:
                self.assertEqual(daemon.stop(), 0)
                daemon.close()


class BadStart(unittest.TestCase):
    def test_files_that_cannot_be_used_are_exit_78_and_named_S_1(self):
        with tempfile.TemporaryDirectory() as folder:
            pki = Pki(os.path.join(folder, "pki"))
            base = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
            base.update(MUSTER_TLS_PORTS='["servers"]', MUSTER_STORE_PATH=os.path.join(folder, "muster.db"))
            for settings, why in (({}, "tls.certificate_file is not set"),
                                  ({"CERTIFICATE": "muster.crt"}, "tls.key_file is not set"),
                                  ({"CERTIFICATE": "none.crt", "KEY": "muster.key"}, "tls.certificate_file: cannot read"),
                                  ({"CERTIFICATE": "muster.crt", "KEY": "ca.key"}, "tls.key_file: "),
                                  ({"CERTIFICATE": "muster.crt", "KEY": "muster.key", "CLIENT_CA": "muster.crt"}, "tls.client_ca_file: ")):
                env = {**base, **{f"MUSTER_TLS_{name}_FILE": pki.path(value) for name, value in settings.items()}}
                done = subprocess.run([MUSTER, "serve"], env=env, text=True, capture_output=True, timeout=PATIENCE_S)
                self.assertEqual(done.returncode, 78, done.stderr)
                self.assertIn(why, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
