"""A daemon, and a client of its HTTP API that knows nothing but the specification."""

import http.client
import json
import threading

from muster_peer import EU
from served import Served

JSON = {"Content-Type": "application/json"}


class Api(Served):
    """A daemon, and a client of its API."""

    def setUp(self):
        super().setUp()
        self.streams = []

    def end(self):
        for stream in self.streams:
            stream.close()
        super().end()

    def ask(self, method, path, body=None, headers=None):
        """(status, JSON or text, headers)"""
        connection = http.client.HTTPConnection(self.daemon.ports["http"], timeout=40)
        data = json.dumps(body) if isinstance(body, dict) else body
        connection.request(method, path, body=data, headers=headers or ({} if data is None else JSON))
        answer = connection.getresponse()
        got = answer.read().decode()
        connection.close()
        is_json = (answer.getheader("Content-Type") or "").startswith("application/json")
        return answer.status, json.loads(got) if is_json and got else got, answer.headers

    def got(self, path):
        status, body, _ = self.ask("GET", "/api/v1" + path)
        self.assertEqual(status, 200, body)
        return body

    def post(self, path, body, expected=200):
        status, answer, _ = self.ask("POST", "/api/v1" + path, body)
        self.assertEqual(status, expected, answer)
        return answer

    def in_background(self, *what, **more):
        """The answer, once it is there: call the result."""
        got = []
        thread = threading.Thread(target=lambda: got.append(self.ask(*what, **more)))
        thread.start()

        def answer():
            thread.join(40)
            return got[0]
        return answer

    def live(self, last_seen=None, query=""):
        stream = Live(self.daemon.ports["http"], last_seen, query)
        self.streams.append(stream)
        return stream

    def allocated(self, server, lobby):
        """A match of that lobby on that server; the token."""
        answer = self.in_background("POST", "/api/v1/matches", {"lobby_id": lobby, "region": EU, "player_count": 10})
        self.assertEqual(server.expect(0x1004).take("i"), lobby)
        server.acknowledge(lobby)
        status, body, _ = answer()
        self.assertEqual(status, 200, body)
        return body["token"]


class Live:
    """A reader of the live feed."""

    def __init__(self, address, last_seen=None, query=""):
        self.connection = http.client.HTTPConnection(address, timeout=20)
        headers = {"Accept": "text/event-stream"}
        if last_seen is not None:
            headers["Last-Event-ID"] = str(last_seen)
        self.connection.request("GET", "/api/v1/events" + query, headers=headers)
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200, self.answer.read()

    def next(self):
        """The next event as (id, type, data); what has no id is passed over."""
        fields = {}
        while True:
            line = self.answer.readline().decode()
            assert line, "the feed has ended"
            line = line.rstrip("\n")
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif "id" in fields:
                place = fields["id"]  # a number where there is one cell
                return int(place) if place.isdigit() else place, fields["event"], json.loads(fields["data"])
            else:
                fields = {}

    def until(self, kind):
        while True:
            event = self.next()
            if event[1] == kind:
                return event

    def close(self):
        self.connection.close()
