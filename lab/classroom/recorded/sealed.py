"""A sealed class: its recording as files that do not change until it is sealed again.

DATA/classes/<class>/sealed/class-0/         the events of the recording: a Kafka log, as the class's own
DATA/classes/<class>/sealed/words.json       the names and texts that the recording may contain
DATA/classes/<class>/sealed/manifest.json    what there is, with the SHA-256 of each file
DATA/classes/<class>/chapters.json           chapters, which staff may change later
DATA/classes/<class>/labs/                   the labs that were shown
"""

import shutil
import threading
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import msgspec

from lab.archives.manifest import ArchivedFile, digest_of
from lab.classroom.events import CLASS, ClassEnvelope
from lab.classroom.journal import ClassJournal, Header
from lab.classroom.recorded.chapters import forget_chapters
from lab.classroom.views import Words

SEALED = "sealed"
MANIFEST = "manifest.json"
WORDS = "words.json"
KIND = "highwater class"
VERSION = 1
_refreshing = threading.Lock()
_CARRIED = ("chapters.json", "labs/*/*/recording/*-0/*.log", "labs/*/*/recording/*-0/leader-epoch-checkpoint")
_CARRIED_TOO = (
    "labs/*/*/recording/identity.json",
    "labs/*/*/recording/vocabulary.jsonl",
    "audio/**/*",
    "captions/**/*",
)
"""Beside the sealed folder itself: what the recording consists of."""


class SealedWords(msgspec.Struct):
    """Names by participant, and texts with their languages by number."""

    names: dict[str, str] = {}
    texts: dict[int, tuple[str, str]] = {}

    def name(self, p: str) -> str:
        """Empty for a participant who did not choose to be named."""
        return self.names.get(p, "")

    def text(self, number: int) -> tuple[str, str]:
        """Empty where it was erased."""
        return self.texts.get(number, ("", ""))


class SealedLab(msgspec.Struct, frozen=True):
    """A lab that was shown, by number: its `run/branch` and last event."""

    address: str
    title: str
    last_seq: int


class SealedManifest(msgspec.Struct, frozen=True):
    """The manifest of a sealed class. `files`: by path below the class's folder; those in `sealed` without that
    prefix.
    """

    kind: str
    version: int
    slug: str
    title: str
    chapter: str
    languages: tuple[str, ...]
    wall_ms: int
    sealed_ms: int
    length_us: int
    last_seq: int
    schemas: dict[str, str]
    labs: tuple[SealedLab, ...]
    files: dict[str, ArchivedFile] = {}


def write_sealed(folder: Path, header: Header, events: Iterable[ClassEnvelope], words: SealedWords) -> None:
    """Writes the events and words of a recording next to the sealed ones; `write_manifest` replaces these. Raises
    Refusal (507) if they cannot be written.
    """
    partial = _partial(folder)
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    journal = ClassJournal(partial, header)
    try:
        journal.append_all(events)
    finally:
        journal.close()
    (partial / WORDS).write_bytes(msgspec.json.encode(words))


def write_manifest(folder: Path, manifest: SealedManifest) -> None:
    """Seals what was written: adds the digests of all files, and replaces what was sealed before."""
    partial, sealed, before = _partial(folder), folder / SEALED, folder / f"{SEALED}.before"
    _store(partial, msgspec.structs.replace(manifest, files=dict(_files(folder, partial))))
    shutil.rmtree(before, ignore_errors=True)
    if sealed.exists():
        sealed.rename(before)
    partial.rename(sealed)
    shutil.rmtree(before, ignore_errors=True)


def read_manifest(folder: Path) -> SealedManifest | None:
    """The manifest of the sealed class in a folder; None if there is none."""
    _finish(folder)
    try:
        return msgspec.json.decode((folder / SEALED / MANIFEST).read_bytes(), type=SealedManifest)
    except FileNotFoundError:
        return None


def read_words(folder: Path) -> SealedWords:
    """The names and texts of a sealed class."""
    return msgspec.json.decode((folder / SEALED / WORDS).read_bytes(), type=SealedWords)


def read_events(folder: Path) -> list[ClassEnvelope]:
    """All events of a sealed class."""
    journal = ClassJournal(folder / SEALED)
    try:
        return list(journal.after(0))
    finally:
        journal.close()


def forget_words(folder: Path, p: str, texts: Collection[int]) -> None:
    """Removes the name and texts of a person from a sealed class immediately."""
    manifest = read_manifest(folder)
    if manifest is None:
        return
    words, sealed = read_words(folder), folder / SEALED
    words.names.pop(p, None)
    for number in texts:
        words.texts.pop(number, None)
    partial = sealed / f"{WORDS}.partial"
    partial.write_bytes(msgspec.json.encode(words))
    partial.replace(sealed / WORDS)
    forget_chapters(folder, p, texts)
    refresh_manifest(folder, manifest)


def refresh_manifest(folder: Path, manifest: SealedManifest) -> SealedManifest:
    """The manifest with the current files: chapters, captions and the shift of the sound may have been corrected."""
    with _refreshing:
        refreshed = msgspec.structs.replace(manifest, files=dict(_files(folder, folder / SEALED)))
        if refreshed != manifest:
            _store(folder / SEALED, refreshed)
        return refreshed


def words_of(events: Iterable[ClassEnvelope], words: Words, named: Iterable[str]) -> SealedWords:
    """The words of a recording: the names of participants who are named, and the texts that its events refer to."""
    numbers: set[int] = set()
    for *_, event in events:
        numbers |= {getattr(event, "text", 0), getattr(event, "other_text", 0)}
        numbers |= {*getattr(event, "other_choices", ())}
        numbers.update(getattr(event, "choices", ()))
    texts = {number: words.text(number) for number in sorted(numbers - {0})}
    return SealedWords(
        {p: name for p in sorted(named) if (name := words.name(p))},
        {number: said for number, said in texts.items() if said[0]},
    )


def path_of(folder: Path, name: str) -> Path:
    """The path of a file of the manifest."""
    inner = folder / SEALED / name
    return inner if inner.exists() else folder / name


def schemas(core: str) -> dict[str, str]:
    """The vocabularies with which events were written."""
    return {"class": CLASS.hash, "core": core}


def _files(folder: Path, sealed: Path) -> Iterator[tuple[str, ArchivedFile]]:
    """All files of a recording by name, in order."""
    found: dict[str, Path] = {f"class-0/{path.name}": path for path in (sealed / "class-0").glob("*.log")}
    found[WORDS] = sealed / WORDS
    for pattern in (*_CARRIED, *_CARRIED_TOO):
        found |= {path.relative_to(folder).as_posix(): path for path in folder.glob(pattern) if path.is_file()}
    for name, path in sorted(found.items()):
        if not name.endswith(".partial"):
            with path.open("rb") as stream:
                yield name, digest_of(stream)


def _store(sealed: Path, manifest: SealedManifest) -> None:
    partial = sealed / f"{MANIFEST}.partial"
    partial.write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=1))
    partial.replace(sealed / MANIFEST)


def _partial(folder: Path) -> Path:
    return folder / f"{SEALED}.partial"


def _finish(folder: Path) -> None:
    """A crash may have come between the two renames of `write_manifest`."""
    sealed, before = folder / SEALED, folder / f"{SEALED}.before"
    if before.exists() and not sealed.exists():
        partial = _partial(folder)
        (partial if (partial / MANIFEST).exists() else before).rename(sealed)
