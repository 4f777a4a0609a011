"""The sound of one class on disk.

DATA/classes/<class>/audio/pieces.json           what there is
DATA/classes/<class>/audio/<piece>.webm          a piece; .m4a and .wav for those of other types
DATA/classes/<class>/audio-arriving/<piece>/     slices of a piece that is not whole yet
"""

import hashlib
import re
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec

from lab.classroom.audio.pieces import MAX_PIECE_US, SUFFIXES, AudioType, Made, Passage, make_piece
from lab.texts.refusal import Refusal

AUDIO, ARRIVING, PIECES = "audio", "audio-arriving", "pieces.json"
MAX_SLICE_BYTES = 256 * 1024
MAX_SLICES = 100
MAX_CLASS_US = 4 * 3600 * 1_000_000
MIN_FREE_BYTES = 512 * 1024 * 1024
MAX_SPANS = 40_000
MAX_SHIFT_US = 2_000_000
BYTES_AN_HOUR = 14_400_000
"""32 kbit/s."""
_DIGEST = re.compile("[0-9a-f]{64}")
_lock = threading.Lock()


class Piece(msgspec.Struct, frozen=True):
    """A playable piece: its number `piece` is the millisecond of class time at which it began."""

    piece: int
    at_us: int
    length_us: int
    type: AudioType
    bytes: int
    digest: str


