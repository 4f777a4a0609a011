"""The scan of a `.log` by batch headers, of any format, without decoding the batches."""

from collections.abc import Iterator
from struct import Struct

from broker_core.records.record_batch import HEADER_BYTES, LENGTH_OVERHEAD, MAGIC_V2, smallest_length
from broker_core.sim.disk import File

# base offset, length, (leader epoch), magic, (crc, attributes), last offset delta; magic 0 and 1 lack the latter
_SCAN = Struct(">qi4xB6xi")
# The smallest message of magic 0 is a byte shorter.
_PADDING = b"\x00"
_CHUNK_BYTES = 8192
_MIN_LENGTH = HEADER_BYTES - LENGTH_OVERHEAD


def scan_batches(log: File, end: int, position: int) -> Iterator[tuple[int, int, int, int]]:
    """Yields (position, base offset, length field, last offset delta) of each complete batch from `position` to `end`.
    The delta is 0 in magic 0 and 1.
    """
    # A damaged index may point before the file.
    position = max(position, 0)
    unpack = _SCAN.unpack_from
    while position < end:
        chunk = log.read(position, min(_CHUNK_BYTES, end - position))
        if position + len(chunk) == end:
            chunk += _PADDING
        limit = len(chunk) - _SCAN.size
        if limit < 0:
            return
        at = 0
        while at <= limit:
            base_offset, length, magic, last_offset_delta = unpack(chunk, at)
            if length < _MIN_LENGTH or magic < MAGIC_V2:
                if length < smallest_length(magic):
                    return
                last_offset_delta = 0
            if position + at + length + LENGTH_OVERHEAD > end:
                return
            yield position + at, base_offset, length, last_offset_delta
            at += length + LENGTH_OVERHEAD
        position += at
