"""Uncompressed sound (RIFF WAVE), for classes not recorded by a browser: mono, 8 bits per sample."""

import struct

_HEAD = struct.Struct("<4sI4s4sIHHIIHH4sI")
RATE = 8_000


def wave(samples: bytes) -> bytes:
    """A file with these samples, 8,000 per second; 128 is silence."""
    return _HEAD.pack(
        b"RIFF", _HEAD.size - 8 + len(samples), b"WAVE", b"fmt ", 16, 1, 1, RATE, RATE, 1, 8, b"data", len(samples)
    ) + samples  # fmt: skip


def samples_of(data: bytes) -> bytes | None:
    """The samples present in such a file; None for any other file."""
    if len(data) < _HEAD.size:
        return None
    found = _HEAD.unpack_from(data)
    is_ours = (found[0], *found[2:12]) == (b"RIFF", b"WAVE", b"fmt ", 16, 1, 1, RATE, RATE, 1, 8, b"data")
    return data[_HEAD.size :] if is_ours else None
