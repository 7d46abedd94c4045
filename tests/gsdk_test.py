#!/usr/bin/env python3
"""PlayFab's GSDK server as its clients see it: requests as those in C++, C#, Unity and Java send them.

    gsdk_test.py PATH_TO_SDK_STAND [unittest arguments]
"""

import json
import os
import pathlib
import socket
import sys
import unittest
import uuid

from sdk_stand import Stand, ask

STAND = ""

# Method, path after the id, headers, body; {} stands for the state.
CLIENTS = {
    "C++": ("PATCH", "", "Accept: application/json\r\nContent-Type: application/json; charset=utf-8",
            '{"CurrentGameHealth":"Healthy","CurrentGameState":"%s","CurrentPlayers":null}\n'),
    "C#": ("POST", "/heartbeats", "Content-Type: application/json; charset=utf-8\r\nExpect: 100-continue",
           '{"CurrentGameState":"%s","CurrentGameHealth":"","CurrentPlayers":[]}'),
    "Unity": ("PATCH", "", "User-Agent: UnityPlayer/2021.3\r\nX-Unity-Version: 2021.3\r\nContent-Type: application/json",
              '{"currentGameState":"%s","currentGameHealth":"Healthy","currentPlayers":[{"playerId":"a"}]}'),
    "Java": ("PATCH", "", "Content-Type: application/json\r\nConnection: Keep-Alive\r\nAccept-Encoding: gzip,deflate",
             '{"CurrentGameState":"%s","CurrentGameHealth":"Healthy"}'),
}


class Gsdk(unittest.TestCase):
    def setUp(self):
        self.stand = Stand(STAND, "gsdk", len(CLIENTS))
        self.addCleanup(self.stand.close)

    def config(self, number):
        return json.loads(pathlib.Path(self.stand.environments[number]["GSDK_CONFIG_FILE"]).read_text())

    def heartbeat(self, client, number, state):
        """As that client sends it, on a connection of its own."""
        method, suffix, headers, body = CLIENTS[client]
        config = self.config(number)
        host, port = config["heartbeatEndpoint"].split(":")
        body = (body % state).encode()
        with socket.create_connection((host, int(port)), 20) as peer:
            head = (f"{method} /v1/sessionHosts/{config['sessionHostId']}{suffix} HTTP/1.1\r\nHost: {host}:{port}\r\n"
                    f"{headers}\r\nContent-Length: {len(body)}\r\n\r\n").encode()
            peer.sendall(head)
            got = b""
            if "100-continue" in headers:
                while b"100 Continue\r\n\r\n" not in got:
                    got += peer.recv(4096)
                got = b""
            peer.sendall(body)
            while b"\r\n\r\n" not in got or not got.endswith(b"}"):
                piece = peer.recv(4096)
                self.assertTrue(piece, got)
                got += piece
        self.assertTrue(got.startswith(b"HTTP/1.1 200 "), got)
        answer = json.loads(got.split(b"\r\n\r\n", 1)[1])
        self.assertEqual(answer["nextHeartbeatIntervalMs"], 1000)
        return answer

    def test_each_client_stands_by_gets_a_match_plays_it_and_ends_G_30_and_G_31(self):
        for number, client in enumerate(CLIENTS):
            with self.subTest(client=client):
                self.assertEqual(self.heartbeat(client, number, "Initializing")["operation"], "Continue")
                self.assertEqual(self.heartbeat(client, number, "StandingBy")["operation"], "Continue")
                self.assertEqual(self.stand.facts(number), ["ready 0"])
                self.stand.tell(f"offer {number} 5 cookie")
                answer = self.heartbeat(client, number, "StandingBy")
                self.assertEqual(answer["operation"], "Active")
                session = answer["sessionConfig"]
                self.assertEqual(str(uuid.UUID(session["sessionId"])), session["sessionId"])
                self.assertEqual((session["sessionCookie"], session["initialPlayers"]), ("cookie", []))
                self.assertIsInstance(session["metadata"], dict)
                self.assertEqual(self.stand.facts(number), ["accepted 5"])
                answer = self.heartbeat(client, number, "Active")
                self.assertEqual((answer["operation"], "sessionConfig" in answer), ("Continue", False))
                self.assertEqual(self.stand.facts(number), ["match_ready 5"])
                self.heartbeat(client, number, "Terminated")
                self.assertEqual(self.stand.facts(number), ["shutdown 0"])

    def test_an_abort_and_a_stop_are_terminate_G_31(self):
        self.heartbeat("C++", 0, "StandingBy")
        self.stand.tell("offer 0 5 cookie")
        self.heartbeat("C++", 0, "StandingBy")
        self.stand.tell("abort 0 5 reason")
        self.assertEqual(self.heartbeat("C++", 0, "Active")["operation"], "Terminate")
        self.heartbeat("C#", 1, "StandingBy")
        self.stand.tell("stop 1")
        self.assertEqual(self.heartbeat("C#", 1, "StandingBy")["operation"], "Terminate")

    def test_a_known_id_never_gets_an_http_error_and_one_of_a_neighbour_is_unknown_G_30(self):
        config, neighbour = self.config(0), self.config(1)
        port = int(config["heartbeatEndpoint"].split(":")[1])
        for body in ("", "nonsense", "[1]", '{"CurrentGameState":{}}', "{" * 1000):
            status, answer = ask(port, "PATCH", f"/v1/sessionHosts/{config['sessionHostId']}", body)
            self.assertEqual((status, answer["operation"]), (200, "Continue"))
        self.assertEqual(ask(port, "POST", f"/v1/metrics/{config['sessionHostId']}/gsdkinfo", "{}")[0], 200)
        self.assertEqual(ask(port, "PATCH", f"/v1/sessionHosts/{neighbour['sessionHostId']}", "{}")[0], 404)
        self.assertEqual(self.stand.facts(0), [])

    def test_the_config_file_is_whole_and_for_its_user_only_G_30(self):
        environment = self.stand.environments[0]
        mode = os.stat(environment["GSDK_CONFIG_FILE"]).st_mode & 0o777
        self.assertEqual(mode, 0o600)
        config = self.config(0)
        self.assertEqual(config["heartbeatEndpoint"], environment["HEARTBEAT_ENDPOINT"])
        self.assertEqual(config["sessionHostId"], environment["SESSION_HOST_ID"])
        self.assertEqual(config["gamePorts"], {"default": "7000"})
        self.assertEqual(config["gameServerConnectionInfo"]["gamePortsConfiguration"],
                         [{"name": "default", "serverListeningPort": 7000, "clientConnectionPort": 7000}])
        for name in ("gameCertificates", "buildMetadata"):
            self.assertEqual(config[name], {})


if __name__ == "__main__":
    STAND = os.path.abspath(sys.argv.pop(1))
    unittest.main()
