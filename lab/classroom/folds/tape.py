"""Folds of the recording's marks."""

from lab.classroom.events import tape
from lab.classroom.folds.folding import Sections, folds
from lab.classroom.state import Chapter, Mark, State


@folds(tape.RecordingSet)
def _(state: State, event: tape.RecordingSet, at_us: int, who: str) -> Sections:
    state.is_recording = event.on
    return ("recording",)


@folds(tape.MicrophoneSet)
def _(state: State, event: tape.MicrophoneSet, at_us: int, who: str) -> Sections:
    state.microphone = event.p if event.on else ""
    return ("audio",)


@folds(tape.AudioArrived)
def _(state: State, event: tape.AudioArrived, at_us: int, who: str) -> Sections:
    state.audio_us += event.length_us
    return ("audio",)


@folds(tape.AudioLost)
def _(state: State, event: tape.AudioLost, at_us: int, who: str) -> Sections:
    state.audio_lost_us += event.to_us - event.from_us
    return ("audio",)


@folds(tape.VoiceHeard)
def _(state: State, event: tape.VoiceHeard, at_us: int, who: str) -> Sections:
    return ()


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
