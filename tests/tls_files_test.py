#!/usr/bin/env python3
"""Certificates, keys and their files: each port's own, dates, modes, and files that cannot be used (S-1, S-3).

    tls_files_test.py PATH_TO_MUSTER [unittest arguments]
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

from muster_peer import PATIENCE_S
from tls_daemon import MUSTER, Pki, TlsDaemon, eventually


class OwnCertificates(TlsDaemon):
    """A port may show a certificate of its own (S-1); the one that expires first is told (S-3)."""

    ports = '["servers", "http"]'

    def more_settings(self):
        self.web = Pki(os.path.join(self.folder, "web"))
        self.short_lived(10)
        return {"MUSTER_TLS_HTTP_CERTIFICATE_FILE": self.web.path("muster.crt"), "MUSTER_TLS_HTTP_KEY_FILE": self.web.path("muster.key")}

    def short_lived(self, days):
        """The web's certificate again, for so many days."""
        names = self.web.path("names")
        with open(names, "w", encoding="ascii") as file:
            file.write("subjectAltName=IP:127.0.0.1\n")
        request = subprocess.run(["openssl", "req", "-new", "-key", self.web.path("muster.key"), "-subj", "/CN=web"], check=True,
                                 capture_output=True, timeout=PATIENCE_S).stdout
        subprocess.run(["openssl", "x509", "-req", "-CA", self.web.path("ca.crt"), "-CAkey", self.web.path("ca.key"), "-CAcreateserial",
                        "-days", str(days), "-extfile", names, "-out", self.web.path("muster.crt")], input=request, check=True,
                       capture_output=True, timeout=PATIENCE_S)

    def status(self):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
        return subprocess.run([MUSTER, "status"], env={**kept, "MUSTER_URL": f"https://{self.daemon.ports['http']}",
                                                       "MUSTER_CA_FILE": self.web.path("ca.crt")},
                              text=True, capture_output=True, timeout=PATIENCE_S).stdout

    @unittest.skipUnless(shutil.which("openssl"), "needs the openssl command")
    def test_each_port_shows_its_own_and_an_expiry_is_in_status_S_1_S_3(self):
        server = self.server(self.pki.context("eu-1"))
        self.assertIsNone(server.refused)
        with self.assertRaises(urllib.error.URLError, msg="HTTP has another authority"):
            urllib.request.urlopen(f"https://{self.daemon.ports['http']}/readyz", timeout=PATIENCE_S, context=self.pki.context())
        self.assertRegex(self.status(), r"The TLS certificate \(tls\.http_certificate_file\) expires in (9|10) days")
        self.short_lived(20)
        self.reload()
        self.wait_for_log("Changed tls.http_certificate_file: certificate")
        eventually(lambda: "expires in" not in self.status())
        # A bad one keeps the old, and says which.
        shutil.copy(self.pki.path("muster.key"), self.web.path("muster.key"))
        self.reload()
        self.wait_for_log("Reload refused: tls.http_key_file: ")
        server.heartbeat()
        server.expect(0x1003)
        server.close()


class CheckedConfig(unittest.TestCase):
    """`muster config --check` says what the daemon would make of the files."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.pki = Pki(os.path.join(self.folder, "pki"))
        self.base = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}

    def check(self, **files):
        files = {"certificate_file": "muster.crt", "key_file": "muster.key", "client_ca_file": "ca.crt", **files}
        path = os.path.join(self.folder, "muster.toml")
        with open(path, "w", encoding="ascii") as file:
            file.write('[tls]\nports = ["servers", "http"]\n')
            file.writelines(f'{key} = "{self.pki.path(name)}"\n' for key, name in files.items())
        return subprocess.run([MUSTER, "config", "--check", path], env=self.base, text=True, capture_output=True, timeout=PATIENCE_S)

    @unittest.skipUnless(shutil.which("openssl"), "needs the openssl command")
    def test_dates_keys_and_modes_are_told_as_a_start_would_take_them_S_1_S_3(self):
        good = self.check()
        self.assertEqual(good.returncode, 0, good.stderr)
        self.assertNotIn("tls", good.stderr)
        self.assertRegex(good.stdout, r"(?m)^  tls\.certificate_file +valid until 20..-..-.. ..:.. UTC: .*/muster\.crt$")
        self.assertRegex(good.stdout, r"(?m)^  tls\.client_ca_file +valid until 20..-..-.. ..:.. UTC: .*/ca\.crt$")

        request = subprocess.run(["openssl", "req", "-new", "-key", self.pki.path("muster.key"), "-subj", "/CN=old"], check=True,
                                 capture_output=True, timeout=PATIENCE_S).stdout
        subprocess.run(["openssl", "x509", "-req", "-CA", self.pki.path("ca.crt"), "-CAkey", self.pki.path("ca.key"), "-CAcreateserial",
                        "-days", "-1", "-out", self.pki.path("old.crt")], input=request, check=True, capture_output=True, timeout=PATIENCE_S)
        expired = self.check(certificate_file="old.crt")
        self.assertEqual(expired.returncode, 0, "a start takes it")
        self.assertIn("warning: The TLS certificate (tls.certificate_file) has expired; peers refuse it; ", expired.stderr)
        self.assertRegex(expired.stdout, r"(?m)^  tls\.certificate_file +expired on 20..-..-.. ")

        mixed = self.check(key_file="ca.key")
        self.assertEqual(mixed.returncode, 78)
        self.assertIn("tls.key_file: ", mixed.stderr)
        self.assertIn("does not belong to the certificate", mixed.stderr)

        os.chmod(self.pki.path("muster.key"), 0o644)
        open_key = self.check()
        self.assertEqual(open_key.returncode, 0)
        self.assertIn(f"warning: tls.key_file: {self.pki.path('muster.key')} is open to others than its owner (mode 0644); use chmod 600",
                      open_key.stderr)


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
