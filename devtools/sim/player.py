"""Plays a schedule with all invariants on, removes all faults, and reports what was wrong."""

import traceback
from collections.abc import Iterator

from broker_core.eras import ERAS
from broker_core.partitions import partition_of, topic_of
from broker_core.run import Run
from broker_core.shell.grammar.parser import ShellError, is_background
from broker_core.shell.grammar.transcript import ready_line
from broker_core.sim.disk import SimulatedDisk
from broker_core.zk.memory_store import MemoryStore
from devtools.sim.expected_failures import ExpectedFailures, in_short
from devtools.sim.parity import differences
from devtools.sim.schedule import Schedule
from devtools.sim.verdict import Failure, Played
from lab.trials.aftermath import (
    abandoned,
    complaints,
    differing_logs,
    lost_records,
    missing_brokers,
    repair_commands,
    waiting_deletions,
)
from lab.trials.pauses import pause

HEAL_US = 72_000_000
LOOK_US = 1_000_000
MAX_EVENTS = 250_000
"""The most events of one line. A whole schedule makes some 8,000."""
AGAIN_US = 8_000_000
"""How long to wait before a broker that is still down is started once more."""


class Unplayable(Exception):
    """The shell does not understand a line of the schedule in the state that it meets."""


def play(schedule: Schedule) -> Played:
    """Plays it. Raises Unplayable."""
    return _Game(schedule).play()


class _Endless(Exception):
    """A line of the schedule made more events than any should."""


class _Game:
    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.disk = SimulatedDisk()
        self.run = Run(schedule.config, disk=self.disk, zk=MemoryStore())
        self.typed: list[str] = []
        self.expected = ExpectedFailures(ERAS[schedule.era])
        self.restarted: set[tuple[int, int]] = set()
        self.found: list[str] = []

    def play(self) -> Played:
        try:
            failure = self._whole()
        except Unplayable:
            raise
        except _Endless as endless:
            failure = Failure("endless", self.run.seq, f"more than {MAX_EVENTS} events of {endless}")
        except Exception as error:  # whatever the core stumbles over is what is looked for
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{place.filename.rpartition('/')[2]}:{place.name}"
            detail = "".join(traceback.format_exception(error)[-6:]).strip()
            failure = Failure(f"{type(error).__name__} in {where}", self.run.seq, detail)
        return Played(failure, self.run.seq, tuple(self.typed), dict(self.expected.alarms), tuple(self.found))

    def _whole(self) -> Failure | None:
        self._type(ready_line(self.schedule.brokers))
        for line in self.schedule.lines:
            self.typed.append(line)
            self._type(line)
        return self._look() or self._heal() or self._after()

    def _type(self, line: str) -> None:
        run = self.run
        try:
            number = run.submit(line, "play")
        except ShellError as error:
            raise Unplayable(f"{line}: {error.what}") from None
        last = run.seq + MAX_EVENTS
        if not is_background(line) and not run.finish(number, max_events=MAX_EVENTS) and run.seq >= last:
            raise _Endless(line)

    # looking

    def _look(self) -> Failure | None:
        """The first alarm that nothing explains, up to now."""
        self.expected.see(self.run.take())
        return self.expected.unexplained

    def _heal(self) -> Failure | None:
        """Takes back every fault and waits until nothing is left of them."""
        run = self.run
        until_us = run.now_us + HEAL_US
        for line in self.schedule.lines:
            if line.startswith("hold fetch"):
                self._repair(line.replace("hold", "release", 1))
        while True:
            wrong = self._wrong()
            if wrong and run.now_us >= until_us:
                wrong = self._wrong_for_good()
            if not wrong:
                return None
            if run.now_us >= until_us and self.expected.gave_up:
                self.found.append("a broker gives up rather than truncate, explained by era")
                return None
            if run.now_us >= until_us:
                return Failure("not healed", run.seq, "; ".join(wrong[:4]))
            for line in repair_commands(run.view):
                self._repair(f"{line} &")
            turn = 3 - (until_us - run.now_us) * 3 // HEAL_US
            if not ERAS[self.schedule.era].controller.broker_epochs and turn > 1:
                # Before KIP-380 a controller did not notice a broker that restarted at once, and sent it nothing. This
                # may apply to this start, too.
                for broker_id in missing_brokers(run.view):
                    if (broker_id, turn) not in self.restarted:
                        self.restarted.add((broker_id, turn))
                        self._repair(f"broker kill {broker_id} &")
            begun_us = run.now_us
            while wrong and run.now_us < min(until_us, begun_us + AGAIN_US):
                run.advance(run.now_us + LOOK_US)
                unexplained = self._look()
                if unexplained is not None:
                    return unexplained
                wrong = self._wrong()
            self.typed.append(pause(run.now_us - begun_us))

    def _repair(self, line: str) -> None:
        self.typed.append(line)
        self._type(line)

    def _wrong(self) -> list[str]:
        self.expected.stuck |= abandoned(self.run.view)
        stuck = self._stuck()
        if not stuck:
            return complaints(self.run.view)
        topics = {f"/brokers/topics/{topic_of(partition)}" for partition in stuck}
        excused = stuck | topics | {"/admin/reassign_partitions"}
        wrong = [each for each in complaints(self.run.view) if each.partition(": ")[0] not in excused]
        # Their other replicas may still be about to truncate.
        wait_for = stuck - self.expected.explained.keys()
        differing = differing_logs(self.run.view, self.disk) if wait_for else ()
        return wrong + [f"{name}: {detail}" for name, detail in differing if name in wait_for]

    def _stuck(self) -> set[str]:
        """Partitions that cannot heal, as Kafka's would not."""
        return self.expected.stuck | {partition_of(replica) for replica in self.expected.refusing}

    def _wrong_for_good(self) -> list[str]:
        """What is wrong when nothing changes any more, without deletions that wait for moves without a leader."""
        view = self.run.view
        waiting = waiting_deletions(view) & self.expected.put_off
        self.expected.stuck |= {name for name, partition in view["partitions"].items() if partition["topic"] in waiting}
        wishes = {f"/admin/delete_topics/{topic}" for topic in waiting}
        return [each for each in self._wrong() if each.partition(": ")[0] not in wishes]

    def _after(self) -> Failure | None:
        """What a cluster that has healed must hold."""
        run = self.run
        differing = differences(run)
        if differing:
            return Failure("view", run.seq, "; ".join(differing[:3]))
        if self._stuck():
            self.found.append("a partition cannot heal, as Kafka's would not")
        for kind, partition, detail in () if self.expected.gave_up else self._missing():
            excuse = self.expected.explained.get(partition, "")
            if not excuse:
                return Failure(kind, run.seq, f"{partition}: {detail}")
            self.found.append(f"{kind}, explained by {in_short(excuse)}")
        return None

    def _missing(self) -> Iterator[tuple[str, str, str]]:
        for partition, detail in differing_logs(self.run.view, self.disk):
            yield "logs differ", partition, detail
        # a producer that sends to a deleted topic recreates it
        owed = [
            each for each in self.expected.acknowledged if f"/brokers/topics/{each.topic}" not in self.expected.deleted
        ]
        for partition, detail in lost_records(self.run.view, self.disk, owed):
            yield "record lost", partition, detail
