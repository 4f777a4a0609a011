"""Happenings: what a prediction waits for, a goal counts, a freeze pauses at and a debrief explains.

In `exercise.toml` a table whose `is` names one:

    { is = "event", kind = "SegmentRolled", where = { replica = "parts-0@b1" } }

is an event of a kind with these values; a text that ends with `*` is a beginning, and a field of a list is compared
with its length when a number is given. The other kinds cannot be recognised from a single event.
"""

from functools import cache
from typing import Any, TypeAlias

import msgspec

from broker_core.events import KINDS
from broker_core.events.client import RecordsConsumed
from broker_core.events.console import CommandCompleted
from broker_core.events.control import LeaderElected, ZnodeCreated
from broker_core.events.envelope import Event
from broker_core.events.group import GroupAssigned as AssignedEvent
from broker_core.events.log import LogTruncated
from broker_core.events.log import PowerLost as PowerLostEvent
from broker_core.events.rpc import RpcDelivered, RpcSent
from broker_core.partitions import split_replica
from broker_core.texts import Text, Value, listed, text
from broker_core.view.tree import Rpc, View
from lab.exercises.places import Unresolved, check_node, check_partition, check_replica, node_text, nodes_of

_TOPICS = "/brokers/topics/"

NAMES_OF_KINDS: dict[str, Value] = {
    "BatchAppended": text("happening.kind.batch_appended"),
    "BrokerStarted": text("happening.kind.broker_started"),
    "BrokerStopped": text("happening.kind.broker_stopped"),
    "ConsumerPositionReset": text("happening.kind.consumer_position_reset"),
    "ConsumerStateChanged": text("happening.kind.consumer_state_changed"),
    "ControllerResigned": text("happening.kind.controller_resigned"),
    "GroupMemberRemoved": text("happening.kind.group_member_removed"),
    "IsrExpanded": text("happening.kind.isr_expanded"),
    "IsrShrunk": text("happening.kind.isr_shrunk"),
    "LogCleaned": text("happening.kind.log_cleaned"),
    "ProduceAcknowledged": text("happening.kind.produce_acknowledged"),
    "ProduceFailed": text("happening.kind.produce_failed"),
    "ProduceStarted": text("happening.kind.produce_started"),
    "SessionClosed": text("happening.kind.session_closed"),
}
"""How a goal that counts events of a kind names them in sentences."""

_NODE_FIELDS = frozenset({"broker", "owner"})


