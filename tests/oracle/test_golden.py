"""The log directories of a real Kafka 3.9 broker are reproduced, and the runner reports each difference."""

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from broker_core.partitions import TopicPartition
from broker_core.records.record_batch import build_batch
from devtools.oracle.golden import main, run_case
from devtools.oracle.golden_broker import GoldenBroker
from tests.support.paths import DATA

GOLDEN = DATA / "golden"
CASE = {"topic": "t", "broker_configs": {}, "topic_configs": {}, "topic_ids": {}}
NOW_MS = 1795296135273
# What a real broker wrote 2 ms later.
MARKER: dict[str, Any] = {
    "marker": "abort",
    "producer_id": 52,
    "producer_epoch": 0,
    "coordinator_epoch": 3,
    "timestamp": 1795296135275,
    "base_offset": 62,
    "stored": "AAAAAAAAAD4AAABCAAAAAALfJWOUADgAAAAAAAABof/9CGsAAAGh//0I"
    "awAAAAAAAAA0AAD/////AAAAASAAAAAIAAAAAAwAAAAAAAMA",
}


def copy(case: str, to: Path) -> Path:
    return Path(shutil.copytree(GOLDEN / case, to / case))


@pytest.mark.parametrize(
    "case",
    [
        "01-plain",
        "02-sparse-index",
        "03-roll-size",
        "09-transactions",
        "10-compaction",
        "11-delete-records",
        "11b-retention",
        "12-leader-epochs",
        "19-timed-out-transactions",
    ],
)
def test_files_are_those_of_a_real_broker(case: str) -> None:
    assert str(run_case(GOLDEN / case)) == f"ok {case}"


@pytest.mark.parametrize(
    "pattern",
    [
        "log/*/*.log",
        "log/*/*.index",
        "log/*/*.timeindex",
        "log/*/*.snapshot",
        "log/*/leader-epoch-checkpoint",
        "log/*/partition.metadata",
    ],
)
def test_one_changed_byte_fails_a_case(pattern: str, tmp_path: Path) -> None:
    folder = copy("03-roll-size", tmp_path)
    path = next(path for path in sorted(folder.glob(pattern)) if path.stat().st_size)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    result = run_case(folder)
    assert result.status == "FAIL"
    assert path.name in result.reason


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("recovery-point-offset-checkpoint", b"0\n1\nplain 0 182\n"),
        ("replication-offset-checkpoint", b"0\n0\n"),
        ("meta.properties", b"broker.id=0\nversion=1\ncluster.id=x\n"),
        ("meta.properties", b"version=0\n"),
        (".kafka_cleanshutdown", b""),
    ],
)
def test_other_files_of_the_broker_are_compared(name: str, content: bytes, tmp_path: Path) -> None:
    folder = copy("01-plain", tmp_path)
    (folder / "checkpoints" / name).write_bytes(content)
    result = run_case(folder)
    assert result.status == "FAIL"
    assert name in result.reason


def test_extra_or_missing_file_fails_a_case(tmp_path: Path) -> None:
    folder = copy("01-plain", tmp_path)
    snapshot = folder / "log" / "plain-0" / "00000000000000000178.snapshot"
    content = snapshot.read_bytes()
    snapshot.unlink()
    assert run_case(folder).reason == "plain-0/00000000000000000178.snapshot is there, the real broker has none"
    snapshot.write_bytes(content)
    snapshot.with_name("00000000000000000999.log").write_bytes(b"")
    assert run_case(folder).reason == "plain-0/00000000000000000999.log is missing"


def test_follower_with_diverging_records_fails_a_case(tmp_path: Path) -> None:
    folder = copy("12-leader-epochs", tmp_path)
    diverged = folder / "at" / "1-diverged" / "broker-1" / "log" / "epochs-0" / "00000000000000000000.log"
    (folder / "broker-1" / "log" / "epochs-0" / diverged.name).write_bytes(diverged.read_bytes())
    result = run_case(folder)
    assert result.status == "FAIL"
    assert "epochs-0/00000000000000000000.log" in result.reason


def test_missing_step_fails_a_case(tmp_path: Path) -> None:
    folder = copy("01-plain", tmp_path)
    case = json.loads((folder / "case.json").read_text())
    del case["steps"][5]
    (folder / "case.json").write_text(json.dumps(case))
    assert run_case(folder).status == "FAIL"


def test_unsupported_case_does_not_pass(tmp_path: Path) -> None:
    folder = copy("01-plain", tmp_path)
    case = json.loads((folder / "case.json").read_text())
    case["steps"].append({"moved_to_the_moon": True})
    (folder / "case.json").write_text(json.dumps(case))
    result = run_case(folder)
    assert result.status == "todo"
    assert "moved_to_the_moon" in result.reason


def test_log_that_does_not_open_fails_its_case_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copy("01-plain", tmp_path)
    copy("02-sparse-index", tmp_path)
    case = json.loads((folder / "case.json").read_text())
    damage = {"mutate": "leader-epoch-checkpoint", "replace": base64.b64encode(b"rubbish\n").decode()}
    case["steps"] += [damage, {"start": True}]
    (folder / "case.json").write_text(json.dumps(case))
    assert main(["--dir", str(tmp_path)]) == 1
    first, second, _ = capsys.readouterr().out.splitlines()
    assert first.startswith("FAIL 01-plain: StorageFault: ")
    assert "leader-epoch-checkpoint" in first
    assert second == "ok 02-sparse-index"


def test_marker_in_a_log_append_time_log_has_the_recorded_time() -> None:
    broker = GoldenBroker({**CASE, "topic_configs": {"message.timestamp.type": "LogAppendTime"}}, NOW_MS)
    broker.elect(TopicPartition("t", 0), 0, NOW_MS)
    records = build_batch([(NOW_MS, b"k", b"v", ())] * MARKER["base_offset"])
    broker.append(TopicPartition("t", 0), {"append": base64.b64encode(records).decode(), "base_offset": 0}, NOW_MS)
    broker.append_marker(TopicPartition("t", 0), MARKER, NOW_MS)


def test_command_prints_a_line_a_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy("01-plain", tmp_path)
    copy("02-sparse-index", tmp_path)
    (tmp_path / "01-plain" / "log" / "plain-0" / "leader-epoch-checkpoint").write_bytes(b"0\n0\n")
    assert main(["--dir", str(tmp_path)]) == 1
    first, second, last = capsys.readouterr().out.splitlines()
    assert first.startswith("FAIL 01-plain: plain-0/leader-epoch-checkpoint differs at byte 2")
    assert (second, last) == ("ok 02-sparse-index", "1 passed, 1 failed, 0 todo")
    assert main(["--dir", str(tmp_path), "--cases", "02,99"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 0 failed, 0 todo"
    assert main(["--dir", str(tmp_path), "--cases", "99"]) == 2
    assert main(["--dir", str(tmp_path / "nowhere")]) == 2
    assert "nowhere is not a folder" in capsys.readouterr().err
