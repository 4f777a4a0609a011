"""The script of the front page's recording, with its captions."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from broker_core.partitions import ReplicaId
from broker_core.run import Run
from lab.exercises.loader import exercises
from lab.runtime.headless.rehearsal import rehearsal_run

LESSON = "006-the-lost-record"
SEED = 3
BEGIN_US = 1_000_000
"""When the first command is given: a run that repeats the commands is certainly not past that when it is started."""
LIMIT_US = 60_000_000
PARTITION = "ledger-0"
RECORDS = ("anna:10", "bill:5", "cora:7", "dora:12", "emil:3")
LOST = "bert:20"
NEXT = "carl:30"


class Command(NamedTuple):
    """A line and the instant at which it was given."""

    at_us: int
    line: str


class Caption(NamedTuple):
    """From `at_us` on the page shows the text `hero.<id>`."""

    at_us: int
    id: str


class Story:
    """The run, played to its end by `play`."""

    def __init__(self) -> None:
        self.run: Run = rehearsal_run(SEED, exercises()[LESSON].era)
        self.commands: list[Command] = []
        self.captions: list[Caption] = []
        self._sent = 0

    def play(self) -> None:
        """Raises TimeoutError where something that belongs to the story does not happen."""
        run = self.run
        run.advance(BEGIN_US)
        for line in exercises()[LESSON].setup:
            self._give(line)
            self._until(lambda: not run.running_commands)
        self._give("producer open p1 --acks all")
        for count, record in enumerate(RECORDS, 1):
            self._sent = count
            if count == len(RECORDS):
                self._say("healthy")
            self._give(f"producer send p1 {PARTITION} {record}")
            self._until(lambda: min(self._high_watermarks()) == run.view["nodes"]["p1"]["acknowledged"] == self._sent)
            run.advance(run.now_us + 5_000)
        last = len(RECORDS)
        self._give("hold fetch 3 2")
        self._say("sent")
        self._give(f"producer send p1 {PARTITION} {LOST}")
        self._until(lambda: run.view["nodes"]["p1"]["last_offset"] == last)
        self._say("acknowledged")
        run.advance(run.now_us + 100)
        self._give("broker kill 1")
        self._say("first_crash")
        self._until(lambda: self._leader() == 2 and self._end(3) == last)
        self._say("truncated")
        run.advance(run.now_us + 200)
        self._give("broker kill 2")
        self._say("second_crash")
        self._until(lambda: self._leader() == 3)
        self._say("lost")
        run.advance(run.now_us + 300_000)
        self._give("producer open p2 --acks 1")
        self._give(f"producer send p2 {PARTITION} {NEXT}")
        self._until(lambda: self._end(3) == last + 1)
        self._say("replaced")
        run.advance(run.now_us + 10_000)

    def _give(self, line: str) -> None:
        self.commands.append(Command(self.run.now_us, line))
        self.run.submit(line, "hero")

    def _say(self, id: str) -> None:
        self.captions.append(Caption(self.run.now_us, id))

    def _until(self, happened: Callable[[], bool]) -> None:
        end_us = self.run.now_us + LIMIT_US
        while not happened():
            if self.run.now_us > end_us or not self.run.step_event():
                raise TimeoutError(f"after {self.commands[-1].line!r} the story did not go on within {LIMIT_US} us")

    def _high_watermarks(self) -> Iterator[int]:
        for broker in (1, 2, 3):
            yield self.run.view["replicas"][str(ReplicaId(PARTITION, broker))]["high_watermark"]

    def _end(self, broker: int) -> int:
        return self.run.view["replicas"][str(ReplicaId(PARTITION, broker))]["log_end_offset"]

    def _leader(self) -> int:
        return self.run.view["partitions"][PARTITION]["leader"]
