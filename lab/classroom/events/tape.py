"""The recording: passages off the record, sound, chapters, marks."""

from broker_core.events import Event
from lab.classroom.events.kinds import kind


@kind("tape", "all")
class RecordingSet(Event):
    on: bool


@kind("tape", "all")
class MicrophoneSet(Event):
    """Starts or stops the recording of the sound of `p`."""

    p: str
    on: bool


@kind("tape", "all")
class AudioArrived(Event):
    """Piece `piece` of the sound, which began at `began_us` of class time, is complete; `digest`: SHA-256 of its
    file.
    """

    piece: int
    began_us: int
    length_us: int
    bytes: int
    digest: str


@kind("tape", "all")
class AudioLost(Event):
    """A part of the sound is missing."""

    from_us: int
    to_us: int


@kind("tape", "tape")
class VoiceHeard(Event):
    """A passage with speech, between two instants of class time."""

    spans: tuple[tuple[int, int], ...]


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
    """An instant that `p` has marked; `text` is 0 without one."""

    p: str
    marked_us: int
    text: int
