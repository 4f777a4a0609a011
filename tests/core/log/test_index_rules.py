"""What enters the indexes of a segment, by the rule of an era, and what happens when they are full."""

from typing import Any

import pytest

from broker_core.eras import ERAS, IndexRule, LogBehaviour
from broker_core.errors import Errors, KafkaException
from broker_core.log import LogConfig, UnifiedLog
from broker_core.log.dump import DumpOptions, dump
from broker_core.log.dump.files import DiskFiles
from broker_core.records.record_batch import build_batch
from broker_core.sim.disk import SimulatedDisk

DIRECTORY = "broker-1/orders-0"
INDEX = f"{DIRECTORY}/00000000000000000000.index"


def open_log(disk: SimulatedDisk, *, index_rule: IndexRule = "batch", **settings: Any) -> UnifiedLog:
    behaviour = LogBehaviour(index_rule=index_rule)
    config = LogConfig(**({"index_interval_bytes": 0} | settings), behaviour=behaviour)
    return UnifiedLog.load(disk, DIRECTORY, "orders", 0, config, now_ms=0, clean_shutdown=False)


def batches(first_offset: int, *counts: int) -> bytes:
    """As a follower fetches them: `counts` records in each, stamped with their first offsets."""
    data = []
    for count in counts:
        data.append(build_batch([(first_offset, None, b"v", ())] * count, base_offset=first_offset, leader_epoch=0))
        first_offset += count
    return b"".join(data)


@pytest.mark.parametrize(
    ("rule", "appended", "recovered"),
    [
        ("batch", ((4, 85), (8, 162), (9, 255)), ((4, 85), (8, 162), (9, 255))),
        ("append", ((9, 85),), ((4, 85), (8, 162), (9, 255))),
        ("append start", ((3, 85),), ((3, 85), (5, 162), (9, 255))),
    ],
)
def test_index_entry_is_of_a_batch_or_of_an_append(
    rule: IndexRule, appended: tuple[tuple[int, int], ...], recovered: tuple[tuple[int, int], ...]
) -> None:
    """3.9.1 looks at each batch, releases before it at each append; recovery looks at batches in all of them."""
    disk = SimulatedDisk()
    log = open_log(disk, index_rule=rule)
    assert log.append_as_follower(batches(0, 3), 0).index_entries == ()
    info = log.append_as_follower(batches(3, 2, 4, 1), 0)
    assert tuple((batch.base_offset, batch.position) for batch in info.batches) == ((3, 85), (5, 162), (9, 255))
    assert info.index_entries == appended
    index = open_log(disk, index_rule=rule).active_segment.offset_index
    assert tuple(zip(index.relative_offsets, index.positions, strict=True)) == recovered


def test_index_rules_of_each_era() -> None:
    assert {name: era.log.index_rule for name, era in ERAS.items()} == {
        "0.8": "append start",
        "0.10": "append start",
        "1.1": "append start",
        "2.4": "append",
        "3.9": "batch",
    }


@pytest.mark.parametrize("rule", ["batch", "append start"])
def test_dump_checks_an_index_by_the_rule_it_was_written_by(rule: IndexRule) -> None:
    disk = SimulatedDisk()
    log = open_log(disk, index_rule=rule)
    for first_offset in (0, 3, 6):
        log.append_as_follower(batches(first_offset, 3), 0)
    log.close()
    for expected in (True, False):
        complaints: list[str] = []
        first_offsets = (rule == "append start") is expected
        options = DumpOptions(verify_index_only=True, first_offsets=first_offsets)
        list(dump([INDEX], options, DiskFiles(disk, {}), complaints.append))
        assert any("Mismatches" in line for line in complaints) is not expected


def test_segment_rolls_when_an_index_is_full() -> None:
    """Before the append that would need the entry; the time index keeps a slot for the last one."""
    log = open_log(SimulatedDisk(), segment_index_bytes=36)
    rolled = [log.append_as_leader(batches(0, 1), 0, 0).rolled for _ in range(2)]
    for stamp in range(1, 4):
        rolled.append(log.append_as_leader(build_batch([(stamp, None, b"v", ())]), 0, 0).rolled)
    assert [[roll.new_base_offset for roll in each] for each in rolled] == [[], [], [], [3], []]


def test_follower_whose_index_fills_up_within_an_append_writes_nothing() -> None:
    """Kafka fails here, too: "Attempt to append to a full time index"; it has the batches in the file by then."""
    log = open_log(SimulatedDisk(), segment_index_bytes=36)
    log.append_as_follower(batches(0, 1, 1), 0)
    size = log.size_bytes
    with pytest.raises(KafkaException, match=r"Attempt to append to a full time index \(size = 2\)") as refused:
        log.append_as_follower(batches(2, 1, 1, 1), 0)
    assert refused.value.error is Errors.UNKNOWN_SERVER_ERROR
    assert (log.log_end_offset, log.size_bytes) == (2, size)
    assert log.append_as_follower(batches(2, 1), 0).index_entries == ((2, 138),)
