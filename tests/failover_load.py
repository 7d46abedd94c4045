"""Nodes of one cluster, and a fleet that plays matches over all changes of owner and judges from outside what it is told.

Each fleet belongs to one thread, which also makes the faults: nothing happens while nobody calls `turn()`.
"""

import collections
import http.client
import json
import random
import select
import socket
import struct
import time

from muster_peer import EU, PATIENCE_S, Daemon, Reader, allocation, text

PLAYED_S = 60  # a token lives 120 s
HELLO_S = 5  # a node that is frozen takes links and says nothing
BEAT_S = 2
SILENT_S = 8  # without any answer, heartbeats among them
SETTLES_S = 4 * PATIENCE_S
TURN_S = 0.01


class Node(Daemon):
    """A member, at ports that stay over its lives."""

    def __init__(self, program, folder, name, url, silence_s):
        self.name = name
        super().__init__(program, folder, MUSTER_STORE_PATH=None, MUSTER_STORE_URL=url, MUSTER_CLUSTER_NODE=name,
                         MUSTER_CLUSTER_SILENCE=f"{silence_s}s")
        self.env.update({f"MUSTER_LISTEN_{port.upper()}": address for port, address in self.ports.items()})

    def ask(self, method, path, body=None):
        """Status and JSON; (0, None) where nobody answers."""
        link = http.client.HTTPConnection(self.ports["http"], timeout=HELLO_S)
        try:
            link.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"} if body else {})
            answer = link.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, ValueError, http.client.HTTPException):
            return 0, None
        finally:
            link.close()

    def cell(self):
        """(term, owner) as this node knows them."""
        _, told = self.ask("GET", "/api/v1/cluster")
        cells = told["cells"] if told else []
        return (cells[0]["term"], cells[0]["owner"]) if cells else (0, "")

    def is_ready(self):
        return self.ask("GET", "/readyz")[0] == 200


class Link:
    """A peer that looks for a node until one takes it: its own first, then the next."""

    port = ""

    def __init__(self, fleet, home):
        self.fleet, self.home, self.tried = fleet, home, 0
        self.socket, self.buffer, self.is_up = None, b"", False
        self.next_try = self.answer_by = self.heard_at = self.next_beat = 0.0

    def turn(self, now):
        if self.is_up and now > self.heard_at + SILENT_S:
            self.lost("silence")
        if self.is_up and now >= self.next_beat:
            self.beat(now)
        if self.socket is None and now >= self.next_try:
            self.connect(now)
        elif self.socket and not self.is_up and now > self.answer_by:
            self.lost("no answer to the handshake")

    def connect(self, now):
        nodes = self.fleet.nodes
        host, port = nodes[(self.home + self.tried) % len(nodes)].ports[self.port].rsplit(":", 1)
        self.next_try, self.answer_by = now + 0.05, now + HELLO_S
        try:
            self.socket = socket.create_connection((host, int(port)), timeout=1)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.buffer = b""
            self.hello()
        except OSError:
            self.lost()

    def lost(self, why=""):
        if self.socket:
            self.socket.close()
        if why:
            self.fleet.lost_links[why] += 1
        self.socket, self.is_up, self.tried = None, False, self.tried + 1

    def accepted(self):
        self.is_up, self.at, self.tried = True, (self.home + self.tried) % len(self.fleet.nodes), 0
        self.beat(time.monotonic())

    def go_home(self):
        if self.is_up and self.at != self.home:
            self.lost()
            self.tried = 0

    def send(self, code, payload=b""):
        if self.socket is None:
            return
        try:
            self.socket.sendall(struct.pack("<HH", len(payload) + 2, code) + payload)
        except OSError:
            self.lost()

    def read(self):
        try:
            part = self.socket.recv(65536)
        except OSError:
            part = b""
        if not part:
            return self.lost()
        self.buffer += part
        self.heard_at = time.monotonic()
        while self.socket and len(self.buffer) >= 2:
            length = struct.unpack_from("<H", self.buffer)[0]
            if len(self.buffer) < 2 + length:
                return None
            frame, self.buffer = self.buffer[2:2 + length], self.buffer[2 + length:]
            self.heard(struct.unpack_from("<H", frame)[0], Reader(frame[2:]))
        return None


