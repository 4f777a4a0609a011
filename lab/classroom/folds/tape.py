"""Folds of the recording's marks."""

from lab.classroom.events import tape
from lab.classroom.folds.folding import Sections, folds
from lab.classroom.state import Chapter, Mark, State


@folds(tape.RecordingSet)
def _(state: State, event: tape.RecordingSet, at_us: int, who: str) -> Sections:
    state.is_recording = event.on
    return ("recording",)


@folds(tape.ChapterAdded)
def _(state: State, event: tape.ChapterAdded, at_us: int, who: str) -> Sections:
    state.chapters[event.chapter] = Chapter(event.begins_us, event.text)
    return (f"chapters/{event.chapter}",)


@folds(tape.ChapterMoved)
def _(state: State, event: tape.ChapterMoved, at_us: int, who: str) -> Sections:
    state.chapters[event.chapter].begins_us = event.begins_us
    return (f"chapters/{event.chapter}",)


@folds(tape.Marked)
def _(state: State, event: tape.Marked, at_us: int, who: str) -> Sections:
    state.marks.append(Mark(event.p, event.marked_us, event.text))
    return (f"mine/{event.p}",)
