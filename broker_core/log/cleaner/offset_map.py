"""The last offset of each key in the section of a log that is being cleaned (`SkimpyOffsetMap`).

Kafka's map is a buffer of `log.cleaner.dedupe.buffer.size` bytes with slots of 24: the MD5 digest of a key, and an
offset. It is filled to `log.cleaner.io.buffer.load.factor`; what does not fit waits for the next pass. Here it is a
dictionary of the same capacity. Short keys are stored as they are, longer ones by their digest, as in Kafka, so that
its memory is bounded.
"""

from collections.abc import Iterable
from hashlib import md5

SLOT_BYTES = 24
_DIGEST_BYTES = 16
DEDUPE_BUFFER_BYTES = 134_217_728
LOAD_FACTOR = 0.9


class OffsetMap:
    """The map of one pass. `latest_offset`: all records up to it are in the map; those above are not cleaned."""

    def __init__(self, buffer_bytes: int = DEDUPE_BUFFER_BYTES, load_factor: float = LOAD_FACTOR) -> None:
        self.capacity = int(buffer_bytes // SLOT_BYTES * load_factor)
        self.offsets: dict[bytes, int] = {}
        self.latest_offset = -1

    def put_all(self, keys: list[bytes | None], offsets: list[int], start_offset: int) -> bool:
        """Adds the records of a batch at or above `start_offset`; returns False when the map is full.

        When it is full, the records before the one that did not fit have been added, and the pass ends after the last
        of them, in the middle of a batch.
        """
        known = self.offsets
        if len(known) + len(keys) <= self.capacity and offsets[0] >= start_offset and None not in keys:
            known.update(zip(map_keys(keys), offsets, strict=True))  # type: ignore[arg-type]
            return True
        for key, offset in zip(map_keys(keys), offsets, strict=True):
            if key is not None and offset >= start_offset:
                if len(known) >= self.capacity:
                    return False
                known[key] = offset
                self.latest_offset = offset
        return True

    def last_offsets(self, keys: list[bytes | None]) -> list[int]:
        """The last offset of each key; -1 if the section being cleaned does not contain it."""
        get = self.offsets.get
        return [get(key, -1) for key in map_keys(keys)]  # type: ignore[arg-type]

    def advance(self, offset: int) -> None:
        """Records that everything up to `offset` was considered."""
        self.latest_offset = max(self.latest_offset, offset)


def map_keys(keys: list[bytes | None]) -> Iterable[bytes | None]:
    """The map's key for each record key: the key itself, or its digest."""
    if None not in keys and max(map(len, keys), default=0) < _DIGEST_BYTES:  # type: ignore[arg-type]
        return keys
    return [
        key if key is None or len(key) < _DIGEST_BYTES else md5(key, usedforsecurity=False).digest() for key in keys
    ]
