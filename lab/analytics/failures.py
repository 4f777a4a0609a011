"""Explains failed jobs to users: what went wrong, and what to do. Does not import Spark."""

import errno
from pathlib import Path

from lab.analytics import place
from lab.analytics.jvm import SparkError
from lab.analytics.store.objects import PlaceError
from lab.analytics.store.publish import ConflictError

_UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR)
#: Messages of Spark that correspond to an OSError in Python.
_DISK_FULL = ("No space left on device", "Disk quota exceeded")
_NO_S3A = ("S3AFileSystem not found", 'No FileSystem for scheme "s3a"')
_NO_MEMORY = ("OutOfMemoryError", "Java heap space", "GC overhead limit")


def explained(error: Exception, tables_at: str, log: Path) -> SparkError:
    """The refusal for an error.

    Args:
        error: the exception.
        tables_at: the location of the tables.
        log: the file with Spark's output.
    """
    if isinstance(error, SparkError):
        return error
    if isinstance(error, PlaceError):
        return SparkError.of(error.what, error.expected, error.todo)
    said = _said(error)
    if any(one in said for one in _NO_S3A):
        return SparkError("refusal.spark_no_s3a", place=place.name())
    if isinstance(error, ConflictError):
        return SparkError("refusal.analysis_overtaken", problem=said)
    code = error.errno if isinstance(error, OSError) else None
    if code in (errno.ENOSPC, errno.EDQUOT) or any(one in said for one in _DISK_FULL):
        return SparkError("refusal.analysis_disk_full", place=tables_at)
    if code in _UNWRITABLE:
        return SparkError("refusal.analysis_unwritable", place=tables_at, problem=said)
    if isinstance(error, MemoryError) or any(one in said for one in _NO_MEMORY):
        return SparkError("refusal.analysis_memory", log=str(log))
    first = (said.strip().splitlines() or [type(error).__name__])[0]
    return SparkError("refusal.analysis_failed", problem=first, log=str(log))


def _said(error: Exception) -> str:
    """The text of an error, or its type: py4j asks the JVM for the text, which may be gone."""
    try:
        return str(error)
    except Exception:
        return type(error).__name__
