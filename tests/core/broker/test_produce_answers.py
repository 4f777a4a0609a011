"""What the Produce handler answers to good and bad batches, against tables that a real Kafka 3.9.1 filled in."""

import json
from pathlib import Path

import pytest

from devtools.oracle.golden import run_case
from devtools.oracle.golden_rejections import play_table
from tests.support.paths import DATA

TABLES = DATA / "rejections"


@pytest.mark.parametrize("table", sorted(path.stem for path in TABLES.glob("*.json")))
def test_every_row_gets_the_answer_of_a_real_broker(table: str) -> None:
    assert play_table(TABLES / f"{table}.json") == []


@pytest.mark.parametrize(
    ("row", "field", "value", "difference"),
    [
        (1, "error_code", 87, "CORRUPT_MESSAGE, expected INVALID_RECORD"),
        (0, "error_code", None, "NONE, expected no answer"),
        (5, "error_code", 2, "no answer, expected CORRUPT_MESSAGE"),
        (9, "base_offset", 3, "base offset 2, expected 3"),
        (16, "message", "Record size 6", "expected 'Record size 6'"),
        (105, "record_errors", [[1, "no key"]], "expected record 1: 'no key'"),
        (110, "record_errors", [], "12 record errors, expected 0"),
        (46, "stored", "AAAA", None),
    ],
)
def test_comparison_detects_a_different_response(
    row: int, field: str, value: object, difference: str | None, tmp_path: Path
) -> None:
    table = json.loads((TABLES / "rejections.json").read_text())
    table["rows"] = table["rows"][: row + 1]
    changed = table["rows"][row]
    if field == "stored":
        # One byte of the value of the last record.
        changed["stored"] = changed["stored"][:-8] + "AAAA" + changed["stored"][-4:]
        difference = "is stored, expected"
    else:
        changed[field] = value
    (tmp_path / "rejections.json").write_text(json.dumps(table))
    (found,) = play_table(tmp_path / "rejections.json")
    assert difference is not None and difference in found
    assert str(run_case(tmp_path)).startswith(f"FAIL {tmp_path.name}: row {row} ")


def test_time_windows_are_compared_relative_to_the_clock(tmp_path: Path) -> None:
    table = json.loads((TABLES / "rejections.json").read_text())
    row = next(row for row in table["rows"] if row["name"] == "too old")
    table["rows"] = [row]
    later = row["record_errors"][0][1].replace("1795248155679", "1795248255679")
    for text, count in ((row["record_errors"][0][1], 0), (later, 1)):
        row["record_errors"] = [[0, text]]
        (tmp_path / "rejections.json").write_text(json.dumps(table))
        assert len(play_table(tmp_path / "rejections.json")) == count
