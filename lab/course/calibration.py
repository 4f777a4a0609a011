"""The calibration curve of the front page: a learner's confidence, and the share of right answers."""

from typing import NamedTuple

from lab.learning.summary import Summary

WIDTH = 318
HEIGHT = 168
LEFT, RIGHT, TOP, BOTTOM = 34, 296, 16, 140
MIN_P = 0.2
"""Where the axis begins: the probability of a guess among five choices."""


class Point(NamedTuple):
    """A point in the picture: `r` grows with the number of answers."""

    x: float
    y: float
    r: float
    p: int
    share: int
    answers: int


class Curve(NamedTuple):
    """The picture: its points, the line through them, the line of perfect calibration, and the horizontal rules."""

    points: list[Point]
    line: str
    perfect: str
    rules: list[tuple[int, float]]


def curve(summary: Summary) -> Curve:
    """The calibration curve of a learner. It has no points until there are enough answers."""
    shown = [point for point in summary.calibration if point.is_shown]
    points = [
        Point(
            round(_x(point.p), 1),
            round(_y(point.share), 1),
            round(1.8 + min(6.0, point.count**0.5), 1),
            round(point.p * 100),
            round(point.share * 100),
            point.count,
        )
        for point in shown
    ]
    line = " ".join(f"{point.x},{point.y}" for point in points)
    perfect = f"M{_x(MIN_P):.1f} {_y(MIN_P):.1f}L{_x(1):.1f} {_y(1):.1f}"
    return Curve(points, line, perfect, [(share, round(_y(share / 100), 1)) for share in (0, 25, 50, 75, 100)])


def _x(p: float) -> float:
    return LEFT + (max(p, MIN_P) - MIN_P) / (1 - MIN_P) * (RIGHT - LEFT)


def _y(share: float) -> float:
    return BOTTOM - share * (BOTTOM - TOP)
