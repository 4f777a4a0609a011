"""The process that runs one SQL query. It does not import the lab: the order lists the rows that it may read.

Standard input: an order as JSON (sql_box.py makes it). Standard output: an empty line when the tables are loaded, then
one JSON object with the rows or the error. DuckDB plans the query on empty tables; the columns that the plan reads are
copied into memory, of them the visible rows; then the process gives up the right to open anything, so that the query
has no access to files and network. The databases refuse such access, too, and whatever is not one `select`.
"""

import glob
import json
import math
import re
import resource
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

THREADS = 2
BATCH_ROWS = 1_000
MAX_TEXT = 1_000_000
"""Maximum number of characters of one value."""
ROOM = 256 << 20
"""What the process may take besides DuckDB's memory, bytes: Python's own and the answer."""
LAYERS = ("bronze", "silver", "gold")
_CONFIG: dict[str, Any] = {
    "threads": THREADS,
    "temp_directory": "",
    "home_directory": "/nowhere",
    "secret_directory": "/nowhere",
    "allow_persistent_secrets": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "enable_external_file_cache": False,
    # A name that is not a table would be looked up among the variables of this module.
    "python_enable_replacements": False,
}
_LINE = re.compile(r"^LINE (\d+):", re.MULTILINE)
_CLASS = re.compile(r"^[A-Za-z]+ Error: ")
_REFUSED = re.compile(r"Permission Error|configuration has been locked|read-only mode|exists in the \w+ extension")
_PASSED = ("PROJECTION", "LIMIT", "STREAMING_LIMIT")


def main() -> None:
    """Reads the order, answers, and ends."""
    order = json.load(sys.stdin)
    try:
        answer = _answer(order)
    except MemoryError:
        answer = {"error": "memory"}
    json.dump(answer, sys.stdout, ensure_ascii=True)


def _answer(order: dict[str, Any]) -> dict[str, Any]:
    found = planned(order)
    if "error" in found:
        return found
    connection = opened(order)
    try:
        for table in order["tables"]:
            columns = found["columns"].get(f"{table['layer']}.{table['name']}")
            if columns is not None:
                _load(connection, table, columns, found["rows"])
    except duckdb.OutOfMemoryException:
        return {"error": "memory"}
    lock(connection)
    confine(order)
    print(flush=True)
    return ask(connection, order["query"], order["max_rows"], order["max_bytes"])


