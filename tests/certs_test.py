#!/usr/bin/env python3
"""`muster certs` as an operator uses it, checked by openssl (S-3).

    certs_test.py PATH_TO_MUSTER [unittest arguments]
"""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

MUSTER = sys.argv[1]


def certs(*arguments):
    return subprocess.run([MUSTER, "certs", *arguments], text=True, capture_output=True, timeout=30)


class Certs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.pki = os.path.join(folder.name, "pki")

    def path(self, name):
        return os.path.join(self.pki, name)

    def openssl(self, *arguments):
        if not shutil.which("openssl"):
            self.skipTest("needs the openssl command")
        return subprocess.run(["openssl", *arguments], text=True, capture_output=True, timeout=30)

    def test_an_authority_in_a_minute_that_openssl_believes_S_3(self):
        made = certs("init", self.pki, "--dns", "muster.example", "--ip", "203.0.113.5", "--ip", "2001:db8::5")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(sorted(os.listdir(self.pki)), ["ca.crt", "ca.key", "muster.crt", "muster.key"])
        for line in ("[tls]", f'certificate_file = "{self.path("muster.crt")}"', f'key_file = "{self.path("muster.key")}"',
                     f'client_ca_file = "{self.path("ca.crt")}"'):
            self.assertIn(line, made.stdout.splitlines())
        issued = certs("issue", self.pki, "--role", "server", "--ip", "203.0.113.7", "eu-1", "--days", "30")
        self.assertEqual(issued.returncode, 0, issued.stderr)
        for name in os.listdir(self.pki):
            if name.endswith(".key"):
                self.assertEqual(stat.S_IMODE(os.stat(self.path(name)).st_mode), 0o600, name)
        for purpose, name in (("sslserver", "muster.crt"), ("sslclient", "eu-1.crt")):
            verified = self.openssl("verify", "-purpose", purpose, "-CAfile", self.path("ca.crt"), self.path(name))
            self.assertEqual(verified.returncode, 0, verified.stderr + verified.stdout)
        text = self.openssl("x509", "-in", self.path("eu-1.crt"), "-noout", "-subject", "-ext", "subjectAltName").stdout
        self.assertRegex(text, r"OU ?= ?server, CN ?= ?eu-1")
        self.assertIn("203.0.113.7", text)

    def test_renew_and_show_agree_on_the_serial_number_S_3(self):
        certs("init", self.pki)
        certs("issue", self.pki, "mm", "--role", "matchmaker")
        first = certs("show", self.path("mm.crt")).stdout
        renewed = certs("renew", self.pki, "mm")
        self.assertEqual(renewed.returncode, 0, renewed.stderr)
        second = certs("show", self.path("mm.crt")).stdout
        number = re.search(r"serial number ([0-9A-F]+)", renewed.stdout)[1]
        self.assertIn(number, second)
        self.assertNotIn(number, first)
        self.assertRegex(second, r"(?m)^role +matchmaker$")
        printed = self.openssl("x509", "-in", self.path("mm.crt"), "-noout", "-serial").stdout
        self.assertEqual(printed.strip().removeprefix("serial=").lstrip("0"), number)

    def test_what_cannot_be_done_says_why_and_changes_nothing_S_3(self):
        certs("init", self.pki)
        with open(self.path("ca.key"), encoding="ascii") as file:
            key = file.read()
        for arguments, code, why in ((("init", self.pki), 74, "never overwritten"),
                                     (("issue", self.pki, "x"), 64, "--role"),
                                     (("issue", self.pki, "x", "--role", "king"), 64, "--role"),
                                     (("issue", self.pki, "a/b", "--role", "server"), 64, "a name has"),
                                     (("issue", self.pki, "x", "--role", "server", "--days", "0"), 64, "--days"),
                                     (("issue", "/nowhere", "x", "--role", "server"), 74, "/nowhere/ca.crt"),
                                     (("renew", self.pki), 64, "a folder and a name"),
                                     (("renew", self.pki, "nobody"), 74, "nobody.crt"),
                                     (("show", self.path("ca.key")), 74, "no certificate"),
                                     (("show", self.path("ca.crt"), "--days", "3"), 64, "takes no flags")):
            done = certs(*arguments)
            self.assertEqual(done.returncode, code, (arguments, done.stderr))
            self.assertIn(why, done.stderr)
        self.assertEqual(len(os.listdir(self.pki)), 4)
        with open(self.path("ca.key"), encoding="ascii") as file:
            self.assertEqual(file.read(), key)

    def test_a_file_that_cannot_be_made_or_used_is_exit_74_as_the_table_says_S_3(self):
        certs("init", self.pki)
        certs("issue", self.pki, "eu-1", "--role", "server")
        other = self.pki + "-other"
        certs("init", other)
        shutil.copy(os.path.join(other, "ca.crt"), self.path("foreign.crt"))
        shutil.copy(os.path.join(other, "muster.key"), self.path("foreign.key"))
        with open(self.path("mm.key"), "w", encoding="ascii") as file:
            file.write("no key\n")
        os.chmod(self.path("mm.key"), 0o600)
        shutil.copytree(self.pki, self.pki + "-mixed")
        shutil.copy(os.path.join(other, "ca.key"), os.path.join(self.pki + "-mixed", "ca.key"))
        with open(self.pki + "-file", "w", encoding="ascii"):
            pass
        for arguments, why in ((("init", self.pki + "-file"), "Not a directory"),
                               (("init", self.pki + "-no/such/folder"), "cannot make the folder"),
                               (("issue", self.pki, "eu-1", "--role", "server"), "never overwritten"),
                               (("issue", self.pki, "mm", "--role", "matchmaker"), "no private key"),
                               (("issue", self.pki + "-mixed", "x", "--role", "server"), "does not belong to"),
                               (("renew", self.pki, "foreign"), "does not belong to"),
                               (("show", self.path("none.crt")), "No such file")):
            done = certs(*arguments)
            self.assertEqual(done.returncode, 74, (arguments, done.stderr))
            self.assertIn(why, done.stderr)

    def test_a_key_that_no_killed_command_left_is_refused_and_stays_as_it_is_S_3(self):
        certs("init", self.pki)
        for name, arguments in (("rsa", ("-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")),
                                ("p384", ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384")),
                                ("ed25519", ("-algorithm", "ED25519"))):
            made = self.openssl("genpkey", *arguments, "-out", self.path(name + ".key"))
            self.assertEqual(made.returncode, 0, made.stderr)
            os.chmod(self.path(name + ".key"), 0o600)
        made = self.openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", self.path("open.key"))
        self.assertEqual(made.returncode, 0, made.stderr)
        os.chmod(self.path("open.key"), 0o644)
        os.symlink(self.path("ca.key"), self.path("link.key"))
        os.mkdir(self.path("folder.key"))
        for name, why in (("rsa", "RSA with 2048 bits, where P-256 is wanted"), ("p384", "384 bits"), ("ed25519", "ED25519"),
                          ("open", "open to others than its owner (mode 0644)"), ("link", "no plain file"),
                          ("folder", "no plain file")):
            with self.subTest(name):
                done = certs("issue", self.pki, name, "--role", "server")
                self.assertEqual(done.returncode, 74, done.stderr)
                self.assertIn(why, done.stderr)
                self.assertIn(name + ".key is there without its certificate", done.stderr)
                self.assertFalse(os.path.exists(self.path(name + ".crt")))
                self.assertTrue(os.path.lexists(self.path(name + ".key")))
        # One as a killed command leaves it is gone on with.
        os.chmod(self.path("open.key"), 0o600)
        self.assertEqual(certs("issue", self.pki, "open", "--role", "server").returncode, 0)

    def test_every_action_has_json_for_scripts_O_3(self):
        made = json.loads(certs("init", self.pki, "--dns", "muster.example", "--json").stdout)
        self.assertEqual(made["certificate_file"], self.path("muster.crt"))
        self.assertEqual(made["key_file"], self.path("muster.key"))
        self.assertIn("muster.example", made["dns"])
        issued = json.loads(certs("issue", self.pki, "eu-1", "--role", "server", "--json").stdout)
        self.assertEqual((issued["name"], issued["role"]), ("eu-1", "server"))
        shown = json.loads(certs("show", self.path("eu-1.crt"), "--json").stdout)
        self.assertEqual(shown["serial"], issued["serial"])
        renewed = json.loads(certs("renew", self.pki, "eu-1", "--json").stdout)
        self.assertNotEqual(renewed["serial"], issued["serial"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
