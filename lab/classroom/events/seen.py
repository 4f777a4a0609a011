"""What the one who leads looks at, points at and draws."""

from broker_core.events import Event
from lab.classroom.events.kinds import kind


@kind("seen", "all")
class ViewChanged(Event):
    """`view`: JSON of `lab.classroom.frames.LookedAt`."""

    view: str


@kind("seen", "tape")
class Pointed(Event):
    """At a thing of the picture; `u` and `v` are thousandths of its own box. `down`: false as the pointer goes."""

    anchor: str
    u: int
    v: int
    down: bool = True


@kind("seen", "all")
class InkDrawn(Event):
    """A stroke held to a thing; points in thousandths of its own box, also outside of it."""

    ink: int
    anchor: str
    points: tuple[tuple[int, int], ...]


@kind("seen", "all")
class InkCleared(Event):
    """Of these strokes; of all if empty."""

    inks: tuple[int, ...]
