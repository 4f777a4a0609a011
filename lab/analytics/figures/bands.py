"""Faults as bands behind the charts over time: which brokers were down, which links were cut."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from broker_core.partitions import broker_node
from lab.analytics.figures.parts import Row, Rows, Words

TABLE = "silver.faults"
COLUMNS = ("fault", "subject", "other", "from_seq", "from_us", "to_us")
MAX_BANDS = 40
_LASTING = {
    "frozen": ("frozen", "down"), "link cut": ("cut", "links"), "link cut one way": ("cut_one_way", "links"),
    "link quality": ("poor", "links"), "disk slow": ("disk_slow", "disk"), "fsync slow": ("fsync_slow", "disk"),
}  # fmt: skip
"""Faults that last, with their text and their tone."""


def bands(rows: Rows, end_us: int, words: Words) -> list[dict[str, Any]]:
    """The faults that last, in the order of time: what each is, from when to when, and the event that it begins with.

    Args:
        rows: of `silver.faults`.
        end_us: when the run ends as far as it is known; a fault that has not ended lasts until then.
        words: the texts.
    """
    found = sorted([*_down(rows), *_lasting(rows)], key=lambda one: (one[2]["from_us"], one[0]))
    return [
        {
            "said": words(f"analytics.band.{text}", who=_who(row, text)),
            "tone": tone,
            "from_us": row["from_us"],
            "to_us": end_us if row["to_us"] is None else row["to_us"],
            "is_open": row["to_us"] is None,
            "seq": row["from_seq"],
        }
        for text, tone, row in found
    ]


def _down(rows: Rows) -> Iterator[tuple[str, str, Row]]:
    """A broker is down from its stop until it has started again; the start of a run is not a fault."""
    of_broker: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["fault"] in ("stopped", "starting"):
            of_broker[row["subject"]].append(row)
    for own in of_broker.values():
        down: Row | None = None
        for row in sorted(own, key=lambda one: one["from_seq"]):
            if down is not None and down["to_us"] == row["from_us"]:
                down = {**down, "to_us": row["to_us"]}
                continue
            if down is not None:
                yield "down", "down", down
            down = row if row["fault"] == "stopped" else None
        if down is not None:
            yield "down", "down", down


def _lasting(rows: Rows) -> Iterator[tuple[str, str, Row]]:
    for row in rows:
        if row["fault"] in _LASTING and row["to_us"] != row["from_us"]:
            text, tone = _LASTING[row["fault"]]
            yield text, tone, row


def _who(row: Row, text: str) -> str:
    ends = [broker_node(int(one)) if one.isdigit() else one for one in (row["subject"], row["other"] or "") if one]
    return (" → " if text in ("cut_one_way", "poor") else " – ").join(ends)
