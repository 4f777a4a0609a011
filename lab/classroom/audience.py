"""Decides what a person may see of a class, for events and for sections of the views.

There is one version for staff and one for everyone else, each encoded once; what concerns a single person is added to
it.
"""

from typing import Literal, NamedTuple, TypeAlias

from lab.classroom.events import SEES, ClassEnvelope, Sees
from lab.classroom.state import STAFF

Audience: TypeAlias = Literal["staff", "public"]

STAFF_SECTIONS = frozenset({"people", "notes", "chapters", "lead_lab"})
"""Sections that only staff see. `mine/p7` is for p7 alone; the others are for everybody, in the version of each."""


class Viewer(NamedTuple):
    """The viewer: a participant and their role according to the log."""

    p: str
    role: str

    @property
    def audience(self) -> Audience:
        return "staff" if self.role in STAFF else "public"


def sees_event(viewer: Viewer, envelope: ClassEnvelope) -> bool:
    """Whether a person may see an event while the class is live."""
    _, _, who, _, event = envelope
    return sees(viewer, SEES[type(event)], who, getattr(event, "p", ""))


def sees(viewer: Viewer, kind_sees: Sees, who: str, p: str) -> bool:
    """The same, for an event by `who` about `p`."""
    match kind_sees:
        case "all":
            return True
        case "tape":
            return False
        case "staff":
            return viewer.role in STAFF
        case "self":
            return viewer.role in STAFF or is_about(viewer, who, p)


def is_about(viewer: Viewer, who: str, p: str) -> bool:
    """Whether an event by `who` about `p` concerns this person. The projector is not a person."""
    return viewer.role != "projector" and bool(viewer.p) and viewer.p in (who, p)


def sees_section(viewer: Viewer, path: str) -> bool:
    """Whether a person may see a section of the views."""
    name, _, rest = path.partition("/")
    if name == "mine":
        return rest == viewer.p and viewer.role != "projector"
    return name not in STAFF_SECTIONS or viewer.role in STAFF
