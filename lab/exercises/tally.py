"""Counts since a lesson began: the view does not have them, because it holds only the newest state."""

from collections.abc import Iterable

import msgspec

from broker_core.events import Envelope
from broker_core.events.client import ProduceRepeated, ProduceStarted, RecordPartitioned, RecordsConsumed
from broker_core.events.rpc import RpcSent
from broker_core.partitions import TopicPartition
from broker_core.view.tree import View
from lab.exercises.happenings import Happening, key_of


class Tally(msgspec.Struct):
    """Counts of a lesson, stored with its progress. Times are simulated, in microseconds.

    Attributes:
        seq: the last event that is counted.
        began_us: when the set-up was done.
        step_us: when the active step began.
        locked_us: when its prediction was locked in, -1 before.
        since_us: when that happened from which its prediction measures time, -1 before.
        awaits_since: its prediction was locked in and measures time from what has not happened.
        counts: how often each happening that the lesson names has happened.
        before: the same when the active step began.
        requests: Produce requests of each producer.
        last_request: the number of its last one; batches of one request share it.
        read: records that each consumer was given; an event holds the last 20 of a fetch, and no more are counted.
        partitions: the partition chosen last for each key.
        responses: the label of the last response to each node, by `API>node`.
        facts: what the page has done in this run, such as a measurement, and its figures.
    """

    seq: int = 0
    began_us: int = 0
    step_us: int = 0
    locked_us: int = -1
    since_us: int = -1
    awaits_since: bool = False
    counts: dict[str, int] = {}
    before: dict[str, int] = {}
    requests: dict[str, int] = {}
    last_request: dict[str, int] = {}
    read: dict[str, int] = {}
    partitions: dict[str, int] = {}
    responses: dict[str, str] = {}
    facts: dict[str, dict[str, int]] = {}

    def take(self, view: View, envelope: Envelope, happenings: Iterable[Happening]) -> None:
        """Counts an event. `view` is from about its instant."""
        self.seq, event = envelope[0], envelope[4]
        for happening in happenings:
            if happening.happens(view, event):
                key = key_of(happening)
                self.counts[key] = self.counts.get(key, 0) + 1
        match event:
            case ProduceStarted() | ProduceRepeated():
                if self.last_request.get(event.client) != event.request:
                    self.last_request[event.client] = event.request
                    self.requests[event.client] = self.requests.get(event.client, 0) + 1
            case RecordsConsumed():
                self.read[event.client] = self.read.get(event.client, 0) + len(event.records)
            case RecordPartitioned() if event.key is not None:
                self.partitions[event.key] = TopicPartition.parse(event.partition).partition
            case RpcSent() if event.kind == "response":
                self.responses[f"{event.api}>{event.destination}"] = event.label
            case _:
                pass

    def step_began(self, at_us: int) -> None:
        """Another step is active."""
        self.step_us, self.locked_us, self.since_us, self.before = at_us, -1, -1, dict(self.counts)
        self.awaits_since = False

    def measure_from(self, at_us: int) -> None:
        """What the prediction measures time from has happened; the first time counts."""
        if self.since_us < 0:
            self.since_us = at_us
        self.awaits_since = False

    def locked_in(self, at_us: int, *, measures_since: bool) -> None:
        """The prediction was locked in. `measures_since`: it measures time from an event."""
        self.locked_us = at_us
        self.awaits_since = measures_since and self.since_us < 0

    def happened(self, happening: Happening, since_step: bool) -> int:
        """How often it has happened since the lesson, or since the active step, began."""
        key = key_of(happening)
        return self.counts.get(key, 0) - (self.before.get(key, 0) if since_step else 0)
