"""The one fold: event in, patch out, the view changed."""

from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

from broker_core import events
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
    """Carries a view along with the events. `view` may be a keyframe to go on from."""

    def __init__(self, view: View | None = None) -> None:
        self.view = empty_view() if view is None else view

    def fold(self, envelope: Envelope) -> Patch:
        """Takes one event into the view; returns what changed."""
        event = envelope[4]
        return FOLDS[type(event)](self.view, event, envelope[1], envelope[0])

    def fold_all(self, envelopes: Iterable[Envelope]) -> list[Patch]:
        """Takes events into the view; returns the patch of each."""
        view = self.view
        return [FOLDS[type(event)](view, event, at_us, seq) for seq, at_us, _, _, event in envelopes]


def version() -> str:
    """Identifies this fold: keyframes of another one are stale. Covers the source of the view and of the vocabulary."""
    digest = blake2b(digest_size=8)
    for package in (Path(__file__).parent, Path(events.__file__).parent):
        for file in sorted(package.glob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()
