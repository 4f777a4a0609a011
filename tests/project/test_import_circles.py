"""No module imports itself through others, not even for its types: whatever imports one part gets all of a circle.

The layers between packages are contracts of import-linter (`test_architecture.py`); a circle within a layer is not.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PACKAGES = ("broker_core", "devtools", "lab")


def modules(root: Path) -> dict[str, Path]:
    files = (file for package in PACKAGES for file in (root / package).rglob("*.py"))
    return {name_of(file.relative_to(root)): file for file in files}


def name_of(file: Path) -> str:
    parts = file.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(name: str, file: Path, known: dict[str, Path]) -> Iterator[str]:
    """The modules that a file imports anywhere: at the top, in functions, under TYPE_CHECKING."""
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                module = f"{source}.{alias.name}" if f"{source}.{alias.name}" in known else source
                if module in known and module != name:
                    yield module


def circle(graph: dict[str, list[str]]) -> list[str]:
    """One cycle of modules, each of which imports the next one; empty if there is none."""
    done: set[str] = set()
    for start in graph:
        path: list[str] = []
        pending = [iter([start])]
        while pending:
            module = next(pending[-1], None)
            if module is None:
                pending.pop()
                if path:
                    done.add(path.pop())
            elif module in path:
                return [*path[path.index(module) :], module]
            elif module not in done:
                path.append(module)
                pending.append(iter(graph[module]))
    return []


def circle_in(root: Path) -> str:
    known = modules(root)
    return " -> ".join(circle({name: sorted(set(imports(name, file, known))) for name, file in known.items()}))


def test_imports_have_no_cycle() -> None:
    assert len(modules(ROOT)) > 700
    assert circle_in(ROOT) == ""


@pytest.mark.parametrize(
    "statement",
    [
        "from broker_core.parts.whole import Whole",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from broker_core.parts.whole import Whole",
        "def whole():\n    import broker_core.parts.whole",
        "from .whole import Whole",
        "from . import whole",
    ],
)
def test_import_cycle_is_detected(tmp_path: Path, statement: str) -> None:
    folder = tmp_path / "broker_core" / "parts"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "part.py").write_text(statement)
    (folder / "host.py").write_text("from broker_core.parts.part import Part")
    (folder / "whole.py").write_text("from broker_core.parts import host")
    found = circle_in(tmp_path).split(" -> ")
    assert found[0] == found[-1]
    assert {name.rpartition(".")[2] for name in found} == {"part", "host", "whole"}
