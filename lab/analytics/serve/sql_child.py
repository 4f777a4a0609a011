"""The process that runs one SQL query. It does not import the lab: the order lists the rows that it may read.

Standard input: an order as JSON (sql_box.py makes it). Standard output: an empty line when the tables are loaded, then
one JSON object with the rows or the error. Tables are copied into memory first; then the process gives up the right to
open anything, so that the query has no access to files and network. An authorizer permits only reading these rows.
"""

import json
import math
import re
import resource
import sqlite3
import statistics
import sys
from collections.abc import Iterator
from typing import Any


class NoPandas:
    """pyarrow imports pandas if it is installed, which takes longer than most queries and is not needed here."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] == "pandas":
            raise ModuleNotFoundError(name)


if __name__ == "__main__":
    sys.meta_path.insert(0, NoPandas)
import pyarrow.dataset as ds  # noqa: E402

BATCH_ROWS = 65_536
ROWS_AT_ONCE = 500
"""Of one statement that copies rows."""
MAX_TEXT = 1_000_000
"""Of one value, bytes."""
ROOM = 256 << 20
"""What the process may take besides the tables, bytes: Python's own and the answer."""
LAYERS = ("bronze", "silver", "gold")
LISTS = ("json_each", "json_tree")
_DENIED = frozenset({"load_extension", "fts3_tokenizer", "sqlite_compileoption_get", "sqlite_compileoption_used"})
_ASIDE = re.compile(r"--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*'", re.DOTALL)
_TOKEN = re.compile(r"\w+|\S")
_NEAR = re.compile(r'near "(?P<what>.+)": syntax error', re.DOTALL)
_UNKNOWN = re.compile(r"(?:no such (?:table|column|function)|ambiguous column name|misuse of aggregate): (?P<what>.+)")
_UNREADABLE = re.compile(r'unrecognized token: "(?P<what>.+)', re.DOTALL)


class Median:
    """`median(x)` and, with a second argument, `quantile(x, share)`; null without a value."""

    def __init__(self) -> None:
        self._values: list[float] = []
        self._share = 0.5

    def step(self, value: float | None, share: float = 0.5) -> None:
        self._share = share
        if value is not None:
            self._values.append(value)

    def finalize(self) -> float | None:
        if not self._values:
            return None
        if self._share == 0.5:
            return statistics.median(self._values)
        ordered = sorted(self._values)
        place = min(max(self._share, 0.0), 1.0) * (len(ordered) - 1)
        low = math.floor(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def main() -> None:
    """Reads the order, answers, and ends."""
    order = json.load(sys.stdin)
    try:
        answer = _answer(order)
    except MemoryError:
        answer = {"error": "memory"}
    json.dump(answer, sys.stdout, ensure_ascii=True)


def opened(order: dict[str, Any]) -> sqlite3.Connection:
    """An in-memory database with the empty tables of an order."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("pragma temp_store = memory")
    connection.execute(f"pragma hard_heap_limit = {int(order['memory_bytes'])}")
    for layer in LAYERS:
        connection.execute(f"attach ':memory:' as {layer}")
    for table in order["tables"]:
        columns = ", ".join(f'"{column}" {type}' for column, type in table["columns"])
        connection.execute(f"create table {_name(table)} ({columns})")
    connection.create_aggregate("median", 1, Median)  # type: ignore[arg-type]
    connection.create_aggregate("quantile", 2, Median)  # type: ignore[arg-type]
    for name in LISTS:
        # SQLite declares them on first use, which the authorizer would treat as a schema change.
        connection.execute(f"select * from {name}('[]')")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_TEXT)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, len(LAYERS))
    return connection


def _answer(order: dict[str, Any]) -> dict[str, Any]:
    connection = opened(order)
    # Errors in the query are reported before its tables are read.
    connection.set_authorizer(allows)
    mistake = checked(connection, order["query"])
    if mistake is not None:
        return mistake
    connection.set_authorizer(None)
    for table in order["tables"]:
        _load(connection, table, order["first_rows"])
    connection.set_authorizer(allows)
    confine(order)
    print(flush=True)
    return _ask(connection, order["query"], order["max_rows"], order["max_bytes"])


def checked(connection: sqlite3.Connection, query: str) -> dict[str, Any] | None:
    """Errors of a query that can be detected without rows; None if there are none."""
    words = _bare(query).lower().split(None, 1)
    if words and words[0] == "explain":
        return None
    try:
        connection.execute(f"explain {query}")
    except (sqlite3.Error, sqlite3.Warning) as error:
        return _mistake(connection, query, error)
    # Others, such as vacuum, are only rejected when they run.
    return None if words and re.match(r"(select|with|values)\b|\(", words[0]) else {"error": "refused"}


def _name(table: dict[str, Any]) -> str:
    return f'{table["layer"]}."{table["name"]}"'


def _load(connection: sqlite3.Connection, table: dict[str, Any], first_rows: int | None) -> None:
    """Copies the requested columns and visible rows of a table, up to the limit."""
    columns = [name for name, _ in table["columns"]]
    connection.execute("begin")
    for batch in _batches(table["files"], columns):
        chosen = batch if first_rows is None else batch.slice(0, first_rows)
        _insert(connection, _name(table), columns, chosen)
        if first_rows is not None:
            first_rows -= chosen.num_rows
            if not first_rows:
                break
    connection.execute("commit")


def _insert(connection: sqlite3.Connection, table: str, columns: list[str], batch: Any) -> None:
    """Copies the rows of a batch, many with each statement: row by row takes three times as long."""
    width = len(columns)
    values: list[Any] = [None] * (width * batch.num_rows)
    for place, column in enumerate(columns):
        if column in batch.schema.names:
            values[place::width] = _values(batch.column(column))
    row = f"({', '.join('?' * width)})"
    many = max(1, min(ROWS_AT_ONCE, connection.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER) // width))
    whole = batch.num_rows // many * many * width
    for rows, first, end in ((many, 0, whole), (1, whole, len(values))):
        size = rows * width
        parts = (values[at : at + size] for at in range(first, end, size))
        connection.executemany(f"insert into {table} values {', '.join([row] * rows)}", parts)


def _batches(files: list[dict[str, Any]], columns: list[str]) -> Iterator[Any]:
    for file in files:
        stored = ds.dataset(file["path"], format="parquet")
        there = [column for column in columns if column in stored.schema.names]
        seen = None
        for choices in file["where"]:
            # Each is a list of (column, values), of which one must hold.
            alike = None
            for column, values in choices:
                found = ds.field(column).isin(values) if values else ds.scalar(False)
                alike = found if alike is None else alike | found
            seen = alike if seen is None else seen & alike
        yield from stored.to_batches(columns=there, filter=seen, batch_size=BATCH_ROWS)


def _values(column: Any) -> list[Any]:
    """The values as SQLite accepts them; lists, maps and structs as JSON."""
    kind = str(column.type)
    if kind == "string":
        # A text that repeats is converted once.
        found = column.dictionary_encode()
        texts = [*found.dictionary.to_pylist(), None]
        return [texts[place] for place in found.indices.fill_null(len(texts) - 1).to_pylist()]
    values: list[Any] = column.to_pylist()
    if kind.startswith("map"):
        return [None if value is None else json.dumps(dict(value), ensure_ascii=False) for value in values]
    if kind.startswith(("list", "struct", "large_list")):
        return [None if value is None else json.dumps(value, ensure_ascii=False, default=str) for value in values]
    return values


def allows(action: int, one: str | None, other: str | None, database: str | None, within: str | None) -> int:
    """SQLite's authorizer: rows of the tables and functions over them, and nothing else."""
    match action:
        case sqlite3.SQLITE_SELECT | sqlite3.SQLITE_RECURSIVE:
            return sqlite3.SQLITE_OK
        # Without a column, rows are only counted.
        case sqlite3.SQLITE_READ if database in LAYERS or one in LISTS or not other:
            return sqlite3.SQLITE_OK
        case sqlite3.SQLITE_FUNCTION if (other or "").lower() not in _DENIED:
            return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def confine(order: dict[str, Any]) -> None:
    """Limits the process: from here on nothing can be opened or started, and time and memory are limited."""
    used_s = math.ceil(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))
    limit_s = used_s + order["cpu_s"]
    resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        with open("/proc/self/statm") as stream:  # noqa: PTH123  (one line, before files are given up)
            pages = int(stream.read().split()[0])
        room = pages * resource.getpagesize() + order["memory_bytes"] + ROOM
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


