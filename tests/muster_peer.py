"""The one way in which whole-program tests start the daemon, speak to it, and wait: for a condition, never for a time. The bytes
are written from the specification alone, by hand: nothing here knows Muster's own code.
"""

import http.client
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import time

PATIENCE_S = 30  # what only a broken program needs
EU = 2
PORTS = ("servers", "matchmakers", "players", "http")


def environment(**more):
    """Ours without any variable of Muster's, so that the machine's settings do not reach a test."""
    ours = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_") and k not in ("JOURNAL_STREAM", "NO_COLOR")}
    return {**ours, **more}


def until(condition, what, patience=PATIENCE_S):
    """Waits until it holds, and returns what it gave. `what` is said when it does not come: a text, or a function that makes one."""
    end = time.monotonic() + patience
    while not (held := condition()):
        if time.monotonic() > end:
            raise AssertionError(what() if callable(what) else what)
        time.sleep(0.01)
    return held


def text(value, order="<"):
    data = value.encode() if isinstance(value, str) else value
    return struct.pack(order + "H", len(data)) + data


class Peer:
    """One connection. The server and matchmaker ports are little-endian."""

    order = "<"
    tls = None  # an ssl.SSLContext, where the port has TLS

    def __init__(self, address, source=""):
        """`source` is the loopback address to come from, if it matters."""
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE_S,
                                               source_address=(source, 0) if source else None)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.tls:
            self.socket = self.tls.wrap_socket(self.socket, server_hostname=host.strip("[]"))
        self.buffer = b""

    def send(self, code, payload=b""):
        self.socket.sendall(struct.pack(self.order + "HH", len(payload) + 2, code) + payload)

    def send_bytes(self, data):
        self.socket.sendall(data)

    def receive(self, timeout=PATIENCE_S):
        """The next frame as (code, payload); None when the daemon has closed; raises TimeoutError."""
        self.socket.settimeout(timeout)
        while True:
            if len(self.buffer) >= 2:
                length = struct.unpack_from(self.order + "H", self.buffer)[0]
                if len(self.buffer) >= 2 + length:
                    frame, self.buffer = self.buffer[2:2 + length], self.buffer[2 + length:]
                    return struct.unpack_from(self.order + "H", frame)[0], frame[2:]
            part = self.socket.recv(65536)
            if not part:
                return None
            self.buffer += part

    def expect(self, code, timeout=PATIENCE_S):
        frame = self.receive(timeout)
        assert frame is not None, f"closed instead of {code:#x}"
        assert frame[0] == code, f"{frame[0]:#x} {frame[1]!r} instead of {code:#x}"
        return Reader(frame[1], self.order)

    def close(self):
        self.socket.close()


class Reader:
    """Reads the fields of a payload in order."""

    def __init__(self, payload, order="<"):
        self.payload, self.at, self.order = payload, 0, order

    def take(self, form):
        value = struct.unpack_from(self.order + form, self.payload, self.at)[0]
        self.at += struct.calcsize(self.order + form)
        return value

    def string(self):
        size = self.take("H")
        self.at += size
        return self.payload[self.at - size:self.at].decode()


class GameServer(Peer):
    def __init__(self, address, port, max_matches=10, region=EU, token="", ip="127.0.0.1", source=""):
        super().__init__(address, source)
        self.send(0x1000, text(token) + text(ip) + struct.pack("<ibi", port, region, max_matches))
        answer = self.expect(0x1001)
        self.refused = None if answer.take("b") == 1 else answer.string()
        self.id = answer.take("i") if self.refused is None else None

    def heartbeat(self, matches=0, cpu=10.0, memory=10.0):
        self.send(0x1002, struct.pack("<iiff", self.id, matches, cpu, memory))

    def acknowledge(self, lobby, accept=True):
        self.send(0x1005, struct.pack("<bi", 1 if accept else 0, lobby))

    def validate(self, lobby, account, token):
        self.ask_to_validate(lobby, account, token)
        return self.validated()

    def ask_to_validate(self, lobby, account, token):
        self.send(0x1008, struct.pack("<iii", self.id, lobby, account) + text(token))

    def validated(self):
        """Why the player may not come in; empty when it may."""
        answer = self.expect(0x1009)
        accepted, _, _ = answer.take("b"), answer.take("i"), answer.take("i")
        return "" if accepted == 1 else answer.string()


