"""Zips with a manifest, in which runs and classes are exported: written, and read as untrusted input.

A file is refused as a whole, with a sentence, before anything of it is used: names that no file of a run or class
has, links, more bytes than declared or allowed, another digest, a newer version.
"""

import errno
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import IO, NamedTuple, TypeVar

import msgspec

from broker_core.texts import Value
from lab.archives.manifest import MANIFEST, MAX_BYTES, MAX_FILES, ArchivedFile, digest_of
from lab.archives.progress import Report
from lab.texts.refusal import Refusal

MAX_MANIFEST_BYTES = 4 * 1024 * 1024
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The timestamp of every entry, so that the same content gives the same bytes."""
_CHUNK = 1024 * 1024
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

M = TypeVar("M")


class Part(NamedTuple):
    """The first `size` bytes of a file, which never change: logs only grow."""

    name: str
    path: Path
    size: int


class _Version(msgspec.Struct):
    kind: str
    version: int


# Writing


def described(part: Part) -> ArchivedFile:
    """The length and digest of a part."""
    with part.path.open("rb") as stream:
        return digest_of(_Limited(stream, part.size))


def write_zip(target: IO[bytes], manifest: msgspec.Struct, parts: Iterable[Part], compression: int) -> None:
    """Writes the manifest, then each part."""
    with zipfile.ZipFile(target, "w", compression) as archive:
        archive.writestr(_entry(MANIFEST, compression), msgspec.json.format(msgspec.json.encode(manifest), indent=1))
        for part in parts:
            with archive.open(_entry(part.name, compression), "w") as writer:
                for data in _bytes_of(part):
                    writer.write(data)


def _bytes_of(part: Part) -> Iterator[bytes]:
    with part.path.open("rb") as stream:
        limited = _Limited(stream, part.size)
        while data := limited.read(_CHUNK):
            yield data


def _entry(name: str, compression: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = compression
    return entry


class _Limited:
    """The first bytes of a stream."""

    def __init__(self, stream: IO[bytes], size: int) -> None:
        self._stream = stream
        self._left = size

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes of those that are left."""
        data = self._stream.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        return data


# Reading


class Contents(NamedTuple):
    """What a zip may contain: the `kind` and newest `version` of its manifest, and the names of its files. `missing`:
    the refusal of a zip without such a manifest.
    """

    kind: str
    version: int
    files: re.Pattern[str]
    missing: str


_UNREADABLE = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    EOFError,
    RuntimeError,  # of an encrypted zip; and of JSON that is nested too deeply
    ValueError,  # of a name in another encoding than it says, or a position outside the file
)


@contextmanager
def opened_zip(source: IO[bytes]) -> Iterator[zipfile.ZipFile]:
    """A zip. Raises Refusal for what cannot be read as one, then and while it, or what was unpacked, is read."""
    try:
        with zipfile.ZipFile(source) as archive:
            yield archive
    except _UNREADABLE as error:
        raise invalid("refusal.archive_unreadable", problem=str(error)) from None
    except OSError as error:
        # A position before the beginning of a real file; a disk that fails is not the fault of the zip.
        if error.errno != errno.EINVAL:
            raise
        raise invalid("refusal.archive_unreadable", problem=str(error)) from None


def read_manifest(archive: zipfile.ZipFile, contents: Contents, manifest: type[M]) -> tuple[M, set[str]]:
    """The manifest of a zip, and the names of its other files. Raises Refusal."""
    entries = archive.infolist()
    if len(entries) > MAX_FILES:
        raise invalid("refusal.archive_many_files", count=len(entries), max=MAX_FILES)
    names = [entry.filename for entry in entries]
    if MANIFEST not in names or len(set(names)) < len(names):
        raise invalid(contents.missing, file=MANIFEST)
    for entry in entries:
        mode = entry.external_attr >> 16
        is_plain = stat.S_IFMT(mode) in (0, stat.S_IFREG) and entry.compress_type in _COMPRESSIONS
        if not is_plain or (entry.filename != MANIFEST and not contents.files.fullmatch(entry.filename)):
            raise invalid("refusal.archive_foreign_file", file=entry.filename[:80])
    with archive.open(MANIFEST) as stream:
        data = stream.read(MAX_MANIFEST_BYTES + 1)
    try:
        shown = msgspec.json.decode(data, type=_Version)
        if shown.kind != contents.kind:
            raise invalid(contents.missing, file=MANIFEST)
        if shown.version > contents.version:
            raise invalid("refusal.archive_newer", version=shown.version, known=contents.version)
        return msgspec.json.decode(data, type=manifest), set(names) - {MANIFEST}
    except msgspec.MsgspecError as error:
        raise invalid("refusal.archive_unreadable", problem=str(error)) from None


def check_files(declared: Mapping[str, ArchivedFile], names: set[str]) -> None:
    """Raises Refusal unless a manifest declares just the files that are there, and no more bytes than allowed."""
    if set(declared) != names:
        odd = sorted(set(declared) ^ names)[0]
        raise invalid("refusal.archive_foreign_file", file=odd[:80])
    total = sum(one.bytes for one in declared.values())
    if total > MAX_BYTES or any(one.bytes < 0 for one in declared.values()):
        raise invalid("refusal.archive_too_large", mib=-(-total // 2**20), max=MAX_BYTES // 2**20)


def unpack_all(
    archive: zipfile.ZipFile, files: Mapping[str, ArchivedFile], target: Callable[[str], Path], report: Report
) -> None:
    """Unpacks all files, each to its target. Raises Refusal like `_unpack`."""
    of, before = sum(one.bytes for one in files.values()), 0
    for name, declared in files.items():
        _unpack(archive, name, declared, target(name), partial(_report_more, report, before, of))
        before += declared.bytes


def _report_more(report: Report, before: int, of: int, done: int) -> None:
    report("unpack", before + done, of)


def _unpack(
    archive: zipfile.ZipFile, name: str, declared: ArchivedFile, target: Path, report: Callable[[int], None]
) -> None:
    """Writes no more than what was declared, whatever the entry decompresses to. Raises Refusal for another digest."""
    target.parent.mkdir(parents=True, exist_ok=True)
    left = declared.bytes
    with archive.open(name) as reader, target.open("wb") as writer:
        while data := reader.read(min(_CHUNK, left + 1)):
            left -= len(data)
            if left < 0:
                break
            writer.write(data)
            report(declared.bytes - left)
    with target.open("rb") as stream:
        if left != 0 or digest_of(stream) != declared:
            raise invalid("refusal.archive_changed", file=name)


def invalid(id: str, **values: Value) -> Refusal:
    """The refusal of an invalid file."""
    return Refusal(id, HTTPStatus.BAD_REQUEST, field="file", **values)
