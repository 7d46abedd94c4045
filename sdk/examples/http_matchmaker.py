#!/usr/bin/env python3
"""A matchmaker over HTTP: names the players, asks for a server, and follows the match to its end.

    http_matchmaker.py URL LOBBY REGION ACCOUNT…      such as http://127.0.0.1:11030 7 EU 1 2

MUSTER_TOKEN is the token to show, where Muster has one: auth.http_matchmaker_token.
"""
import json, os, sys, urllib.error, urllib.request

if len(sys.argv) < 5:
    sys.exit(__doc__)
url, lobby, region, *accounts = sys.argv[1:]
headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ.get('MUSTER_TOKEN', '')}"}


def ask(method, path, body=None, **more):
    data = None if body is None else json.dumps(body).encode()
    try:
        request = urllib.request.Request(f"{url}/api/v1{path}", data, {**headers, **more}, method=method)
        return urllib.request.urlopen(request, timeout=40)  # an allocation is answered within 25 s
    except urllib.error.HTTPError as refusal:
        sys.exit(f"lobby {lobby}: {refusal.code}, {json.load(refusal)['error']}")
    except OSError as failure:
        sys.exit(f"Muster does not answer at {url}: {failure}")


# Opened before the request, so that no event is missed.
events = ask("GET", f"/events?lobby={lobby}&type=match.", Accept="text/event-stream")
ask("PUT", f"/matches/{lobby}/players", {"accounts": [int(account) for account in accounts]})
match = json.load(ask("POST", "/matches", {"lobby_id": int(lobby), "region": region, "player_count": len(accounts)}))
print(f"lobby {lobby}: go to {match['ip']}:{match['port']} with {match['token']}", flush=True)
for line in events:  # "id: …", "event: …", "data: {…}" and an empty line each; ": …" while nothing happens
    if line.startswith(b"data: "):
        event = json.loads(line[len("data: "):])
        print(f"lobby {lobby}: {event['type']} {event.get('reason', '')}".rstrip(), flush=True)
        if event["type"] in ("match.ended", "match.aborted"):
            break
