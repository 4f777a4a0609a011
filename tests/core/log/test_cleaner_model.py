"""Random histories of a compacted log, held against a dictionary: the last value of each key is never lost."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from broker_core.log import LogConfig, UnifiedLog
from broker_core.log.cleaner import OffsetMap, clean, cleanable_offsets, log_to_clean
from broker_core.records.compression import CompressionType
from broker_core.records.control_record import ControlRecordType, build_end_transaction_marker
from broker_core.records.record_batch import Record, build_batch, ensure_valid, iterate_batches, iterate_records
from broker_core.sim.disk import SimulatedDisk

DIRECTORY = "broker-1/prices-0"
RETENTION_MS = 100
KEYS = [b"a", b"b", b"c", b"a key of more than sixteen bytes", b""]
IDEMPOTENT, TRANSACTIONAL = 70, 71

Pairs = list[tuple[bytes, bytes | None]]
pairs_strategy = st.lists(st.tuples(st.sampled_from(KEYS), st.none() | st.binary(max_size=60)), min_size=1, max_size=5)


class CleanerMachine(RuleBasedStateMachine):
    """Appends of all kinds, rolls, passes at any time with maps of any size, stops and power losses."""

    @initialize(segment_bytes=st.integers(400, 1500), interval=st.sampled_from([0, 200]))
    def create(self, segment_bytes: int, interval: int) -> None:
        self.disk = SimulatedDisk()
        self.config = LogConfig(
            segment_bytes=segment_bytes,
            index_interval_bytes=interval,
            cleanup_policy="compact",
            delete_retention_ms=RETENTION_MS,
        )
        self.now_ms = 1_000
        self.checkpoint: int | None = None
        self.values: dict[bytes, tuple[int, bytes | None]] = {}
        self.pending: dict[bytes, tuple[int, bytes | None]] | None = None
        self.sequences = {IDEMPOTENT: 0, TRANSACTIONAL: 0}
        self.last_sent: bytes | None = None
        self.horizons: dict[int, int] = {}
        self.log = self.open(clean_shutdown=False)

    def open(self, clean_shutdown: bool) -> UnifiedLog:
        log = UnifiedLog.load(
            self.disk,
            DIRECTORY,
            "prices",
            0,
            self.config,
            now_ms=self.now_ms,
            clean_shutdown=clean_shutdown,
            recovery_point=0,
        )
        log.high_watermark_moved(log.log_end_offset)
        return log

    def append(self, sent: bytes, is_client: bool = True) -> int:
        info = self.log.append_as_leader(sent, 0, self.now_ms, is_client)
        self.log.high_watermark_moved(self.log.log_end_offset)
        return info.first_offset

    def batch(self, pairs: Pairs, **fields: Any) -> bytes:
        records = [(self.now_ms + place, key, value, ()) for place, (key, value) in enumerate(pairs)]
        return build_batch(records, **fields)

    def note(self, values: dict[bytes, tuple[int, bytes | None]], pairs: Pairs, first_offset: int) -> None:
        for place, (key, value) in enumerate(pairs):
            values[key] = (first_offset + place, value)

    @rule(pairs=pairs_strategy, codec=st.sampled_from(list(CompressionType)))
    def put(self, pairs: Pairs, codec: CompressionType) -> None:
        self.note(self.values, pairs, self.append(self.batch(pairs, compression=codec)))

    def of_producer(self, pairs: Pairs, producer_id: int, is_transactional: bool) -> tuple[bytes, int]:
        sequence = self.sequences[producer_id]
        self.sequences[producer_id] = sequence + len(pairs)
        sent = self.batch(
            pairs,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=is_transactional,
        )
        return sent, self.append(sent)

    @rule(pairs=pairs_strategy)
    def put_as_idempotent_producer(self, pairs: Pairs) -> None:
        self.last_sent, first_offset = self.of_producer(pairs, IDEMPOTENT, False)
        self.note(self.values, pairs, first_offset)

    @rule(pairs=pairs_strategy)
    def put_in_transaction(self, pairs: Pairs) -> None:
        if self.pending is None:
            self.pending = {}
        self.note(self.pending, pairs, self.of_producer(pairs, TRANSACTIONAL, True)[1])

    @precondition(lambda self: self.pending is not None)
    @rule(kind=st.sampled_from(list(ControlRecordType)))
    def end_transaction(self, kind: ControlRecordType) -> None:
        marker = build_end_transaction_marker(
            kind, timestamp=self.now_ms, producer_id=TRANSACTIONAL, producer_epoch=0, coordinator_epoch=0
        )
        self.append(marker, is_client=False)
        assert self.pending is not None
        if kind is ControlRecordType.COMMIT:
            for key, (offset, value) in self.pending.items():
                if key not in self.values or self.values[key][0] < offset:
                    self.values[key] = (offset, value)
        self.pending = None

    @rule(elapsed_ms=st.sampled_from([1, 60, 1_000]))
    def wait(self, elapsed_ms: int) -> None:
        self.now_ms += elapsed_ms

    @precondition(lambda self: self.log.active_segment.size)
    @rule()
    def roll(self) -> None:
        self.log.roll(self.now_ms)

    @rule(slots=st.sampled_from([6, 7, 1_000]))
    def clean(self, slots: int) -> None:
        stable = self.log.last_stable_offset(self.log.log_end_offset)
        offsets = cleanable_offsets(self.log, self.checkpoint, stable, self.now_ms)
        cleanable = log_to_clean(self.log, offsets, self.now_ms)
        before = sum(segment.size for segment in self.log.segments)
        facts = clean(cleanable, self.now_ms, OffsetMap(24 * slots, load_factor=1.0))
        assert (
            cleanable.first_dirty_offset
            <= facts.to_offset
            <= max(cleanable.first_dirty_offset, cleanable.first_uncleanable_offset)
        )
        after = sum(segment.size for segment in self.log.segments)
        assert after - before == facts.bytes_after - facts.bytes_before
        self.checkpoint = facts.to_offset
        keys = [record.key for record in self.records() if record.offset < facts.to_offset]
        assert len(keys) == len(set(keys)), "below the checkpoint each key is there once"

    def records(self) -> list[Record]:
        """Those of applications."""
        found: list[Record] = []
        for segment in self.log.segments:
            data = segment.log.read(0, segment.size)
            for position, header in iterate_batches(data):
                if not header.is_control:
                    found += iterate_records(data, header, position)
        return found

    @rule()
    def stop_and_start(self) -> None:
        self.log.close()
        self.log = self.open(clean_shutdown=True)

    @rule()
    def lose_power(self) -> None:
        self.log.flush()
        self.disk.power_loss()
        self.log = self.open(clean_shutdown=False)

    @precondition(lambda self: self.last_sent is not None)
    @rule()
    def repeat_the_last_batch(self) -> None:
        assert self.last_sent is not None
        assert self.log.append_as_leader(self.last_sent, 0, self.now_ms).is_duplicate

    @invariant()
    def every_last_value_is_there(self) -> None:
        found: dict[bytes, list[tuple[int, bytes | None]]] = {}
        horizons = {}
        at = -1
        for segment in self.log.segments:
            data = segment.log.read(0, segment.size)
            for position, header in iterate_batches(data):
                ensure_valid(data, header, position)
                assert header.base_offset > at
                at = header.last_offset
                if header.is_control:
                    continue
                for record in iterate_records(data, header, position):
                    assert record.key is not None
                    found.setdefault(record.key, []).append((record.offset, record.value))
                    if header.delete_horizon_ms is not None:
                        horizons[record.offset] = header.delete_horizon_ms
        for key, (offset, value) in self.values.items():
            if (offset, value) not in found.get(key, []):
                assert value is None, f"{key!r} at offset {offset} is gone"
                assert self.horizons[offset] <= self.now_ms, f"the tombstone at {offset} went too early"
        self.horizons |= horizons


CleanerMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestCleanedLog = CleanerMachine.TestCase
