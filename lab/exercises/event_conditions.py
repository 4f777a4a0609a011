"""Events that a prediction may wait for, other than the arrival of a message."""

import msgspec

from broker_core.events import client, control, group, log
from broker_core.events.envelope import Event
from broker_core.view.tree import View
from lab.exercises.places import check_node, check_partition, check_replica


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