def opened(order: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    """An in-memory database with the empty tables of an order."""
    connection = duckdb.connect(":memory:", config={**_CONFIG, "memory_limit": f"{order['memory_bytes']}B"})
    for layer in LAYERS:
        connection.execute(f"create schema {layer}")
    for table in order["tables"]:
        columns = ", ".join(f"{_quoted(name)} {type}" for name, type in table["columns"])
        connection.execute(f"create table {_quoted(table['layer'], table['name'])} ({columns})")
    connection.execute(f"set search_path = '{','.join(LAYERS)}'")
    return connection


def lock(connection: duckdb.DuckDBPyConnection) -> None:
    """Takes files, network, extensions and settings away from a database, for good."""
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")


def planned(order: dict[str, Any]) -> dict[str, Any]:
    """The columns that a query reads, by table, and the rows of each that are enough for its answer; its error if it
    has one. It is planned in a database of its own, which is locked: even a plan opens the files that a query names.
    """
    connection = opened(order)
    known = connection.execute("select name from duckdb_optimizers() where name <> 'unused_columns'").fetchall()
    # The others would remove the scans of tables that are empty here.
    connection.execute(f"set disabled_optimizers = '{','.join(name for (name,) in known)}'")
    lock(connection)
    query = order["query"]
    try:
        refused = _refused(connection, query)
        if refused is not None:
            return refused
        plan = json.loads(connection.execute(f"explain (format json) {query}").fetchall()[0][1])
    except duckdb.Error as error:
        return _mistake(str(error))
    columns: dict[str, list[str]] = {}
    for node in plan:
        for table, names in _scans(node):
            columns[table] = list(dict.fromkeys((*columns.get(table, ()), *names)))
    return {"columns": columns, "rows": _enough(plan[0], order["max_rows"] + 1)}


def _refused(connection: duckdb.DuckDBPyConnection, query: str) -> dict[str, Any] | None:
    statements = connection.extract_statements(query)
    if len(statements) != 1:
        return {"error": "several" if statements else "empty"}
    return None if statements[0].type == duckdb.StatementType.SELECT else {"error": "refused"}


def _scans(node: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """The tables that a plan reads, and the columns of each."""
    said = node["extra_info"]
    if "Table" in said:
        # Of a struct, the plan names the fields.
        names = said.get("Projections") or []
        read = [names] if isinstance(names, str) else names
        yield said["Table"].partition(".")[2], [name.partition(".")[0] for name in read]
    for child in node["children"]:
        yield from _scans(child)


def _enough(node: dict[str, Any], rows: int) -> int | None:
    """How many rows of its table answer a query that only projects and limits; None for other queries."""
    said = node["extra_info"]
    if "Table" in said:
        return rows
    if node["name"] not in _PASSED or len(node["children"]) != 1:
        return None
    if node["name"] != "PROJECTION":
        if "Limit" not in said:
            return None
        rows = min(rows, int(said["Limit"])) + int(said.get("Offset", 0))
    return _enough(node["children"][0], rows)


def _load(connection: duckdb.DuckDBPyConnection, table: dict[str, Any], needed: list[str], rows: int | None) -> None:
    """Copies the visible rows of the needed columns of a table."""
    name = _quoted(table["layer"], table["name"])
    asked = needed or [table["columns"][0][0]]
    for where, paths in _groups(table["files"]):
        listed = ", ".join(_text(glob.escape(path)) for path in paths)
        source = f"read_parquet([{listed}], union_by_name = true, hive_partitioning = false)"
        there = {row[0] for row in connection.execute(f"describe from {source}").fetchall()}
        # Files may be older than a column. What is left out is null.
        known = [column for column in asked if column in there] or [table["columns"][0][0]]
        columns = ", ".join(map(_quoted, known))
        limit = "" if rows is None else f" limit {rows}"
        connection.execute(f"insert into {name} ({columns}) select {columns} from {source} where {where}{limit}")


def _groups(files: Sequence[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """The files, those of which the same rows are visible together, with the condition for these rows."""
    groups: dict[str, list[str]] = {}
    for file in files:
        parts = sorted(map(str, Path(file["path"]).rglob("*.parquet")))
        groups.setdefault(_condition(file["where"]), []).extend(parts or [file["path"]])
    return list(groups.items())


def _condition(where: list[list[tuple[str, list[str]]]]) -> str:
    """Each is a list of (column, values), of which one must hold."""
    alternatives = [
        " or ".join(f"{_quoted(column)} in ({', '.join(map(_text, values))})" for column, values in choices if values)
        for choices in where
    ]
    return " and ".join(f"({one or 'false'})" for one in alternatives) or "true"


def _quoted(*names: str) -> str:
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def confine(order: dict[str, Any]) -> None:
    """Limits the process: from here on nothing can be opened or started, and time and memory are limited."""
    used_s = math.ceil(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))
    limit_s = used_s + order["cpu_s"] * THREADS
    resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        with open("/proc/self/statm") as stream:  # noqa: PTH123  (one line, before files are given up)
            pages = int(stream.read().split()[0])
        room = pages * resource.getpagesize() + order["memory_bytes"] + ROOM
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


def ask(connection: duckdb.DuckDBPyConnection, query: str, max_rows: int, max_bytes: int) -> dict[str, Any]:
    """The rows of a query, or its error."""
    try:
        refused = _refused(connection, query)
        if refused is not None:
            return refused
        connection.execute("begin transaction read only")
        cursor = connection.execute(query)
        columns = [column[0] for column in cursor.description]
        rows, is_cut = _rows(cursor, max_rows, max_bytes)
    except duckdb.OutOfMemoryException:
        return {"error": "memory"}
    except duckdb.Error as error:
        return _mistake(str(error))
    return {"columns": columns, "rows": rows, "is_cut": is_cut}


def _rows(cursor: duckdb.DuckDBPyConnection, max_rows: int, max_bytes: int) -> tuple[list[list[Any]], bool]:
    rows: list[list[Any]] = []
    size = 0
    while batch := cursor.fetchmany(BATCH_ROWS):
        for row in batch:
            shown = [_shown(value) for value in row]
            size += sum(len(value) if isinstance(value, str) else 8 for value in shown)
            if len(rows) == max_rows or size > max_bytes:
                return rows, True
            rows.append(shown)
    return rows, False


def _shown(value: Any) -> Any:
    """A value of JSON. Lists, maps and structs are texts, so that a cell is one value."""
    match value:
        case None | bool() | int():
            return value
        case float():
            return value if math.isfinite(value) else None
        case str():
            return value[:MAX_TEXT]
        case bytes():
            return value[:MAX_TEXT].hex()
        case dict() | list() | tuple():
            return json.dumps(value, ensure_ascii=False, default=str)[:MAX_TEXT]
    return float(value) if type(value).__name__ == "Decimal" else str(value)


def _mistake(said: str) -> dict[str, Any]:
    """The error of DuckDB, with its line unless rows caused it."""
    if "Out of Memory" in said or "bad_alloc" in said:
        return {"error": "memory"}
    if _REFUSED.search(said):
        return {"error": "refused"}
    line = _LINE.search(said)
    problem = " ".join(_CLASS.sub("", said[: line.start()] if line else said).split())
    return {"error": "mistake", "problem": problem, "line": int(line[1]) if line else None}


if __name__ == "__main__":
    main()
