"""Faults that a judge draws from a seed: the lines, when they are executed, and when each fault ends."""

from random import Random
from typing import NamedTuple

BROKERS = (1, 2, 3)


class Fault(NamedTuple):
    """Lines that begin and end it, and the instants in ms."""

    begins_ms: int
    ends_ms: int
    begin: tuple[str, ...]
    end: tuple[str, ...]


def draw_faults(random: Random, span_ms: int, restart_ms: int) -> list[Fault]:
    """One to three episodes within a time span, each of up to three simultaneous faults. A power loss affects one
    broker, which restarts `restart_ms` later.
    """
    faults: list[Fault] = []
    at_ms = random.randint(200, 1_500)
    while at_ms < span_ms and len(faults) < 6:
        if random.random() < 0.3:
            broker = random.choice(BROKERS)
            end_ms = at_ms + restart_ms
            faults.append(Fault(at_ms, end_ms, (f"broker powerloss {broker}",), (f"broker start {broker}",)))
        else:
            together = [_one(random, at_ms) for _ in range(random.randint(1, 3))]
            faults += together
            end_ms = max(fault.ends_ms for fault in together)
        at_ms = end_ms + random.randint(9_000, 14_000)
    return faults


def two_power_losses(random: Random, restart_ms: int) -> list[Fault]:
    """One broker fails; when only the other two are in the ISR, both lose power within 50 ms."""
    dead, first, second = random.sample(BROKERS, 3)
    dies_ms = random.randint(200, 1_500)
    at_ms = dies_ms + restart_ms + random.randint(1_000, 3_000)
    later_ms = at_ms + random.randint(0, 50)
    ends_ms = later_ms + restart_ms
    return [
        Fault(dies_ms, ends_ms, (f"broker kill {dead}",), (f"broker start {dead}",)),
        *(
            Fault(begins_ms, ends_ms, (f"broker powerloss {broker}",), (f"broker start {broker}",))
            for broker, begins_ms in ((first, at_ms), (second, later_ms))
        ),
    ]


def _one(random: Random, at_ms: int) -> Fault:
    begins_ms = at_ms + random.randint(0, 1_500)
    ends_ms = begins_ms + random.randint(300, random.choice((1_500, 7_000)))
    broker = random.choice(BROKERS)
    other = random.choice([each for each in BROKERS if each != broker])
    rest = [str(each) for each in BROKERS if each != broker] + ["zk"] * (random.random() < 0.4)
    begin, end = random.choice(
        [
            ((f"broker kill {broker}",), (f"broker start {broker}",)),
            ((f"broker freeze {broker}",), (f"broker thaw {broker}",)),
            ((f"link cut {broker} {other}",), (f"link restore {broker} {other}",)),
            (
                tuple(f"link cut {broker} {each}" for each in rest),
                tuple(f"link restore {broker} {each}" for each in rest),
            ),
            ((f"session expire {broker}",), ()),
            ((f"hold fetch {broker} {other}",), (f"release fetch {broker} {other}",)),
            ((f"disk slow {broker} 200ms",), (f"disk slow {broker} 0",)),
        ]
    )
    return Fault(begins_ms, ends_ms, begin, end)


def timeline(faults: list[Fault]) -> list[tuple[int, str]]:
    """(instant in ms, line) of all, by time. A line does not wait for the previous one; a line that comes too early is
    rejected.
    """
    lines = [(fault.begins_ms, f"{line} &") for fault in faults for line in fault.begin]
    lines += [(fault.ends_ms, f"{line} &") for fault in faults for line in fault.end]
    return sorted(lines, key=lambda row: row[0])
