"""A recorded class as one file: an uncompressed zip of the sealed files, which another lab can import.

    manifest.json                     what is in it: `sealed.SealedManifest`
    class-0/<offset>.log              the events of the class, read by `kafka-dump-log.sh`
    words.json, chapters.json         names and texts that the recording may contain; chapters
    labs/<run>/<branch>/recording/    the labs that were shown, as in an exported run
    audio/, captions/                 the voice, and what is said

No engine is exported: taking over executes the recorded inputs again.
"""

import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec

from lab.archives.batches import ensure_records_fit
from lab.archives.foreign import FOREIGN_DATA_ERRORS, problem_of
from lab.archives.manifest import MANIFEST, MAX_FILES
from lab.archives.progress import Report, Share, no_report, shares_of
from lab.archives.unpack import checked_end
from lab.archives.zips import Contents, Part, check_files, invalid, opened_zip, read_manifest, unpack_all, write_zip
from lab.classroom.anchors import SCREENS
from lab.classroom.audience import Viewer
from lab.classroom.audio.pieces import SUFFIXES
from lab.classroom.audio.store import AUDIO, PIECES, file_of, heard
from lab.classroom.captions.store import CAPTIONS
from lab.classroom.captions.webvtt import parse
from lab.classroom.events.seen import ViewChanged
from lab.classroom.frames import LookedAt
from lab.classroom.recorded.chapters import CHAPTERS, MAX_CHAPTERS, MAX_TITLE, read_chapters
from lab.classroom.recorded.playback import SEGMENT_EVENTS, Playback
from lab.classroom.recorded.sealed import (
    KIND,
    SEALED,
    VERSION,
    WORDS,
    SealedLab,
    SealedManifest,
    SealedWords,
    path_of,
    read_events,
    read_words,
    refresh_manifest,
)
from lab.recordings.description import IDENTITY, VOCABULARY
from lab.recordings.folder import BranchFolder, branch_folder
from lab.recordings.logs import EVENTS, INPUTS
from lab.texts.i18n import LANGUAGES
from lab.texts.refusal import Refusal

SUFFIX = ".hwclass"
MAX_EXPORT_BYTES = 256 * 1024 * 1024
MAX_EVENTS = 500_000
MAX_LENGTH_US = 30 * 24 * 3_600 * 1_000_000
MAX_TEXT = 2_000
MAX_NAME = 24
MAX_CAPTION_BYTES = 64 * 1024 * 1024
"""The captions of one language: as many as there may be, each as long as it may be."""
_NAME = r"[a-z0-9][a-z0-9-]{0,31}"
_SOUND = "|".join(map(re.escape, SUFFIXES.values()))
_LABS = rf"labs/(?P<run>{_NAME})/(?P<branch>{_NAME})/recording/(?P<file>"
_CAPTIONS = rf"{CAPTIONS}/(?:{'|'.join(LANGUAGES)})\.vtt"
FILE = re.compile(
    rf"class-0/[0-9]{{20}}\.log|{re.escape(WORDS)}|chapters\.json|{_CAPTIONS}"
    rf"|{AUDIO}/(?:{re.escape(PIECES)}|[0-9]{{1,15}}(?:{_SOUND}))"
    rf"|{_LABS}(?:{EVENTS}|{INPUTS})-0/(?:[0-9]{{20}}\.log|leader-epoch-checkpoint)"
    rf"|{re.escape(IDENTITY)}|{re.escape(VOCABULARY)})"
)
"""The files of a recorded class, and no others."""
_SEALED_FILE = re.compile(rf"class-0/|{re.escape(WORDS)}")
_ADDRESS = re.compile(rf"{_NAME}/{_NAME}")
_STAFF = Viewer("p1", "instructor")
_CLASS = Contents(KIND, VERSION, FILE, "refusal.archive_no_class")