class Server(Link):
    port = "servers"

    def __init__(self, fleet, home):
        super().__init__(fleet, home)
        self.id = None
        self.held = {}  # lobby → token: acknowledged, and neither dropped nor ended
        self.asked = {}  # what is to be said again on the next link: (what, lobby) → frame
        self.is_quiet = False  # since the heartbeat that was asked for

    def hello(self):
        self.send(0x1000, text("") + text("127.0.0.1") + struct.pack("<ibi", 7000 + self.home, EU, 10_000))

    def beat(self, now):
        self.next_beat, self.is_quiet = now + BEAT_S, False
        self.send(0x1002, struct.pack("<iiff", self.id, len(self.held), 10.0, 10.0))

    def ask(self, what, lobby, code, payload):
        self.asked[what, lobby] = (code, payload)
        if self.is_up:
            self.send(code, payload)

    def heard(self, code, fields):
        fleet = self.fleet
        if code == 0x1001:
            if fields.take("b") != 1:
                return self.lost(fields.string())
            known, self.id = self.id, fields.take("i")
            fleet.judge(known in (None, self.id), f"server {known} came back as {self.id}")
            self.accepted()
            for (what, lobby), say in list(self.asked.items()):
                if what == "use":
                    fleet.doubt_use(lobby)
                self.send(*say)
        elif code == 0x1003:
            self.is_quiet = True
        elif code == 0x1004:
            lobby = fields.take("i")
            fields.take("h")
            self.held[lobby] = fields.string()
            self.send(0x1005, struct.pack("<bi", 1, lobby))
        elif code == 0x100D:
            lobby, reason = fields.take("i"), fields.string()
            match = fleet.live.get(lobby)
            fleet.judge(match is None or match.server != self.id, f"lobby {lobby} was answered, and is aborted: {reason}")
            self.held.pop(lobby, None)
        elif code in (0x1007, 0x100C):
            accepted, lobby = fields.take("b") == 1, fields.take("i")
            why = "" if accepted else fields.string()
            fleet.reported(self, "ready" if code == 0x1007 else "ended", lobby, why)
        elif code == 0x1009:
            accepted, lobby = fields.take("b") == 1, fields.take("i")
            fields.take("i")
            fleet.validated(self, lobby, "" if accepted else fields.string())
        return None


class Matchmaker(Link):
    port = "matchmakers"

    def __init__(self, fleet, home):
        super().__init__(fleet, home)
        self.waits = {}  # lobby → when it was asked for

    def hello(self):
        self.send(0x2000, text("") + text(f"chat-{self.home}") + struct.pack("<bb", 1, EU))

    def beat(self, now):
        self.next_beat = now + BEAT_S
        self.send(0x2004)

    def request(self, lobby, now):
        self.waits[lobby] = now
        if self.is_up:
            self.send(0x2002, struct.pack("<ibbbbi", lobby, 6, 0, EU, 10, 1650))

    def heard(self, code, fields):
        if code == 0x2001:
            if fields.take("b") != 1:
                return self.lost(fields.string())
            self.accepted()
            for lobby in list(self.waits):
                self.request(lobby, self.waits[lobby])
        elif code == 0x2003:
            self.fleet.answered(self, *allocation(fields))
        elif code == 0x2006:
            lobby, event, reason = fields.take("i"), fields.take("b"), fields.string()
            self.fleet.judge(event != 4 or lobby not in self.fleet.live, f"lobby {lobby} was answered, and is told as aborted: {reason}")
        return None


class Match:
    def __init__(self, matchmaker, server, token, now):
        self.matchmaker, self.server, self.token, self.since = matchmaker, server, token, now
        self.use = ""  # of its token: "" nobody asked, "asked", "used", "unknown"
        self.is_ending = False


