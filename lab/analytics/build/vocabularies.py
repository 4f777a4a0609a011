"""The vocabularies of recordings as tables need them: the position of a field in events that another version wrote.

The kinds of each vocabulary are kept once, beside the tables: `_vocabularies/<hash>.json.zst`.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from broker_core.events import CORE
from lab.analytics.build.values import PRESENT, UNDESCRIBED, Written, written
from lab.analytics.store.builds import Store
from lab.analytics.store.chunks import packed, unpacked
from lab.analytics.store.ledger import BranchEntry, Damage
from lab.analytics.store.objects import Folder
from lab.recordings.description import VOCABULARY, Kinds, RecordedVocabulary, vocabularies_of

Fields = Mapping[str, Sequence[str]]
"""The fields of kinds, in the order of the array."""


def noted(store: Store, recording: Folder) -> tuple[tuple[int, str], ...]:
    """Stores the vocabularies of a recording and returns them as in its ledger entry, each with its first event."""
    lines = vocabularies_of(recording)
    for line in lines:
        # A file of this name has the same contents.
        with contextlib.suppress(FileExistsError):
            store.files.create(_name(line.hash), packed(line.kinds))
    found = tuple((line.first_seq, line.hash) for line in lines)
    return found if not found or found[0][0] <= 1 else ((0, UNDESCRIBED), *found)


def hashes_of(entry: BranchEntry) -> set[str]:
    """The vocabularies of a recording."""
    return {hash for _, hash in entry.vocabularies} or {UNDESCRIBED}


def kept(store: Store, entries: Iterable[BranchEntry]) -> dict[str, Fields]:
    """The fields of the vocabularies of some recordings, by hash, without the current one."""
    hashes = {hash for entry in entries for hash in hashes_of(entry)} - {UNDESCRIBED, CORE.hash}
    return {hash: _fields(unpacked(store.files.read(_name(hash)), Kinds)) for hash in sorted(hashes)}


def of_entry(entry: BranchEntry, kinds: Mapping[str, Fields]) -> tuple[Written, ...]:
    """The information about its vocabularies that tasks need to read a recording."""
    if not entry.vocabularies:
        return tuple(one._replace(people=entry.people) for one in PRESENT)
    present = {name: kind.__struct_fields__ for name, kind in CORE.kinds.items()}
    return tuple(
        written(first_seq, hash, None if hash == UNDESCRIBED else kinds.get(hash, present))._replace(
            people=entry.people
        )
        for first_seq, hash in entry.vocabularies
    )


def lacking(recording: Folder, known: Sequence[tuple[int, str]], last_seq: int) -> Iterator[Damage]:
    """Fields that tables need but the vocabularies of a recording do not have and that have no default, one note per
    vocabulary.
    """
    lines = vocabularies_of(recording)
    for place, line in enumerate(lines):
        if (line.first_seq, line.hash) in known or line.hash == CORE.hash:
            continue
        missing = [f"{kind}.{field}" for kind, field in _missing(line)]
        if missing:
            to_seq = lines[place + 1].first_seq - 1 if place + 1 < len(lines) else last_seq
            more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
            detail = f"vocabulary {line.hash} does not have {', '.join(missing[:5])}{more}"
            yield Damage(VOCABULARY, 0, 0, line.first_seq, max(to_seq, line.first_seq), "vocabulary", detail)


def _missing(line: RecordedVocabulary) -> Iterator[tuple[str, str]]:
    for name, fields in line.kinds.items():
        kind = CORE.kinds.get(name)
        there = {field for field, _ in fields}
        for field in msgspec.structs.fields(kind) if kind is not None else ():
            if field.required and field.name not in there:
                yield name, field.name


def _fields(kinds: Kinds) -> Fields:
    return {name: tuple(field for field, _ in fields) for name, fields in kinds.items()}


def _name(hash: str) -> str:
    return f"_vocabularies/{hash}.json.zst"
