"""Checks for free disk space to record events."""

import errno
import shutil
from pathlib import Path

from django.db.utils import OperationalError

from lab.texts.refusal import Refusal

MIN_FREE_BYTES = 64 * 1024 * 1024


def ensure_space(folder: Path) -> None:
    """Raises Refusal (507) when the disk of `folder` is about full: nothing may happen that is not recorded."""
    if shutil.disk_usage(folder).free < MIN_FREE_BYTES:
        raise disk_full(folder)


def disk_full(folder: Path) -> Refusal:
    """What is said when the disk of `folder` is full."""
    free = shutil.disk_usage(folder).free // 1_000_000
    return Refusal("refusal.disk_full", 507, folder=str(folder), free=free, min=MIN_FREE_BYTES // 1_000_000)


def is_disk_full(error: BaseException) -> bool:
    """Whether a write failed for want of space."""
    if isinstance(error, OperationalError):
        return "disk is full" in str(error)
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
