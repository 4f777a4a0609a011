"""What folds are written with.

A fold is a function `(view, event, at_us, seq) -> patch`, registered with `@folds` for the kinds that it declares
its `event` to be. It changes the view and returns what it changed. A dict that a later event changes in place goes into
the patch as a copy. Arrays are never changed in place, but replaced as a whole.

A `Table`, `put` and `remove` change the view and make the patch of it in one go. The folds of the most frequent kinds
write both down by themselves, because a call costs as much as all else that such a fold does.
"""

from collections.abc import Callable, Mapping
from types import UnionType
from typing import Any, Generic, TypeAlias, TypeVar, get_args

from broker_core.events import Event
from broker_core.view import tree
from broker_core.view.patch import Patch, escape
from broker_core.view.tree import View

E = TypeVar("E", bound=Event)
Row = TypeVar("Row", bound=Mapping[str, object])
Value = TypeVar("Value")

FoldFunction: TypeAlias = Callable[[View, E, int, int], Patch]

FOLDS: dict[type[Event], FoldFunction[Any]] = {}


def folds(function: FoldFunction[E]) -> FoldFunction[E]:
    """Registers a fold for the kind, or union of kinds, of its second parameter."""
    declared = list(function.__annotations__.values())[1]
    for kind in get_args(declared) if isinstance(declared, UnionType) else (declared,):
        _register(kind, function)
    return function


def unchanged(*kinds: type[Event]) -> None:
    """Declares that events of these kinds do not change the view."""
    for kind in kinds:
        _register(kind, _nothing)


def _register(kind: type[Event], function: FoldFunction[Any]) -> None:
    if kind in FOLDS:
        raise ValueError(f"{kind.__name__} is folded twice")
    FOLDS[kind] = function


def _nothing(view: View, event: Event, at_us: int, seq: int) -> Patch:
    return []


def put(rows: dict[str, Value], pointer: str, key: str, value: Value) -> Patch:
    """Adds or replaces an entry of a dict of the view."""
    rows[key] = value
    return [[f"{pointer}/{escape(key)}", value.copy() if isinstance(value, dict) else value]]


def remove(rows: dict[str, Any], pointer: str, key: str) -> Patch:
    """Removes an entry of a dict of the view, if it exists."""
    if key not in rows:
        return []
    del rows[key]
    return [[f"{pointer}/{escape(key)}"]]


class Pointers(dict[str, str]):
    """Pointers by key: a prefix and the escaped key. They are cached, because most events are about the same few
    keys.
    """

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def __missing__(self, key: str) -> str:
        if len(self) == MAX_POINTERS:
            self.clear()
        pointer = self[key] = self._prefix + escape(key)
        return pointer


MAX_POINTERS = 10_000

ESCAPED = Pointers("")
"""Frequent keys, such as names of nodes and partitions."""


class Table(Generic[Row]):
    """A dict of objects at the top of the view. `is_nested`: fields of the objects are dicts that change in place."""

    def __init__(self, name: str, *, is_nested: bool = False) -> None:
        self.pointers = Pointers(f"/{name}/")
        self._name = name
        self._is_nested = is_nested

    def put(self, view: View, key: str, row: Row) -> Patch:
        """Adds or replaces a row."""
        rows: Any = view
        rows[self._name][key] = row
        copy = dict(row)
        if self._is_nested:
            copy |= {name: value.copy() for name, value in row.items() if isinstance(value, dict)}
        return [[self.pointers[key], copy]]

    def set(self, view: View, key: str, changes: Row) -> Patch:
        """Changes fields of a row. Raises KeyError if it does not exist."""
        rows: Any = view
        rows[self._name][key].update(changes)
        pointer = self.pointers[key]
        patch: Patch = []
        for name, value in changes.items():
            patch.append([f"{pointer}/{name}", value.copy() if type(value) is dict else value])
        return patch

    def remove(self, view: View, key: str) -> Patch:
        """Removes a row, if it exists."""
        rows: Any = view
        if rows[self._name].pop(key, None) is None:
            return []
        return [[self.pointers[key]]]


NODES: Table[tree.Node] = Table("nodes", is_nested=True)
LINKS: Table[tree.Link] = Table("links")
LINK_FAULTS: Table[tree.LinkFaults] = Table("link_faults")
TOPICS: Table[tree.Topic] = Table("topics")
PARTITIONS: Table[tree.Partition] = Table("partitions")
REPLICAS: Table[tree.Replica] = Table("replicas", is_nested=True)
RPCS: Table[tree.Rpc] = Table("rpcs")
PARKED: Table[tree.ParkedRequest] = Table("parked")
ZNODES: Table[tree.Znode] = Table("zk")
GROUPS: Table[tree.Group] = Table("groups", is_nested=True)
TRANSACTIONS: Table[tree.Transaction] = Table("transactions")
CHECKPOINTS: Table[dict[str, tree.Checkpoint]] = Table("checkpoints")
DELETED_LOGS: Table[tree.DeletedLog] = Table("deleted_logs")
ALARMS: Table[tree.Alarm] = Table("alarms")
LOSSES: Table[tree.Loss] = Table("losses")
COMMANDS: Table[tree.Command] = Table("console")
