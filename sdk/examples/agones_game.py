#!/usr/bin/env python3
"""A game server that speaks Agones' SDK over HTTP and knows nothing of Muster. An agent runs it as it is:

    muster up --count 2 --sdk agones -- python3 agones_game.py

It echoes datagrams at PORT. "end" ends its match (Ready), "shutdown" ends the server, "crash" is what it says.
"""

import http.client
import json
import os
import signal
import socket
import sys
import threading
import time

PATIENCE_S = 20  # with an SDK server that is being replaced
SDK_PORT = int(os.environ.get("AGONES_SDK_HTTP_PORT") or sys.exit("no AGONES_SDK_HTTP_PORT: an agent starts this server"))


def call(path, body="{}"):
    sdk = http.client.HTTPConnection("127.0.0.1", SDK_PORT, timeout=10)
    sdk.request("POST", path, body, {"Content-Type": "application/json"})
    sdk.getresponse().read()
    sdk.close()


def insist(path):
    """For what must be heard: it is said again while whoever serves the SDK is being replaced."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return call(path)
        except (OSError, http.client.HTTPException):
            if time.monotonic() > until:
                raise
        time.sleep(0.2)


def ping():
    while True:
        try:
            call("/health")
        except (OSError, http.client.HTTPException):
            pass  # whoever serves the SDK is being replaced
        time.sleep(2)


def watch():
    """Says when a match comes. The stream is opened again when whoever serves it is replaced."""
    lobby = None
    while True:
        try:
            sdk = http.client.HTTPConnection("127.0.0.1", SDK_PORT)
            sdk.request("GET", "/watch/gameserver")
            for line in sdk.getresponse():
                server = json.loads(line)["result"]
                annotations = server["object_meta"]["annotations"]
                if annotations.get("muster.dev/lobby") != lobby:
                    lobby = annotations.get("muster.dev/lobby")
                    if lobby:
                        print(f"match {lobby}, players show {annotations['muster.dev/token']}", flush=True)
        except (OSError, ValueError, http.client.HTTPException):
            pass
        time.sleep(0.2)


def main():
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    players = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    players.bind(("0.0.0.0", int(os.environ["PORT"])))
    for work in (ping, watch):
        threading.Thread(target=work, daemon=True).start()
    insist("/ready")
    print("ready", flush=True)
    while True:
        text, player = players.recvfrom(1500)
        if text == b"end":
            insist("/ready")
        elif text == b"shutdown":
            insist("/shutdown")
        elif text == b"crash":
            os.abort()
        else:
            players.sendto(text, player)


if __name__ == "__main__":
    main()
