"""Finds the recordings and logs that a data source reads, by folder or address. Uses neither Django nor Spark."""

import glob
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import msgspec

from lab.analytics.build.acts import FoundLog
from lab.analytics.build.found import EVENTS_FOLDER, Found, found_at, fullest
from lab.analytics.build.lineage import by_identity
from lab.analytics.build.segments import appended
from lab.analytics.build.values import UNDESCRIBED, Written
from lab.analytics.build.vocabularies import of_entry
from lab.analytics.store.ledger import BranchEntry, Damage
from lab.analytics.store.objects import SCHEME, Folder, folder_at, inside, is_object_store
from lab.recordings.description import IDENTITY, IdentityError, read_identity, vocabularies_of

_ACTS = ("class-0", "learning-0")


class SourceError(ValueError):
    """An option or a recording cannot be used; the message says what was expected."""


class Place(NamedTuple):
    """A recording: the address of its log, whose events up to `own_from_seq` belong to another one; and damage of its
    description.
    """

    log: str
    run: str
    branch: str
    own_from_seq: int
    vocabularies: tuple[Written, ...]
    damage: tuple[Damage, ...] = ()


class _Numbers(Mapping[str, str]):
    """Participants under their numbers, as the log of a class has them."""

    def __getitem__(self, name: str) -> str:
        return name

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def recordings_of(path: str) -> list[Place]:
    """The recordings that match a comma-separated list of paths. Events that several of them share, as a fork with its
    parent and a copy with its original, belong to one of them.

    Raises SourceError if there are none.
    """
    recordings: dict[str, Folder] = {}
    for folder in _folders(path):
        for one in (folder / "recording", folder):
            if (one / EVENTS_FOLDER).is_dir():
                recordings.setdefault(_address(one), one)
                break
    if not recordings:
        raise SourceError(f"There is no recording at {path}. Expected folders of branches, as in runs/<run>/<branch>.")
    found = {
        one.entry.branch: one
        for one in fullest(found_at(one, one.parent.parent.name, one.parent.name) for one in recordings.values())
    }
    entries = by_identity([one.entry for one in found.values()], {}, lambda entry: _last_seq(found[entry.branch]))
    return [_place(one, entries[branch]) for branch, one in found.items()]


def logs_of(path: str) -> list[FoundLog]:
    """The logs of classes and of learners that match a comma-separated list of paths. Raises SourceError if there are
    none.
    """
    found: dict[str, FoundLog] = {}
    for folder in _folders(path):
        for log in (folder, *(folder / name for name in _ACTS)):
            if log.name not in _ACTS or not log.is_dir():
                continue
            whose = log.parent.name
            if log.name == _ACTS[0]:
                entry = BranchEntry(f"class:{whose}", "", str(log), class_=whose, unit="log")
                found[_address(log)] = FoundLog(log, entry, _Numbers())
            else:
                entry = BranchEntry(f"learner:{whose}", "", str(log), learner=whose, unit="log")
                found[_address(log)] = FoundLog(log, entry)
    if not found:
        raise SourceError(f"There is no log at {path}. Expected folders as classes/<class> and learning/<learner>.")
    return list(found.values())


def _address(folder: Folder) -> str:
    return str(folder.resolve()) if isinstance(folder, Path) else str(folder)


def _folders(path: str) -> Iterator[Folder]:
    for pattern in filter(None, (one.strip() for one in path.split(","))):
        if not is_object_store(pattern):
            root = Path(Path(pattern).anchor or ".")
            yield from sorted(root.glob(str(Path(pattern).relative_to(Path(pattern).anchor))))
            continue
        bucket, *names = pattern.removeprefix(SCHEME).strip("/").split("/")
        found: list[Folder] = [folder_at(f"{SCHEME}{bucket}")]
        for name in names:
            found = [
                below
                for folder in found
                for below in (
                    [one for one in inside(folder) if fnmatch(one.name, name)]
                    if glob.has_magic(name)
                    else [folder / name]
                )
            ]
        yield from found


def _last_seq(found: Found) -> int:
    return appended(found.folder, (), (), 0, 0).last_seq


def _place(found: Found, entry: BranchEntry) -> Place:
    recording = found.folder.parent
    damage: tuple[Damage, ...] = ()
    try:
        read_identity(recording)
    except IdentityError as error:
        damage = (Damage(IDENTITY, 0, 0, 0, 0, "identity", str(error)[:200]),)
    lines = vocabularies_of(recording)
    noted = tuple((line.first_seq, line.hash) for line in lines)
    if noted and noted[0][0] > 1:
        noted = ((0, UNDESCRIBED), *noted)
    kinds = {line.hash: {kind: [name for name, _ in fields] for kind, fields in line.kinds.items()} for line in lines}
    vocabularies = of_entry(msgspec.structs.replace(entry, vocabularies=noted), kinds)
    return Place(str(found.folder), entry.run, entry.branch, entry.own_from_seq, vocabularies, damage)
