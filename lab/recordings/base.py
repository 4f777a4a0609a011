"""The view at the beginning of a recording's history, if the events before it were deleted.

It cannot be derived again without its events, so later events are folded into it whichever version of the fold made it.
"""

from pathlib import Path
from typing import Any

import cramjam
import msgspec

BASE = "base.json.zst"


class Base(msgspec.Struct):
    """The view after event `seq`, at `at_us`, and the header of the recording."""

    seq: int
    at_us: int
    header: Any
    view: dict[str, Any]


def read_base(folder: Path) -> Base | None:
    """The base of the recording in `folder`; None if its history begins with the run."""
    try:
        data = (folder / BASE).read_bytes()
    except FileNotFoundError:
        return None
    return msgspec.json.decode(bytes(cramjam.zstd.decompress(data)), type=Base)


def write_base(folder: Path, base: Base) -> None:
    """Replaces the base of the recording in `folder`."""
    temporary = (folder / BASE).with_suffix(".tmp")
    temporary.write_bytes(bytes(cramjam.zstd.compress(msgspec.json.encode(base), level=1)))
    temporary.replace(folder / BASE)
