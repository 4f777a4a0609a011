"""Whether there is room to record what happens."""

import shutil
from pathlib import Path

from lab.texts.refusal import Refusal

MIN_FREE_BYTES = 64 * 1024 * 1024


def ensure_space(folder: Path) -> None:
    """Raises Refusal (507) when the disk of `folder` is about full: nothing may happen that is not recorded."""
    free = shutil.disk_usage(folder).free
    if free < MIN_FREE_BYTES:
        raise Refusal(
            f"The disk of {folder} is full: {free // 1_000_000} MB are free.",
            f"{MIN_FREE_BYTES // 1_000_000} MB or more were expected, since everything that happens is recorded.",
            "Free some space, or delete runs; then play on. What was recorded is safe.",
            507,
        )
