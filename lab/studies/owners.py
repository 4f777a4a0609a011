"""Which consumer owns which partition of each group, by the definitions in docs/TABLES.md."""

from collections import defaultdict
from collections.abc import Mapping

from broker_core.events.control import ZnodeCreated, ZnodeDeleted
from broker_core.events.group import ConsumerAssigned
from broker_core.events.world import NodeAdded, NodeRemoved
from broker_core.partitions import topic_of
from broker_core.view.tree import View

_TOPICS = "/brokers/topics"
Owned = tuple[str, str]
"""Group and partition."""


class Owners:
    """Partitions that changed their owner, and time in which partitions had none after having had one.

    A consumer owns what it was assigned until its next assignment or its end, also while it is frozen, and while the
    topic exists. What was assigned before counts as owned.
    """

    def __init__(self, now_us: int, view: View) -> None:
        self.moved = 0
        self.unowned_us = 0
        self._since_us = now_us
        #: client -> group, and who it is there: a static member that restarts is the same one
        self._member: dict[str, tuple[str, str]] = {}
        self._assigned: dict[str, tuple[str, ...]] = {}
        self._owners: dict[Owned, set[str]] = defaultdict(set)
        self._last: dict[Owned, str] = {}
        self._deleted: set[str] = set()
        for name, node in view["nodes"].items():
            self._joins(name, node["kind"], node.get("settings", {}))
            if name in self._member:
                self._owns(name, tuple(node.get("assignment", ())))

    def see(self, at_us: int, event: object) -> None:
        """Observes an event."""
        if not isinstance(event, ConsumerAssigned | NodeAdded | NodeRemoved | ZnodeCreated | ZnodeDeleted):
            return
        self.until(at_us)
        if isinstance(event, ConsumerAssigned):
            self._owns(event.client, event.partitions)
        elif isinstance(event, NodeAdded):
            self._joins(event.node, event.node_kind, dict(event.settings))
        elif isinstance(event, NodeRemoved):
            self._owns(event.node, ())
            self._assigned.pop(event.node, None)
            self._member.pop(event.node, None)
        elif event.path.rpartition("/")[0] == _TOPICS:
            self._topic(event.path.rpartition("/")[2], exists=isinstance(event, ZnodeCreated))

    def until(self, now_us: int) -> None:
        """Counts the time of partitions that had an owner and have none now."""
        self.unowned_us += sum(not self._owners[place] for place in self._last) * (now_us - self._since_us)
        self._since_us = now_us

    def _joins(self, client: str, kind: str, settings: Mapping[str, str]) -> None:
        group = settings.get("group.id")
        if kind == "consumer" and group:
            self._member[client] = (group, settings.get("group.instance.id") or client)

    def _owns(self, client: str, partitions: tuple[str, ...]) -> None:
        if client not in self._member:
            return
        group, _ = self._member[client]
        for name in self._assigned.get(client, ()):
            self._owners[group, name].discard(client)
        self._assigned[client] = partitions
        for name in partitions:
            self._gains(client, name)

    def _gains(self, client: str, name: str) -> None:
        if topic_of(name) in self._deleted:
            return
        group, who = self._member[client]
        place = (group, name)
        self._owners[place].add(client)
        self.moved += self._last.get(place, who) != who
        self._last[place] = who

    def _topic(self, topic: str, *, exists: bool) -> None:
        for place in [place for place in self._last if topic_of(place[1]) == topic]:
            del self._last[place]
        if not exists:
            self._deleted.add(topic)
        elif topic in self._deleted:
            self._deleted.discard(topic)
            for client, names in self._assigned.items():
                for name in names:
                    if topic_of(name) == topic:
                        self._gains(client, name)
