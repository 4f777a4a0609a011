"""Sound in MP4, as recorders of browsers write it: in fragments (ISO/IEC 14496-12, 8.8), each with its own time. Whole
fragments are playable without the others.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

US = 1_000_000


class Fragment(NamedTuple):
    """`at_us`: when it begins, from the beginning of the first one."""

    at_us: int
    data: bytes


class Sound(NamedTuple):
    """`head`: what comes before the fragments."""

    head: bytes
    fragments: list[Fragment]


def read_mp4(data: bytes) -> Sound:
    """The whole fragments of a file whose end may be missing; none if it has none, or not their times."""
    parts = list(boxes(data))
    head = {kind: whole for kind, whole, _ in parts if kind in (b"ftyp", b"moov")}
    scale = _scale(b"".join(content for kind, _, content in parts if kind == b"moov"))
    if len(head) < 2 or not scale:
        return Sound(b"", [])
    found: list[Fragment] = []
    for (kind, moof, content), (after, mdat, _) in pairwise(parts):
        if (kind, after) == (b"moof", b"mdat"):
            at = _decode_time(content)
            if at is None:
                return Sound(b"", [])
            found.append(Fragment(at * US // scale, moof + mdat))
    return Sound(head[b"ftyp"] + head[b"moov"], [Fragment(one.at_us - found[0].at_us, one.data) for one in found])


def boxes(data: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """The type, the bytes and the content of each complete box (4.2)."""
    at = 0
    while at + 8 <= len(data):
        size, header = int.from_bytes(data[at : at + 4], "big"), 8
        if size == 1:
            size, header = int.from_bytes(data[at + 8 : at + 16], "big"), 16
        size = size or len(data) - at
        if size < header or at + size > len(data):
            return
        yield data[at + 4 : at + 8], data[at : at + size], data[at + header : at + size]
        at += size


def _inside(data: bytes, *path: bytes) -> bytes:
    """The content of the first box below `path`; empty if there is none."""
    for name in path:
        data = next((content for kind, _, content in boxes(data) if kind == name), b"")
    return data


def _scale(moov: bytes) -> int:
    """Units of time in a second (8.4.2); 0 if it is not stated."""
    mdhd = _inside(moov, b"trak", b"mdia", b"mdhd")
    at = 20 if mdhd[:1] == b"\1" else 12
    return int.from_bytes(mdhd[at : at + 4], "big")


def _decode_time(moof: bytes) -> int | None:
    """When a fragment begins, in units of time (8.8.12)."""
    tfdt = _inside(moof, b"traf", b"tfdt")
    size = 8 if tfdt[:1] == b"\1" else 4
    return int.from_bytes(tfdt[4 : 4 + size], "big") if len(tfdt) >= 4 + size else None
