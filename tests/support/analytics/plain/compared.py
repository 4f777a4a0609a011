"""What differs between the rows of a table and those that a plain reader makes."""

from typing import Any

from lab.analytics.tables import Table
from tests.support.analytics.plain.dump import Row, Rows

_NOT_COMPARED = ("sketch",)
_ONE_OF = {("gold.rpc_timings", "seq"), ("gold.produce_stages", "seq"), ("gold.rebalances", "stopped_us")}
"""Where several events are equally right, the plain reader gives a list of them."""
_DIGITS = 9


def differences(table: Table, made: Rows, plain: Rows) -> list[str]:
    """Rows and values that are not the same, each as a line."""
    columns = [column.name for column in table.columns if column.name not in _NOT_COMPARED]
    ours, theirs = _by_key(table, made), _by_key(table, plain)
    found = [f"{key} is there {len(rows)} times" for key, rows in {**theirs, **ours}.items() if len(rows) > 1]
    found += [f"{key} is not there: {_shown(theirs[key][0], columns)}" for key in theirs.keys() - ours.keys()]
    found += [f"{key} is too much: {_shown(ours[key][0], columns)}" for key in ours.keys() - theirs.keys()]
    for key in ours.keys() & theirs.keys():
        for column in columns:
            one, other = _value(ours[key][0].get(column)), _value(theirs[key][0].get(column))
            is_one_of = (table.name, column) in _ONE_OF and isinstance(other, list)
            if one != other and not (is_one_of and (one in other or (one is None and not other))):
                found.append(f"{key}: {column} is {one}, and {other} to the plain reader")
    return sorted(found)


def _by_key(table: Table, rows: Rows) -> dict[Any, Rows]:
    found: dict[Any, Rows] = {}
    for row in rows:
        found.setdefault(tuple(_value(row.get(name)) for name in table.key), []).append(row)
    return found


def _shown(row: Row, columns: list[str]) -> Row:
    return {column: _value(row.get(column)) for column in columns}


def _value(value: Any) -> Any:
    """A value as both write it: maps of Arrow are lists of pairs."""
    if isinstance(value, float):
        return round(value, _DIGITS)
    if isinstance(value, list | tuple):
        is_map = bool(value) and all(isinstance(one, tuple) and len(one) == 2 for one in value)
        return dict(value) if is_map else [_value(one) for one in value]
    if isinstance(value, dict):
        return {name: _value(one) for name, one in value.items()} or []
    return value
