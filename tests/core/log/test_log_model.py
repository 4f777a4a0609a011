"""Random histories of a log, with everything that can happen to one, held against a dictionary of its records.

What a reader of committed records finds must be what a dictionary says that was written, key by key; and after each
crash, power loss or damage the log must be a whole beginning of what it was.
"""

import itertools
import os
import struct
from typing import NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from broker_core.log import LogConfig, UnifiedLog
from broker_core.log.cleaner import OffsetMap, clean, cleanable_offsets, log_to_clean
from broker_core.log.files.deleted_files import DELETED_SUFFIX
from broker_core.log.files.storage_fault import StorageFault
from broker_core.log.recovery.repairs import Repair
from broker_core.log.retention import delete_old_segments
from broker_core.records.control_record import ControlRecordType, build_end_transaction_marker
from broker_core.records.record_batch import build_batch, iterate_batches, iterate_records
from broker_core.sim.disk import SimulatedDisk

DIRECTORY = "broker-1/orders-0"
PRODUCERS = 3
EXAMPLES = 2_000 if os.environ.get("HIGHWATER_SOAK") else 200
KEYS = [b"a", b"b", b"c", b"d"]


Value = tuple[bytes, bytes | None]


class Deed(NamedTuple):
    """A batch to write, in a transaction where a producer is named, or the marker that ends that transaction."""

    producer_id: int | None
    values: list[Value]
    marker: ControlRecordType | None = None

    @staticmethod
    def of(choice: int) -> "Deed":
        """One of 256: numbers are cheaper to draw than batches."""
        kind, rest = choice % 8, choice // 8
        if kind >= 6:
            return Deed(rest % PRODUCERS, [], ControlRecordType(kind - 6))
        values = [
            (KEYS[(rest + delta) % 4], (b"x", b"y" * 40, None)[(rest + delta) % 3]) for delta in range(1 + rest % 4)
        ]
        return Deed(None if kind < PRODUCERS else kind - PRODUCERS, values)


Deeds = st.binary(min_size=4, max_size=40)


class Batch(NamedTuple):
    """What was written at once: (offset, key, value) of each record; whose transaction it belongs to, None without."""

    base_offset: int
    records: tuple[tuple[int, bytes, bytes | None], ...]
    producer_id: int | None = None
    marker: ControlRecordType | None = None
    last_sequence: int = -1

    @property
    def next_offset(self) -> int:
        return self.base_offset + max(len(self.records), 1)


