"""The summary of a study: for each point and measure the distribution over its seeds, and an interval of the median."""

import hashlib
from collections.abc import Sequence

import msgspec
import numpy as np

from lab.exercises.bilingual import Bilingual
from lab.studies.definition import Place, Result, Study

DRAWS = 2_000
_DRAWN_BY = 7


class Spread(msgspec.Struct, frozen=True):
    """A measure over the seeds of a point. `low` to `high` is the 95 % bootstrap interval of the median."""

    runs: int
    median: float
    low: float
    high: float
    p05: float
    p25: float
    p75: float
    p95: float
    mean: float


class PointFound(msgspec.Struct, frozen=True):
    """The results of a point. `measures` omits those that no run of it has."""

    place: Place
    runs: int
    stopped: int
    measures: dict[str, Spread]


class Found(msgspec.Struct, frozen=True):
    """The complete result of a study, as stored and shown."""

    slug: str
    title: Bilingual
    question: Bilingual
    answer: Bilingual | None
    chapter: str
    seeds: int
    axes: dict[str, tuple[str, ...]]
    x: str
    measures: tuple[str, ...]
    engine: str
    events: int
    digest: str
    points: tuple[PointFound, ...]


def summarize(study: Study, engine: str, results: Sequence[Result]) -> Found:
    """The distributions of all points. Deterministic to the last digit."""
    by_point: dict[int, list[Result]] = {point.number: [] for point in study.points}
    for result in results:
        by_point[result.point].append(result)
    points = tuple(
        PointFound(
            point.place,
            len(by_point[point.number]),
            sum(one.state == "stopped" for one in by_point[point.number]),
            {
                name: spread_of(values)
                for name in study.measures
                if (values := [value for one in by_point[point.number] if (value := one.values.get(name)) is not None])
            },
        )
        for point in study.points
    )
    return Found(
        slug=study.slug, title=study.title, question=study.question, answer=study.answer, chapter=study.chapter,
        seeds=len(study.seeds), axes=study.axes, x=study.x, measures=study.measures, engine=engine,
        events=sum(one.events for one in results),
        digest=hashlib.sha256("".join(one.digest for one in results).encode()).hexdigest(), points=points,
    )  # fmt: skip


def spread_of(values: Sequence[float]) -> Spread:
    """The distribution of at least one value."""
    found = np.sort(np.asarray(values, dtype=float))
    random = np.random.default_rng(_DRAWN_BY)
    medians = np.median(random.choice(found, (DRAWS, len(found))), axis=1)
    low, high = np.quantile(medians, (0.025, 0.975))
    p05, p25, median, p75, p95 = np.quantile(found, (0.05, 0.25, 0.5, 0.75, 0.95))
    figures = (median, low, high, p05, p25, p75, p95, found.mean())
    return Spread(len(found), *(round(float(one), 4) for one in figures))


def series_of(found: Found) -> dict[str, list[PointFound]]:
    """The points, grouped by all axes except the horizontal one of the charts."""
    others = [name for name, values in found.axes.items() if name != found.x and len(values) > 1]
    series: dict[str, list[PointFound]] = {}
    for point in found.points:
        series.setdefault(", ".join(f"{name} {point.place[name]}" for name in others), []).append(point)
    return series
