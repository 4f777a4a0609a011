"""Compares two sets of runs by their rows of gold.run_summary."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

DRAWS = 2_000
_DRAWN_BY = 7
MEASURES = (
    "commit_p50_us", "commit_p99_us", "unavailable_us", "lost_records", "truncated_records", "elections",
    "unclean_elections", "isr_shrinks", "rebalances", "stop_the_world_us", "messages", "batches", "bytes",
    "produced_records", "alarms",
)  # fmt: skip
"""Columns of gold.run_summary. Less is better, but for produced records."""
MORE_IS_BETTER = frozenset({"produced_records"})


class Difference(NamedTuple):
    """A measure in two sets of runs.

    `pairs` is 0 if the sets were not paired. `difference` is the median of the pairs' differences, right minus left, or
    the difference of the medians; `low` to `high` its 95 % bootstrap interval; `improved` is the share of pairs in
    which the right run is better, None without pairs.
    """

    measure: str
    left: float
    right: float
    pairs: int
    difference: float
    low: float
    high: float
    improved: float | None


def compare(
    left: Sequence[Mapping[str, Any]], right: Sequence[Mapping[str, Any]], pair_by: str | None = None
) -> list[Difference]:
    """A row for each measure that both sets have. With `pair_by`, for example the seed, runs are compared in pairs."""
    found = []
    for measure in MEASURES:
        lefts = {_key(row, pair_by, place): row[measure] for place, row in enumerate(left) if row[measure] is not None}
        rights = {
            _key(row, pair_by, place): row[measure] for place, row in enumerate(right) if row[measure] is not None
        }
        if lefts and rights:
            found.append(_difference(measure, lefts, rights, is_paired=pair_by is not None))
    return found


def _key(row: Mapping[str, Any], pair_by: str | None, place: int) -> Any:
    return place if pair_by is None else row[pair_by]


def _difference(measure: str, left: Mapping[Any, float], right: Mapping[Any, float], *, is_paired: bool) -> Difference:
    random = np.random.default_rng(_DRAWN_BY)
    ours, theirs = (np.asarray(list(one.values()), dtype=float) for one in (left, right))
    both = sorted(left.keys() & right.keys()) if is_paired else []
    if both:
        apart = np.asarray([right[key] - left[key] for key in both], dtype=float)
        drawn = np.median(random.choice(apart, (DRAWS, len(apart))), axis=1)
        middle = float(np.median(apart))
        better = apart > 0 if measure in MORE_IS_BETTER else apart < 0
        improved: float | None = float(better.mean())
    else:
        drawn = np.median(random.choice(theirs, (DRAWS, len(theirs))), axis=1) - np.median(
            random.choice(ours, (DRAWS, len(ours))), axis=1
        )
        middle = float(np.median(theirs) - np.median(ours))
        improved = None
    low, high = (float(one) for one in np.quantile(drawn, (0.025, 0.975)))
    return Difference(measure, float(np.median(ours)), float(np.median(theirs)), len(both), middle, low, high, improved)
