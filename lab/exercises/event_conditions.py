"""Events that a prediction may wait for."""

import msgspec

from broker_core.events import client, control, group, log
from broker_core.events.envelope import Event
from broker_core.events.rpc import RpcDelivered
from broker_core.view.tree import Rpc, View
from lab.exercises.places import Unresolved, check_node, check_partition, check_replica, nodes_of


class EventCondition(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", forbid_unknown_fields=True):
    """A kind of event, with the values that it must have."""

    def happens(self, view: View, event: Event) -> bool:
        """Whether an event is that; `view` is before it."""
        raise NotImplementedError


class PowerLost(EventCondition, frozen=True, kw_only=True, tag="power_lost"):
    """The machine of a broker loses power."""

    broker: str

    def __post_init__(self) -> None:
        check_node(self.broker)

    def happens(self, view: View, event: Event) -> bool:
        return isinstance(event, log.PowerLost) and event.broker == self.broker


class Elected(EventCondition, frozen=True, kw_only=True, tag="elected"):
    """The controller has decided who leads a partition, if anybody."""

    partition: str

    def __post_init__(self) -> None:
        check_partition(self.partition)

    def happens(self, view: View, event: Event) -> bool:
        return isinstance(event, control.LeaderElected) and event.partition == self.partition


class Truncated(EventCondition, frozen=True, kw_only=True, tag="truncated"):
    """A replica cuts its log."""

    replica: str

    def __post_init__(self) -> None:
        check_replica(self.replica)

    def happens(self, view: View, event: Event) -> bool:
        return isinstance(event, log.LogTruncated) and event.replica == self.replica


class GroupAssigned(EventCondition, frozen=True, kw_only=True, tag="group_assigned"):
    """A generation of this number of members gets its assignment."""

    group: str
    members: int

    def happens(self, view: View, event: Event) -> bool:
        if not isinstance(event, group.GroupAssigned):
            return False
        return event.group == self.group and len(event.assignments) == self.members


class Reads(EventCondition, frozen=True, kw_only=True, tag="reads"):
    """A consumer gets records."""

    client: str

    def __post_init__(self) -> None:
        check_node(self.client)

    def happens(self, view: View, event: Event) -> bool:
        return isinstance(event, client.RecordsConsumed) and event.client == self.client


class RpcArrives(EventCondition, frozen=True, kw_only=True, tag="rpc_in_flight"):
    """A message that is in flight arrives. `fetch_offset`: a Fetch from this offset."""

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
        """The messages of this kind that are in flight: id and source. Raises Unresolved."""
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


def _fetch_offsets(rpc: Rpc) -> list[int]:
    return [int(value) for name, value in rpc["fields"] if name.endswith(" fetch_offset")]