class HostPeer(Peer):
    """The agent of a host."""

    def __init__(self, address, name="host-1", token="", ip="127.0.0.1", region=EU):
        super().__init__(address)
        self.send(0x1020, text(token) + text(name) + text(ip) + struct.pack("<b", region) + text("1"))
        answer = self.expect(0x1021)
        self.refused = None if answer.take("b") == 1 else answer.string()

    def report(self, cpu=1.0, memory=1.0, draining=0):
        self.send(0x1022, struct.pack("<ffb", cpu, memory, draining))

    def process(self, name, run="arena", state=1, news=0, reason="", lines="", exit_at=0, signal_number=0):
        self.send(0x1023, struct.pack("<b", news) + text(name) + text(run)
                  + struct.pack("<biiibqiqii", state, 77, 7001, 0, 0, 1, 0, exit_at, -1, signal_number)
                  + text(reason) + text(lines))

    def answer_next(self, refusal=""):
        """Hears a command and answers it."""
        while (frame := self.receive())[0] < 0x1030:
            continue
        question = frame[1][:4]
        if frame[0] == 0x1033 and not refusal:
            return self.send(0x1026, question + struct.pack("<qb", 9, 1) + text("a line\n"))
        return self.send(0x1025, question + struct.pack("<b", 0 if refusal else 1) + text(refusal))


class Matchmaker(Peer):
    def __init__(self, address, name="chat-1", regions=(EU,), token="", source=""):
        super().__init__(address, source)
        self.send(0x2000, text(token) + text(name) + struct.pack(f"<b{len(regions)}b", len(regions), *regions))
        answer = self.expect(0x2001)
        self.refused = None if answer.take("b") == 1 else answer.string()

    def request(self, lobby, region=EU, players=10):
        self.send(0x2002, struct.pack("<ibbbbi", lobby, 6, 0, region, players, 1650))


class Player(Peer):
    """A player; the port is big-endian unless the daemon is told otherwise."""

    order = ">"

    def __init__(self, address, name, credential="", resume_token="", order=">"):
        super().__init__(address)
        self.order = order
        self.name, self.id, self.resume_token, self.refused = name, None, "", None
        self.send(10, text(name, order) + text(credential, order) + text(resume_token, order))
        answer = self.expect(10)
        if answer.take("b") != 1:
            self.refused = answer.string()
            return
        self.id, self.resume_token = answer.take("i"), answer.string()
        time_update = self.expect(74)
        self.clock = time_update.take("B"), time_update.take("B"), time_update.take("B")

    def closed_for(self, echo=False, timeout=PATIENCE_S):
        """Reads until MSG_SERVER_CLOSE; its reason. Echoes pings meanwhile, if wanted."""
        end = time.monotonic() + timeout
        while True:
            frame = self.receive(max(0.01, end - time.monotonic()))
            assert frame is not None, "closed without a word"
            if frame[0] == 24:
                assert self.receive() is None, "something follows the last word"
                return Reader(frame[1], self.order).string()
            if frame[0] == 9 and echo:
                self.send(9)


def allocation(payload):
    """A 2003 as (lobby, error, server id, token)."""
    accepted, lobby = payload.take("b"), payload.take("i")
    if accepted != 1:
        return lobby, payload.string(), None, None
    server = payload.take("i")
    payload.string()
    payload.take("i")
    return lobby, "", server, payload.string()


def answer_now(matchmaker, server, lobby=None):
    """Acknowledges what is offered by now. The payload of a 2003 that has come, of that lobby if one is named; None without one."""
    for peer in (server, matchmaker):
        try:
            frame = peer.receive(0.01)
        except TimeoutError:
            continue
        assert frame is not None, "closed"
        code, payload = frame
        if code == 0x1004:
            server.acknowledge(struct.unpack_from("<i", payload)[0])
        if code == 0x2003 and lobby in (None, struct.unpack_from("<i", payload, 1)[0]):
            return payload
    return None


