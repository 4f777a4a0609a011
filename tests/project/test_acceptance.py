"""The tables of acceptance statements and of bad input in the documents name tests and bars that there are."""

import ast
import re

from benchmarks.bars import BARS
from tests.support.paths import ROOT

_ROW = re.compile(r"^\| (\d+) \| .*$", re.MULTILINE)
STATEMENTS = list(range(1, 26))


def names_in(path: str) -> set[str]:
    """The functions that a test module defines."""
    tree = ast.parse((ROOT / "tests" / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_statement_names_its_tests() -> None:
    table = (ROOT / "docs" / "CLASSES.md").read_text().partition("## Acceptance statements and their tests")[2]
    rows = {int(match[1]): match[0] for match in _ROW.finditer(table)}
    assert list(rows) == STATEMENTS
    bars = {f"{bar.bench}: {bar.name}" for bar in BARS}
    for number, row in rows.items():
        shown = re.findall(r"`([^`]+)`", row.split(" | ")[2])
        assert shown, f"nothing shows statement {number}"
        for one in shown:
            path, _, name = one.partition("::")
            if path.endswith(".py"):
                assert not name or name in names_in(path), f"statement {number}: {one}"
            else:
                assert one in bars, f"statement {number}: {one}"


def test_every_bad_input_of_a_recording_names_what_shows_it() -> None:
    table = (ROOT / "docs" / "RECORDINGS.md").read_text().partition("## Bad input and faults")[2]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 15
    for row in rows:
        shown = re.findall(r"`([^`]+)`", row.split(" | ")[2])
        assert shown, row
        for one in shown:
            path, _, name = one.partition("::")
            assert not name or name in names_in(path), one
            assert (ROOT / "tests" / path).is_file(), one
