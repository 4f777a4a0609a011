"""Checks for free disk space to record events."""

import shutil
from pathlib import Path

from lab.texts.refusal import Refusal

MIN_FREE_BYTES = 64 * 1024 * 1024


def ensure_space(folder: Path) -> None:
    """Raises Refusal (507) when the disk of `folder` is about full: nothing may happen that is not recorded."""
    free = shutil.disk_usage(folder).free
    if free < MIN_FREE_BYTES:
        raise Refusal(
            "refusal.disk_full",
            507,
            folder=str(folder),
            free=free // 1_000_000,
            min=MIN_FREE_BYTES // 1_000_000,
        )