def answer_to(matchmaker, server, lobby=None, what=None):
    """The same, once it has come: what was asked before is answered, whoever owns the cell by then."""
    return until(lambda: answer_now(matchmaker, server, lobby), what or f"no answer for lobby {lobby}", 2 * PATIENCE_S)


def allocated(matchmaker, server, lobby):
    """Asks for a match, acknowledges what is offered meanwhile, and returns the answer as allocation() does."""
    matchmaker.request(lobby)
    return allocation(Reader(answer_to(matchmaker, server, lobby)))


class Daemon:
    """`muster serve` on free ports with a store of its own. Ready when it is made, unless `wait` is false."""

    def __init__(self, program, folder, arguments=(), wait=True, stderr=None, **settings):
        self.program, self.folder, self.arguments, self.stderr = str(program), pathlib.Path(folder), arguments, stderr
        self.ports_file = self.folder / "ports.json"
        listen = {f"MUSTER_LISTEN_{port.upper()}": "127.0.0.1:0" for port in PORTS}
        # All peers of a test come from one address.
        crowd = {"MUSTER_LIMITS_ACCEPTS_PER_SECOND_IP": "1000000"}
        nodes = {"MUSTER_CLUSTER_LISTEN": "127.0.0.1:0"} if settings.get("MUSTER_STORE_URL") else {}
        # A peer of a test speaks when the test gets to it, however slow the machine is.
        patient = {"MUSTER_FLEET_HEARTBEAT_TIMEOUT": "1h", "MUSTER_FLEET_ALLOCATION_ACK_TIMEOUT": "20s",
                   "MUSTER_MATCHMAKERS_HEARTBEAT_TIMEOUT": "1h", "MUSTER_PLAYERS_PING_TIMEOUT": "1h"}
        # A setting of None is one that is not made.
        wanted = {**listen, **crowd, **nodes, **patient, "MUSTER_STORE_PATH": str(self.folder / "muster.db"), **settings}
        self.env = environment(**{name: value for name, value in wanted.items() if value is not None})
        self.process = None
        self.log = None
        self.peers = []
        if wait:
            self.start()
        else:
            self.launch()

    def launch(self):
        self.ports_file.unlink(missing_ok=True)
        self.close()
        self.log = open(self.folder / "log.txt", "ab")
        self.process = subprocess.Popen([self.program, "serve", "--ports-file", str(self.ports_file), *self.arguments], env=self.env,
                                        cwd=self.folder, stdout=self.log, stderr=self.stderr or self.log, stdin=subprocess.DEVNULL)

    def wait_until_ready(self):
        until(lambda: self.ports_file.exists() or self.process.poll() is not None, lambda: "the daemon does not start:\n" + self.log_text())
        if self.process.poll() is not None:
            raise RuntimeError("the daemon does not start:\n" + self.log_text())
        self.ports = json.loads(self.ports_file.read_text())
        return self

    def start(self):
        self.launch()
        self.wait_until_ready()

    def log_text(self):
        return (self.folder / "log.txt").read_text()

    def get(self, path, **headers):
        """The answer and its body."""
        connection = http.client.HTTPConnection(self.ports["http"], timeout=PATIENCE_S)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        return answer, body

    def close(self):
        """Our ends of everything."""
        for peer in self.peers:
            peer.close()
        self.peers.clear()
        if self.log:
            self.log.close()

    def stop(self, number=signal.SIGTERM):
        """Asks it to end; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def end(self):
        """For a test's clean-up, whatever became of it."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.close()

    def keep(self, peer):
        self.peers.append(peer)
        return peer

    def peer(self, port, source=""):
        return self.keep(Peer(self.ports[port], source))

    def game_server(self, port, **more):
        return self.keep(GameServer(self.ports["servers"], port, **more))

    def player(self, name, **more):
        return self.keep(Player(self.ports["players"], name, **more))

    def host(self, name="host-1", **more):
        return self.keep(HostPeer(self.ports["servers"], name, **more))

    def matchmaker(self, name="chat-1", **more):
        return self.keep(Matchmaker(self.ports["matchmakers"], name, **more))
