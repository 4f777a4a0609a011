"""The tables over recordings, from their registry."""

from collections.abc import Iterator

from lab.analytics.build.events import STORED
from lab.analytics.tables import Table

_LAYERS = {
    "bronze": "Events as they were recorded.",
    "silver": "One table for each concept, made from events.",
    "gold": "Tables for charts, comparisons and reports, made from silver.",
}


def render() -> str:
    """All tables by layer: what a row is, its key, its sources, its columns with units."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    for layer, what in _LAYERS.items():
        yield f"## {layer.capitalize()}\n\n{what}\n"
        for table in sorted((one for one in STORED.values() if one.layer == layer), key=lambda one: one.name):
            yield from _table(table)


def _table(table: Table) -> Iterator[str]:
    yield f"### {table.name}\n"
    yield f"{table.doc}\n"
    yield f"Key: {_names((*(column.name for column in table.stored[: -len(table.columns)]), *table.key))}."
    if table.needs:
        yield f"Made from {_names(table.needs)}."
    if table.kinds:
        yield f"Made from events {_names(table.kinds)}."
    if table.per_event:
        yield "A fork has rows of its own events only; those before it are rows of its parent."
    yield "\n| column | type | unit | what it is |\n|---|---|---|---|"
    for column in table.columns:
        personal = " (personal)" if column.personal else ""
        shown_type = column.type.replace("|", "\\|")
        yield f"| {column.name} | `{shown_type}` | {column.unit} | {column.doc.replace('|', '/')}{personal} |"
    yield ""


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
