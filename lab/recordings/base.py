"""Where the history of a recording begins, if what was before is not kept: the view at that instant.

The view cannot be derived again, since its events were deleted: it is continued from, whichever version of the fold it
is from.
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
    """The beginning of the recording in `folder`; None if it begins with the run."""
    try:
        data = (folder / BASE).read_bytes()
    except FileNotFoundError:
        return None
    return msgspec.json.decode(bytes(cramjam.zstd.decompress(data)), type=Base)


def write_base(folder: Path, base: Base) -> None:
    """Replaces the beginning."""
    temporary = (folder / BASE).with_suffix(".tmp")
    temporary.write_bytes(bytes(cramjam.zstd.compress(msgspec.json.encode(base), level=1)))
    temporary.replace(folder / BASE)
