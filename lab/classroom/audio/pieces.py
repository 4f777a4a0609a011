"""Makes a piece from the slices that arrived: checked, cut, and written as a seekable file."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from lab.classroom.audio.wave import RATE, samples_of, wave
from lab.classroom.audio.webm import NotOpus, read_webm, without, write_webm

AudioType: TypeAlias = Literal["audio/webm", "audio/mp4", "audio/wav"]
SUFFIXES: dict[AudioType, str] = {"audio/webm": ".webm", "audio/mp4": ".m4a", "audio/wav": ".wav"}

MAX_PIECE_US = 90_000_000
"""A piece lasts 60 s; a browser that is busy stops late."""
MARGIN_US = 200_000
"""So much around a passage off the record is left out, too: when a recorder began is known to 140 ms."""

#: from one instant of class time to another
Passage: TypeAlias = tuple[int, int]


class Made(NamedTuple):
    """`data` is empty if nothing could be kept. `lost`: passages in microseconds of class time, without those off the
    record.
    """

    data: bytes
    length_us: int
    lost: list[Passage]


def make_piece(
    kind: AudioType, at_us: int, length_us: int, slices: Sequence[bytes | None], off_record: Sequence[Passage]
) -> Made:
    """A piece that began at `at_us` and lasted `length_us` according to the page. A missing slice is None."""
    passages = [(from_us - MARGIN_US - at_us, to_us + MARGIN_US - at_us) for from_us, to_us in off_record]
    if kind == "audio/webm":
        return _webm(at_us, length_us, slices, passages)
    if kind == "audio/wav":
        return _wave(at_us, length_us, slices, passages)
    return _mp4(at_us, length_us, slices, passages)


def _webm(at_us: int, length_us: int, slices: Sequence[bytes | None], passages: list[Passage]) -> Made:
    runs = _runs(slices)
    try:
        sound = read_webm(runs, has_begin=bool(slices) and slices[0] is not None)
    except NotOpus:
        return Made(b"", 0, [(at_us, at_us + length_us)])
    whole_us = max(length_us, sound.length_us) if None in slices else sound.length_us
    there = [(one.at_ms * 1_000, one.at_ms * 1_000 + one.length_us) for one in sound.packets]
    kept = without(sound, passages)
    lost = [(at_us + from_us, at_us + to_us) for from_us, to_us in _gaps(there, whole_us)]
    return Made(write_webm(kept) if kept.packets else b"", kept.length_us, lost)


def _wave(at_us: int, length_us: int, slices: Sequence[bytes | None], passages: list[Passage]) -> Made:
    samples = None if None in slices else samples_of(b"".join(one or b"" for one in slices))
    if samples is None:
        return Made(b"", 0, [(at_us, at_us + length_us)])
    kept = bytearray(samples)
    for from_us, to_us in passages:
        begin, end = max(0, from_us * RATE // 1_000_000), min(len(kept), to_us * RATE // 1_000_000)
        kept[begin:end] = b"\x80" * (end - begin)
    return Made(wave(bytes(kept)), len(kept) * 1_000_000 // RATE, [])


def _mp4(at_us: int, length_us: int, slices: Sequence[bytes | None], passages: list[Passage]) -> Made:
    """Kept unchanged: if a part is missing or must be removed, nothing of it can be kept."""
    data = b"".join(one or b"" for one in slices)
    if any(from_us < (length_us or MAX_PIECE_US) and to_us > 0 for from_us, to_us in passages):
        return Made(b"", 0, [])
    if None in slices or data[4:8] != b"ftyp":
        return Made(b"", 0, [(at_us, at_us + length_us)])
    return Made(data, length_us, [])


def _runs(slices: Sequence[bytes | None]) -> list[bytes]:
    """The contiguous ranges of bytes that arrived."""
    runs: list[bytes] = []
    is_new = True
    for one in slices:
        if one is None:
            is_new = True
        elif is_new:
            runs.append(one)
            is_new = False
        else:
            runs[-1] += one
    return runs


def _gaps(there: Sequence[Passage], length_us: int) -> list[Passage]:
    """Gaps longer than half a second; browsers leave shorter ones themselves."""
    found, end_us = [], 0
    for from_us, to_us in [*there, (length_us, length_us)]:
        if from_us - end_us > 500_000:
            found.append((end_us, from_us))
        end_us = max(end_us, to_us)
    return found