def pack_class(folder: Path, manifest: SealedManifest, target: IO[bytes]) -> SealedManifest:
    """Packs the current sealed class of a folder. Raises Refusal if an import would reject it."""
    refreshed = refresh_manifest(folder, manifest)
    total = sum(one.bytes for one in refreshed.files.values())
    if total > MAX_EXPORT_BYTES:
        mib, limit = -(-total // 2**20), MAX_EXPORT_BYTES // 2**20
        raise Refusal("refusal.class_too_large", 413, title=manifest.title, mib=mib, max=limit)
    if len(refreshed.files) >= MAX_FILES:
        raise Refusal("refusal.archive_many_files", 413, count=len(refreshed.files) + 1, max=MAX_FILES)
    parts = [Part(name, path_of(folder, name), one.bytes) for name, one in refreshed.files.items()]
    write_zip(target, refreshed, parts, zipfile.ZIP_STORED)
    return refreshed


def unpack_class(source: IO[bytes], folder: Path, report: Report = no_report) -> SealedManifest:
    """Unpacks a class into a new folder, and validates all of it. Raises Refusal; then nothing is left behind."""
    try:
        with opened_zip(source) as archive:
            manifest, names = read_manifest(archive, _CLASS, SealedManifest)
            check_files(manifest.files, names)
            _check(manifest)
            unpack_all(archive, manifest.files, lambda name: _target(name, folder), report)
            with archive.open(MANIFEST) as stream:
                (folder / SEALED / MANIFEST).write_bytes(stream.read())
            _check_events(manifest, folder, report)
            _check_words(folder)
            _check_captions(manifest, folder)
            _check_sound(manifest, folder)
            for lab, archived, share in archived_labs(manifest, folder):
                end = checked_end(lab.address, archived, report, share)
                if end < lab.last_seq:
                    raise invalid("refusal.archive_torn", branch=lab.address, seq=end, expected=lab.last_seq)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return manifest


def archived_labs(manifest: SealedManifest, folder: Path) -> Iterator[tuple[SealedLab, BranchFolder, Share]]:
    """The labs that are in an unpacked file. Others were deleted before a copy was made."""
    there: list[tuple[SealedLab, BranchFolder]] = []
    for lab in manifest.labs:
        run, _, branch = lab.address.partition("/")
        archived = branch_folder(run, branch, runs=folder / "labs")
        if archived.recording.is_dir():
            there.append((lab, archived))
    for (lab, archived), share in shares_of(there, [lab.last_seq for lab, _ in there]):
        yield lab, archived, share


def _target(name: str, folder: Path) -> Path:
    return (folder / SEALED if _SEALED_FILE.match(name) else folder) / name


def _check(manifest: SealedManifest) -> None:
    shown = {lab.address for lab in manifest.labs}
    files = [found for name in manifest.files if (found := FILE.fullmatch(name)) is not None]
    archived = {f"{found['run']}/{found['branch']}" for found in files if found["run"]}
    is_sane = (
        0 < len(manifest.title) <= MAX_TITLE
        and len(manifest.slug) <= 16
        and len(manifest.chapter) <= 80
        and 0 <= manifest.length_us <= MAX_LENGTH_US
        and 0 < manifest.last_seq <= MAX_EVENTS
        and len(shown) == len(manifest.labs)
        and all(_ADDRESS.fullmatch(address) and len(address) <= 64 for address in shown)
        and all(len(lab.title) <= MAX_TITLE for lab in manifest.labs)
        and archived <= shown
        and WORDS in manifest.files
    )
    if not is_sane:
        raise invalid("refusal.archive_no_class", file=MANIFEST)


def _check_events(manifest: SealedManifest, folder: Path, report: Report) -> None:
    """Raises Refusal unless recovery finds nothing to repair, this version knows each event, and the events are
    consistent.
    """
    logs = {path: path.stat().st_size for path in (folder / SEALED / "class-0").glob("*.log")}
    if not logs:
        raise invalid("refusal.archive_no_class", file="class-0")
    ensure_records_fit("class", logs)
    try:
        events = read_events(folder)
        for *_, event in events:
            if isinstance(event, ViewChanged) and msgspec.json.decode(event.view, type=LookedAt).screen not in SCREENS:
                raise ValueError("screen")
        times = [at_us for _, at_us, *_ in events]
        if not times or times != sorted(times) or times[0] < 0 or times[-1] > MAX_LENGTH_US:
            raise ValueError("class time")
        playback = Playback(SealedWords())
        playback.take(events)
        for number in range(len(playback.begins_us)):
            playback.segment(number, _STAFF)
            report("check", (number + 1) * SEGMENT_EVENTS, manifest.last_seq)
    except Refusal:
        # It would contain a path of this machine.
        raise invalid("refusal.archive_log", branch="class", problem="header") from None
    except FOREIGN_DATA_ERRORS as error:
        raise invalid("refusal.archive_log", branch="class", problem=problem_of(error)) from None
    is_whole = all(path.exists() and path.stat().st_size == size for path, size in logs.items())
    if playback.last_seq != manifest.last_seq or not is_whole:
        raise invalid("refusal.archive_torn", branch="class", seq=playback.last_seq, expected=manifest.last_seq)
    if {lab.address for lab in playback.map.labs} != {lab.address for lab in manifest.labs}:
        raise invalid("refusal.archive_no_class", file=MANIFEST)


def _check_words(folder: Path) -> None:
    try:
        words, chapters = read_words(folder), read_chapters(folder) or []
    except msgspec.MsgspecError as error:
        raise invalid("refusal.archive_unreadable", problem=str(error)) from None
    texts = [text for text, _ in words.texts.values()]
    if (
        any(len(text) > MAX_TEXT for text in texts)
        or any(len(name) > MAX_NAME for name in words.names.values())
        or len(chapters) > MAX_CHAPTERS
    ):
        raise invalid("refusal.archive_long_text", max=MAX_TEXT)
    if not all(one.is_sane and one.at_us <= MAX_LENGTH_US for one in chapters):
        raise invalid("refusal.archive_no_class", file=CHAPTERS)


def _check_captions(manifest: SealedManifest, folder: Path) -> None:
    for name, declared in manifest.files.items():
        if re.fullmatch(_CAPTIONS, name):
            if declared.bytes > MAX_CAPTION_BYTES:
                raise invalid("refusal.archive_long_text", max=MAX_TEXT)
            parse((folder / name).read_bytes(), manifest.length_us)


def _check_sound(manifest: SealedManifest, folder: Path) -> None:
    """Raises Refusal unless the description of the sound fits the files, and could be that of a class."""
    try:
        found = heard(folder)
        names = {f"{AUDIO}/{file_of(folder, piece.piece)[1].name}" for piece in found.pieces}
        is_sane = found.is_sane and names <= set(manifest.files)
    except msgspec.MsgspecError:
        is_sane = False
    if not is_sane:
        raise invalid("refusal.archive_no_class", file=f"{AUDIO}/{PIECES}")
