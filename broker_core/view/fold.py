"""Folds events into the view: event in, patch out."""

import ast
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

import broker_core
from broker_core.events import KINDS, Envelope
from broker_core.view import client, console, control, group, log, replica, rpc, transaction, world
from broker_core.view.folding import FOLDS
from broker_core.view.patch import Patch
from broker_core.view.tree import View

_FAMILIES = (client, console, control, group, log, replica, rpc, transaction, world)

_missing = sorted(name for name, kind in KINDS.items() if kind not in FOLDS)
if _missing:
    raise RuntimeError(f"no fold for {', '.join(_missing)}: add one in broker_core/view")


def empty_view() -> View:
    """The view before the first event."""
    return {
        "run": {},
        "nodes": {},
        "links": {},
        "link_faults": {},
        "topics": {},
        "partitions": {},
        "replicas": {},
        "rpcs": {},
        "parked": {},
        "zk": {},
        "watches": {},
        "controller": {"broker": -1, "controller_epoch": 0},
        "controller_partitions": {},
        "controller_replicas": {},
        "controller_events": [],
        "assignors": {},
        "groups": {},
        "transactions": {},
        "checkpoints": {},
        "deleted_logs": {},
        "alarms": {},
        "losses": {},
        "console": {},
    }


class Fold:
    """Folds events into a view. `view` may be a keyframe to continue from."""

    def __init__(self, view: View | None = None) -> None:
        self.view = empty_view() if view is None else view

    def fold(self, envelope: Envelope) -> Patch:
        """Folds one event into the view; returns the patch."""
        event = envelope[4]
        return FOLDS[type(event)](self.view, event, envelope[1], envelope[0])

    def fold_all(self, envelopes: Iterable[Envelope]) -> list[Patch]:
        """Folds events into the view; returns the patch of each."""
        view = self.view
        return [FOLDS[type(event)](view, event, at_us, seq) for seq, at_us, _, _, event in envelopes]


def version() -> str:
    """Identifies this fold: keyframes of another one are stale. It covers the source of everything that a fold can
    depend on: this module and its imports from the core, recursively.
    """
    digest = blake2b(digest_size=8)
    for name, source in sorted(_sources(__name__, {}).items()):
        digest.update(name.encode())
        digest.update(source)
    return digest.hexdigest()


def _sources(name: str, known: dict[str, bytes]) -> dict[str, bytes]:
    """The source of a module or package of the core and of those that it imports, by name, added to `known`."""
    place = Path(broker_core.__path__[0], *name.split(".")[1:])
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    if name not in known and file.exists():
        known[name] = file.read_bytes()
        for imported in _imports(known[name]):
            _sources(imported, known)
    return known


def _imports(source: bytes) -> Iterator[str]:
    """The modules of the core that a module imports, and names in them: only the files show which of both a name is."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (one.name for one in names if one.name.startswith("broker_core."))
            case ast.ImportFrom(module=str(module), names=names) if module.startswith("broker_core"):
                yield module
                yield from (f"{module}.{one.name}" for one in names)