class Fleet:
    """A game server and a matchmaker for each node. Ask `faults` for what it saw that must not be."""

    def __init__(self, nodes, seed, rate=8.0, in_flight=3):
        self.nodes, self.chance, self.rate, self.in_flight = nodes, random.Random(seed), rate, in_flight
        self.servers = [Server(self, i) for i in range(len(nodes))]
        self.matchmakers = [Matchmaker(self, i) for i in range(len(nodes))]
        self.faults, self.lost_links, self.refusals = [], collections.Counter(), collections.Counter()
        self.live, self.ended = {}, set()  # answered with a server and not over; told by a yes to be over
        self.checks = {}  # lobby → matchmaker, of those that are asked for once more
        self.term = 0  # the newest that is known
        self.last_lobby = self.answers = self.uses = self.checked = 0
        self.later = []  # (when, link, lobby, what) to be said again
        self.is_open = True
        self.next_request = [0.0] * len(nodes)
        self.gap_from, self.longest_gap, self.last_asked = time.monotonic(), 0.0, 0.0

    def judge(self, holds, fault):
        if not holds:
            self.faults.append(fault)

    # What peers hear.
    def answered(self, matchmaker, lobby, error, server, token):
        asked, now = matchmaker.waits.pop(lobby, None), time.monotonic()
        known, is_check = self.live.get(lobby), self.checks.pop(lobby, None)
        if error:
            self.refusals[error] += 1
            self.judge(known is None or "unavailable" in error or "busy" in error, f"lobby {lobby} was answered, and is refused: {error}")
            if asked is not None and (known is None or is_check):
                matchmaker.waits[lobby] = now  # a refused request may be asked again, in a moment
                self.later.append((now + 0.1, matchmaker, lobby, is_check))
            return
        self.checked += known is not None
        if known:
            return self.judge((known.server, known.token) == (server, token),
                              f"lobby {lobby} was answered with {known.server} {known.token}, and then with {server} {token}")
        self.answers += 1
        if asked is not None:
            self.longest_gap, self.gap_from = max(self.longest_gap, now - self.gap_from), now
            self.last_asked = max(self.last_asked, asked)
        holder = next((one for one in self.servers if one.id == server), None)
        self.judge(holder and holder.held.get(lobby) == token, f"lobby {lobby} is answered with {server}, which did not take it")
        self.judge(lobby not in self.ended, f"lobby {lobby} is over, and answered again")
        match = self.live[lobby] = Match(matchmaker, server, token, now)
        holder.ask("ready", lobby, 0x1006, struct.pack("<ii", holder.id, lobby) + text(token))
        if lobby % 3 == 0:
            self.use(holder, lobby, match)
        return None

    def use(self, holder, lobby, match):
        match.use = match.use or "asked"
        holder.ask("use", lobby, 0x1008, struct.pack("<iii", holder.id, lobby, 5) + text(match.token))

    def doubt_use(self, lobby):
        """It was asked of a node that is gone: nobody knows what became of it."""
        match = self.live.get(lobby)
        if match and match.use == "asked":
            match.use = "unknown"

    def validated(self, holder, lobby, error):
        said, match = holder.asked.pop(("use", lobby), None), self.live.get(lobby)
        if said is None or match is None or match.is_ending:
            return
        if error == "Store unavailable":
            match.use = "used" if match.use == "used" else "unknown"
            self.later.append((time.monotonic() + 0.1, holder, lobby, "use"))
        elif error == "":
            self.judge(match.use != "used", f"the token of lobby {lobby} is accepted twice")
            match.use, self.uses = "used", self.uses + 1
        else:
            self.judge(error == "Match token already used" and match.use in ("used", "unknown"),
                       f"the token of lobby {lobby} ({match.use}) is refused: {error}")
            match.use = "used"

    def reported(self, holder, what, lobby, error):
        said = holder.asked.pop((what, lobby), None)
        if error == "Store unavailable" and said:
            return self.later.append((time.monotonic() + 0.1, holder, lobby, (what, *said)))
        if said:
            self.judge(error == "", f"{what} of lobby {lobby} is refused: {error}")
        if what == "ended" and said:
            self.live.pop(lobby, None)
            holder.held.pop(lobby, None)
            self.ended.add(lobby)
        return None

    # Its own pace.
    def turn(self, wait_s=TURN_S):
        now = time.monotonic()
        for link in (*self.servers, *self.matchmakers):
            link.turn(now)
        self.say_again(now)
        if self.is_open:
            self.ask_for_more(now)
        self.end_some(now)
        links = {link.socket: link for link in (*self.servers, *self.matchmakers) if link.socket}
        for ready in select.select(list(links), [], [], wait_s)[0]:
            if links[ready].socket is ready:
                links[ready].read()

    def say_again(self, now):
        due, self.later = [one for one in self.later if one[0] <= now], [one for one in self.later if one[0] > now]
        for _, link, lobby, what in due:
            match = self.live.get(lobby)
            if isinstance(link, Matchmaker):
                if what:
                    self.checks[lobby] = link
                link.request(lobby, link.waits.get(lobby, now))
            elif what == "use" and match and not match.is_ending:
                self.use(link, lobby, match)
            elif isinstance(what, tuple):
                link.ask(what[0], lobby, *what[1:])

    def ask_for_more(self, now):
        for i, matchmaker in enumerate(self.matchmakers):
            if matchmaker.is_up and now >= self.next_request[i] and len(matchmaker.waits) < self.in_flight:
                self.next_request[i] = now + 1 / self.rate
                self.last_lobby += 1
                matchmaker.request(self.last_lobby, now)

    def end_some(self, now):
        for lobby, match in list(self.live.items()):
            if now - match.since < PLAYED_S:
                return  # in the order of their answers
            if not match.is_ending:
                holder = next(one for one in self.servers if one.id == match.server)
                if any((what, lobby) in holder.asked for what in ("ready", "use")) or lobby in self.checks:
                    continue
                match.is_ending = True
                holder.ask("ended", lobby, 0x100B, struct.pack("<ii", holder.id, lobby))

    def all_home(self):
        """Every node is ready and has its own peers again."""
        if not all(node.is_ready() for node in self.nodes):
            return False
        for link in (*self.servers, *self.matchmakers):
            link.go_home()
        return all(link.is_up for link in (*self.servers, *self.matchmakers))

    def until(self, condition, what, patience_s=SETTLES_S):
        end = time.monotonic() + patience_s
        while not (held := condition()):
            if time.monotonic() > end:
                raise AssertionError(f"{what}; {self.told()}")
            self.turn()
        return held

    def told(self):
        links = ", ".join(f"{type(link).__name__} {link.home} {'up' if link.is_up else 'down'}" for link in (*self.servers, *self.matchmakers))
        waits = {one.home: list(one.waits)[:5] for one in self.matchmakers}
        nodes = {node.name: (node.process.poll(), node.ask("GET", "/readyz")) for node in self.nodes}
        return f"{nodes}, {self.answers} answers, waits {waits}, refusals {dict(self.refusals)}, lost {dict(self.lost_links)}; {links}; faults {self.faults[:5]}"

    def owner(self):
        """Of the newest term; None while nobody knows. A node's own view may be a second old."""
        term, name = max(node.cell() for node in self.nodes)
        if term < self.term or not name:
            return None
        self.term = term
        return next(node for node in self.nodes if node.name == name)

    # Judging.
    def watch_for_gap(self):
        self.gap_from, self.longest_gap, self.last_asked = time.monotonic(), 0.0, 0.0

    def check(self, owner, count=10):
        """Some of what was answered is asked for again, and so are tokens; all of it is in the owner's list."""
        open_ones = [lobby for lobby, match in self.live.items() if not match.is_ending]
        before, over = set(open_ones), set(self.ended)
        for lobby in self.chance.sample(open_ones, min(count, len(open_ones))):
            match = self.live[lobby]
            self.checks[lobby] = match.matchmaker
            match.matchmaker.request(lobby, time.monotonic())
            if match.use == "used":
                holder = next(one for one in self.servers if one.id == match.server)
                if ("use", lobby) not in holder.asked:
                    self.use(holder, lobby, match)
        listed = self.listed(owner)
        if listed is None:
            return  # the owner changed meanwhile
        for lobby in before:
            match = self.live.get(lobby)
            self.judge(match is None or match.is_ending or listed.get(lobby) == match.server, f"lobby {lobby} is on {match and match.server} "
                       f"by its answer, and on {listed.get(lobby)} by the list of {owner.name}")
        for lobby in over & set(listed):
            self.faults.append(f"lobby {lobby} is over by a yes, and lives in the list of {owner.name}")

    def listed(self, node):
        found, after = {}, 0
        while after is not None:
            self.turn(0)
            status, page = node.ask("GET", f"/api/v1/matches?state=live&limit=1000&after={after}")
            if status != 200:
                return None
            found.update((match["lobby_id"], match["server_id"]) for match in page["matches"])
            after = page["next"]
        return found

    def settle(self, owner):
        """Nothing under way: each lobby that was answered is on one server by the servers' own books, and nothing else is."""
        self.is_open = False
        def is_calm():
            return (all(link.is_up for link in (*self.servers, *self.matchmakers)) and not self.later
                    and not any(one.waits for one in self.matchmakers) and not any(one.asked for one in self.servers))
        self.until(is_calm, "what was asked is not answered")
        for server in self.servers:
            server.beat(time.monotonic())
        self.until(lambda: is_calm() and all(server.is_quiet for server in self.servers), "no heartbeat is answered")
        places = collections.defaultdict(list)
        for server in self.servers:
            for lobby in server.held:
                places[lobby].append(server.id)
        for lobby, match in self.live.items():
            holders = places.pop(lobby, [])
            self.judge(holders == [match.server], f"lobby {lobby} is on {holders}, and was answered with {match.server}")
        for lobby, servers in places.items():
            self.faults.append(f"lobby {lobby} is on {servers}, and nobody was told")
        self.check(owner, len(self.live))
        self.until(is_calm, "what was asked again is not answered")
        self.is_open = True
