"""A small cluster that plays the scenario of a question; the answer is read from its view and events."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, TypeVar

from broker_core.eras import DEFAULT_ERA
from broker_core.events import Event
from broker_core.events.rpc import RpcSent
from broker_core.partitions import ReplicaId
from broker_core.sim.disk import SimulatedDisk
from broker_core.zk.memory_store import MemoryStore
from lab.runtime.engine import RunConfig
from lab.runtime.headless.booted import BOOT_LIMIT_US, BOOT_STEP_US
from lab.runtime.headless.rehearsal import pageless_run

E = TypeVar("E", bound=Event)

_MS = 1000
_TAIL_SIZE = 4
_LIMIT_US = 600_000_000
_SEEDS = 2**31


SINGLE = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.min.isr": "1",
}
"""Internal topics of one partition and one replica: most questions need no more, and it is faster."""


class Scenario:
    """A run in memory, all its brokers up. `settings`: of every broker."""

    def __init__(
        self, rng: Random, brokers: int = 3, era: str = DEFAULT_ERA, settings: dict[str, str] | None = None
    ) -> None:
        config = RunConfig(
            name="review",
            seed=rng.randrange(_SEEDS),
            era=era,
            brokers=tuple(range(1, brokers + 1)),
            broker_config=settings or {},
        )
        self.disk = SimulatedDisk()
        self.run = pageless_run(config, MemoryStore(), self.disk)
        self._seen: list[tuple[int, Event]] = []
        while self.run.now_us < BOOT_LIMIT_US and not self._is_up():
            self.run.advance(self.run.now_us + BOOT_STEP_US)

    def do(self, *lines: str) -> list[str]:
        """Runs console lines, each to its end. Returns the output of the last one, which may fail."""
        number = -1
        for line in lines:
            number = self.run.submit(line)
            end_us = self.run.now_us + _LIMIT_US
            while number in self.run.running_commands and self.run.now_us < end_us:
                self.run.finish(number, max_events=10_000)
        return list(self.run.view["console"][str(number)]["output"]) if lines else []

    def begin(self, line: str, ms: int = 300) -> None:
        """Begins a line that may not end, and plays on for `ms`."""
        self.run.submit(line)
        self.play(ms)

    def send(self, line: str, api: str, kind: str) -> str:
        """Starts a line and plays until a message of an API is sent: a request or a response. Returns the name of the
        message for `message drop`. Raises RuntimeError if there is none.
        """
        before = len(self.messages(api, kind))
        self.run.submit(line)
        while len(found := self.messages(api, kind)) == before:
            if not self.run.step_event():
                raise RuntimeError(f"{line!r} led to no {api} {kind}")
        return found[-1].rpc

    def play(self, ms: int) -> None:
        """Lets simulated time pass."""
        self.run.advance(self.run.now_us + ms * _MS)

    def until(self, holds: Callable[[], bool], step_ms: int = 100, limit_ms: int = 120_000) -> None:
        """Plays until a condition holds. Raises TimeoutError when it does not within `limit_ms`."""
        for _ in range(limit_ms // step_ms):
            if holds():
                return
            self.play(step_ms)
        raise TimeoutError(f"the scenario did not come to its end within {limit_ms} ms of simulated time")

    @property
    def now_ms(self) -> int:
        return self.run.now_us // _MS

    def events(self, kind: type[E]) -> Iterator[tuple[int, E]]:
        """All events of a kind since the run began, each with its instant in microseconds."""
        self._take()
        for at_us, event in self._seen:
            if isinstance(event, kind):
                yield at_us, event

    def step_to(self, kind: type[Event], count: int = 1, limit: int = 5000) -> None:
        """Steps until `count` more events of a kind were emitted, or for `limit` events."""
        for _ in range(limit):
            self.run.step_event()
            count -= sum(isinstance(event, kind) for _, event in self._take())
            if count <= 0:
                return

    def _take(self) -> list[tuple[int, Event]]:
        """Events since the last call."""
        taken = [(envelope[1], envelope[4]) for envelope, *_ in self.run.take()]
        self._seen += taken
        return taken

    def messages(self, api: str, kind: str) -> list[RpcSent]:
        """Messages of an API that were sent: requests or responses."""
        return [sent for _, sent in self.events(RpcSent) if sent.api == api and sent.kind == kind]

    def partition(self, name: str) -> dict[str, Any]:
        """The state of a partition in ZooKeeper: leader (-1: none), isr, leader_epoch."""
        return dict(self.run.view["partitions"][name])

    def replica(self, name: str, broker: int) -> dict[str, Any]:
        """A replica: log_end_offset, high_watermark, segments, epochs."""
        return dict(self.run.view["replicas"][str(ReplicaId(name, broker))])

    def batch_sizes(self, name: str, broker: int) -> list[int]:
        """The bytes of each of the last batches of a replica, oldest first."""
        return [row[_TAIL_SIZE] for row in self.run.view["replicas"][str(ReplicaId(name, broker))]["tail"].values()]

    def node(self, name: str) -> dict[str, Any]:
        """A client or a broker."""
        return dict(self.run.view["nodes"][name])

    def group(self, name: str) -> dict[str, Any]:
        """A group at its coordinator."""
        groups = self.run.view["groups"].values()
        return dict(next(group for group in groups if group["group"] == name and group["members"]))

    def owned(self, group: str) -> dict[str, list[str]]:
        """The partitions of each member of a group, by client."""
        members = self.group(group)["members"].values()
        return {member["client"]: list(member["assignment"]) for member in members}

    def _is_up(self) -> bool:
        nodes = self.run.view["nodes"].values()
        return all(node["state"] == "up" for node in nodes if node["kind"] == "broker")


def numbered_records(first: int, count: int) -> str:
    """`k4:v k5:v`, as `producer send` takes them: keys by number, from `first` on."""
    return " ".join(f"k{number}:v" for number in range(first, first + count))


def replica_list(brokers: list[int]) -> str:
    """`1:2:3`, as --replica-assignment takes it."""
    return ":".join(map(str, brokers))


def laid(topic: str, *lists: list[int], config: str = "") -> str:
    """The line that creates a topic with these replica lists."""
    assignment = ",".join(map(replica_list, lists))
    return f"kafka-topics.sh --create --topic {topic} --replica-assignment {assignment} {config}".strip()
