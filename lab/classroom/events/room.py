"""Presence, the door, the start and end of the class."""

from broker_core.events import Event
from lab.classroom.events.kinds import kind


@kind("room", "all")
class ClassOpened(Event):
    """`chapter`: slug of the lesson, empty for none; its `steps`, which take `minutes` together and have `hints`."""

    chapter: str
    steps: int
    minutes: int
    hints: tuple[int, ...]


@kind("room", "self")
class Joined(Event):
    """`waits`: until staff admits them. `consent`: how they appear in the recording: number, nickname, not_recorded.
    `claims`: the participant that they claim to be, if they have neither cookie nor key; empty for none.
    """

    p: str
    role: str
    waits: bool
    consent: str
    claims: str = ""


@kind("room", "self")
class Admitted(Event):
    p: str


@kind("room", "self")
class LabGiven(Event):
    """A participant's own lab in this class, `run/branch`."""

    p: str
    lab: str


@kind("room", "self")
class LabRefused(Event):
    """A participant's own lab could not be made. `why`: runs (they have too many), disk (it is full), failed."""

    p: str
    why: str


@kind("room", "self")
class CameBack(Event):
    p: str


@kind("room", "self")
class WentAway(Event):
    """No socket since `since_us`."""

    p: str
    since_us: int


@kind("room", "self")
class Left(Event):
    p: str


@kind("room", "self")
class RoleGiven(Event):
    p: str
    role: str


@kind("room", "self")
class Renamed(Event):
    """The name itself is in the database."""

    p: str


@kind("room", "self")
class Kicked(Event):
    p: str


@kind("room", "all")
class DoorOpened(Event):
    """Until `until_us` of class time; 0: until it is closed. `admits`: people wait until staff admit them."""

    until_us: int
    admits: bool


@kind("room", "all")
class DoorClosed(Event):
    pass


@kind("room", "all")
class ClassResumed(Event):
    """The server started again; `wall_ms` then."""

    gap_ms: int
    wall_ms: int


@kind("room", "all")
class ClassEnded(Event):
    """`why`: act, no_staff."""

    why: str
