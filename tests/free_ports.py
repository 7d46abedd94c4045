"""Ports for what has to listen at a known place: below those that the kernel gives in passing, and of no other test that runs now."""

import contextlib
import random
import socket

BLOCK_PORTS = 100


def claimed_block():
    """The first port of a block that this process has until it ends, and what holds the claim."""
    for first in random.sample(range(10_000, 30_000, BLOCK_PORTS), 20_000 // BLOCK_PORTS):
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0muster-test-ports-{first}")
            return first, claim
        except OSError:
            claim.close()
    raise RuntimeError("no free block of ports")


_block, _claim = claimed_block()
_next = _block


def free_ports(count):
    """The first and the last of a range in which nobody listens just now, another one for each call."""
    global _next
    for _ in range(1_000):
        first = _next if _next + count <= _block + BLOCK_PORTS else _block
        _next = first + count
        with contextlib.ExitStack() as held:
            try:
                for port in range(first, first + count):
                    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                        one = held.enter_context(socket.socket(socket.AF_INET, kind))
                        if kind == socket.SOCK_STREAM:  # a link of earlier may still be waited for
                            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                        one.bind(("127.0.0.1", port))
                return first, first + count - 1
            except OSError:
                continue
    raise RuntimeError(f"no {count} free ports")


def free_port():
    return free_ports(1)[0]
