"""The description of an exported run, and which files may be in it."""

import hashlib
import re
from pathlib import Path
from typing import Protocol

import msgspec

from lab.recordings.description import IDENTITY, VOCABULARY
from lab.recordings.logs import EVENTS, INPUTS

MANIFEST = "manifest.json"
KIND = "highwater run"
VERSION = 1
MAX_BYTES = 512 * 1024 * 1024
"""Maximum size of all files together, unpacked."""
MAX_FILES = 2_000
MAX_BRANCHES = 50
MAX_BOOKMARKS = 1_000
SUFFIX = ".hwrun"
_BRANCH = r"[a-z0-9][a-z0-9-]{0,31}"
FILE = re.compile(
    rf"branches/(?P<branch>{_BRANCH})/(?P<file>(?:{EVENTS}|{INPUTS})-0/(?:[0-9]{{20}}\.log|leader-epoch-checkpoint)"
    rf"|{re.escape(IDENTITY)}|{re.escape(VOCABULARY)})"
)
"""The files of a run, and no others."""
_CHUNK = 1024 * 1024


class ArchivedBookmark(msgspec.Struct, frozen=True):
    """A named instant of a branch."""

    name: str
    seq: int
    at_us: int


class ArchivedBranch(msgspec.Struct, frozen=True):
    """A branch. `parent` and its instant are empty and 0 for the one that began with the cluster."""

    name: str
    last_seq: int
    parent: str = ""
    parent_seq: int = 0
    parent_at_us: int = 0
    bookmarks: tuple[ArchivedBookmark, ...] = ()


class ArchivedFile(msgspec.Struct, frozen=True):
    """A file's length and the hex digits of its SHA-256."""

    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """The first file of an archive. Branches come after those that they were forked from."""

    kind: str
    version: int
    name: str
    era: str
    seed: int
    brokers: int
    branches: tuple[ArchivedBranch, ...]
    files: dict[str, ArchivedFile]


class Readable(Protocol):
    """What bytes are read from."""

    def read(self, size: int = -1, /) -> bytes: ...


def digest_of(stream: Readable) -> ArchivedFile:
    """The length and digest of what is left of a stream."""
    digest, size = hashlib.sha256(), 0
    while data := stream.read(_CHUNK):
        digest.update(data)
        size += len(data)
    return ArchivedFile(size, digest.hexdigest())


def name_of(branch: str, path: Path, recording: Path) -> str:
    """What a file of a recording is called in an archive."""
    return f"branches/{branch}/{path.relative_to(recording).as_posix()}"
