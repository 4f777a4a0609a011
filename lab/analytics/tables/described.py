"""The description of the registry, for the tables page and `manage.py analytics tables`."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from broker_core.texts.catalogues import read
from lab.analytics.tables.table import Table

DECLARED_IN = "en"
"""The language of the descriptions that tables declare, with their columns. Those in others are in catalogues, which
the pages do not load: id `table.<layer>.<name>`, of a column with its name behind it.
"""
CATALOGUES = Path(__file__).parent / "catalogues"
_Text = Callable[[str, str], str]


def described(tables: Mapping[str, Table], language: str = DECLARED_IN) -> list[dict[str, Any]]:
    """Each table as JSON: what a row is, its unit, key and sources, and its columns with their units. Gold comes first;
    tables of a layer are sorted by name.
    """
    layers = ("gold", "silver", "bronze")
    text = _text(language)
    return [_table(table, text) for layer in layers for _, table in sorted(tables.items()) if table.layer == layer]


def described_columns(table: Table, language: str = DECLARED_IN) -> dict[str, str]:
    """What each stored column of a table is, by name."""
    text = _text(language)
    return {one.name: text(f"table.{table.name}.{one.name}", one.doc) for one in table.stored}


def _text(language: str) -> _Text:
    """The description in a language, from its id and as it is declared."""
    if language == DECLARED_IN:
        return lambda id, declared: declared
    texts = _catalogue(language)
    return lambda id, declared: texts[id]


@cache
def _catalogue(language: str) -> Mapping[str, str]:
    return read([CATALOGUES], language)


def _table(table: Table, text: _Text) -> dict[str, Any]:
    return {
        "name": table.name,
        "layer": table.layer,
        "unit": table.unit,
        "key": list(table.key),
        "doc": text(f"table.{table.name}", table.doc),
        "needs": list(table.needs),
        "kinds": list(table.kinds),
        "columns": [
            {
                "name": one.name,
                "type": one.type,
                "unit": one.unit,
                "doc": text(f"table.{table.name}.{one.name}", one.doc),
                "personal": one.personal,
            }
            for one in table.stored
        ],
        "checks": [{"rule": one.rule, "severity": one.severity} for one in table.checks],
    }
