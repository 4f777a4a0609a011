"""A broker reduced to its log directory: repeats the steps that a golden case recorded on a real broker."""

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from broker_core.broker.config.broker_config import BrokerConfig
from broker_core.config_defs import topic_values
from broker_core.eras import DEFAULT_ERA, ERAS
from broker_core.errors import Errors, KafkaException
from broker_core.log import LogConfig, UnifiedLog
from broker_core.log.files.checkpoints import (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    OffsetCheckpoint,
    create_checkpoints,
)
from broker_core.log.files.deleted_files import DELETED_SUFFIX
from broker_core.log.files.directory_files import mark_clean_shutdown, take_clean_shutdown, write_meta_properties
from broker_core.log.retention import delete_old_segments
from broker_core.partitions import TopicPartition, partition_name
from broker_core.records.control_record import ControlRecordType, build_end_transaction_marker
from broker_core.records.record_batch import parse_header
from broker_core.replication.partition import HIGH_WATERMARK
from broker_core.sim.disk import SimulatedDisk
from devtools.oracle.golden_cleaner import in_java_order, pass_time_ms, run_cleaner

DIRECTORY = "broker-0"
_HIGH_WATERMARK_CHECKPOINT_MS = 5_000
_FIRST_LEADERS_MS = 500

Step = Mapping[str, Any]


class Mismatch(Exception):
    """The core behaves differently from the real broker; the message is the first difference."""


