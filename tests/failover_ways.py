"""Ways to lose the owner of a cell. Each is done to it and undone afterwards."""

import signal
import time

EXIT_IO = 74


def kill(fleet, owner, _):
    owner.process.kill()
    owner.process.wait()


def stop(fleet, owner, _):
    owner.process.send_signal(signal.SIGTERM)


def freeze(fleet, owner, _):
    owner.process.send_signal(signal.SIGSTOP)


def move(fleet, owner, successor):
    def asked():
        return owner.ask("POST", "/api/v1/cells/main/move", {"node": successor.name})[0] == 200
    fleet.until(asked, f"{owner.name} does not move its cell to {successor.name}")


def heal_ended(fleet, owner):
    fleet.until(lambda: owner.process.poll() is not None, f"{owner.name} does not end")
    owner.launch()

    def has_begun():
        # The database may be away just now; a supervisor starts it again, and so does this.
        if owner.process.poll() == EXIT_IO:
            owner.launch()
        fleet.judge(owner.process.poll() in (None, EXIT_IO), f"{owner.name} ended with {owner.process.poll()}")
        return owner.ports_file.exists() or fleet.faults
    fleet.until(has_begun, f"{owner.name} does not start")


def heal_frozen(fleet, owner):
    owner.process.send_signal(signal.SIGCONT)


WAYS = {"kill -9": (kill, heal_ended), "SIGTERM": (stop, heal_ended), "SIGSTOP": (freeze, heal_frozen), "move": (move, lambda fleet, owner: None)}


def lose_owner(fleet, way, owner, successor):
    """One failover, healed: the seconds without an allocation, and the next owner."""
    do, heal = WAYS[way]
    term = fleet.term
    others = [node for node in fleet.nodes if node is not owner]
    fleet.watch_for_gap()
    began = time.monotonic()
    do(fleet, owner, successor)
    known = {}

    def is_over():
        if not known:
            for node in others:
                now_term, name = node.cell()
                if now_term > term and name not in ("", owner.name):
                    known["next"], known["at"] = next(one for one in others if one.name == name), time.monotonic()
                    fleet.term = now_term
            fleet.turn(0.05)
        return known and fleet.last_asked > began and fleet.gap_from >= known["at"]
    fleet.until(is_over, f"no allocation after {way} of {owner.name}")
    took = fleet.longest_gap
    heal(fleet, owner)
    return took, known["next"]

