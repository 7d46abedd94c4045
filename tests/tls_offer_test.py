#!/usr/bin/env python3
"""What TLS offers, and whom it refuses by date, seen by openssl and curl at a game port and over HTTPS (S-1, S-2, fault 75).

    tls_offer_test.py PATH_TO_MUSTER [unittest arguments]
"""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import unittest

from muster_peer import PATIENCE_S
from tls_daemon import TlsDaemon, eventually

DATES = {"expired": ("20200101000000Z", "20210101000000Z"), "not_yet_valid": ("20980101000000Z", "20990101000000Z")}


@unittest.skipUnless(shutil.which("openssl") and shutil.which("curl"), "needs openssl and curl")
class Offer(TlsDaemon):
    ports = '["servers", "http"]'

    def more_settings(self):
        return {"MUSTER_HTTP_OPEN_METRICS": "true"}

    def curl(self, *arguments):
        """The text of /metrics."""
        return subprocess.run(["curl", "-sS", "--cacert", self.pki.path("ca.crt"), *arguments, f"https://{self.daemon.ports['http']}/metrics"],
                              text=True, capture_output=True, timeout=PATIENCE_S)

    def failures(self, port, reason):
        found = re.search(rf'muster_tls_failures_total\{{port="{port}",reason="{reason}"\}} (\d+)', self.curl().stdout)
        return int(found[1]) if found else 0

    def s_client(self, port, *arguments, certificate="eu-1", said=""):
        """Both what it printed and how it ended. It stays until the daemon has ended the link, or until `said` was read."""
        return subprocess.run(["openssl", "s_client", "-connect", self.daemon.ports[port], "-CAfile", self.pki.path("ca.crt"),
                               "-cert", self.pki.path(certificate + ".crt"), "-key", self.pki.path(certificate + ".key"),
                               "-verify_return_error", "-verify_ip", "127.0.0.1", *arguments],
                              input=said, text=True, capture_output=True, timeout=PATIENCE_S)

    def is_taken(self, port, *arguments):
        ran = self.s_client(port, *arguments)
        return ran.returncode == 0 and "New, TLSv1.3" in ran.stdout

    def test_three_suites_two_groups_and_nothing_older_or_else_are_offered_S_1(self):
        for port in ("servers", "http"):
            for taken, arguments in (
                    (True, ("-ciphersuites", "TLS_AES_128_GCM_SHA256")), (True, ("-ciphersuites", "TLS_AES_256_GCM_SHA384")),
                    (True, ("-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256")), (False, ("-ciphersuites", "TLS_AES_128_CCM_SHA256")),
                    (False, ("-ciphersuites", "TLS_AES_128_CCM_8_SHA256")), (True, ("-groups", "X25519")), (True, ("-groups", "P-256")),
                    (False, ("-groups", "P-384")), (False, ("-groups", "P-521")), (False, ("-groups", "X448")),
                    (False, ("-groups", "ffdhe2048")), (False, ("-tls1_2",)), (False, ("-tls1_1",)), (False, ("-tls1",))):
                with self.subTest(port=port, arguments=arguments):
                    self.assertEqual(self.is_taken(port, *arguments), taken)

    def test_no_compression_no_renegotiation_no_early_data_no_protocol_by_name_S_1(self):
        for port in ("servers", "http"):
            with self.subTest(port):
                told = self.s_client(port, "-alpn", "h2,http/1.1").stdout
                for words in ("Compression: NONE", "Expansion: NONE", "Early data was not sent", "No ALPN negotiated"):
                    self.assertIn(words, told)
                self.assertNotIn("Secure Renegotiation IS supported", told)

    def test_an_attempt_to_renegotiate_ends_in_nothing_and_touches_no_other_link_fault_75(self):
        up = self.server(self.pki.context("eu-1"))
        for port in ("servers", "http"):
            with self.subTest(port):
                # openssl takes the line as a command. TLS 1.3 has no such thing, and older ones are not to be had.
                asked = self.s_client(port, said="R\n")
                self.assertIn("RENEGOTIATING", asked.stdout + asked.stderr)
                self.assertIn("wrong ssl version", asked.stdout + asked.stderr)
                self.assertNotEqual(self.s_client(port, "-tls1_2", "-legacy_renegotiation", said="R\n").returncode, 0)
        up.heartbeat()
        up.expect(0x1003)
        up.close()

    def test_a_handshake_cut_off_anywhere_is_incomplete_and_no_more_fault_75(self):
        up = self.server(self.pki.context("eu-1"))
        hello = self.recorded_hello()
        for port in ("servers", "http"):
            cuts = (1, 5, 6, 40, len(hello) - 1, len(hello))
            before = self.failures(port, "incomplete")
            for cut in cuts:
                with socket.create_connection(self.address(port), timeout=PATIENCE_S) as peer:
                    peer.sendall(hello[:cut])
                    peer.shutdown(socket.SHUT_WR)
                    with contextlib.suppress(ConnectionResetError):  # what was not read of it
                        while peer.recv(65536):  # of the last one, the answer to its hello
                            pass
            eventually(lambda: self.failures(port, "incomplete") == before + len(cuts))
        up.heartbeat()
        up.expect(0x1003)
        up.close()

    def recorded_hello(self):
        """What openssl says first."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            client = subprocess.Popen(["openssl", "s_client", "-connect", f"127.0.0.1:{server.getsockname()[1]}"], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                link, _ = server.accept()
                with link:
                    link.settimeout(PATIENCE_S)
                    said = link.recv(5, socket.MSG_WAITALL)
                    return said + link.recv(int.from_bytes(said[3:5], "big"), socket.MSG_WAITALL)
            finally:
                client.kill()
                client.wait()

    def issue_dated(self, name, first, last):
        """A game server's certificate of our authority for these dates."""
        folder = os.path.join(self.folder, name)
        os.mkdir(folder)
        for file, text in (("index", ""), ("serial", "77\n"),
                           ("config", f"[ca]\ndefault_ca=own\n[own]\ndatabase={folder}/index\nserial={folder}/serial\nnew_certs_dir={folder}\n"
                                      "default_md=sha256\npolicy=any\n[any]\norganizationalUnitName=supplied\ncommonName=supplied\n")):
            with open(os.path.join(folder, file), "w", encoding="ascii") as made:
                made.write(text)
        request = os.path.join(folder, "request")
        for command in (["req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/OU=server/CN={name}",
                         "-keyout", self.pki.path(name + ".key"), "-out", request],
                        ["ca", "-batch", "-notext", "-config", os.path.join(folder, "config"), "-cert", self.pki.path("ca.crt"),
                         "-keyfile", self.pki.path("ca.key"), "-startdate", first, "-enddate", last, "-in", request,
                         "-out", self.pki.path(name + ".crt")]):
            subprocess.run(["openssl", *command], check=True, capture_output=True, timeout=PATIENCE_S)

    def test_certificates_out_of_their_time_are_refused_with_their_reason_S_2_fault_75(self):
        up = self.server(self.pki.context("eu-1"))
        for name, dates in DATES.items():
            self.issue_dated(name, *dates)
        for name, alert in (("expired", "CERTIFICATE_EXPIRED"), ("not_yet_valid", "BAD_CERTIFICATE")):
            with self.subTest(name):
                self.assertIn(alert, self.knock(self.pki.context(name)))
                eventually(lambda: self.failures("servers", name) == 1)
                self.wait_for_log(f"reason={name}")
                # Over HTTP none has to be shown, but one that is shown has to be good.
                self.curl("--cert", self.pki.path(name + ".crt"), "--key", self.pki.path(name + ".key"))
                eventually(lambda: self.failures("http", name) == 1)
        up.heartbeat()
        up.expect(0x1003)
        up.close()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
