"""The charts of stored tables: one list for the server and the page."""

from collections.abc import Mapping, Sequence
from typing import Any

from lab.analytics.figures import brokers, clients, replication
from lab.analytics.figures.first import Figure, Words
from lab.analytics.figures.parts import Rows, Stored

STORED: Mapping[str, Stored] = {one.name: one for one in (*replication.FIGURES, *clients.FIGURES, *brokers.FIGURES)}
"""By name, in the order in which they are shown."""
ROWS_SHOWN = 200
"""Of the table beside a chart; all of them are in its CSV."""


def figure_of(stored: Stored, rows: Sequence[dict[str, Any]], words: Words, *, internal: bool) -> Figure | None:
    """A chart and the rows beside it; None where there is nothing to draw.

    Rows of Kafka's own topics are left out unless `internal`, or there are no others.
    """
    chosen: Rows = rows
    if stored.is_per_partition and not internal:
        chosen = [row for row in rows if not (row["topic"] or "").startswith("__")] or rows
    if not chosen:
        return None
    table = {
        "columns": list(stored.columns),
        "rows": [[row[name] for name in stored.columns] for row in chosen[:ROWS_SHOWN]],
        "count": len(chosen),
    }
    return {**stored.make(chosen, words), "table": table}
