"""Checks for free disk space to record events."""

import errno
import logging
import shutil
from pathlib import Path

from django.conf import settings
from django.db.utils import OperationalError

from lab.texts.refusal import Refusal

logger = logging.getLogger(__name__)

MIN_FREE_BYTES = 64 * 1024 * 1024


def ensure_space(folder: Path) -> None:
    """Raises Refusal (507) when the disk of `folder` is about full: nothing may happen that is not recorded."""
    free = shutil.disk_usage(folder).free
    if free < MIN_FREE_BYTES:
        raise _no_space(free)


def disk_full(error: BaseException) -> Refusal:
    """The refusal for a write that failed because a disk is full: that of the data folder or another one, such as that
    of temporary files.
    """
    free = shutil.disk_usage(settings.DATA).free
    if free < MIN_FREE_BYTES:
        return _no_space(free)
    logger.error("there is no space on a disk other than that of %s: %s", settings.DATA, error)
    return Refusal("refusal.other_disk_full", 507)


def _no_space(free: int) -> Refusal:
    # Guests of a class read it too: no folder of the server is named.
    return Refusal("refusal.disk_full", 507, free=free // 1_000_000, min=MIN_FREE_BYTES // 1_000_000)


def is_disk_full(error: BaseException) -> bool:
    """Whether a write failed for want of space. It may be the cause of another error, such as of Kafka's
    KAFKA_STORAGE_ERROR.
    """
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, OperationalError) and "disk is full" in str(found):
            return True
        if isinstance(found, OSError) and found.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        found = found.__cause__
    return False
