#!/usr/bin/env python3
"""A game server that speaks PlayFab's GSDK and knows nothing of Muster. An agent runs it as it is:

    muster up --count 2 --sdk gsdk -- python3 gsdk_game.py

It echoes datagrams at PORT. "end" ends it, as a PlayFab server ends after its match; "crash" is what it says.
"""

import http.client
import json
import os
import signal
import socket
import sys
import threading
import time

with open(os.environ.get("GSDK_CONFIG_FILE") or sys.exit("no GSDK_CONFIG_FILE: an agent starts this server"),
          encoding="utf-8") as file:
    CONFIG = json.load(file)

PATIENCE_S = 20  # with an agent that is being replaced
AWAY = (OSError, ValueError, http.client.HTTPException)  # nobody answers, or not to the end
state = "Initializing"


def heartbeat():
    """Says how it is, and does what the answer says."""
    global state
    agent = http.client.HTTPConnection(CONFIG["heartbeatEndpoint"], timeout=10)
    body = {"CurrentGameState": state, "CurrentGameHealth": "Healthy", "CurrentPlayers": []}
    agent.request("PATCH", f"/v1/sessionHosts/{CONFIG['sessionHostId']}", json.dumps(body),
                  {"Content-Type": "application/json"})
    answer = json.loads(agent.getresponse().read())
    agent.close()
    if answer["operation"] == "Active" and state == "StandingBy":
        session = answer["sessionConfig"]
        print(f"session {session['sessionId']}, players show {session['sessionCookie']}", flush=True)
        state = "Active"
        heartbeat()
    if answer["operation"] == "Terminate":
        os._exit(0)
    return answer["nextHeartbeatIntervalMs"] / 1000


def heartbeats():
    while True:
        try:
            pause = heartbeat()
        except AWAY:
            pause = 1  # whoever answers is being replaced
        time.sleep(pause)


def say_terminated():
    """The last heartbeat is said again while whoever answers is being replaced."""
    global state
    state = "Terminated"
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        try:
            return heartbeat()
        except AWAY:
            time.sleep(0.2)


def main():
    global state
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    players = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    players.bind(("0.0.0.0", int(CONFIG["gamePorts"]["default"])))
    state = "StandingBy"
    threading.Thread(target=heartbeats, daemon=True).start()
    print("standing by", flush=True)
    while True:
        text, player = players.recvfrom(1500)
        if text == b"end":
            say_terminated()
            os._exit(0)
        elif text == b"crash":
            os.abort()
        else:
            players.sendto(text, player)


if __name__ == "__main__":
    main()
