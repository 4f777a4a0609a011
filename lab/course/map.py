"""The map of the course: lessons in columns by chapter, connected to the lessons that they require."""

from collections.abc import Mapping
from typing import NamedTuple

from lab.course.loader import Chapter, Course, Lesson
from lab.course.standing import Standing

COLUMN = 158
ROW = 60
NODE_W = 138
NODE_H = 52
TOP = 28
"""As in static/lab/css/pages/front.css: the pitch of columns and rows, the size of a lesson, and the position of the
first.
"""


class Node(NamedTuple):
    """A lesson in the picture. `look`: unseen, started, seen, shaky or solid."""

    lesson: Lesson
    x: int
    y: int
    look: str


class Map(NamedTuple):
    """The picture: a column for each chapter. `edges`: paths of an SVG behind the columns."""

    width: int
    height: int
    columns: list[tuple[Chapter, list[Node]]]
    edges: list[str]


def drawn(course: Course, standings: Mapping[str, Standing]) -> Map:
    """The map of the existing lessons."""
    chapters = [chapter for chapter in course.chapters if chapter.lessons]
    nodes: dict[str, Node] = {}
    for column, chapter in enumerate(chapters):
        for row, lesson in enumerate(chapter.lessons):
            look = _look(standings[lesson.slug])
            nodes[lesson.slug] = Node(lesson, column * COLUMN, TOP + row * ROW, look)
    edges = [
        _edge(nodes[needed], node)
        for node in nodes.values()
        for needed in node.lesson.exercise.requires
        if needed in nodes
    ]
    rows = max((len(chapter.lessons) for chapter in chapters), default=0)
    columns = [(chapter, [nodes[lesson.slug] for lesson in chapter.lessons]) for chapter in chapters]
    return Map(len(chapters) * COLUMN, TOP + rows * ROW, columns, edges)


def _look(standing: Standing) -> str:
    if standing.state != "done":
        return "started" if standing.state == "started" else "unseen"
    if standing.is_shaky:
        return "shaky"
    return "solid" if standing.mastery == "solid" else "seen"


def _edge(needed: Node, node: Node) -> str:
    """A line from the right edge of one lesson to the left edge of the other; within a column it runs beside them."""
    y0, y1 = needed.y + NODE_H // 2, node.y + NODE_H // 2
    if needed.x == node.x:
        x = node.x
        return f"M{x} {y0}C{x - 12} {y0} {x - 12} {y1} {x} {y1}"
    x0, x1 = (needed.x + NODE_W, node.x) if needed.x < node.x else (needed.x, node.x + NODE_W)
    middle = (x0 + x1) / 2
    return f"M{x0} {y0}C{middle:.0f} {y0} {middle:.0f} {y1} {x1} {y1}"
