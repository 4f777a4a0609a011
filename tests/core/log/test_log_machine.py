"""Random histories of a log, held against a list of batches: the simplest model of what a log is."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from broker_core.log import LogConfig, RollFact, UnifiedLog
from broker_core.records.record_batch import build_batch, iterate_batches
from broker_core.sim.disk import SimulatedDisk

DIRECTORY = "broker-1/orders-0"
PRODUCER = 4000


class LogMachine(RuleBasedStateMachine):
    """Appends, truncations, rolls, flushes, clean stops, kills and power losses in any order."""

    @initialize(interval=st.sampled_from([0, 150, 4096]), preallocate=st.booleans())
    def create(self, interval: int, preallocate: bool) -> None:
        self.disk = SimulatedDisk()
        # The indexes have room for all batches of a segment: recovery may index more of them than the appends did, and
        # where it finds no room the log does not open, as in Kafka.
        self.config = LogConfig(
            segment_bytes=900, index_interval_bytes=interval, segment_index_bytes=180, preallocate=preallocate
        )
        self.batches: list[bytes] = []
        self.epoch = 0
        self.flushed = 0
        self.checkpointed = 0
        self.log = self.open(clean_shutdown=False)

    def open(self, clean_shutdown: bool) -> UnifiedLog:
        return UnifiedLog.load(
            self.disk,
            DIRECTORY,
            "orders",
            0,
            self.config,
            now_ms=0,
            clean_shutdown=clean_shutdown,
            recovery_point=self.checkpointed,
        )

    @property
    def end_offset(self) -> int:
        return next(iterate_batches(self.batches[-1]))[1].next_offset if self.batches else 0

    def flush_rolled(self, rolled: tuple[RollFact, ...]) -> None:
        """As a broker does: a segment is flushed once it is full. The checkpoint file follows later."""
        for roll in rolled:
            self.flushed = self.log.flush(roll.new_base_offset)

    def end_without_gap(self) -> None:
        """Behind a gap a log ends where it was cut, or where its last segment begins; the model ends with a batch."""
        self.log.truncate_to(self.end_offset)
        self.flushed = min(self.flushed, self.end_offset)
        self.checkpointed = min(self.checkpointed, self.end_offset)

    @rule(count=st.integers(1, 4), size=st.integers(0, 150), timestamp=st.integers(0, 500), idempotent=st.booleans())
    def append_as_leader(self, count: int, size: int, timestamp: int, idempotent: bool) -> None:
        producer: dict[str, Any] = {"producer_id": PRODUCER + self.end_offset, "producer_epoch": 0, "base_sequence": 0}
        sent = build_batch([(timestamp, b"k", b"v" * size, ())] * count, **(producer if idempotent else {}))
        info = self.log.append_as_leader(sent, self.epoch, 0)
        assert (info.first_offset, info.last_offset) == (self.end_offset, self.end_offset + count - 1)
        self.flush_rolled(info.rolled)
        self.batches.append(self.log.read(info.first_offset, 0).data)
        assert self.batches[-1][21:] == sent[21:]

    @rule(counts=st.lists(st.integers(1, 3), min_size=1, max_size=4), gap=st.integers(0, 5))
    def append_as_follower(self, counts: list[int], gap: int) -> None:
        fetched = []
        base_offset = self.end_offset + gap
        for count in counts:
            records = [(base_offset, None, b"w", ())] * count
            fetched.append(build_batch(records, base_offset=base_offset, leader_epoch=self.epoch))
            base_offset += count
        info = self.log.append_as_follower(b"".join(fetched), 0)
        assert [batch.size for batch in info.batches] == [len(batch) for batch in fetched]
        self.flush_rolled(info.rolled)
        self.batches += fetched

    @rule()
    def new_leader(self) -> None:
        self.epoch += 1

    @precondition(lambda self: self.batches)
    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        kept = data.draw(st.integers(0, len(self.batches)))
        offset = (
            next(iterate_batches(self.batches[kept]))[1].base_offset if kept < len(self.batches) else self.end_offset
        )
        self.log.take_deleted_files()
        cuts = self.log.truncate_to(offset)
        deleted = [file.size for file in self.log.take_deleted_files() if file.path.endswith(".log")]
        removed = sum(map(len, self.batches[kept:]))
        assert sum(cut.length for cut in cuts if cut.file.endswith(".log")) + sum(deleted) == removed
        del self.batches[kept:]
        self.end_without_gap()

    @precondition(lambda self: self.log.active_segment.size)
    @rule()
    def roll(self) -> None:
        roll = self.log.roll(0)
        assert roll.new_base_offset == self.end_offset
        self.flush_rolled((roll,))

    @rule()
    def flush(self) -> None:
        self.flushed = self.checkpointed = self.log.flush()

    @rule()
    def stop_and_start(self) -> None:
        self.log.close()
        self.flushed = self.checkpointed = self.end_offset
        self.log = self.open(clean_shutdown=True)

    @rule()
    def kill_and_start(self) -> None:
        self.log = self.open(clean_shutdown=False)
        if not self.config.preallocate:
            assert not [cut for cut in self.log.repairs if cut.file.endswith(".log")]

    @rule()
    def lose_power_and_start(self) -> None:
        self.disk.power_loss()
        self.log = self.open(clean_shutdown=False)
        assert self.flushed <= self.log.log_end_offset <= self.end_offset
        while self.end_offset > self.log.log_end_offset:
            self.batches.pop()
        self.end_without_gap()

    @invariant()
    def the_log_is_the_list(self) -> None:
        assert self.log.log_end_offset == self.end_offset
        assert self.log.size_bytes == sum(map(len, self.batches))
        found = b""
        offset = 0
        while offset < self.end_offset:
            read = self.log.read(offset, 10_000)
            found += read.data
            offset = read.next_offset
        assert found == b"".join(self.batches)
        for batch in self.batches[-3:]:
            header = next(iterate_batches(batch))[1]
            for inside in (header.base_offset, header.last_offset):
                read = self.log.read(inside, 1)
                assert (read.data, read.next_offset) == (batch, header.next_offset)
                assert (
                    self.log.read(header.base_offset, 10_000, upper_bound=header.next_offset).data[: len(batch)]
                    == batch
                )

    @invariant()
    def epochs_and_producers_follow_from_the_batches(self) -> None:
        headers = [next(iterate_batches(batch))[1] for batch in self.batches]
        epochs: dict[int, int] = {}
        for header in headers:
            epochs.setdefault(header.partition_leader_epoch, header.base_offset)
        assert self.log.leader_epoch_cache.entries == tuple(epochs.items())
        producers = {header.producer_id for header in headers if header.producer_id >= 0}
        assert {entry.producer_id for entry in self.log.producer_state.producers} == producers

    @invariant()
    def timestamps_lead_to_the_first_record(self) -> None:
        times = [header.max_timestamp for header in (next(iterate_batches(batch))[1] for batch in self.batches)]
        for wanted in sorted(set(times))[-2:]:
            first = next(i for i, time in enumerate(times) if time >= wanted)
            found = self.log.offset_for_timestamp(wanted)
            assert found is not None
            assert (found.offset, found.timestamp) == (
                next(iterate_batches(self.batches[first]))[1].base_offset,
                times[first],
            )


LogMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestLogMachine = LogMachine.TestCase
