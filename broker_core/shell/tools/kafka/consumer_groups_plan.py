"""Plans of offsets in files for kafka-consumer-groups.sh --reset-offsets (`CsvUtils`): rows of topic, partition and
offset; for several groups the group comes first.
"""

import csv
import re
from collections.abc import Sequence

from broker_core.config_defs.java_text import split
from broker_core.config_defs.keys import INT_MAX, LONG_MAX
from broker_core.partitions import partition_name
from broker_core.shell.grammar.process import Process
from broker_core.shell.java.errors import JavaException, ToolUsageError

Plan = dict[str, int]
"""Offsets by partition."""
RUNTIME_EXCEPTION = "java.lang.RuntimeException"
_JACKSON = "com.fasterxml.jackson."
_SOURCE = "\n at [Source: (StringReader); line: "
_COLUMNS = (("topic", "String"), ("partition", "int"), ("offset", "long"))
_COLUMNS_WITH_GROUP = (("group", "String"), *_COLUMNS)


def plan_from_file(process: Process, name: str, group: str, *, is_single: bool) -> Plan:
    """The plan of a group; empty, with an error, if the file has none for it. `is_single`: it is the only group, so
    rows need not name it.

    Raises JavaException for an invalid plan, ToolUsageError for a negative offset.
    """
    if name not in process.files:
        cause = f"java.nio.file.NoSuchFileException: {name}"
        raise JavaException("java.io.IOException", f"Unable to read file {name}", (cause,)).wrapped_in(
            RUNTIME_EXCEPTION
        )
    lines = split(re.sub(r"\r\n?", "\n", process.files[name]), "\n") or [""]
    fault = _fault(lines[0], _COLUMNS)
    if fault:
        # A plan that is invalid without groups may be valid with them.
        process.err(fault.partition("\n")[0])
    names_groups = bool(fault) or not is_single
    columns = _COLUMNS_WITH_GROUP if names_groups else _COLUMNS
    worse = next((each for each in (_fault(line, columns) for line in lines) if each), "")
    if worse:
        raise JavaException(RUNTIME_EXCEPTION, worse, (worse,))
    plans: dict[str, Plan] = {}
    for cells in map(_cells, lines):
        given = cells if names_groups else [group, *cells]
        # A missing field is null, and a missing number 0.
        owner, topic, *numbers = [*given, *("", "null", "0", "0")[len(given) :]]
        partition, offset = (int(number) for number in numbers[:2])
        if offset < 0:
            raise ToolUsageError("Invalid negative offset")
        plans.setdefault(owner, {})[partition_name(topic, partition)] = offset
    if group not in plans:
        process.out("")
        process.out(f"Error: No reset plan for group {group} found")
    if fault:
        # A valid plan is read a second time.
        process.err(fault.partition("\n")[0])
    return plans.get(group, {})


def _cells(line: str) -> list[str]:
    """The cells of a row, without quotes."""
    return next(csv.reader([line]), [])


def _is_number(text: str, java_type: str) -> bool:
    most = INT_MAX if java_type == "int" else LONG_MAX
    return re.fullmatch(r"[+-]?\d{1,19}", text) is not None and -most - 1 <= int(text) <= most


def _fault(line: str, columns: Sequence[tuple[str, str]]) -> str:
    """Jackson's error for a row: its class, its message and the position; None for a valid row. `columns`: name and
    Java type of each.
    """
    if not line.strip():
        what = "MismatchedInputException: No content to map due to end-of-input"
        return f"{_JACKSON}databind.exc.{what}{_SOURCE}UNKNOWN, column: UNKNOWN]"
    at = 1
    cells = _cells(line)
    for cell, (name, java_type) in zip(cells, columns, strict=False):
        if java_type != "String" and not _is_number(cell.strip(), java_type):
            what = (
                f'Cannot deserialize value of type `{java_type}` from String "{cell}": not a valid `{java_type}` value'
            )
            record = "CsvRecordWithGroup" if columns is _COLUMNS_WITH_GROUP else "CsvRecordNoGroup"
            chain = f'org.apache.kafka.tools.consumer.group.CsvUtils${record}["{name}"]'
            where = f"{_SOURCE}1, column: {at}] (through reference chain: {chain})"
            return f"{_JACKSON}databind.exc.InvalidFormatException: {what}{where}"
        at += len(cell) + 1
    count = len(columns)
    if len(cells) > count:
        value = f'(value #{count} ({len(cells[count])} chars) "{cells[count]}")'
        return (
            f"{_JACKSON}dataformat.csv.CsvReadException: Too many entries: expected at most {count} {value}{_SOURCE}1]"
        )
    return ""