class Base(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", forbid_unknown_fields=True):
    """A kind of happening with the values that it must have."""

    def happens(self, view: View, event: Event) -> bool:
        """Whether an event matches; `view` is the view before it, or from about the same instant."""
        raise NotImplementedError

    def says(self) -> Text:
        """A sentence that names it."""
        raise NotImplementedError


class EventHappens(Base, frozen=True, kw_only=True, tag="event"):
    """An event of this kind with these values occurs."""

    kind: str
    where: dict[str, str | int | bool] = {}

    def __post_init__(self) -> None:
        found = KINDS.get(self.kind)
        if found is None:
            raise ValueError(f"{self.kind!r} is not a kind of event; broker_core/events has them")
        if unknown := set(self.where) - set(found.__struct_fields__):
            raise ValueError(f"{self.kind} has no {sorted(unknown)}: expected some of {found.__struct_fields__}")

    def happens(self, view: View, event: Event) -> bool:
        return type(event).__name__ == self.kind and all(
            _agrees(getattr(event, name), wanted) for name, wanted in self.where.items()
        )

    def says(self) -> Text:
        kind = NAMES_OF_KINDS.get(self.kind, self.kind)
        if not self.where:
            return text("happening.event", kind=kind)
        where = listed([_field_text(name, value) for name, value in self.where.items()])
        return text("happening.event_of", kind=kind, where=where)


def _field_text(name: str, value: str | int | bool) -> Value:
    """A value that an event must have, as it is named in a sentence."""
    if name == "to_offset":
        return text("happening.to_offset", offset=value)
    if name in _NODE_FIELDS:
        return node_text(str(value))
    partition, node = split_replica(str(value))
    if name == "replica" and node:
        return text("happening.replica", partition=partition, node=node_text(node))
    return str(value)


def _agrees(value: Any, wanted: str | int | bool) -> bool:
    if isinstance(value, tuple):
        return len(value) == wanted if isinstance(wanted, int) else wanted in value
    if isinstance(wanted, str) and wanted.endswith("*"):
        return isinstance(value, str) and value.startswith(wanted[:-1])
    return bool(value == wanted)


class RpcArrives(Base, frozen=True, kw_only=True, tag="rpc_in_flight"):
    """A message that was in flight arrives. `fetch_offset`: a Fetch from this offset."""

    api: str
    kind: str
    source: str
    destination: str
    fetch_offset: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("request", "response"):
            raise ValueError(f"{self.kind!r} is not a kind of message; write request or response")
        check_node(self.source)
        check_node(self.destination)

    def in_flight(self, view: View) -> dict[str, str]:
        """The matching messages in flight: id and source. Raises Unresolved."""
        sources, destinations = nodes_of(view, self.source), nodes_of(view, self.destination)
        return {
            name: rpc["source"]
            for name, rpc in view["rpcs"].items()
            if (rpc["api"], rpc["kind"]) == (self.api, self.kind)
            and rpc["source"] in sources
            and rpc["destination"] in destinations
            and (self.fetch_offset is None or self.fetch_offset in _fetch_offsets(rpc))
        }

    def happens(self, view: View, event: Event) -> bool:
        if not isinstance(event, RpcDelivered):
            return False
        try:
            return event.rpc in self.in_flight(view)
        except Unresolved:
            return False

    def says(self) -> Text:
        return text("happening.arrival", api=self.api)


def _fetch_offsets(rpc: Rpc) -> list[int]:
    return [int(value) for name, value in rpc["fields"] if name.endswith(" fetch_offset")]


class PowerLost(Base, frozen=True, kw_only=True, tag="power_lost"):
    """The machine of a broker loses power."""

    broker: str

    def __post_init__(self) -> None:
        check_node(self.broker)

    def happens(self, view: View, event: Event) -> bool:
        return isinstance(event, PowerLostEvent) and event.broker == self.broker

    def says(self) -> Text:
        return text("happening.power_lost", broker=self.broker)


class Elected(Base, frozen=True, kw_only=True, tag="elected"):
    """The controller has elected a leader of a partition, or found that there is none."""

    partition: str

    def __post_init__(self) -> None:
        check_partition(self.partition)

    def happens(self, view: View, event: Event) -> bool:
        return isinstance(event, LeaderElected) and event.partition == self.partition

    def says(self) -> Text:
        return text("happening.elected", partition=self.partition)


class Truncated(Base, frozen=True, kw_only=True, tag="truncated"):
    """A replica truncates its log."""

    replica: str

    def __post_init__(self) -> None:
        check_replica(self.replica)

    def happens(self, view: View, event: Event) -> bool:
        return isinstance(event, LogTruncated) and event.replica == self.replica

    def says(self) -> Text:
        return text("happening.truncated", replica=self.replica)


class GroupAssigned(Base, frozen=True, kw_only=True, tag="group_assigned"):
    """A generation with this number of members gets its assignment."""

    group: str
    members: int

    def happens(self, view: View, event: Event) -> bool:
        return isinstance(event, AssignedEvent) and (event.group, len(event.assignments)) == (self.group, self.members)

    def says(self) -> Text:
        return text("happening.group_assigned", group=self.group, n=self.members)


class Reads(Base, frozen=True, kw_only=True, tag="reads"):
    """A consumer receives records."""

    client: str

    def __post_init__(self) -> None:
        check_node(self.client)

    def happens(self, view: View, event: Event) -> bool:
        # A response without records may change the consumer's high watermark, which is an event as well.
        return isinstance(event, RecordsConsumed) and event.client == self.client and bool(event.records)

    def says(self) -> Text:
        return text("happening.reads", client=self.client)


class TopicCreated(Base, frozen=True, kw_only=True, tag="topic_created"):
    """The assignment of a topic is in ZooKeeper."""

    topic: str

    def happens(self, view: View, event: Event) -> bool:
        return isinstance(event, ZnodeCreated) and event.path == _TOPICS + self.topic

    def says(self) -> Text:
        return text("happening.topic_created", topic=self.topic)


class ToolEnded(Base, frozen=True, kw_only=True, tag="tool_ended"):
    """A console command has ended. `line`: its first words; `option`: a word that it must have; `failed`: with an exit
    code other than 0, or with 0.
    """

    line: str
    option: str = ""
    failed: bool | None = None

    def happens(self, view: View, event: Event) -> bool:
        if not isinstance(event, CommandCompleted):
            return False
        shown = view["console"].get(str(event.command))
        if shown is None or not _begins(shown["line"], self.line):
            return False
        if self.option and self.option not in shown["line"].split():
            return False
        return self.failed is None or self.failed == (event.exit_code != 0)

    def says(self) -> Text:
        return text(
            "happening.tool_failed" if self.failed else "happening.tool_ended",
            line=f"{self.line} {self.option}".rstrip(),
        )


def _begins(line: str, words: str) -> bool:
    return line.split()[: len(words.split())] == words.split()


class Answered(Base, frozen=True, kw_only=True, tag="answered"):
    """A response of an API is sent to a node."""

    api: str
    destination: str
    source: str = ""

    def happens(self, view: View, event: Event) -> bool:
        return (
            isinstance(event, RpcSent)
            and event.kind == "response"
            and (event.api, event.destination) == (self.api, self.destination)
            and self.source in ("", event.source)
        )

    def says(self) -> Text:
        return text("happening.answered", api=self.api, destination=self.destination)


class Passed(Base, frozen=True, kw_only=True, tag="passed"):
    """This much simulated time has passed since the step began, or since the prediction was locked in."""

    ms: int

    def happens(self, view: View, event: Event) -> bool:
        return False

    def says(self) -> Text:
        return text("happening.passed", s=self.ms // 1000)


class Measured(Base, frozen=True, kw_only=True, tag="measured"):
    """The learner has made a measurement on the page; no event records it."""

    what: str

    def happens(self, view: View, event: Event) -> bool:
        return False

    def says(self) -> Text:
        return text("goal.measurement")


Happening: TypeAlias = (
    EventHappens
    | RpcArrives
    | PowerLost
    | Elected
    | Truncated
    | GroupAssigned
    | Reads
    | TopicCreated
    | ToolEnded
    | Answered
    | Passed
    | Measured
)
"""Every happening that content may name."""


@cache
def _key(encoded: bytes) -> str:
    return encoded.decode()


def key_of(happening: Happening) -> str:
    """The key under which a happening is counted: the same for equal ones."""
    return _key(msgspec.json.encode(happening))
