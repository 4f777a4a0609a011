"""Plays a schedule with all invariants on, takes all faults back, and says what was wrong if anything was."""

import re
import traceback
from collections import Counter
from collections.abc import Iterator

import msgspec

from broker_core.eras import ERAS
from broker_core.events.client import ProduceAcknowledged
from broker_core.events.control import LeaderElected, ZnodeDeleted
from broker_core.events.log import PowerLost
from broker_core.events.replica import FetcherFailed
from broker_core.events.world import BrokerExiting, InvariantViolated
from broker_core.run import Run
from broker_core.shell.parser import ShellError, is_background
from broker_core.shell.transcript import ready_line
from broker_core.sim.disk import SimulatedDisk
from broker_core.zk.memory_store import MemoryStore
from lab.sim.aftermath import (
    Acknowledged,
    complaints,
    differing_logs,
    lost_records,
    mending_lines,
    missing_brokers,
)
from lab.sim.parity import differences
from lab.sim.schedule import Schedule, pause

HEAL_US = 72_000_000
LOOK_US = 1_000_000
AGAIN_US = 8_000_000
"""How long to wait before a broker that is still down is started once more."""
_TOO_LARGE = "RECORD_LIST_TOO_LARGE"
_AGAIN = "the append begins at"


_REASONS = re.compile("power loss|unclean election|era")


class Failure(msgspec.Struct, frozen=True):
    """What was wrong. `kind` is the same for the same bug, as far as one can tell: an invariant's name, the place
    of an exception, `view`, `not healed`, `logs differ`, `record lost`. `seq`: the event at which it was found.
    """

    kind: str
    seq: int
    detail: str


class Played(msgspec.Struct, frozen=True):
    """What became of a schedule.

    Attributes:
        typed: every line, those too that took the faults back.
        alarms: how often each (invariant, what explains it in short or nothing) was raised.
        found: what an era, an unclean election or a power loss explains: lost records and logs that differ.
    """

    failure: Failure | None
    events: int
    typed: tuple[str, ...]
    alarms: dict[tuple[str, str], int]
    found: tuple[str, ...] = ()


class Unplayable(Exception):
    """A line of the schedule means nothing to the shell where it stands."""


def play(schedule: Schedule) -> Played:
    """Plays it. Raises Unplayable."""
    return _Game(schedule).play()


