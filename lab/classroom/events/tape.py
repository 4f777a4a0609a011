"""The recording: passages off the record, chapters, marks."""

from broker_core.events import Event
from lab.classroom.events.kinds import kind


@kind("tape", "all")
class RecordingSet(Event):
    on: bool


@kind("tape", "staff")
class ChapterAdded(Event):
    """Begins at `begins_us` of class time; `text` is the id of its title."""

    chapter: int
    begins_us: int
    text: int


@kind("tape", "staff")
class ChapterMoved(Event):
    chapter: int
    begins_us: int


@kind("tape", "self")
class Marked(Event):
    """An instant that `p` wants to find again; `text` is 0 without one."""

    p: str
    marked_us: int
    text: int
