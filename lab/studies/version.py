"""The version of all code that the result of a cluster depends on: the core, and what runs and measures it."""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import lab
from lab.recordings.checkpoints import engine_version

RUN_BY = "lab.studies.cell"
"""The module that runs a cluster: it and what it imports of the lab, directly or not, are part of the version."""
_ROOT = Path(lab.__path__[0]).parent


@cache
def code_version() -> str:
    """Changes with the core, the measures, and the code that runs clusters."""
    digest = hashlib.sha256(engine_version().encode())
    for path in sorted(sources()):
        digest.update(path.relative_to(_ROOT).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def sources() -> set[Path]:
    """The files of the lab that a cluster is run by."""
    found: set[Path] = set()
    waiting = [RUN_BY]
    while waiting:
        path = _file_of(waiting.pop())
        if path is not None and path not in found:
            found.add(path)
            waiting += _imported(path)
    return found


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _file_of(module: str) -> Path | None:
    """The file of a module of the lab; None for another name."""
    if not module.startswith("lab."):
        return None
    place = _ROOT.joinpath(*module.split("."))
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)
