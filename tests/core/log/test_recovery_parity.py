"""Damaged logs open as a real broker opened them: the same files stay, byte for byte, or neither of them starts.

`tests/data/recovery` holds what Apache Kafka 3.9.1 made of some hundred damaged copies of one partition folder, after a
clean stop and after a kill with several recovery points.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from broker_core.log import LogConfig, UnifiedLog
from broker_core.log.files.storage_fault import StorageFault
from broker_core.sim.disk import SimulatedDisk
from tests.support.paths import DATA

RECORDED = json.loads((DATA / "recovery" / "transactions.json").read_text())
CONFIG = LogConfig(segment_bytes=1600, index_interval_bytes=200, segment_index_bytes=4096)
DIRECTORY = "broker-0/txn-0"
CASES = RECORDED["cases"]


def content(key: str) -> bytes:
    size, digits = RECORDED["files"][key]
    return bytes.fromhex(digits).ljust(size, b"\0")


def with_changes(files: dict[str, str], changes: dict[str, str | None]) -> dict[str, str]:
    return {name: key for name, key in {**files, **changes}.items() if key is not None}


def name_of(case: dict[str, Any]) -> str:
    how = "clean" if case["recovery_point"] is None else f"from {case['recovery_point']}"
    return f"{case['title']}, {how}"


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_damaged_log_is_loaded_as_by_kafka(case: dict[str, Any]) -> None:
    disk = SimulatedDisk()
    damaged = with_changes(RECORDED["base"], case["damage"])
    for name, key in damaged.items():
        disk.replace_file(f"{DIRECTORY}/{name}", content(key))
    is_clean = case["recovery_point"] is None

    def load() -> UnifiedLog:
        return UnifiedLog.load(
            disk,
            DIRECTORY,
            "txn",
            0,
            CONFIG,
            now_ms=1_795_290_000_000,
            clean_shutdown=is_clean,
            recovery_point=case["recovery_point"] or 0,
        )

    if case["after"] is None:
        with pytest.raises(StorageFault) as refused:
            load()
        assert refused.value.path.rpartition("/")[2] in damaged
        assert refused.value.rule
        return
    log = load()
    expected = with_changes(damaged, case["after"])
    found = {name: disk.read_file(f"{DIRECTORY}/{name}") for name in disk.list(DIRECTORY)}
    assert sorted(found) == sorted(expected)
    for name, key in expected.items():
        assert found[name] == content(key), name
    for fact in log.repairs:
        assert fact.file.startswith(DIRECTORY) and fact.rule and fact.position >= 0 and fact.length >= 0
    if any(name.endswith(".log") and found[name] != content(damaged[name]) for name in damaged if name in found):
        assert any(fact.file.endswith(".log") for fact in log.repairs)


def test_recorded_cases_are_of_all_kinds() -> None:
    assert len(CASES) > 300
    assert sum(case["after"] is None for case in CASES) > 20
    suffixes = {Path(name).suffix or name for case in CASES for name in case["damage"]}
    assert suffixes >= {
        ".log",
        ".index",
        ".timeindex",
        ".txnindex",
        ".snapshot",
        "leader-epoch-checkpoint",
        ".metadata",
    }
