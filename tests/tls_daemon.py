"""For tests: a daemon with TLS on its ports, certificates as an operator makes them, and peers for it.

The first argument of the test that imports it is the path to muster.
"""

import os
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

from muster_peer import PATIENCE_S, Daemon, GameServer, Peer

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
                             MUSTER_AUTH_MATCHMAKER_TOKEN="a token that nobody knows", MUSTER_AUTH_ADMIN_TOKEN="the first admin's",
                             **self.more_settings())
        self.addCleanup(self.end)

    def more_settings(self):
        return {}

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
