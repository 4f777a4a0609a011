"""External changes of a branch's znodes: found by comparing the server with the model."""

from collections.abc import Mapping
from typing import NamedTuple

from broker_core.zk.memory_store import MemoryStore
from broker_core.zk.store import ForeignChange, parent_of


class Reading(NamedTuple):
    """A znode as the server has it. `czxid` is the server's own, and only distinguishes a znode from its successor."""

    data: bytes
    version: int
    czxid: int
    cversion: int
    children: tuple[str, ...]


def child_path(path: str, name: str) -> str:
    return f"{path.rstrip('/')}/{name}"


def differences(
    model: MemoryStore, readings: Mapping[str, Reading | None], known: Mapping[str, int]
) -> list[ForeignChange]:
    """The changes that make the model agree with the readings, in an order in which they can be applied.

    Several changes of one znode between two looks are one; a znode that was deleted and created again is both.

    Args:
        readings: path -> what was read, None where nothing is. The root was there.
        known: the server's czxid of each znode that the model has.
    """
    gone = _gone(model, readings, known)
    moves: dict[str, int] = {}  # parent -> how many of its children come and go below
    changes = []
    for path in sorted(gone, reverse=True):
        changes.append(ForeignChange("deleted", path))
        moves[parent_of(path)] = moves.get(parent_of(path), 0) + 1
    there = {path: reading for path, reading in sorted(readings.items()) if reading is not None}
    created: set[str] = set()
    for path, reading in there.items():
        parent = parent_of(path)
        if path not in gone and model.peek(path):
            continue
        # A child whose parent we have not seen yet comes with the parent, in the next look.
        if parent in created or (parent not in gone and model.peek(parent)):
            created.add(path)
            changes.append(ForeignChange("created", path, reading.data, version=reading.version))
            moves[parent] = moves.get(parent, 0) + 1
    for path, reading in there.items():
        had = None if path in gone else model.peek(path)
        if had and (had[0], had[1].version) != (reading.data, reading.version):
            changes.append(ForeignChange("changed", path, reading.data, version=reading.version))
    for path, reading in there.items():
        had = None if path in gone else model.peek(path)
        counted = (had[1].cversion if had else 0) + moves.get(path, 0)
        if (had or path in created) and reading.cversion > counted:
            changes.append(ForeignChange("children", path, cversion=reading.cversion))
    return changes


def _gone(model: MemoryStore, readings: Mapping[str, Reading | None], known: Mapping[str, int]) -> set[str]:
    gone: set[str] = set()
    for path, reading in readings.items():
        if reading is None or (path in known and known[path] != reading.czxid):
            gone.update(model.paths_from(path))
        else:
            for child in model.children_of(path):
                if child not in reading.children:
                    gone.update(model.paths_from(child_path(path, child)))
    return gone
