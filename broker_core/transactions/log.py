"""The records of `__transaction_state` (`TransactionLog`, `TransactionLogKey`, `TransactionLogValue`).

The key is the transactional id, so that compaction keeps its last record. A null value is a tombstone.
"""

from broker_core.groups.consumer_protocol import ProtocolError, ProtocolReader, int16, int32, int64, string
from broker_core.log.stored_records import StoredRecords
from broker_core.log.unified_log import UnifiedLog
from broker_core.partitions import parse_requested, requested_partition
from broker_core.transactions.metadata import NO_PRODUCER_EPOCH, Transit
from broker_core.transactions.states import STATE_IDS, TransactionState

VERSION = 0
_STATES = tuple(TransactionState)


def encode_key(transactional_id: str) -> bytes:
    return int16(VERSION) + string(transactional_id)


def encode_value(transit: Transit) -> bytes:
    """The bytes of a value. Partitions are grouped by topic; null without a transaction."""
    topics: dict[str, list[int]] = {}
    for name in transit.partitions:
        topic, number = parse_requested(name)
        topics.setdefault(topic, []).append(number)
    parts = [
        int16(VERSION),
        int64(transit.producer_id),
        int16(transit.producer_epoch),
        int32(transit.timeout_ms),
        bytes((STATE_IDS[transit.state],)),
        int32(-1 if transit.state is TransactionState.EMPTY else len(topics)),
    ]
    for topic, numbers in topics.items():
        parts += [string(topic), int32(len(numbers)), *map(int32, numbers)]
    return b"".join([*parts, int64(transit.update_ms), int64(transit.start_ms)])


def decode_key(data: bytes) -> str | None:
    """The transactional id; None for a key of an unknown version. Raises ProtocolError."""
    reader = ProtocolReader(data)
    return reader.string() if reader.int16() == VERSION else None


def decode_value(data: bytes) -> Transit:
    """The metadata in a value. Raises ProtocolError."""
    reader = ProtocolReader(data)
    version = reader.int16()
    if version != VERSION:
        raise ProtocolError(f"the value of a transactional id has version {version}, expected {VERSION}")
    producer_id, epoch, timeout_ms = reader.int64(), reader.int16(), reader.int32()
    status = reader.take(1)[0]
    if status >= len(_STATES):
        raise ProtocolError(f"there is no transaction state {status}")
    partitions: list[str] = []
    for _ in range(reader.int32()):
        topic = reader.string()
        partitions += [requested_partition(topic, reader.int32()) for _ in range(reader.int32())]
    update_ms, start_ms = reader.int64(), reader.int64()
    return Transit(
        _STATES[status], producer_id, epoch, NO_PRODUCER_EPOCH, timeout_ms, tuple(partitions), start_ms, update_ms
    )


class Replay:
    """The replay of a log in slices. `loaded`: the transactional ids. Skips records that cannot be parsed."""

    def __init__(self, log: UnifiedLog) -> None:
        self.loaded: dict[str, Transit] = {}
        self._records = StoredRecords(log)

    def run_slice(self) -> bool:
        """Replays the next records; returns whether these were the last ones."""
        for _, record in self._records.next_slice():
            _take(self.loaded, record.key, record.value)
        return self._records.is_done


def _take(loaded: dict[str, Transit], key: bytes | None, value: bytes | None) -> None:
    try:
        transactional_id = None if key is None else decode_key(key)
        if transactional_id is None:
            return
        loaded.pop(transactional_id, None)
        if value is not None:
            loaded[transactional_id] = decode_value(value)
    except ProtocolError:
        return