class Heard(msgspec.Struct):
    """The stored sound of a class. `lost`: missing passages. `voice`: passages with speech. The sound is delayed by
    `shift_us`, which staff set by ear.
    """

    pieces: list[Piece] = []
    lost: list[Passage] = []
    voice: list[Passage] = []
    shift_us: int = 0

    @property
    def is_sane(self) -> bool:
        """Whether a lab could have written this: pieces and passages by time, within what is allowed."""
        return (
            all(piece.piece == piece.at_us // 1_000 and 0 <= piece.length_us <= MAX_CLASS_US for piece in self.pieces)
            and _is_by_time([(piece.at_us, piece.at_us) for piece in self.pieces])
            and _is_by_time(self.lost)
            and _is_by_time(self.voice)
            and len(self.voice) <= MAX_SPANS
            and abs(self.shift_us) <= MAX_SHIFT_US
        )


class Arriving(msgspec.Struct, frozen=True):
    """A piece whose slices are arriving."""

    at_us: int
    type: AudioType


def heard(folder: Path) -> Heard:
    """The stored sound of the class in this folder."""
    try:
        return msgspec.json.decode((folder / AUDIO / PIECES).read_bytes(), type=Heard)
    except FileNotFoundError:
        return Heard()


def file_of(folder: Path, number: int) -> tuple[Piece, Path]:
    """A piece and its file. Raises Refusal (404)."""
    found = next((one for one in heard(folder).pieces if one.piece == number), None)
    if found is None:
        raise Refusal("refusal.no_audio_piece", 404, piece=number)
    return found, folder / AUDIO / f"{number}{SUFFIXES[found.type]}"


def room_bytes(folder: Path) -> int:
    """How many bytes of sound fit on the disk before sound is rejected."""
    return max(0, shutil.disk_usage(_existing(folder)).free - MIN_FREE_BYTES)


def room_minutes(folder: Path) -> int:
    """How many minutes of sound at 32 kbit/s a class may still record, by free disk space and class length."""
    by_length = (MAX_CLASS_US - sum(one.length_us for one in heard(folder).pieces)) // 60_000_000
    return max(0, min(by_length, room_bytes(folder) * 60 // BYTES_AN_HOUR))


def put_slice(folder: Path, number: int, index: int, about: Arriving, data: bytes, digest: str) -> None:
    """Stores a slice. A slice that is already stored, or whose piece is complete, changes nothing. Raises Refusal: 400
    for a digest that does not match, 409 for a different slice in its place or a class that is too long, 507 for a full
    disk.
    """
    if not data or len(data) > MAX_SLICE_BYTES or index >= MAX_SLICES:
        raise Refusal("refusal.audio_slice_size", 413, bytes=len(data), max=MAX_SLICE_BYTES, slices=MAX_SLICES)
    if not _DIGEST.fullmatch(digest) or hashlib.sha256(data).hexdigest() != digest:
        raise Refusal("refusal.audio_digest", 400)
    with _lock:
        known = heard(folder)
        if any(one.piece == number for one in known.pieces):
            return
        path = _arriving(folder, number) / f"{index}.slice"
        if path.exists():
            if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
                raise Refusal("refusal.audio_slice_differs", 409, slice=index, piece=number)
            return
        if sum(one.length_us for one in known.pieces) >= MAX_CLASS_US:
            raise Refusal("refusal.audio_too_long", 409, hours=MAX_CLASS_US // 3_600_000_000)
        if room_bytes(folder) == 0:
            raise Refusal("refusal.audio_disk_full", 507, min=MIN_FREE_BYTES // 2**20)
        path.parent.mkdir(parents=True, exist_ok=True)
        stated = path.parent / "piece.json"
        if not stated.exists():
            _write(stated, msgspec.json.encode(about))
        _write(path, data)


def missing(folder: Path, number: int, count: int) -> list[int]:
    """The slices of a piece of `count` that have not arrived."""
    if any(one.piece == number for one in heard(folder).pieces):
        return []
    arriving = _arriving(folder, number)
    return [index for index in range(count) if not (arriving / f"{index}.slice").exists()]


def arriving(folder: Path) -> list[int]:
    """The incomplete pieces."""
    return sorted(int(path.name) for path in (folder / ARRIVING).glob("*") if path.name.isdigit())


def finish(folder: Path, number: int, count: int, length_us: int, off_record: Sequence[Passage]) -> Made | None:
    """Makes a piece from those of its `count` slices that arrived. None if it was made before or never began.

    `count` and `length_us` are 0 for a piece of unknown length.
    """
    source = _arriving(folder, number)
    with _lock:
        if not (source / "piece.json").exists():
            return None
        known = heard(folder)
        if any(one.piece == number for one in known.pieces):
            # The process ended after it was made.
            shutil.rmtree(source)
            return None
        about = msgspec.json.decode((source / "piece.json").read_bytes(), type=Arriving)
        there = {int(path.stem): path.read_bytes() for path in source.glob("*.slice")}
        slices = [there.get(index) for index in range(max(count, max(there, default=-1) + 1))]
        made = make_piece(about.type, about.at_us, min(length_us, MAX_PIECE_US), slices, off_record)
        if made.data:
            digest = hashlib.sha256(made.data).hexdigest()
            (folder / AUDIO).mkdir(parents=True, exist_ok=True)
            _write(folder / AUDIO / f"{number}{SUFFIXES[about.type]}", made.data)
            piece = Piece(number, about.at_us, made.length_us, about.type, len(made.data), digest)
            known.pieces = sorted([*known.pieces, piece], key=lambda one: one.at_us)
        known.lost = sorted([*known.lost, *made.lost])
        _keep(folder, known)
        shutil.rmtree(source)
        return made


def add_voice(folder: Path, spans: Sequence[Passage]) -> None:
    """Adds passages with speech. Raises Refusal (400) for invalid ones."""
    if any(not 0 <= from_us < to_us for from_us, to_us in spans):
        raise Refusal("refusal.audio_spans")
    with _lock:
        known = heard(folder)
        known.voice = joined([*known.voice, *spans])
        if len(known.voice) > MAX_SPANS:
            raise Refusal("refusal.audio_spans")
        _keep(folder, known)


def set_shift(folder: Path, shift_us: int) -> None:
    """Sets the delay of the sound. Raises Refusal (400) beyond 2 s."""
    if abs(shift_us) > MAX_SHIFT_US:
        raise Refusal("refusal.audio_shift", max=MAX_SHIFT_US // 1_000)
    with _lock:
        known = heard(folder)
        known.shift_us = shift_us
        _keep(folder, known)


def _is_by_time(passages: Sequence[Passage]) -> bool:
    return passages == sorted(passages) and all(0 <= from_us <= to_us for from_us, to_us in passages)


def joined(passages: Sequence[Passage]) -> list[Passage]:
    """Passages in order, with overlapping ones merged."""
    found: list[Passage] = []
    for from_us, to_us in sorted(passages):
        if found and from_us <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], to_us))
        else:
            found.append((from_us, to_us))
    return found


def _arriving(folder: Path, number: int) -> Path:
    return folder / ARRIVING / str(number)


def _existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())


def _keep(folder: Path, known: Heard) -> None:
    (folder / AUDIO).mkdir(parents=True, exist_ok=True)
    _write(folder / AUDIO / PIECES, msgspec.json.encode(known))


def _write(path: Path, data: bytes) -> None:
    partial = path.with_name(f"{path.name}.partial")
    partial.write_bytes(data)
    partial.replace(path)
