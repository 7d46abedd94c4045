#!/usr/bin/env python3
"""Peers come back by their tickets, also to another life of the daemon (S-1, S-2, fault 28), seen by foreign clients.

    tls_restart_test.py PATH_TO_MUSTER [unittest arguments]
"""

import os
import shutil
import signal
import ssl
import stat
import subprocess
import sys
import unittest

from muster_peer import PATIENCE_S, GameServer
from tls_daemon import MUSTER, TlsDaemon, eventually


class Returning(GameServer):
    """A game server that shows the session of its last link, if it has one."""

    def __init__(self, test, context, port, session=None):
        host, number = test.address("servers")
        self.tls = type("WithSession", (), {"wrap_socket": staticmethod(
            lambda plain, server_hostname: context.wrap_socket(plain, server_hostname=server_hostname, session=session))})
        try:
            super().__init__(f"{host}:{number}", port)
        except OSError:
            self.close()
            raise

    def was_resumed(self):
        return self.socket.session_reused

    def session(self):
        """There is one once the daemon has said something behind the handshake."""
        return self.socket.session


class Restart(TlsDaemon):
    def tickets(self):
        return os.path.join(self.data, "muster.db.tickets")

    def restart(self, how):
        self.daemon.stop(how)
        self.daemon.start()

    def test_a_game_server_comes_back_by_its_ticket_after_a_restart_and_a_kill_S_1_fault_28(self):
        context = self.pki.context("eu-1")
        server = Returning(self, context, 20001)
        self.assertFalse(server.was_resumed())
        known = server.id
        for how in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(how):
                self.restart(how)
                session = server.session()
                self.assertTrue(session.has_ticket)
                server.close()
                server = Returning(self, context, 20001, session)
                self.assertTrue(server.was_resumed())
                self.assertEqual((server.refused, server.id), (None, known))
                self.assertEqual(self.metric("muster_tls_handshakes_total", kind="resumed"), 1)
                server.heartbeat()
                server.expect(0x1003)
        server.close()

    def test_the_endpoint_of_a_name_is_its_own_after_it_came_back_by_a_ticket_S_2(self):
        first, other = self.pki.context("eu-1"), self.pki.context("eu-2")
        server, stranger = Returning(self, first, 20001), Returning(self, other, 20002)
        self.restart(signal.SIGTERM)
        sessions = server.session(), stranger.session()
        server.close()
        stranger.close()
        server = Returning(self, first, 20001, sessions[0])
        self.assertTrue(server.was_resumed())
        stranger = Returning(self, other, 20001, sessions[1])
        self.assertTrue(stranger.was_resumed())
        self.assertEqual(stranger.refused, "Server registered under another name")
        server.close()
        stranger.close()

    def test_a_revoked_peer_is_refused_with_its_ticket_and_one_that_came_by_it_is_cut_S_2(self):
        context = self.pki.context("eu-2")
        server = Returning(self, context, 20001)
        session = server.session()
        server.close()
        server = Returning(self, context, 20001, session)
        self.assertTrue(server.was_resumed())
        self.revoke(self.serials["eu-2"] + "\n")
        self.reload()
        self.assertIsNone(server.receive())
        session = server.session()
        server.close()
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            Returning(self, context, 20001, session)
        eventually(lambda: self.refusals("revoked") == 1)

    def test_a_reload_keeps_tickets_good_and_another_authority_ends_them_S_1_S_2(self):
        context = self.pki.context("eu-1")
        server = Returning(self, context, 20001)
        self.pki.run("renew", self.pki.folder, "muster")
        self.reload()
        self.wait_for_log("new connections get it")
        session = server.session()
        server.close()
        server = Returning(self, context, 20001, session)
        self.assertTrue(server.was_resumed())
        session = server.session()
        server.close()
        both = self.pki.path("ca.crt")
        subprocess.run([MUSTER, "certs", "init", os.path.join(self.folder, "other")], check=True, capture_output=True, timeout=PATIENCE_S)
        with open(os.path.join(self.folder, "other", "ca.crt"), encoding="ascii") as more, open(both, "a", encoding="ascii") as file:
            file.write(more.read())
        self.reload()
        self.wait_for_log("tls.client_ca_file: other authorities")
        server = Returning(self, context, 20001, session)
        self.assertFalse(server.was_resumed())
        self.assertIsNone(server.refused)
        server.close()

    def test_the_keys_are_the_daemons_alone_and_what_others_could_read_is_not_believed_S_1(self):
        self.assertEqual(stat.S_IMODE(os.stat(self.tickets()).st_mode), 0o600)
        context = self.pki.context("eu-1")
        server = Returning(self, context, 20001)
        os.chmod(self.tickets(), 0o644)
        self.restart(signal.SIGTERM)
        session = server.session()
        server.close()
        self.assertIn("others may have read or written it", self.daemon.log_text())
        server = Returning(self, context, 20001, session)
        self.assertFalse(server.was_resumed())
        self.assertIsNone(server.refused)
        self.assertEqual(stat.S_IMODE(os.stat(self.tickets()).st_mode), 0o600)
        server.close()

    @unittest.skipUnless(shutil.which("openssl"), "needs the openssl command")
    def test_openssl_comes_back_by_its_ticket_after_a_restart_S_1(self):
        kept = os.path.join(self.folder, "session")

        def s_client(*arguments):
            # It stays until the daemon ends the link: the ticket comes behind the handshake.
            return subprocess.run(["openssl", "s_client", "-connect", self.daemon.ports["servers"], "-CAfile", self.pki.path("ca.crt"),
                                   "-cert", self.pki.path("eu-1.crt"), "-key", self.pki.path("eu-1.key"), "-verify_return_error", "-ign_eof",
                                   *arguments], input="not a frame at all, so that the daemon ends the link\n", text=True,
                                  capture_output=True, timeout=PATIENCE_S).stdout

        self.assertIn("New, TLSv1.3", s_client("-sess_out", kept))
        self.restart(signal.SIGKILL)
        self.assertIn("Reused, TLSv1.3", s_client("-sess_in", kept))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
