"""A recording that a build reads, and the contents of its first record. Does not import Spark."""

import contextlib
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from broker_core.records.faults import RecordFault
from broker_core.records.record_batch import iterate
from lab.analytics.build.segments import appended
from lab.analytics.store.ledger import BranchEntry
from lab.analytics.store.objects import Folder, folder_at, inside
from lab.recordings.description import IdentityError, read_identity

EVENTS_FOLDER = "events-0"
_DAY_S = 86_400.0
_HEAD_BYTES = 64 * 1024
"""The first record of a recording is within."""


class Found(NamedTuple):
    """A recording: the folder of its events, and the ledger entry of its branch before anything of it has been read."""

    folder: Folder
    entry: BranchEntry


def branch_id(run: str, branch: str) -> str:
    """The name of a branch in the tables."""
    return f"{run}/{branch}"


def recordings_at(place: str) -> list[Found]:
    """The recordings below a folder of runs, or an address in an object store, with their descriptions.

    Raises PlaceError for an object store that cannot be used.
    """
    found = []
    for run in inside(folder_at(place)):
        for branch in inside(run):
            recording = branch / "recording"
            if (recording / EVENTS_FOLDER).is_dir():
                found.append(found_at(recording, run.name, branch.name))
    found = fullest(found)
    branches = {one.entry.identity: one.entry.branch for one in found if one.entry.identity}
    return [
        Found(one.folder, msgspec.structs.replace(one.entry, parent=branches.get(one.entry.origin, "")))
        for one in found
    ]


def fullest(found: Iterable[Found]) -> list[Found]:
    """One recording for each branch: of copies, which may have been cut off, the one with the most events."""
    chosen: dict[str, Found] = {}
    for one in found:
        other = chosen.get(one.entry.branch)
        if other is None or _events(one) > _events(other):
            chosen[one.entry.branch] = one
    return list(chosen.values())


def _events(found: Found) -> int:
    return sum(one.to_seq - one.from_seq + 1 for one in appended(found.folder, (), (), 0, 0).ranges)


def found_at(recording: Folder, run: str, branch: str) -> Found:
    """A recording with its description. `run` and `branch`: the names of its folders, for one without."""
    folder = recording / EVENTS_FOLDER
    # A damaged identity is reported when the recording is read.
    with contextlib.suppress(IdentityError):
        said = read_identity(recording)
        if said is not None:
            head = _head_of(folder)
            entry = BranchEntry(
                branch_id(said.run, said.name), said.run, str(folder), parent_seq=said.parent_seq,
                own_from_seq=said.parent_seq, identity=said.branch, origin=said.parent, created_ms=said.created_ms,
                era=head.era, seed=head.seed, brokers=len(head.brokers),
            )  # fmt: skip
            return Found(folder, entry)
    return Found(folder, BranchEntry(branch_id(run, branch), run, str(folder)))


def _head_of(folder: Folder) -> "_Config":
    """The configuration of a cluster, as far as its recording contains it."""
    segments = inside(folder, "*.log")
    if segments:
        with segments[0].open("rb") as stream, contextlib.suppress(msgspec.MsgspecError, RecordFault):
            record = next(iterate(stream.read(_HEAD_BYTES)), None)
            if record is not None and record.value is not None:
                return msgspec.json.decode(msgspec.json.decode(record.value, type=_Header).config, type=_Config)
    return _Config()


def is_kept(folder: Folder, days: int) -> bool:
    """Whether a log was last written within `days` days, or does not exist. 0: no limit."""
    segments = inside(folder, "*.log")
    if not days or not segments:
        return True
    newest_s = max(one.stat().st_mtime if isinstance(one, Path) else one.written_s() for one in segments)
    return newest_s > time.time() - days * _DAY_S


def with_ancestors(found: Iterable[Found], every: Iterable[Found]) -> list[Found]:
    """Recordings together with those they were forked from: a branch sees the events of its ancestors."""
    by_branch = {one.entry.branch: one for one in every}
    wanted: dict[str, Found] = {}
    for one in found:
        current: Found | None = one
        while current is not None and current.entry.branch not in wanted:
            wanted[current.entry.branch] = current
            current = by_branch.get(current.entry.parent)
    return [one for branch, one in by_branch.items() if branch in wanted]


def config_of(value: bytes) -> str:
    """The configuration in a recording's first record, as JSON; empty if it has none."""
    with contextlib.suppress(msgspec.MsgspecError):
        return bytes(msgspec.json.decode(value, type=_Header).config).decode()
    return "{}"


class _Header(msgspec.Struct):
    config: msgspec.Raw


class _Config(msgspec.Struct):
    era: str = ""
    seed: int = 0
    brokers: tuple[int, ...] = ()
