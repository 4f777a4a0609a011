"""What a study is, once its file has been read and checked."""

import msgspec

from lab.exercises.bilingual import Bilingual

Place = dict[str, str]
"""What differs between the points of a study: axis -> value, as `linger.ms` -> `5`."""

ERA_AXIS = "era"
FAULT_AXIS = "fault"


class Line(msgspec.Struct, frozen=True, array_like=True):
    """A console line and its number in the study's file."""

    number: int
    text: str


class Cell(msgspec.Struct, frozen=True):
    """A cluster to simulate: everything that its result depends on. `measured_from`: earlier lines are only
    preparation.
    """

    point: int
    seed: int
    era: str
    brokers: int
    settings: dict[str, str]
    lines: tuple[Line, ...]
    measured_from: int
    max_events: int
    max_simulated_s: int


class Point(msgspec.Struct, frozen=True):
    """One combination of the axes' values."""

    number: int
    place: Place


class Study(msgspec.Struct, frozen=True):
    """A study: its axes with their values, its points in order, and the clusters of all points and seeds.

    `x` is the horizontal axis of the charts; `measures` are names of `lab.studies.measures.MEASURES`, the one that the
    question asks about first.
    """

    slug: str
    title: Bilingual
    question: Bilingual
    answer: Bilingual | None
    chapter: str
    seeds: tuple[int, ...]
    axes: dict[str, tuple[str, ...]]
    x: str
    measures: tuple[str, ...]
    points: tuple[Point, ...]
    cells: tuple[Cell, ...]


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a cell.

    `state` is finished, or stopped if a line was rejected or failed or a limit was reached; then `why` is the reason
    (a code or prose), and `line` the line number in the file, 0 if no line caused it. `digest` is the hash of all
    its events.
    """

    key: str
    point: int
    seed: int
    state: str
    digest: str
    events: int
    simulated_us: int
    cpu_us: int
    values: dict[str, float | None]
    why: str = ""
    line: int = 0
