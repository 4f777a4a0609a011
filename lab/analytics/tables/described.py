"""The description of the registry, for the tables page and `manage.py analytics tables`."""

from collections.abc import Mapping
from typing import Any

from lab.analytics.tables.registry import TABLES
from lab.analytics.tables.table import Table


def described(tables: Mapping[str, Table] = TABLES) -> list[dict[str, Any]]:
    """Each table as JSON: what a row is, its unit, key and sources, and its columns with their units. Gold comes first;
    tables of a layer are sorted by name.
    """
    layers = ("gold", "silver", "bronze")
    return [_table(table) for layer in layers for _, table in sorted(tables.items()) if table.layer == layer]


def _table(table: Table) -> dict[str, Any]:
    return {
        "name": table.name,
        "layer": table.layer,
        "unit": table.unit,
        "key": list(table.key),
        "doc": table.doc,
        "needs": list(table.needs),
        "kinds": list(table.kinds),
        "columns": [
            {"name": one.name, "type": one.type, "unit": one.unit, "doc": one.doc, "personal": one.personal}
            for one in table.stored
        ],
        "checks": [{"rule": one.rule, "severity": one.severity} for one in table.checks],
    }
