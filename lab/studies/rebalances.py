"""Number of rebalances of groups, by the definitions in docs/TABLES.md."""

from collections import defaultdict

from broker_core.events.control import ZnodeChanged, ZnodeCreated, ZnodeDeleted
from broker_core.events.group import ConsumerStateChanged, GroupTransitioned
from broker_core.events.world import NodeAdded, NodeRemoved
from broker_core.view.tree import View

_NO_CHANGE = 0


class Rebalances:
    """Counts the rebalances of groups with a coordinator, and of those of 0.8, whose members rebalance by themselves
    after a change in ZooKeeper: one lasts until all of them are done.
    """

    def __init__(self, view: View) -> None:
        self.count = 0
        self._group_of: dict[str, str] = {}
        self._busy: dict[str, set[str]] = defaultdict(set)
        self._over_us: dict[str, int] = {}
        self._changed: dict[str, int] = defaultdict(int)
        self._changed_for_all = _NO_CHANGE
        self._seen: dict[str, int] = {}
        for name, node in view["nodes"].items():
            self._joins(name, node["kind"], node.get("settings", {}).get("group.id", ""))
            if node.get("member", {}).get("state") == "rebalancing":
                self._busy[self._group_of[name]].add(name)

    def see(self, seq: int, at_us: int, event: object) -> None:
        """Observes an event."""
        if isinstance(event, GroupTransitioned):
            self.count += event.to_state == "PreparingRebalance"
        elif isinstance(event, ConsumerStateChanged):
            self._becomes(event.client, event.state, at_us)
        elif isinstance(event, NodeAdded):
            self._joins(event.node, event.node_kind, dict(event.settings).get("group.id", ""))
        elif isinstance(event, NodeRemoved):
            self._becomes(event.node, "removed", at_us)
            self._group_of.pop(event.node, None)
        elif isinstance(event, ZnodeCreated | ZnodeChanged | ZnodeDeleted):
            match event.path.split("/"):
                case ["", "consumers", group, "ids", _]:
                    self._changed[group] = seq
                case ["", "brokers", "ids" | "topics", _]:
                    self._changed_for_all = seq

    def _joins(self, client: str, kind: str, group: str) -> None:
        if kind == "consumer" and group:
            self._group_of[client] = group

    def _becomes(self, client: str, state: str, at_us: int) -> None:
        group = self._group_of.get(client)
        if group is None:
            return
        busy = self._busy[group]
        if state != "rebalancing":
            if client in busy:
                busy.remove(client)
                self._over_us[group] = at_us
        elif client not in busy:
            change = max(self._changed[group], self._changed_for_all)
            is_done = not busy and self._over_us.get(group, -1) < at_us
            self.count += is_done and self._seen.get(group) != change
            self._seen[group] = change
            busy.add(client)