def _ask(connection: sqlite3.Connection, query: str, max_rows: int, max_bytes: int) -> dict[str, Any]:
    try:
        cursor = connection.execute(query)
        if cursor.description is None:
            return {"error": "empty"}
        rows, is_cut = _rows(cursor, max_rows, max_bytes)
    except (sqlite3.Error, sqlite3.Warning) as error:
        return _mistake(connection, query, error)
    return {"columns": [column[0] for column in cursor.description], "rows": rows, "is_cut": is_cut}


def _rows(cursor: Iterator[tuple[Any, ...]], max_rows: int, max_bytes: int) -> tuple[list[list[Any]], bool]:
    rows: list[list[Any]] = []
    size = 0
    for row in cursor:
        shown = [_shown(value) for value in row]
        size += sum(len(value) if isinstance(value, str) else 8 for value in shown)
        if len(rows) == max_rows or size > max_bytes:
            return rows, True
        rows.append(shown)
    return rows, False


def _shown(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _mistake(connection: sqlite3.Connection, query: str, error: Exception) -> dict[str, Any]:
    """The error of SQLite and its line."""
    said = str(error)
    if "one statement" in said:
        return {"error": "several"}
    if "not authorized" in said or "authorization denied" in said or "prohibited" in said:
        return {"error": "refused"}
    if "out of memory" in said or "too big" in said:
        return {"error": "memory"}
    return {"error": "mistake", "problem": said, "line": _line(connection, query, said)}


def _line(connection: sqlite3.Connection, query: str, said: str) -> int:
    if said == "incomplete input":
        return query.rstrip().count("\n") + 1
    near = _NEAR.match(said)
    if near:
        return query.count("\n", 0, _near(connection, query, near["what"], said)) + 1
    named = _UNKNOWN.match(said) or _UNREADABLE.match(said)
    what = named["what"].rpartition(".")[2].removesuffix("()") if named else ""
    place = -1
    if named and named.re is _UNREADABLE:
        place = query.find(named["what"].removesuffix('"'))
    elif what:
        found = re.search(rf"(?<!\w){re.escape(what)}(?!\w)", _bare(query), re.IGNORECASE)
        place = found.start() if found else -1
    return query.count("\n", 0, max(place, 0)) + 1


def _near(connection: sqlite3.Connection, query: str, what: str, said: str) -> int:
    """The position of the token that SQLite rejects: the first prefix with the same error."""
    ends = [
        found
        for found in _TOKEN.finditer(_bare(query))
        if query.startswith(what, found.start()) and (found[0] == what or not what.isidentifier())
    ]
    for found in ends:
        try:
            connection.execute(f"explain {query[: found.start() + len(what)]}")
        except sqlite3.Error as error:
            if str(error) == said:
                return found.start()
    return ends[0].start() if ends else query.find(what)


def _bare(query: str) -> str:
    """The query with comments and strings blanked out, so that positions stay the same."""
    return _ASIDE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), query)


if __name__ == "__main__":
    main()
