"""The batches of imported logs, checked before the logs are opened: what they decompress to.

Whether they are whole and unchanged is found by recovery, when the logs are opened.
"""

from collections.abc import Iterable
from mmap import ACCESS_READ, mmap
from pathlib import Path

import cramjam

from broker_core.records.compression import CompressionType
from broker_core.records.record_batch import HEADER_BYTES, MAGIC_V2, iterate_batches
from lab.archives.zips import invalid

MAX_BATCH_BYTES = 128 * 1024 * 1024
"""A client's request has at most 100 MiB, and is one record of the inputs."""
MAX_RECORDS_BYTES = 2 * 1024 * 1024 * 1024
"""Maximum size of all logs of a branch."""


def ensure_records_fit(name: str, logs: Iterable[Path]) -> None:
    """Raises Refusal for batches, in the logs of branch `name`, that decompress to more than a lab would have written,
    or that no lab writes.
    """
    left = MAX_RECORDS_BYTES
    # One for all batches: to clear it takes long, and the interpreter does nothing else meanwhile.
    room = bytearray(MAX_BATCH_BYTES)
    for path in logs:
        if path.stat().st_size:
            left -= _records_bytes(path, room)
        if left < 0:
            raise invalid("refusal.archive_records", branch=name, max=MAX_RECORDS_BYTES // 2**20)


def _records_bytes(path: Path, room: bytearray) -> int:
    """The bytes of all records, or more than are allowed."""
    total = 0
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        for position, batch in iterate_batches(data):  # type: ignore[arg-type]  # read like bytes
            if batch.magic != MAGIC_V2 or batch.compression not in (CompressionType.NONE, CompressionType.ZSTD):
                return MAX_RECORDS_BYTES + 1
            records = data[position + HEADER_BYTES : position + batch.size]
            total += len(records) if batch.compression == CompressionType.NONE else _decompressed_bytes(records, room)
            if total > MAX_RECORDS_BYTES:
                break
    return total


def _decompressed_bytes(records: bytes, room: bytearray) -> int:
    """`room` is overwritten; it has the size that a batch may have."""
    try:
        return int(cramjam.zstd.decompress_into(records, room))
    except cramjam.DecompressionError:
        # Too much, or damaged.
        return MAX_RECORDS_BYTES + 1
