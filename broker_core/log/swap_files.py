"""Segments that replace others, and recovery of interrupted replacements (`LocalLog.replaceSegments`, `LogLoader`).

A new segment is written under names ending in `.cleaned`; once it is complete and on disk these become `.swap`, then
the old segments' files become `.deleted`, then the new ones get their proper names. After a crash at any step, the next
start finds a complete log: `.cleaned` files are discarded, `.swap` files are complete and replace the segments in their
offset range.
"""

from broker_core.log.config import LogConfig
from broker_core.log.files.removal import FileRemoval
from broker_core.log.recovery.segment_recovery import check_readable
from broker_core.log.recovery.slices import Slices
from broker_core.log.segment import LogSegment
from broker_core.log.segment_facts import LOG_SUFFIX
from broker_core.sim.disk import CutFact, Disk

CLEANED_SUFFIX = ".cleaned"
SWAP_SUFFIX = ".swap"


def finish_swaps(disk: Disk, directory: str, config: LogConfig, now_ms: int) -> Slices[tuple[CutFact, ...]]:
    """Completes or undoes the replacements that a crash interrupted; returns the deleted files."""
    names = disk.list(directory)
    cleaned = [name for name in names if name.endswith(CLEANED_SUFFIX)]
    swaps = [name for name in names if name.endswith(SWAP_SUFFIX)]
    first_cleaned = min((offset for name in cleaned if (offset := _offset(name)) is not None), default=None)
    # A `.swap` at or above a `.cleaned` belongs to a replacement by several segments that was not complete.
    dropped = [name for name in swaps if first_cleaned is not None and (_offset(name) or 0) >= first_cleaned]
    swaps = [name for name in swaps if name not in dropped]
    doomed = dropped + cleaned
    ranges = [
        _range(disk, directory, name, config, now_ms) for name in swaps if name.endswith(LOG_SUFFIX + SWAP_SUFFIX)
    ]
    if ranges:
        start, end = min(first for first, _ in ranges), max(after for _, after in ranges)
        for name in names:
            offset = _offset(name)
            if offset is not None and start <= offset < end and name not in swaps and name not in doomed:
                doomed.append(name)
    removal = FileRemoval(disk, [f"{directory}/{name}" for name in doomed])
    cuts = list(removal.run_slice().cuts)
    while not removal.is_done:
        yield
        cuts += removal.run_slice().cuts
    # This includes the index file that reading a segment without one has created.
    for name in [name for name in disk.list(directory) if name.endswith(SWAP_SUFFIX)]:
        disk.rename(f"{directory}/{name}", f"{directory}/{name.removesuffix(SWAP_SUFFIX)}")
    return tuple(cuts)


def _offset(name: str) -> int | None:
    """The offset in the file's name."""
    stem = name.partition(".")[0]
    return int(stem) if stem.isdigit() else None


def _range(disk: Disk, directory: str, name: str, config: LogConfig, now_ms: int) -> tuple[int, int]:
    """The offsets that a segment to be swapped in covers: from its base to the one after its last batch."""
    base_offset = _offset(name) or 0
    segment = LogSegment(disk, directory, base_offset, config, now_ms, SWAP_SUFFIX)
    if segment.offset_index.file.exists:
        segment.offset_index.load()
    else:
        segment.offset_index.use()
    check_readable(segment, segment.offset_index.last_offset, to_end=True)
    return base_offset, segment.next_offset()
