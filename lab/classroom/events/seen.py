"""Views, pointers and strokes of the presenter."""

from broker_core.events import Event
from lab.classroom.events.kinds import kind


@kind("seen", "all")
class ViewChanged(Event):
    """`view`: JSON of `lab.classroom.frames.LookedAt`."""

    view: str


@kind("seen", "tape")
class Pointed(Event):
    """At an element of the picture; `u` and `v` are thousandths of its box. `down`: false when the pointer is
    released.
    """

    anchor: str
    u: int
    v: int
    down: bool = True


@kind("seen", "all")
class InkDrawn(Event):
    """A stroke anchored to an element of the picture; points are in thousandths of its box, and may be outside it."""

    ink: int
    anchor: str
    points: tuple[tuple[int, int], ...]


@kind("seen", "all")
class InkCleared(Event):
    """Of these strokes; of all if empty."""

    inks: tuple[int, ...]