class _Game:
    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.disk = SimulatedDisk()
        self.run = Run(schedule.config, disk=self.disk, zk=MemoryStore())
        self.typed: list[str] = []
        self.alarms: Counter[tuple[str, str]] = Counter()
        self.explained: dict[str, str] = {}
        self.acknowledged: list[Acknowledged] = []
        self.deleted: set[str] = set()
        self.restarted: set[int] = set()
        self.gave_up = False
        self.stuck: set[str] = set()
        """Partitions that a follower gave up as Kafka's does: what it was given did not fit a segment, or it had it."""
        self.found: list[str] = []

    def play(self) -> Played:
        try:
            failure = self._whole()
        except Unplayable:
            raise
        except Exception as error:  # whatever the core stumbles over is what is looked for
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{place.filename.rpartition('/')[2]}:{place.name}"
            detail = "".join(traceback.format_exception(error)[-6:]).strip()
            failure = Failure(f"{type(error).__name__} in {where}", self.run.seq, detail)
        return Played(failure, self.run.seq, tuple(self.typed), dict(self.alarms), tuple(self.found))

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
        if not is_background(line):
            while number in run.running_commands:
                run.step_event()

    # looking

    def _look(self) -> Failure | None:
        """The first alarm that nothing explains, and notes for later what happened since the last look."""
        unexplained = None
        for (seq, _, _, _, event), _, _ in self.run.take():
            if isinstance(event, ProduceAcknowledged):
                if event.acks == -1:
                    self.acknowledged.append(
                        Acknowledged(event.client, event.partition, event.base_offset, event.count)
                    )
            elif isinstance(event, InvariantViolated):
                self.alarms[event.invariant, _in_short(event.explained_by)] += 1
                if event.explained_by:
                    self.explained[event.subject.partition("@")[0]] = event.explained_by
                elif unexplained is None:
                    unexplained = Failure(event.invariant, seq, f"{event.subject}: {event.detail}")
            elif isinstance(event, ZnodeDeleted):
                self.deleted.add(event.path)
            elif isinstance(event, FetcherFailed):
                # A leader that lost its tail with the controller leads on in the same epoch: followers that have more
                # than it do not notice until they are given an offset again that they have.
                name = event.replica.partition("@")[0]
                if event.why.startswith(_TOO_LARGE) or (_AGAIN in event.why and name in self.explained):
                    self.stuck.add(name)
            elif isinstance(event, BrokerExiting):
                self.gave_up = True
            elif isinstance(event, LeaderElected):
                if event.unclean:
                    self.explained[event.partition] = "an unclean election"
            elif isinstance(event, PowerLost):
                for file, _, _, _ in event.cuts:
                    self.explained[file.split("/")[-2]] = "a power loss"
        return unexplained

    def _heal(self) -> Failure | None:
        """Takes back every fault and waits until nothing is left of them."""
        run = self.run
        until_us = run.now_us + HEAL_US
        for line in self.schedule.lines:
            if line.startswith("hold fetch"):
                self._mend(line.replace("hold", "release", 1))
        while True:
            wrong = self._wrong()
            if not wrong:
                return None
            if run.now_us >= until_us and self.gave_up:
                self.found.append("a broker gives up rather than truncate, explained by era")
                return None
            if run.now_us >= until_us:
                return Failure("not healed", run.seq, "; ".join(wrong[:4]))
            for line in mending_lines(run.view):
                self._mend(f"{line} &")
            if not ERAS[self.schedule.era].broker_epochs and run.now_us >= until_us - HEAL_US * 2 // 3:
                # Before KIP-380 a controller did not notice a broker that was back at once, and told it nothing.
                for broker_id in missing_brokers(run.view):
                    if broker_id not in self.restarted:
                        self.restarted.add(broker_id)
                        self._mend(f"broker kill {broker_id} &")
            begun_us = run.now_us
            while wrong and run.now_us < min(until_us, begun_us + AGAIN_US):
                run.advance(run.now_us + LOOK_US)
                unexplained = self._look()
                if unexplained is not None:
                    return unexplained
                wrong = self._wrong()
            self.typed.append(pause(run.now_us - begun_us))

    def _mend(self, line: str) -> None:
        self.typed.append(line)
        self._type(line)

    def _wrong(self) -> list[str]:
        if not self.stuck:
            return complaints(self.run.view)
        topics = {f"/brokers/topics/{partition.rpartition('-')[0]}" for partition in self.stuck}
        excused = self.stuck | topics | {"/admin/reassign_partitions"}
        return [each for each in complaints(self.run.view) if each.partition(": ")[0] not in excused]

    def _after(self) -> Failure | None:
        """What a cluster that has healed must hold."""
        run = self.run
        differing = differences(run)
        if differing:
            return Failure("view", run.seq, "; ".join(differing[:3]))
        for kind, partition, detail in () if self.gave_up else self._missing():
            excuse = self.explained.get(partition, "")
            if not excuse:
                return Failure(kind, run.seq, f"{partition}: {detail}")
            self.found.append(f"{kind}, explained by {_in_short(excuse)}")
        return None

    def _missing(self) -> Iterator[tuple[str, str, str]]:
        for partition, detail in differing_logs(self.run.view, self.disk):
            yield "logs differ", partition, detail
        # who sends to a deleted topic makes a new one of the same name
        owed = [each for each in self.acknowledged if f"/brokers/topics/{each.topic}" not in self.deleted]
        for partition, detail in lost_records(self.run.view, self.disk, owed):
            yield "record lost", partition, detail


def _in_short(explanation: str) -> str:
    """Without names and numbers, so that like explanations count together."""
    reason = _REASONS.search(explanation)
    return explanation if reason is None else reason[0]
