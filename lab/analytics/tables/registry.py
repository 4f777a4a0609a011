"""All tables: found in the modules of `silver` and `gold`, and checked against each other at import."""

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from importlib import import_module
from pkgutil import walk_packages

from lab.analytics.tables.table import Table, TableError

LAYERS = ("lab.analytics.silver", "lab.analytics.gold")


def checked(tables: Iterable[Table]) -> dict[str, Table]:
    """Tables by name, each after those that it needs.

    Raises TableError: duplicate names, unknown or ambiguous needs, cycles.
    """
    by_name: dict[str, Table] = {}
    for table in tables:
        if by_name.setdefault(table.name, table) is not table:
            raise TableError(f"{table.name} is declared twice")
    for table in by_name.values():
        missing = [name for name in table.needs if name not in by_name]
        if missing:
            raise TableError(f"{table.name} needs {', '.join(missing)}: there is no such table")
    done: dict[str, Table] = {}
    for table in by_name.values():
        _visit(table, by_name, done, ())
    return done


def _visit(table: Table, by_name: Mapping[str, Table], done: dict[str, Table], path: tuple[str, ...]) -> None:
    if table.name in path:
        raise TableError(f"tables need each other in a circle: {' <- '.join((*path, table.name))}")
    if table.name not in done:
        for need in table.needs:
            _visit(by_name[need], by_name, done, (*path, table.name))
        done[table.name] = table


def _declared() -> Iterator[Table]:
    for layer in LAYERS:
        package = import_module(layer)
        modules = [package]
        if hasattr(package, "__path__"):
            modules += [import_module(found.name) for found in walk_packages(package.__path__, f"{layer}.")]
        # A table that another module imports is the same object.
        seen: set[int] = set()
        for module in modules:
            for value in vars(module).values():
                if isinstance(value, Table) and id(value) not in seen:
                    seen.add(id(value))
                    yield value


TABLES: Mapping[str, Table] = checked(_declared())
"""By name, each after those that it needs."""


def upstream(names: Iterable[str], tables: Mapping[str, Table] = TABLES) -> list[Table]:
    """The tables with these names and everything that they need, in dependency order. Raises KeyError for an unknown
    name.
    """
    wanted = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting += tables[name].needs
    return [table for name, table in tables.items() if name in wanted]


def matching(pattern: str, tables: Iterable[str] = TABLES) -> list[str]:
    """The tables that match a pattern such as `gold.*`. Raises KeyError if there are none."""
    found = [name for name in tables if fnmatchcase(name, pattern)]
    if not found:
        raise KeyError(pattern)
    return found
