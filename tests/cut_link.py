"""A TCP proxy on loopback that a test cuts, holds or lets go: a network between two programs."""

import select
import socket
import threading


class CutLink:
    """Passes bytes to `target` both ways until it is told otherwise."""

    def __init__(self, target):
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.pairs = []
        self.lock = threading.Lock()
        self.held = threading.Event()  # while it is set nothing passes, and nobody is told
        self.held_back = threading.Event()  # the same of what the target says
        self.refuses = threading.Event()  # while it is set no new link is made; those that are there go on
        self.cut_after = None  # bytes until all links are broken, once
        self.passed = 0
        self.ended = False
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while not self.ended:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            if self.refuses.is_set():
                near.close()
                continue
            try:
                far = socket.create_connection(self.target, 5)
            except OSError:
                near.close()
                continue
            with self.lock:
                self.pairs.append((near, far))
            threading.Thread(target=self.pump, args=(near, far), daemon=True).start()

    def pump(self, near, far):
        try:
            while True:
                heard = [near] if self.held_back.is_set() else [near, far]
                readable, _, _ = select.select(heard, [], [], 0.05)
                if self.held.is_set():
                    continue
                for source in readable:
                    data = source.recv(65536)
                    if not data:
                        return
                    if self.cut_after is not None and self.passed + len(data) >= self.cut_after:
                        keep = max(self.cut_after - self.passed, 0)
                        self.cut_after = None
                        (far if source is near else near).sendall(data[:keep])
                        self.cut()
                        return
                    self.passed += len(data)
                    (far if source is near else near).sendall(data)
        except (OSError, ValueError):
            pass
        finally:
            near.close()
            far.close()

    def cut(self):
        """Breaks all links that there are; new ones are made."""
        with self.lock:
            pairs, self.pairs = self.pairs, []
        for pair in pairs:
            for end in pair:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def end(self):
        self.ended = True
        self.listener.close()
        self.cut()
