"""The limits of size: files in a folder, lines in a file, lines in a function."""

import ast
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT

MAX_FILES = 25
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60

SUFFIXES = (".py", ".js", ".mjs", ".css", ".html", ".ts", ".java", ".go", ".sh")
#: Data and code of others.
NOT_OURS = ("tests/data/", "static/vendor/")
#: Tables with one file for each of Kafka's APIs.
TABLES = ("broker_core/broker/apis", "broker_core/broker/translation", "broker_core/wire/schemas")
#: What `manage.py gen_...` writes.
GENERATED = ("events.gen.js", "events.d.ts")


def sources() -> list[str]:
    """The source files of the project, as git lists them."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [
        name
        for name in listed.stdout.splitlines()
        if name.endswith(SUFFIXES)
        and not name.startswith(NOT_OURS)
        and not name.endswith(GENERATED)
        and (ROOT / name).is_file()
    ]


def crowded(names: list[str]) -> dict[str, int]:
    """Folders with too many files. A package's `__init__.py` describes it and does not count."""
    counts = Counter(str(Path(name).parent) for name in names if not name.endswith("__init__.py"))
    return {folder: count for folder, count in counts.items() if count > MAX_FILES and folder not in TABLES}


def long_files(names: list[str], root: Path = ROOT) -> dict[str, int]:
    """Files with too many lines."""
    counts = {name: (root / name).read_text(encoding="utf-8").count("\n") for name in names}
    return {name: count for name, count in counts.items() if count > MAX_FILE_LINES}


def long_functions(source: str) -> dict[str, int]:
    """Functions of a Python file with too many lines, without those inside them."""

    def inside(node: ast.AST) -> Iterator[tuple[str, int]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and child.end_lineno is not None:
                yield child.name, child.end_lineno - child.lineno + 1
            yield from inside(child)

    return {name: lines for name, lines in inside(ast.parse(source)) if lines > MAX_FUNCTION_LINES}


def test_no_folder_holds_too_many_files() -> None:
    assert crowded(sources()) == {}


def test_no_file_is_too_long() -> None:
    assert long_files(sources()) == {}


def test_no_function_is_too_long() -> None:
    found = {
        f"{name}: {function}": lines
        for name in sources()
        if name.endswith(".py")
        for function, lines in long_functions((ROOT / name).read_text(encoding="utf-8")).items()
    }
    assert found == {}


def test_oversized_files_are_detected(tmp_path: Path) -> None:
    assert crowded([f"lab/file{number}.py" for number in range(MAX_FILES + 1)]) == {"lab": MAX_FILES + 1}
    (tmp_path / "long.css").write_text("\n" * (MAX_FILE_LINES + 1))
    assert long_files(["long.css"], tmp_path) == {"long.css": MAX_FILE_LINES + 1}
    body = "    pass\n" * MAX_FUNCTION_LINES
    assert long_functions(f"class A:\n  def long(self):\n{body}\ndef short(): pass\n") == {
        "long": MAX_FUNCTION_LINES + 1
    }


@pytest.mark.parametrize("folder", TABLES)
def test_exempt_tables_exist(folder: str) -> None:
    assert any(name.startswith(f"{folder}/") for name in sources())
