"""Makes a piece from the slices that arrived: checked, cut, and written as a seekable file."""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from lab.classroom.audio.mp4 import boxes, read_mp4
from lab.classroom.audio.wave import RATE, samples_of, wave
from lab.classroom.audio.webm import NotOpus, read_webm, without, write_webm

AudioType: TypeAlias = Literal["audio/webm", "audio/mp4", "audio/wav"]
SUFFIXES: dict[AudioType, str] = {"audio/webm": ".webm", "audio/mp4": ".m4a", "audio/wav": ".wav"}

MAX_PIECE_US = 90_000_000
"""A piece lasts 60 s; a browser that is busy stops late."""
SLICE_US = 2_000_000
"""The length of the slices that a page sends (static/lab/core/sound/recorder.js)."""
MARGIN_US = 200_000
"""Margin around a passage off the record that is left out, too: the start of a recorder is known to within 140 ms."""

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
    """A piece that began at `at_us` and lasted `length_us` according to the page; 0 if the page does not know, because
    it was reloaded. A missing slice is None.
    """
    longest_us = length_us or MAX_PIECE_US
    is_known = length_us > 0
    length_us = length_us or min(len(slices) * SLICE_US, MAX_PIECE_US)
    passages = [(from_us - MARGIN_US - at_us, to_us + MARGIN_US - at_us) for from_us, to_us in off_record]
    if kind == "audio/webm":
        return _webm(at_us, length_us, slices, passages, is_known=is_known)
    if kind == "audio/wav":
        return _wave(at_us, length_us, slices, passages)
    return _mp4(at_us, length_us, longest_us, slices, passages)


def _webm(
    at_us: int, length_us: int, slices: Sequence[bytes | None], passages: list[Passage], *, is_known: bool
) -> Made:
    """`is_known`: whether the length is that of the recording, not an estimate by the number of slices."""
    runs = _runs(slices)
    try:
        sound = read_webm(runs, has_begin=bool(slices) and slices[0] is not None)
    except NotOpus:
        return Made(b"", 0, [(at_us, at_us + length_us)])
    # A damaged time would put a packet anywhere.
    sound = without(sound, [(MAX_PIECE_US, math.inf)])
    # The recorder is told to be over a moment after its last sound; only what is missing beyond that was cut off.
    is_cut = None in slices or (is_known and length_us - sound.length_us > SLICE_US)
    whole_us = max(length_us, sound.length_us) if is_cut else sound.length_us
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


def _mp4(at_us: int, length_us: int, longest_us: int, slices: Sequence[bytes | None], passages: list[Passage]) -> Made:
    """Kept unchanged if all of it arrived and nothing is off the record; otherwise its fragments up to the first
    missing slice, without those that are off the record, even in part.
    """
    is_whole = None not in slices
    data = _runs(slices)[0] if slices and slices[0] is not None else b""
    if is_whole and _is_mp4(data) and not _overlaps(passages, 0, longest_us):
        return Made(data, length_us, [])
    sound = read_mp4(data)
    begins_us = [one.at_us for one in sound.fragments]
    # How long the last one takes is known from the length of the piece only.
    ends_us = [*begins_us[1:], longest_us] if is_whole else begins_us[1:]
    kept = [
        (one, end_us)
        for one, end_us in zip(sound.fragments, ends_us, strict=False)
        if not _overlaps(passages, one.at_us, end_us)
    ]
    there = sorted([*passages, *((one.at_us, end_us) for one, end_us in kept)])
    lost = [(at_us + from_us, at_us + to_us) for from_us, to_us in _gaps(there, length_us)]
    if not kept:
        return Made(b"", 0, lost)
    return Made(sound.head + b"".join(one.data for one, _ in kept), min(kept[-1][1], length_us), lost)


def _is_mp4(data: bytes) -> bool:
    kinds = [kind for kind, _, _ in boxes(data)]
    return kinds[:1] == [b"ftyp"] and {b"moov", b"mdat"} <= set(kinds)


def _overlaps(passages: Sequence[Passage], begin_us: int, end_us: int) -> bool:
    return any(from_us < end_us and to_us > begin_us for from_us, to_us in passages)


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
