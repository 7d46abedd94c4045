#!/usr/bin/env python3
"""TLS on the game ports, seen by foreign clients: Python's ssl module and openssl s_client (S-1, S-2, faults 75 and 76).

    tls_test.py PATH_TO_MUSTER [unittest arguments]
"""

import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from muster_peer import PATIENCE_S, Daemon, Matchmaker, Peer, Player
from tls_daemon import MUSTER, Pki, TlsDaemon, eventually


class GamePorts(TlsDaemon):
    def test_a_match_over_tls_without_tokens_S_1_S_2(self):
        server = self.server(self.pki.context("eu-1"))
        self.assertIsNone(server.refused)
        TlsMatchmaker = type("TlsMatchmaker", (Matchmaker,), {"tls": self.pki.context("mm")})
        matchmaker = TlsMatchmaker(self.daemon.ports["matchmakers"], "mm")
        self.assertIsNone(matchmaker.refused)
        self.assertEqual(TlsMatchmaker(self.daemon.ports["matchmakers"], "mm-2").refused, "Invalid Chat Server ID")
        self.wait_for_log("mm-2 by mm's certificate")
        matchmaker.request(77)
        self.assertEqual(server.expect(0x1004).take("i"), 77)
        server.acknowledge(77)
        answer = matchmaker.expect(0x2003)
        self.assertEqual(answer.take("b"), 1)
        player = type("TlsPlayer", (Player,), {"tls": self.pki.context()})(self.daemon.ports["players"], "ann")
        self.assertIsNone(getattr(player, "refused", None))
        self.assertEqual(self.metric("muster_tls_handshakes_total", kind="full"), 4)
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
            def heard_in_the_flood():
                for _ in range(20):
                    up.heartbeat()
                    up.expect(0x1003)
                return self.metric("muster_tls_handshakes_total") > 10

            eventually(heard_in_the_flood)
        finally:
            over.set()
            for thread in threads:
                thread.join()
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

    def test_reloads_under_load_lose_no_link_and_no_answer_fault_76(self):
        context = self.pki.context("eu-1")
        links = [self.server(context, 21000 + i) for i in range(10)]
        over, answered, failures = threading.Event(), [0] * len(links), []

        def beat(i):
            try:
                while not over.is_set():
                    links[i].heartbeat()
                    links[i].expect(0x1003)
                    answered[i] += 1
            except Exception as error:  # told by the test's own thread
                failures.append(error)

        threads = [threading.Thread(target=beat, args=(i,)) for i in range(len(links))]
        for thread in threads:
            thread.start()
        try:
            for _ in range(5):
                before = list(answered)
                self.pki.run("renew", self.pki.folder, "muster")
                self.reload()
                self.wait_for_log(f"-> {self.pki.serial('muster')}")
                newcomer = self.server(context, 21500)
                self.assertIsNone(newcomer.refused)
                newcomer.close()
                eventually(lambda: failures or all(now > then for now, then in zip(answered, before)))
        finally:
            over.set()
            for thread in threads:
                thread.join()
        self.assertEqual(failures, [])
        for link in links:
            link.close()

    def test_a_key_that_others_can_read_is_told_on_a_reload_and_at_a_start_S_1(self):
        self.assertNotIn("is open to others", self.daemon.log_text())
        os.chmod(self.pki.path("muster.key"), 0o644)
        self.reload()
        told = f"tls.key_file: {self.pki.path('muster.key')} is open to others than its owner (mode 0644); use chmod 600"
        self.wait_for_log(told)
        again = Daemon(MUSTER, os.path.join(self.folder, "pki"), MUSTER_TLS_PORTS='["servers"]',
                       MUSTER_TLS_CERTIFICATE_FILE=self.pki.path("muster.crt"), MUSTER_TLS_KEY_FILE=self.pki.path("muster.key"))
        try:
            self.assertIn(told, again.log_text())
        finally:
            self.assertEqual(again.stop(), 0)
            again.close()

    @unittest.skipUnless(shutil.which("openssl"), "needs the openssl command")
    def test_openssl_changes_keys_and_is_answered_as_it_asked_S_1(self):
        # Nobody logs in, so the link has ten seconds. Where the machine is too slow for that, another one is tried.
        eventually(self.keys_are_changed)
        self.assertEqual(self.refusals("broken"), 0)

    def keys_are_changed(self):
        """False when the link ended before all was said."""
        client = subprocess.Popen(["openssl", "s_client", "-connect", self.daemon.ports["players"], "-CAfile", self.pki.path("ca.crt"), "-msg"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1)
        heard = []
        reader = threading.Thread(target=lambda: heard.extend(iter(client.stdout.readline, "")))
        reader.start()

        def updates():
            lines = [line for line in list(heard) if "KeyUpdate" in line]
            return sum(line.startswith(">>>") for line in lines), sum(line.startswith("<<<") for line in lines)

        try:
            # s_client takes a command from each line that it reads by itself. K asks for our next key, k does not.
            for command, wanted in (("K", (1, 1)), ("k", (2, 1)), ("K", (3, 2)), ("k", (4, 2))):
                client.stdin.write(command + "\n")
                eventually(lambda: updates() == wanted or client.poll() is not None)
            client.stdin.write("Q\n")
            client.stdin.close()
        except BrokenPipeError:
            pass
        finally:
            client.kill()
            client.wait()
            reader.join()
            client.stdout.close()
        return updates() == (4, 2)

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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
