"""The description of a recording: its run and branch, and the names of the fields of its events.

`recording/identity.json` holds an `Identity`; `recording/vocabulary.jsonl` a line for each vocabulary that events were
written with, from the first event that was. Tables over many recordings are made from both: neither needs the database,
nor the version of the code that wrote the events. Of
recordings that were begun without, the identity is derived from their first batch.
"""

import base64
import hashlib
import secrets
import time
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import inspect

from broker_core.events import CORE, Event
from broker_core.records.record_batch import HEADER_BYTES, parse_header
from lab.recordings.folder import BranchFolder

IDENTITY = "identity.json"
VOCABULARY = "vocabulary.jsonl"
ID_CHARACTERS = 26
_TIME_BYTES, _RANDOM_BYTES = 6, 10
_DERIVED = "0"
"""The prefix of derived identities: earlier than any generated one."""


class Readable(Protocol):
    """A folder or a file, wherever it is."""

    def __truediv__(self, name: str, /) -> "Readable": ...
    def read_bytes(self) -> bytes: ...


#: kind -> its fields in the order of the array, each with its type as returned by `type_name`
Kinds = dict[str, list[tuple[str, str]]]


class Identity(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which branch a recording is.

    Attributes:
        run: the slug of its run when it was begun.
        name: the branch's name.
        branch: 26 characters, drawn when it began; ordered by time.
        parent: the branch that it was forked or copied from; empty for a run that began with its cluster.
        parent_seq: the last event that it shares with its parent.
        created_ms: wall clock.
    """

    run: str
    name: str
    branch: str
    parent: str = ""
    parent_seq: int = 0
    created_ms: int = 0


class RecordedVocabulary(msgspec.Struct, frozen=True):
    """What the events from `first_seq` on were written with, until the next one's `first_seq`."""

    first_seq: int
    hash: str
    kinds: Kinds


def begin_identity(folder: BranchFolder, parent: Identity | None = None, parent_seq: int = 0) -> Identity:
    """Gives a new recording its identity, once."""
    now_ms = time.time_ns() // 1_000_000
    identity = Identity(
        folder.run, folder.branch, _drawn(now_ms), parent.branch if parent else "", parent_seq, created_ms=now_ms
    )
    path = folder.recording / IDENTITY
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(msgspec.json.encode(identity))
    temporary.replace(path)
    return identity


class IdentityError(ValueError):
    """The identity of a recording is damaged."""


def read_identity(recording: Readable) -> Identity | None:
    """The description of a recording; None for one without. Raises IdentityError for a damaged one."""
    try:
        return msgspec.json.decode((recording / IDENTITY).read_bytes(), type=Identity)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, RecursionError) as error:
        raise IdentityError(str(error)) from None


def identity_of(folder: BranchFolder) -> Identity:
    """Which branch a recording is; derived for one that was begun without, or whose identity is damaged."""
    try:
        said = read_identity(folder.recording)
    except IdentityError:
        said = None
    return said or Identity(folder.run, folder.branch, _derived(folder))


def vocabularies_of(recording: Readable) -> list[RecordedVocabulary]:
    """What the events of a recording were written with, the oldest first; empty for one that was begun without."""
    try:
        lines = (recording / VOCABULARY).read_bytes().splitlines()
    except FileNotFoundError:
        return []
    found = []
    for line in lines:
        try:
            found.append(msgspec.json.decode(line, type=RecordedVocabulary))
        except msgspec.MsgspecError:
            # A line that a crash cut off is written again when the recording is opened.
            continue
    return found


def note_vocabulary(recording: Path, next_seq: int) -> None:
    """Records that events from `next_seq` on are of the current vocabulary, unless the last line already does."""
    known = vocabularies_of(recording)
    if known and known[-1].hash == CORE.hash:
        return
    _write(recording, [*known, RecordedVocabulary(next_seq, CORE.hash, present_kinds())])


def copy_vocabularies(source: Path, target: Path, last_seq: int) -> None:
    """What the events of a copy up to `last_seq` were written with."""
    if known := [one for one in vocabularies_of(source) if one.first_seq <= last_seq]:
        _write(target, known)


def present_kinds() -> Kinds:
    """The kinds of the current vocabulary."""
    return {name: [(field.name, type_name(field.type)) for field in _fields(kind)] for name, kind in CORE.kinds.items()}


def type_name(info: inspect.Type) -> str:
    """A type as a word: `int`, `str`, `bool`, `float`, `list[...]`, or `json` for any other."""
    match info:
        case inspect.IntType():
            return "int"
        case inspect.StrType():
            return "str"
        case inspect.BoolType():
            return "bool"
        case inspect.FloatType():
            return "float"
        case inspect.VarTupleType(item_type=item):
            return f"list[{type_name(item)}]"
        case inspect.UnionType(types=types):
            known = {type_name(one) for one in types if not isinstance(one, inspect.NoneType)}
            return known.pop() if len(known) == 1 else "json"
    return "json"


def _fields(kind: type[Event]) -> tuple[Any, ...]:
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    return info.fields


def _write(recording: Path, lines: list[RecordedVocabulary]) -> None:
    temporary = recording / f"{VOCABULARY}.tmp"
    temporary.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    temporary.replace(recording / VOCABULARY)


def _drawn(now_ms: int) -> str:
    data = now_ms.to_bytes(_TIME_BYTES, "big") + secrets.token_bytes(_RANDOM_BYTES)
    return base64.b32hexencode(data).decode().rstrip("=").lower()


def _derived(folder: BranchFolder) -> str:
    """Names are in it, too: the branches of a run have their first batch in common."""
    digest = hashlib.sha256(f"{folder.run}/{folder.branch}\n".encode())
    first = min((folder.recording / "events-0").glob("*.log"), default=None)
    if first is not None:
        with first.open("rb") as stream:
            head = stream.read(HEADER_BYTES)
            if len(head) == HEADER_BYTES:
                digest.update(head + stream.read(parse_header(head).size - HEADER_BYTES))
    return (_DERIVED + base64.b32hexencode(digest.digest()).decode().lower())[:ID_CHARACTERS]