class LogModel(RuleBasedStateMachine):
    """The model is `batches`, oldest first; `start` is the first offset that may be read."""

    @initialize(
        policy=st.sampled_from(["delete", "compact", "compact,delete"]),
        interval=st.sampled_from([0, 150, 4096]),
        deeds=Deeds,
    )
    def create(self, policy: str, interval: int, deeds: bytes) -> None:
        self.disk = SimulatedDisk()
        self.config = LogConfig(
            segment_bytes=700,
            segment_ms=1_000_000,
            index_interval_bytes=interval,
            segment_index_bytes=240,
            cleanup_policy=policy,
            retention_bytes=1_500,
            retention_ms=-1,
            min_cleanable_dirty_ratio=0.0,
            delete_retention_ms=50,
            producer_id_expiration_ms=10**9,
        )
        self.now_ms = 1_000
        self.batches: list[Batch] = []
        self.start = 0
        self.epoch = 0
        self.flushed = self.checkpointed = 0
        self.cleaned_to: int | None = None
        self.has_lost_history = False
        self.log = self.open(clean_shutdown=False)
        self.write(deeds)

    def open(self, clean_shutdown: bool) -> UnifiedLog:
        log = UnifiedLog.load(
            self.disk,
            DIRECTORY,
            "orders",
            0,
            self.config,
            now_ms=self.now_ms,
            clean_shutdown=clean_shutdown,
            recovery_point=self.checkpointed,
            log_start_offset=self.start,
        )
        log.high_watermark_moved(log.log_end_offset)
        return log

    # the model

    @property
    def end(self) -> int:
        return self.batches[-1].next_offset if self.batches else self.start

    def open_transactions(self) -> dict[int, int]:
        """Producer id -> first offset of its open transaction."""
        found: dict[int, int] = {}
        for batch in self.batches:
            if batch.producer_id is not None:
                if batch.marker is None:
                    found.setdefault(batch.producer_id, batch.base_offset)
                else:
                    found.pop(batch.producer_id, None)
        return found

    def stable_end(self) -> int:
        return max(min([*self.open_transactions().values(), self.end]), self.start)

    def committed(self) -> dict[bytes, bytes]:
        """What a read_committed consumer has read in the end."""
        found: dict[bytes, bytes] = {}
        end = self.stable_end()
        for number, batch in enumerate(self.batches):
            if batch.marker is not None or self.is_aborted(number):
                continue
            for offset, key, value in batch.records:
                if self.start <= offset < end:
                    if value is None:
                        found.pop(key, None)
                    else:
                        found[key] = value
        return found

    def is_aborted(self, number: int) -> bool:
        producer_id = self.batches[number].producer_id
        if producer_id is None:
            return False
        following = (b.marker for b in self.batches[number:] if b.producer_id == producer_id and b.marker is not None)
        return next(following, None) is ControlRecordType.ABORT

    def cut_at(self, offset: int) -> None:
        """The log lost everything at and above `offset`."""
        while self.batches and self.batches[-1].next_offset > offset:
            self.batches.pop()
        self.flushed = min(self.flushed, offset)
        self.checkpointed = min(self.checkpointed, offset)
        self.start = min(self.start, offset)
        if self.cleaned_to is not None:
            self.cleaned_to = min(self.cleaned_to, self.log.active_segment.base_offset)

    def forget_what_is_below_the_start(self) -> None:
        self.start = self.log.log_start_offset
        self.batches = [batch for batch in self.batches if batch.next_offset > self.start]

    # the log

    def append(self, data: bytes, is_client: bool = True) -> int:
        info = self.log.append_as_leader(data, self.epoch, self.now_ms, is_client)
        for roll in info.rolled:
            self.flushed = self.log.flush(roll.new_base_offset)
        self.log.high_watermark_moved(self.log.log_end_offset)
        assert info.first_offset == self.end
        self.now_ms += 1
        return info.first_offset

    @rule(deeds=Deeds)
    def write(self, deeds: bytes) -> None:
        for deed in map(Deed.of, deeds):
            if deed.marker is not None and deed.producer_id is not None:
                self.end_transaction(deed.producer_id, deed.marker)
            else:
                self.write_batch(deed.producer_id, deed.values)

    def write_batch(self, producer_id: int | None, values: list[Value]) -> None:
        producer: dict = {}
        last_sequence = -1
        if producer_id is not None:
            producer = {"producer_id": producer_id, "producer_epoch": 0, "is_transactional": True}
            entry = self.log.producer_state.entry(producer_id)
            producer["base_sequence"] = 0 if entry is None else entry.last_sequence + 1
            last_sequence = producer["base_sequence"] + len(values) - 1
        offset = self.append(build_batch([(self.now_ms, key, value, ()) for key, value in values], **producer))
        records = tuple((offset + delta, key, value) for delta, (key, value) in enumerate(values))
        self.batches.append(Batch(offset, records, producer_id, last_sequence=last_sequence))

    def end_transaction(self, producer_id: int, control_type: ControlRecordType) -> None:
        if producer_id not in self.open_transactions():
            return
        marker = build_end_transaction_marker(
            control_type, timestamp=self.now_ms, producer_id=producer_id, producer_epoch=0, coordinator_epoch=0
        )
        offset = self.append(marker, is_client=False)
        self.batches.append(Batch(offset, (), producer_id, control_type))

    @rule()
    def new_leader(self) -> None:
        self.epoch += 1

    @precondition(lambda self: self.log.active_segment.size)
    @rule()
    def roll(self) -> None:
        self.log.roll(self.now_ms)
        self.flushed = self.log.flush(self.end)

    @rule()
    def flush(self) -> None:
        self.flushed = self.log.flush()

    @rule()
    def checkpoint(self) -> None:
        self.checkpointed = self.log.recovery_point

    @precondition(lambda self: self.batches and self.end > self.start)
    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        # What is compacted is committed, and never truncated.
        limit = max(self.start, self.cleaned_to or 0)
        bases = [batch.base_offset for batch in self.batches if batch.base_offset >= limit]
        if bases:
            offset = data.draw(st.sampled_from(bases))
            self.log.truncate_to(offset)
            self.log.high_watermark_moved(self.log.log_end_offset)
            self.cut_at(offset)

    def quiet_offsets(self) -> list[int]:
        """The ends of batches after which no transaction is open.

        A log may start inside of one, too; whether it counts as open after the loss of its marker then depends on how
        the log was loaded, with Kafka as well.
        """
        open_ids: set[int] = set()
        found = []
        for batch in self.batches:
            if batch.producer_id is not None:
                (open_ids.add if batch.marker is None else open_ids.discard)(batch.producer_id)
            if not open_ids:
                found.append(batch.next_offset)
        return found

    @precondition(lambda self: self.quiet_offsets())
    @rule(data=st.data())
    def delete_records(self, data: st.DataObject) -> None:
        self.log.increment_log_start_offset(data.draw(st.sampled_from(self.quiet_offsets())))
        self.forget_what_is_below_the_start()

    @rule()
    def retain(self) -> None:
        quiet = self.quiet_offsets()
        bases = [segment.base_offset for segment in self.log.segments[1:]]
        limit = max(itertools.takewhile(lambda base: base in quiet, bases), default=0)
        for _ in delete_old_segments(self.log, limit, self.now_ms):
            pass
        self.forget_what_is_below_the_start()
        self.flushed = self.log.flush()

    @precondition(lambda self: "compact" in self.config.cleanup_policy)
    @rule(control_type=st.sampled_from(ControlRecordType), waits=st.booleans())
    def compact(self, control_type: ControlRecordType, waits: bool) -> None:
        """All that is closed and decided; so all is decided first. What waits finds its tombstones' time over."""
        for producer_id in self.open_transactions():
            self.end_transaction(producer_id, control_type)
        if self.log.active_segment.size:
            self.roll()
        self.now_ms += 100 * waits
        before = [segment.base_offset for segment in self.log.segments]
        offsets = cleanable_offsets(self.log, self.cleaned_to, self.stable_end(), self.now_ms)
        cleanable = log_to_clean(self.log, offsets, self.now_ms)
        if cleanable.cleanable_bytes:
            self.cleaned_to = clean(cleanable, self.now_ms, OffsetMap()).to_offset
            assert self.log.segments[-1].base_offset == before[-1]
            self.has_lost_history = True

    @rule()
    def unlink_deleted_files(self) -> None:
        for file in self.log.take_deleted_files():
            self.disk.delete(file.path + DELETED_SUFFIX)

    # the ends of its broker

    @rule()
    def stop_and_start(self) -> None:
        self.log.close()
        self.flushed = self.checkpointed = self.end
        self.log = self.open(clean_shutdown=True)
        assert not [fact for fact in self.log.repairs if fact.file.endswith((".log", "index"))]

    @rule()
    def crash_and_start(self) -> None:
        self.log = self.open(clean_shutdown=False)
        assert not [fact for fact in self.log.repairs if fact.file.endswith(".log")]

    @rule()
    def lose_power_and_start(self) -> None:
        self.disk.power_loss()
        self.log = self.open(clean_shutdown=False)
        assert min(self.flushed, self.end) <= self.log.log_end_offset <= self.end
        self.cut_at(self.log.log_end_offset)
        self.log.truncate_to(self.end)

    # damage

    def files(self) -> dict[str, bytes]:
        return {name: self.disk.read_file(f"{DIRECTORY}/{name}") for name in self.disk.list(DIRECTORY)}

    def restore(self, files: dict[str, bytes]) -> None:
        self.disk.delete_tree(DIRECTORY)
        for name, content in files.items():
            self.disk.replace_file(f"{DIRECTORY}/{name}", content)

    def damage(self, data: st.DataObject, is_torn: bool) -> tuple[str, int]:
        """Tears a file or changes one of its bytes; returns which and where."""
        files = {name: content for name, content in self.files().items() if content.strip(b"\0")}
        name = data.draw(st.sampled_from(sorted(files)))
        content = bytearray(files[name])
        position = data.draw(st.integers(0, len(content.rstrip(b"\0")) - 1))
        if is_torn:
            del content[position:]
        else:
            content[position] ^= data.draw(st.integers(1, 255))
        self.disk.replace_file(f"{DIRECTORY}/{name}", bytes(content))
        return name, position

    @precondition(lambda self: self.batches)
    @rule(data=st.data(), is_torn=st.booleans())
    def crash_with_damage_and_start(self, data: st.DataObject, is_torn: bool) -> None:
        """Nothing is trusted: the log must be complete up to the damaged batch, and everything else must be rebuilt."""
        self.checkpointed = 0
        whole = self.files()
        name, position = self.damage(data, is_torn)
        try:
            log = self.open(clean_shutdown=False)
        except StorageFault as fault:
            assert fault.path.startswith(DIRECTORY) and fault.rule
            self.restore(whole)
            self.log = self.open(clean_shutdown=False)
            return
        if not name.endswith(".log"):
            self.log = log
            return
        batches = list(iterate_batches(whole[name]))
        start, header = next((at, found) for at, found in reversed(batches) if at <= position)
        inside = position - start
        # A tear between two batches is noticed only where nothing follows. Offset, leader epoch and magic are outside
        # of the CRC.
        is_noticed = inside > 0 if is_torn else 8 <= inside < 12 or inside > 16
        is_last = name == max(other for other in whole if other.endswith(".log"))
        if is_noticed or (is_torn and is_last):
            assert log.log_end_offset <= max(header.base_offset, self.start)
            cut = [fact for fact in log.repairs if fact.file.endswith(name) and fact.repair is Repair.CUT]
            assert [(fact.position, bool(fact.rule)) for fact in cut] == [(start, True)] * is_noticed
            if log.log_end_offset >= (self.cleaned_to or 0):
                self.log = log
                self.after_a_cut()
                return
        # The log is not what it was, but Kafka cannot tell. Or records were removed that had superseded others: then
        # the dictionary cannot.
        self.restore(whole)
        self.log = self.open(clean_shutdown=False)

    def after_a_cut(self) -> None:
        end = self.log.log_end_offset
        self.cut_at(end)
        if self.log.log_end_offset > self.end:
            # Behind a gap that compaction left a log ends where its last batch ended; the model ends with a batch.
            self.log.truncate_to(self.end)
            self.log.high_watermark_moved(self.end)

    @precondition(lambda self: self.batches)
    @rule(data=st.data(), is_torn=st.booleans())
    def start_on_damage_that_is_believed(self, data: st.DataObject, is_torn: bool) -> None:
        """After a clean stop nothing is checked. The log opens or reports why it cannot be opened, nothing else."""
        self.log.close()
        whole = self.files()
        self.damage(data, is_torn)
        try:
            self.open(clean_shutdown=True)
        except StorageFault as fault:
            assert fault.path.startswith(DIRECTORY) and fault.rule
        self.restore(whole)
        self.flushed = self.checkpointed = self.end
        self.log = self.open(clean_shutdown=True)

    # what must hold

    @invariant()
    def the_log_ends_and_starts_where_it_should(self) -> None:
        assert (self.log.log_start_offset, self.log.log_end_offset) == (self.start, self.end)
        assert self.log.last_stable_offset(self.end) == self.stable_end()

    @invariant()
    def a_reader_of_committed_records_finds_what_the_dictionary_says(self) -> None:
        found: dict[bytes | None, bytes] = {}
        written = {offset: (key, value) for batch in self.batches for offset, key, value in batch.records}
        offset, end, seen = self.start, self.stable_end(), []
        while offset < end:
            read = self.log.read(offset, 400, upper_bound=end)
            if not read.data:
                # Compaction took what there was.
                break
            skipped = {
                (entry.producer_id, entry.first_offset, entry.last_offset)
                for entry in self.log.aborted_transactions(offset, read)
            }
            for position, header in iterate_batches(read.data):
                if header.is_control or any(
                    header.producer_id == producer_id and first <= header.base_offset <= last
                    for producer_id, first, last in skipped
                ):
                    continue
                for record in iterate_records(read.data, header, position):
                    if record.offset < offset:
                        continue
                    seen.append(record.offset)
                    assert written[record.offset] == (record.key, record.value)
                    if record.value is None:
                        found.pop(record.key, None)
                    else:
                        found[record.key] = record.value
            offset = read.next_offset
        assert seen == sorted(set(seen))
        assert found == self.committed()

    @invariant()
    def without_compaction_nothing_is_missing(self) -> None:
        if self.has_lost_history or self.end == self.start:
            return
        offset, headers = self.start, []
        while offset < self.end:
            read = self.log.read(offset, 10_000)
            headers += [header for _, header in iterate_batches(read.data)]
            offset = read.next_offset
        assert [header.base_offset for header in headers] == [batch.base_offset for batch in self.batches]

    @invariant()
    def every_index_entry_points_at_its_batch(self) -> None:
        for segment in self.log.segments:
            ends = {position: header.last_offset for position, header in segment.headers()}
            index = segment.offset_index
            for relative, position in zip(index.relative_offsets, index.positions, strict=True):
                assert ends[position] == segment.base_offset + relative
            stored = self.disk.read_file(index.file.path)[: 8 * index.entries] if index.file.exists else b""
            assert stored == b"".join(
                struct.pack(">ii", *entry) for entry in zip(index.relative_offsets, index.positions, strict=True)
            )

    @invariant()
    def producers_go_on_where_they_were(self) -> None:
        last = {
            batch.producer_id: batch.last_sequence
            for batch in self.batches
            if batch.producer_id is not None and batch.last_sequence >= 0
        }
        for producer_id, sequence in last.items():
            entry = self.log.producer_state.entry(producer_id)
            assert entry is not None and entry.last_sequence == sequence


LogModel.TestCase.settings = settings(max_examples=EXAMPLES, stateful_step_count=20, deadline=None)
TestLogModel = pytest.mark.soak(pytest.mark.timeout(3_600)(LogModel.TestCase))
