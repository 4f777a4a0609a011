"""Digests of the code that makes a table, which change with its function, with the modules it uses, and with the tables
it needs.
"""

import ast
import hashlib
import inspect
import sys
from collections.abc import Iterable
from functools import cache

from lab.analytics.tables import Table

_OURS = ("lab.analytics.silver", "lab.analytics.gold")


def digests(tables: Iterable[Table]) -> dict[str, str]:
    """The digest of each table, by name. Tables come after those that they need."""
    found: dict[str, str] = {}
    for table in tables:
        parts = [
            _of_module(table.make.__module__),
            table.make.__qualname__,
            table.schema,
            repr((table.key, table.sort)),
        ]
        parts += (found[need] for need in table.needs)
        found[table.name] = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return found


@cache
def _of_module(name: str) -> str:
    """The digest of a module and of all modules of the pipeline that it imports."""
    digest = hashlib.sha256()
    for module in sorted(_reached(name)):
        digest.update(_source(module).encode())
    return digest.hexdigest()


def _reached(name: str) -> set[str]:
    reached: set[str] = set()
    waiting = [name]
    while waiting:
        module = waiting.pop()
        if module in reached or module not in sys.modules:
            continue
        reached.add(module)
        for node in ast.walk(ast.parse(_source(module))):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                waiting += (
                    found
                    for found in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
                    if found.startswith(_OURS)
                )
    return reached


def _source(module: str) -> str:
    return inspect.getsource(sys.modules[module])
