"""The tables of acceptance statements and of bad input in the documents name tests and bars that there are."""

import ast
import re

import pytest

from benchmarks.bars import BARS, statement_of
from tests.support.paths import ROOT

_ROW = re.compile(r"^\| (\d+) \| .*$", re.MULTILINE)
STATEMENTS = list(range(1, 26))


def names_in(path: str) -> dict[str, str]:
    """The functions that a test module defines, and what is said about each: by the module or by itself."""
    tree = ast.parse((ROOT / "tests" / path).read_text())
    module = ast.get_docstring(tree) or ""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {node.name: f"{module}\n{ast.get_docstring(node) or ''}" for node in functions}


def shown_by() -> dict[int, list[str]]:
    """What shows each statement, by the table."""
    table = (ROOT / "docs" / "CLASSES.md").read_text().partition("## Acceptance statements and their tests")[2]
    table = table.partition("\n## ")[0]
    rows = {int(match[1]): match[0] for match in _ROW.finditer(table)}
    return {number: re.findall(r"`([^`]+)`", row.split(" | ")[2]) for number, row in rows.items()}


def test_table_names_tests_and_figures_that_there_are() -> None:
    shown = shown_by()
    assert list(shown) == STATEMENTS
    figures = {f"{bar.bench}: {bar.name}": statement_of(bar) for bar in BARS}
    for number, names in shown.items():
        assert names, f"nothing shows statement {number}"
        for one in names:
            path, _, name = one.partition("::")
            if path.endswith(".py"):
                assert not name or name in names_in(path), f"statement {number}: {one}"
            elif path.endswith(".mjs"):
                assert f"acceptance statement {number}:" in (ROOT / "tests" / path).read_text(), one
            else:
                assert figures.get(one) == number, f"statement {number}: {one}"
    of_figures = {number for number in figures.values() if number}
    in_table = {number for number, names in shown.items() if any(one in figures for one in names)}
    assert of_figures == in_table, "a figure that belongs to a statement is in its row"


def test_each_statement_is_named_by_a_test_or_a_figure() -> None:
    named = {statement_of(bar) for bar in BARS}
    for number, names in shown_by().items():
        for one in names:
            path, _, name = one.partition("::")
            if name and number in numbers_in(names_in(path)[name]):
                named.add(number)
    assert set(STATEMENTS) <= named, "its docstring says which statement it shows"


def numbers_in(text: str) -> set[int]:
    """The numbers of the statements that a docstring names."""
    said = re.sub(r"\([^)]*\)", "", " ".join(text.split()))
    found = re.findall(r"[Aa]cceptance statements? ((?:\d+(?:, | and | , )?)+)", said)
    return {int(number) for numbers in found for number in re.findall(r"\d+", numbers)}


@pytest.mark.parametrize(
    ("document", "heading"),
    [("RECORDINGS.md", "## Bad input and faults"), ("CLASSES.md", "## Faults and abuse")],
)
def test_every_fault_names_what_shows_it(document: str, heading: str) -> None:
    table = (ROOT / "docs" / document).read_text().partition(heading)[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 15
    figures = {f"{bar.bench}: {bar.name}" for bar in BARS}
    for row in rows:
        shown = re.findall(r"`([^`]+)`", row.split(" | ")[2])
        assert shown, row
        for one in (name for name in shown if name not in figures):
            path, _, name = one.partition("::")
            assert not name or name in names_in(path), one
            assert (ROOT / "tests" / path).is_file(), one
