"""Contenders take turns within each round, so that whatever the machine does meets all of them; a round that was disturbed is
measured again."""

import machine

TRIES = 3
RETRIES_A_ROUND = 2  # in all of a workload: a machine that is never calm is not waited for


class Rounds:
    """`say(text)` is told what runs. `few` makes everything short, to see that it works: nothing is thrown away then."""

    def __init__(self, programs, muster, count, few, say):
        self.programs, self.muster = programs, muster
        self.count, self.few, self.say = count, few, say
        self.measured = self.rejected = 0
        self.retries_left = RETRIES_A_ROUND * count
        self.missing = {}  # what could not be measured → why, and what would help
        self._usual = {}  # what → involuntary switches a second of its rounds

    def one(self, what, call, others_max=machine.OTHERS_MAX, is_timed=True):
        """`call`'s answer from a round that nothing disturbed; the last one's, marked, when each was. What is not timed (memory, counts)
        cannot be disturbed."""
        usual = self._usual.setdefault(what, [])
        why = ""
        for attempt in range(TRIES):
            self.say(what + (f", again: {why}" if attempt else ""))
            with machine.Watch() as seen:
                answer = call()
            self.measured += 1
            why = seen.disturbance(usual, others_max) if is_timed and not self.few else ""
            if not why:
                usual.append(seen.switches_a_second)
                return answer
            self.rejected += 1
            self.retries_left -= 1
            if self.retries_left < 0:
                break
        return {**answer, "disturbed": why}

    def interleaved(self, about, contenders, count=None, **how):
        """{name: call} → {name: [answers]}, one of each in every round."""
        found = {name: [] for name in contenders}
        for _ in range(count or self.count):
            for name, call in contenders.items():
                found[name].append(self.one(f"{about}, {name}", call, **how))
        return found
