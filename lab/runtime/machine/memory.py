"""Memory settings of a process that hosts engines.

An engine makes many small objects and no cycles: reference counts free them all. Python's garbage collector, which by
default runs after every 700 objects, would spend a tenth of the time without finding anything.

Clients send and fetch objects of a megabyte. By default the C library returns their memory to the system at once, and
then each of them costs a page fault every 4 KiB: a copy takes three times as long.
"""

import ctypes
import gc

YOUNG_OBJECTS = 20_000
KEPT_BYTES = 32 * 1024 * 1024
MAX_KEPT_BYTES = 16 * 1024 * 1024
# of malloc.h
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3


def tune_process_memory() -> None:
    """Configures the garbage collector and the allocator of this process for engines."""
    reduce_gc_frequency()
    keep_free_memory()


def reduce_gc_frequency() -> None:
    """Lets the collector run after 20,000 new objects, which takes some milliseconds; rarely over older objects, which
    takes longer the more there are; and never over the objects that exist now: modules, classes, settings.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 100, 50)


def freeze_survivors() -> None:
    """Lets the collector examine each object only once: for a process with a single engine, which lives as long. A pass
    over all objects of a large cluster takes half a second. `collect_survivors` is for what it misses.
    """
    gc.callbacks.append(_freeze)


def freeze_old_survivors() -> None:
    """The same for objects that have survived two passes: for a process whose engines come and go, and which serves
    pages. A pass over the objects of a class of forty would stop all of them for most of a second.
    """
    gc.callbacks.append(_freeze_old)


def _freeze(phase: str, info: dict[str, int]) -> None:
    if phase == "stop":
        gc.freeze()


def _freeze_old(phase: str, info: dict[str, int]) -> None:
    if phase == "stop" and info["generation"] > 0:
        gc.freeze()


def collect_survivors() -> None:
    """Frees the cycles among the objects that have been frozen, such as those of an engine that has ended. If survivors
    are not frozen, the collector finds them itself.
    """
    if _freeze in gc.callbacks or _freeze_old in gc.callbacks:
        gc.unfreeze()
        gc.collect()


def keep_free_memory() -> None:
    """Keeps some free memory for the next large object, where the C library supports it (glibc)."""
    tell = getattr(ctypes.CDLL(None), "mallopt", None)
    if tell is not None:
        tell(_MMAP_THRESHOLD, MAX_KEPT_BYTES)
        tell(_TRIM_THRESHOLD, KEPT_BYTES)
        tell(_TOP_PAD, KEPT_BYTES // 2)
