"""SQL queries on stored tables. Each runs in a separate process (sql_child.py) on the rows that the user may see, and
is killed if it takes too long.
"""

import asyncio
import contextlib
import os
import re
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from lab.analytics.build.events import STORED
from lab.analytics.serve.duckdb_types import duckdb_type
from lab.analytics.serve.visible import Visible
from lab.analytics.store.builds import Build, Store
from lab.analytics.store.reading import unit_column
from lab.analytics.tables import Table
from lab.texts.refusal import Refusal

LIMIT_S = 10.0
"""For a question, from when its tables are read."""
READ_LIMIT_S = 30.0
"""For reading its tables."""
MEMORY_BYTES = 512 << 20
"""For the tables that a question names and what is made of them."""
MAX_ROWS = 10_000
MAX_BYTES = 8 << 20
"""Maximum size of an answer."""
MAX_QUERY = 20_000
AT_ONCE = 2
"""Number of queries that are answered at a time; the others wait for their turn."""

_CHILD = Path(__file__).with_name("sql_child.py")
_ASIDE = re.compile(r"--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*'", re.DOTALL)
_NAME = re.compile(r"\w+")
_turns: "dict[asyncio.AbstractEventLoop, asyncio.Semaphore]" = {}
_asking: set[int] = set()
"""Users with a question in progress."""


class Answer(NamedTuple):
    """The rows as JSON values. `is_cut`: there are more rows. `build`: the queried build."""

    columns: list[str]
    rows: list[list[Any]]
    is_cut: bool
    took_ms: int
    build: int


async def ask(store: Store, build: Build, query: str, visible: Visible, requester_id: int | None = None) -> Answer:
    """The result of a query in DuckDB on a build.

    Args:
        store: the tables.
        build: the version of the tables.
        query: one `select`.
        visible: the units that the user may see.
        requester_id: the user, who may run one query at a time; None for the operator.

    Raises Refusal: an error with its line; an exceeded limit; another running query of the user.
    """
    if not _ASIDE.sub(" ", query).strip(" \n\r\t;"):
        raise Refusal("refusal.sql_empty")
    if len(query) > MAX_QUERY:
        raise Refusal("refusal.sql_long", limit=MAX_QUERY)
    if requester_id in _asking:
        raise Refusal("refusal.sql_busy", 429)
    began_s = time.monotonic()
    if requester_id is not None:
        _asking.add(requester_id)
    try:
        order = msgspec.json.encode(await asyncio.to_thread(_order, store, build, query, visible))
        said = await _within_limits(order)
    finally:
        if requester_id is not None:
            _asking.discard(requester_id)
    return _answer(said, round((time.monotonic() - began_s) * 1_000), build.number)


async def _within_limits(order: bytes) -> bytes:
    """The output of the process. The process is killed when its caller stops waiting."""
    async with _turn():
        limit = asyncio.timeout(READ_LIMIT_S)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", str(_CHILD), stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env={}, start_new_session=True
        )
        is_read = False
        try:
            async with limit:
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(order)
                process.stdin.close()
                said = await process.stdout.readline()
                is_read = True
                limit.reschedule(asyncio.get_running_loop().time() + LIMIT_S)
                said += await process.stdout.read()
                await process.wait()
                return said
        except TimeoutError:
            if is_read:
                raise Refusal("refusal.sql_endless", limit_s=round(LIMIT_S)) from None
            raise Refusal("refusal.sql_large", limit_s=round(READ_LIMIT_S)) from None
        finally:
            await _kill(process)


def _turn() -> asyncio.Semaphore:
    loop = asyncio.get_running_loop()
    for other in [one for one in _turns if one.is_closed()]:
        del _turns[other]
    return _turns.setdefault(loop, asyncio.Semaphore(AT_ONCE))


async def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        # Not `process.kill`, which may reap the process itself.
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
        await asyncio.shield(process.wait())


def _answer(said: bytes, took_ms: int, build: int) -> Answer:
    try:
        found = msgspec.json.decode(said)
    except msgspec.DecodeError:
        raise Refusal("refusal.sql_ended") from None
    match found.get("error"):
        case None:
            return Answer(found["columns"], found["rows"], found["is_cut"], took_ms, build)
        case "mistake" if found["line"] is None:
            raise Refusal("refusal.sql_failed", problem=found["problem"])
        case "mistake":
            raise Refusal("refusal.sql_mistake", field=str(found["line"]), line=found["line"], problem=found["problem"])
        case "refused":
            raise Refusal("refusal.sql_refused", 403)
        case "several":
            raise Refusal("refusal.sql_several")
        case "empty":
            raise Refusal("refusal.sql_empty")
        case _:
            raise Refusal("refusal.sql_memory", megabytes=MEMORY_BYTES >> 20)


def _order(store: Store, build: Build, query: str, visible: Visible) -> dict[str, Any]:
    """The order for the process: the tables that the query names."""
    words = {word.lower() for word in _NAME.findall(_ASIDE.sub(" ", query))}
    return {
        "query": query,
        "tables": [
            _table(store, build, table, visible) for name, table in STORED.items() if name.partition(".")[2] in words
        ],
        "memory_bytes": MEMORY_BYTES,
        "cpu_s": round(LIMIT_S) + 2,
        "max_rows": MAX_ROWS,
        "max_bytes": MAX_BYTES,
    }


def columns_of(table: Table, visible: Visible) -> list[tuple[str, str]]:
    """The visible columns with their types in DuckDB."""
    return [
        (column.name, duckdb_type(column.type))
        for column in table.stored
        if visible.is_everything or not column.personal
    ]


def _table(store: Store, build: Build, table: Table, visible: Visible) -> dict[str, Any]:
    layer, _, name = table.name.partition(".")
    columns, files = columns_of(table, visible), _files(store, build, table, visible)
    return {"layer": layer, "name": name, "columns": columns, "files": files}


def _files(store: Store, build: Build, table: Table, visible: Visible) -> list[dict[str, Any]]:
    units, column = visible.units(table.unit), unit_column(table.unit)
    if table.unit == "log" and units is not None:
        # Learners' acts in a class are in their own logs.
        rows: list[Any] = [[(column, sorted(units)), ("class", sorted(visible.classes))]]
        units = None
    else:
        rows = []
    if units is not None and not units:
        return []
    return [
        {
            "path": store.files.local(file.path),
            "where": [*rows, *([] if file.is_whole or column is None else [[(column, sorted(file.units))]])],
        }
        for file in build.files(table.name, units)
    ]
