"""Chapters of a recording: those set by staff, and proposals derived from events of the class and its labs."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import msgspec

from lab.classroom.events import ClassEnvelope
from lab.classroom.events.lead import LeadTaken, StageShown
from lab.classroom.events.pace import LessonBegan, PaceSet
from lab.classroom.events.poll import PollMade, PollOpened
from lab.classroom.recorded.class_map import ClassMap
from lab.protocol.marks import Mark

CHAPTERS = "chapters.json"
MAX_CHAPTERS = 500
MAX_TITLE = 80
MAX_VALUE = 300
"""Characters of a value of a mark: the name of a replica has up to 264."""
APART_US = 90_000_000
"""Minimum time between a proposal and its neighbours."""
MARKED = ("BrokerStopped", "LogTruncated", "LeaderElected")
"""Marks of labs that are proposed."""


_VALUES: dict[str, tuple[str, ...]] = {
    "": (),
    "lesson": (),
    "lead": (),
    "stage": (),
    "poll": (),
    "step": (),
    "BrokerStopped": ("broker",),
    "LogTruncated": ("replica",),
    "LeaderElected": ("partition", "leader"),
}
"""The kinds of chapters, and the values that their titles need."""


class StoredChapter(msgspec.Struct, omit_defaults=True):
    """A chapter that begins at `at_us` of class time.

    A chapter set by staff has the number of its `text`, or, if it was set after class, `title` and `author`. A proposal
    has a `kind` and its subject: a participant, the slug of a lesson,
    the number of a text or of a step, or `values` of a mark. A poll about
    the prediction of a step has that `step` as a value.
    """

    chapter: int
    at_us: int
    text: int = 0
    title: str = ""
    author: str = ""
    kind: str = ""
    about: str = ""
    values: dict[str, str] = {}

    @property
    def is_sane(self) -> bool:
        """Whether a lab could have written this."""
        words = (self.title, self.author, self.about, *self.values)
        return (
            self.at_us >= 0
            and self.kind in _VALUES
            and all(name in self.values for name in _VALUES[self.kind])
            and (self.kind != "poll" or (self.about.isascii() and self.about.isdecimal()))
            and all(len(word) <= MAX_TITLE for word in words)
            and all(len(value) <= MAX_VALUE for value in self.values.values())
        )

    def is_of(self, p: str, texts: Collection[int]) -> bool:
        """Whether it was written by this participant."""
        return bool(self.text in texts or (self.author and self.author == p))


class Landmark(msgspec.Struct):
    """An event at which a chapter may begin. `rank` 0 is the most significant."""

    rank: int
    at_us: int
    kind: str
    about: str = ""
    values: dict[str, str] = {}


class Landmarks:
    """Takes the events of a recording in order."""

    def __init__(self) -> None:
        self.found: list[Landmark] = []
        self.polls: dict[int, tuple[int, int]] = {}
        """By number, the class time at which a poll was first opened, and the number of its text."""
        self._made: dict[int, PollMade] = {}

    def take(self, envelope: ClassEnvelope) -> None:
        """Processes the next event."""
        _, at_us, _, _, event = envelope
        match event:
            case LessonBegan():
                self.found.append(Landmark(0, at_us, "lesson", event.lesson))
            case LeadTaken():
                self.found.append(Landmark(1, at_us, "lead", event.p))
            case StageShown() if event.lab:
                self.found.append(Landmark(2, at_us, "stage", event.p))
            case PollMade():
                self._made[event.poll] = event
            case PollOpened() if event.round == 1:
                made = self._made[event.poll]
                self.polls[event.poll] = (at_us, made.text)
                values = {"step": str(made.step)} if made.form == "prediction" and made.step else {}
                self.found.append(Landmark(3, at_us, "poll", str(made.text), values))
            case PaceSet() if event.step:
                self.found.append(Landmark(4, at_us, "step", str(event.step)))


def landmarks_of(class_map: ClassMap, lab: int, marks: Iterable[Mark]) -> list[Landmark]:
    """Marks of a lab, each at the instant at which the class first saw it."""
    found = []
    for mark in marks:
        shown_us = class_map.first_shown(lab, mark.seq, mark.at_us) if mark.kind in MARKED else None
        if shown_us is not None:
            values = {name: str(value) for name, value in mark.values.items()}
            found.append(Landmark(5 + MARKED.index(mark.kind), shown_us, mark.kind, "", values))
    return found


def proposed(landmarks: Iterable[Landmark], fixed: Sequence[StoredChapter]) -> list[StoredChapter]:
    """Chapters that begin at landmarks, chosen by rank, at least 90 s apart from each other and from the `fixed` ones.
    Numbered after these.
    """
    taken = [one.at_us for one in fixed]
    chosen: list[Landmark] = []
    for one in sorted(landmarks, key=lambda one: (one.rank, one.at_us)):
        if len(taken) < MAX_CHAPTERS and all(abs(one.at_us - at_us) >= APART_US for at_us in taken):
            taken.append(one.at_us)
            chosen.append(one)
    first = max((one.chapter for one in fixed), default=0) + 1
    in_order = sorted(chosen, key=lambda one: one.at_us)
    return [
        StoredChapter(number, one.at_us, kind=one.kind, about=one.about, values=one.values)
        for number, one in enumerate(in_order, first)
    ]


def read_chapters(folder: Path) -> list[StoredChapter] | None:
    """The stored chapters of a class, by time; None if there are none."""
    try:
        data = (folder / CHAPTERS).read_bytes()
    except FileNotFoundError:
        return None
    return msgspec.json.decode(data, type=list[StoredChapter])


def write_chapters(folder: Path, chapters: Iterable[StoredChapter]) -> None:
    """Replaces the stored chapters."""
    partial = folder / f"{CHAPTERS}.partial"
    partial.write_bytes(msgspec.json.encode(sorted(chapters, key=lambda one: (one.at_us, one.chapter))))
    partial.replace(folder / CHAPTERS)


def forget_chapters(folder: Path, p: str, texts: Collection[int]) -> None:
    """Removes the chapters that a participant has written."""
    stored = read_chapters(folder)
    if stored is not None:
        write_chapters(folder, [one for one in stored if not one.is_of(p, texts)])