class GoldenBroker:
    """One broker. By default it is the only replica, and its high watermark is the log end."""

    def __init__(self, case: Mapping[str, Any], start_ms: int) -> None:
        self.disk = SimulatedDisk()
        self._case = case
        self._broker_configs: dict[str, str] = {}
        self._logs: dict[TopicPartition, UnifiedLog] = {}
        self._leader_epochs: dict[TopicPartition, int] = {}
        self._committed: dict[TopicPartition, int] = {}
        self._recovery_points = OffsetCheckpoint(self.disk, f"{DIRECTORY}/{RECOVERY_POINT_CHECKPOINT}")
        self._log_starts = OffsetCheckpoint(self.disk, f"{DIRECTORY}/{LOG_START_OFFSET_CHECKPOINT}")
        self._high_watermarks = OffsetCheckpoint(self.disk, f"{DIRECTORY}/{REPLICATION_OFFSET_CHECKPOINT}")
        self._cleaner_offsets = OffsetCheckpoint(self.disk, f"{DIRECTORY}/{CLEANER_OFFSET_CHECKPOINT}")
        # (when it is due, path) of the files that wait under the name `.deleted`
        self._deleted_files: list[tuple[int, str]] = []
        self._config = BrokerConfig()
        self._next_checkpoint_ms: int | None = None
        self._next_retention_ms: int | None = None
        self._next_high_watermark_ms: int | None = None
        self.is_running = False
        # When the first LeaderAndIsr since the start arrived; its partitions are separate steps in quick succession.
        self._first_leaders_ms: int | None = None
        self.disk.makedirs(DIRECTORY)
        write_meta_properties(self.disk, DIRECTORY, 0, "AAAAAAAAAAAAAAAAAAAAAA")
        self.start({}, start_ms)

    def start(self, broker_configs: Mapping[str, Any], now_ms: int) -> None:
        """Loads every log in the directory; each is led in its last epoch again."""
        configured = {**self._case["broker_configs"], **broker_configs}
        self._broker_configs = {name: str(value) for name, value in configured.items()}
        self._config = BrokerConfig.of(self._broker_configs)
        self._next_checkpoint_ms = self._next_retention_ms = now_ms + self._config.log_initial_task_delay_ms
        self._next_high_watermark_ms = self._first_leaders_ms = None
        self.is_running = True
        clean = take_clean_shutdown(self.disk, DIRECTORY)
        recovery_points = self._recovery_points.read()
        log_starts = self._log_starts.read()
        create_checkpoints(self.disk, DIRECTORY, has_cleaner=self._broker_configs.get("log.cleaner.enable") != "false")
        for topic_partition in self._logs:
            self._logs[topic_partition] = self._load(
                topic_partition,
                now_ms,
                clean,
                recovery_points.get(topic_partition, 0),
                log_starts.get(topic_partition, 0),
            )
        for topic_partition, epoch in list(self._leader_epochs.items()):
            self.elect(topic_partition, epoch, now_ms)

    def stop(self, is_clean: bool, now_ms: int) -> None:
        """Stops the broker: cleanly, or as SIGKILL does."""
        self.pass_time(now_ms)
        self.is_running = False
        self._deleted_files.clear()
        if not is_clean:
            return
        for log in self._logs.values():
            log.close()
        self._write_recovery_points()
        self._write_log_starts()
        self._write_high_watermarks()
        mark_clean_shutdown(self.disk, DIRECTORY, ERAS[DEFAULT_ERA].log_dir.clean_shutdown)

    def pass_time(self, now_ms: int) -> None:
        """Runs what fell due since the last step: retention and writing checkpoints."""
        self._unlink(now_ms)
        while self._next_retention_ms is not None and self._next_retention_ms <= now_ms:
            self.run_retention(self._next_retention_ms)
            self._next_retention_ms += self._config.log_retention_check_interval_ms
        while self._next_high_watermark_ms is not None and self._next_high_watermark_ms <= now_ms:
            self._write_high_watermarks()
            self._next_high_watermark_ms += _HIGH_WATERMARK_CHECKPOINT_MS
        while self._next_checkpoint_ms is not None and self._next_checkpoint_ms <= now_ms:
            self._write_recovery_points()
            self._write_log_starts()
            self._next_checkpoint_ms += self._config.log_flush_offset_checkpoint_interval_ms

    def elect(self, topic_partition: TopicPartition, epoch: int, now_ms: int) -> None:
        """Makes the broker leader in this epoch; creates its log if necessary."""
        self.follow(topic_partition, now_ms)
        log = self._logs[topic_partition]
        log.leader_epoch_cache.assign(epoch, log.log_end_offset)
        self._leader_epochs[topic_partition] = epoch
        self._write_first_high_watermarks(now_ms)

    def follow(self, topic_partition: TopicPartition, now_ms: int) -> None:
        """Makes the broker a follower; creates its log if necessary. A broker that is down is not notified."""
        self._leader_epochs.pop(topic_partition, None)
        if not self.is_running:
            return
        if topic_partition not in self._logs:
            self._logs[topic_partition] = self._load(topic_partition, now_ms, clean=True)
        if self._next_high_watermark_ms is None:
            self._next_high_watermark_ms = now_ms + _HIGH_WATERMARK_CHECKPOINT_MS
        self._write_first_high_watermarks(now_ms)

    def log(self, topic_partition: TopicPartition) -> UnifiedLog:
        """The log of a partition that the broker leads or follows."""
        return self._logs[topic_partition]

    def commit(self, topic_partition: TopicPartition, offset: int) -> None:
        """Sets the high watermark of a partition with several replicas; otherwise it is the log end offset."""
        self._committed[topic_partition] = offset

    def committed(self, topic_partition: TopicPartition) -> int:
        """The high watermark."""
        end_offset = self._logs[topic_partition].log_end_offset
        return min(self._committed.get(topic_partition, end_offset), end_offset)

    def append(self, topic_partition: TopicPartition, step: Step, now_ms: int) -> None:
        """Appends a batch; the core must assign the same offset as the real broker."""
        epoch = step.get("leader_epoch", self._leader_epochs.get(topic_partition, 0))
        if topic_partition not in self._logs or epoch != self._leader_epochs[topic_partition]:
            self.elect(topic_partition, epoch, now_ms)
        is_client = not step.get("read_back")
        data = base64.b64decode(step["append"])
        first_offset = self._append(topic_partition, data, epoch, now_ms, is_client)
        if first_offset != step["base_offset"]:
            raise Mismatch(f"a batch got offset {first_offset}, expected {step['base_offset']}")

    def append_marker(self, topic_partition: TopicPartition, step: Step, now_ms: int) -> None:
        """Appends the marker that ends a transaction; the core must write the same bytes as the real broker."""
        epoch = self._leader_epochs.get(topic_partition, 0)
        marker = build_end_transaction_marker(
            ControlRecordType[step["marker"].upper()],
            timestamp=step["timestamp"],
            producer_id=step["producer_id"],
            producer_epoch=step["producer_epoch"],
            coordinator_epoch=step["coordinator_epoch"],
        )
        expected = base64.b64decode(step["stored"])
        header = parse_header(expected)
        # With LogAppendTime only the stored marker shows when it was written.
        append_ms = header.max_timestamp if header.has_append_time else now_ms
        first_offset = self._append(topic_partition, marker, epoch, append_ms, is_client=False)
        log = self._logs[topic_partition]
        stored = log.read(first_offset, 0).data
        if stored != expected:
            raise Mismatch(f"the marker at offset {first_offset} is {stored.hex()}, expected {step['stored']} (base64)")

    def clean(self, lines: Sequence[str], expected: Path, at_ms: int) -> None:
        """Runs the log cleaner as often as the real one ran before it left `expected` (a case, or a point in time of
        it).

        `lines` are the lines of its checkpoint then; the core's must be the same.
        """
        offsets = self._cleaner_offsets.read()
        logs = {key: self._logs[key] for key in in_java_order(self._logs) if self._logs[key].config.is_compacted}
        folders = {key: expected / "log" / str(key) for key in logs}
        times_ms = {key: pass_time_ms(log, folders[key], at_ms) for key, log in logs.items()}
        for pass_ms in run_cleaner(logs, offsets, times_ms):
            for key, log in logs.items():
                self._delete_old_segments(key, log, pass_ms)
        for log in logs.values():
            self._unlink_later(log, at_ms)
        self._cleaner_offsets.write(offsets)
        found = {f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()}
        wanted = {line for line in lines if "-".join(line.split()[:2]) in self._case["topic_ids"]}
        if found != wanted:
            raise Mismatch(f"{CLEANER_OFFSET_CHECKPOINT} says {sorted(found)}, expected {sorted(wanted)}")

    def run_retention(self, now_ms: int) -> None:
        """The retention job, which leaves compacted logs to the cleaner."""
        for topic_partition, log in self._logs.items():
            if log.config.is_compacted:
                continue
            self._delete_old_segments(topic_partition, log, now_ms)
            self._unlink_later(log, now_ms)

    def _delete_old_segments(self, topic_partition: TopicPartition, log: UnifiedLog, now_ms: int) -> None:
        for deletion in delete_old_segments(log, self.committed(topic_partition), now_ms):
            if deletion.rolled is not None:
                log.flush(deletion.rolled.new_base_offset)

    def delete_records(self, topic_partition: TopicPartition, step: Step) -> None:
        """Advances the log start offset; the core must respond as the real broker did."""
        log = self._logs[topic_partition]
        committed = self.committed(topic_partition)
        offset = committed if step["delete_records"] == HIGH_WATERMARK else step["delete_records"]
        error = Errors.NONE if 0 <= offset <= committed else Errors.OFFSET_OUT_OF_RANGE
        if log.config.is_compacted and "delete" not in log.config.cleanup_policy:
            error = Errors.POLICY_VIOLATION
        if error is Errors.NONE:
            log.increment_log_start_offset(offset)
        low_watermark = log.log_start_offset if error is Errors.NONE else -1
        if (error.code, low_watermark) != (step["error"], step["low_watermark"]):
            expected = f"error {step['error']}, low watermark {step['low_watermark']}"
            raise Mismatch(f"records below {offset}: error {error.code}, low watermark {low_watermark}, not {expected}")

    def _unlink_later(self, log: UnifiedLog, now_ms: int) -> None:
        due_ms = now_ms + log.config.file_delete_delay_ms
        self._deleted_files += [(due_ms, file.path + DELETED_SUFFIX) for file in log.take_deleted_files()]
        self._unlink(now_ms)

    def _unlink(self, now_ms: int) -> None:
        for due_ms, path in self._deleted_files:
            if due_ms <= now_ms:
                self.disk.delete(path)
        self._deleted_files = [(due_ms, path) for due_ms, path in self._deleted_files if due_ms > now_ms]

    def append_refused(self, topic_partition: TopicPartition, step: Step, now_ms: int) -> None:
        """Produces a batch that the real broker rejected; the core must reject it with the same error."""
        log = self._logs[topic_partition]
        end_offset = log.log_end_offset
        try:
            log.append_as_leader(base64.b64decode(step["refused"]), self._leader_epochs[topic_partition], now_ms)
        except KafkaException as refusal:
            if refusal.error.code != step["error_code"]:
                raise Mismatch(f"refused with {refusal.error.code}, expected {step['error_code']}") from None
        else:
            raise Mismatch(f"accepted at offset {end_offset}, expected error {step['error_code']}")

    def damage(self, topic_partition: TopicPartition, step: Step) -> None:
        """Damages a stopped broker's files as the real one's were damaged."""
        directory = f"{DIRECTORY}/{topic_partition}"
        for name in step.get("delete", ()):
            self.disk.delete(f"{directory}/{name}")
        if "mutate" not in step:
            return
        path = f"{directory}/{step['mutate']}"
        if "replace" in step:
            self.disk.replace_file(path, base64.b64decode(step["replace"]))
            return
        content = bytearray(self.disk.read_file(path))
        if "truncate" in step:
            del content[step["truncate"] :]
        if "flip_byte_at" in step:
            content[step["flip_byte_at"]] ^= 0xFF
        if "add" in step:
            content += base64.b64decode(step["add"])
        if "put_at" in step:
            put = base64.b64decode(step["bytes"])
            content[step["put_at"] : step["put_at"] + len(put)] = put
        self.disk.replace_file(path, bytes(content))

    def _append(self, topic_partition: TopicPartition, data: bytes, epoch: int, now_ms: int, is_client: bool) -> int:
        log = self._logs[topic_partition]
        try:
            info = log.append_as_leader(data, epoch, now_ms, is_client)
        except KafkaException as refusal:
            raise Mismatch(f"a batch at offset {log.log_end_offset} was refused: {refusal}") from refusal
        for roll in info.rolled:
            log.flush(roll.new_base_offset)
        return info.first_offset

    def _load(
        self, topic_partition: TopicPartition, now_ms: int, clean: bool, recovery_point: int = 0, log_start: int = 0
    ) -> UnifiedLog:
        topic, partition = topic_partition
        return UnifiedLog.load(
            self.disk,
            f"{DIRECTORY}/{topic}-{partition}",
            topic,
            partition,
            self._log_config(topic),
            now_ms=now_ms,
            clean_shutdown=clean,
            recovery_point=recovery_point,
            log_start_offset=log_start,
            topic_id=self._case["topic_ids"].get(partition_name(topic, partition)),
        )

    def _log_config(self, topic: str) -> LogConfig:
        configs = self._case["topic_configs"]
        if configs and all(isinstance(value, Mapping) for value in configs.values()):
            configs = configs.get(topic, {})
        overrides = {name: str(value) for name, value in configs.items()}
        return LogConfig.of(topic_values(self._broker_configs, overrides))

    def _write_recovery_points(self) -> None:
        self._recovery_points.write({key: log.recovery_point for key, log in self._logs.items()})

    def _write_log_starts(self) -> None:
        moved = {
            key: log.log_start_offset
            for key, log in self._logs.items()
            if log.log_start_offset > log.segments[0].base_offset
        }
        self._log_starts.write(moved)

    def _write_first_high_watermarks(self, now_ms: int) -> None:
        """Writes the checkpoint once for all partitions of the first LeaderAndIsr; a follower starts with the value
        from before its stop.
        """
        if self._first_leaders_ms is None:
            self._first_leaders_ms = now_ms
        elif now_ms > self._first_leaders_ms + _FIRST_LEADERS_MS:
            return
        known = {key: offset for key, offset in self._high_watermarks.read().items() if key not in self._leader_epochs}
        self._high_watermarks.write({key: known.get(key, self.committed(key)) for key in self._logs})

    def _write_high_watermarks(self) -> None:
        self._high_watermarks.write({key: self.committed(key) for key in self._logs})
