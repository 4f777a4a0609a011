"""Decides the recording's marks."""

from broker_core.events import Event
from broker_core.texts import text
from lab.classroom.acts import Given, facts, ops
from lab.classroom.decide.deciding import ASKING, STAFF, decides, states
from lab.classroom.events import tape
from lab.classroom.state import Person, State
from lab.texts.refusal import Refusal

MAX_CHAPTERS = 500
MAX_MARKS = 10_000


@decides(ops.SetRecording, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.SetRecording = given.do  # type: ignore[assignment]
    return [] if state.is_recording == act.on else [tape.RecordingSet(on=act.on)]


@decides(ops.SetMicrophone, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.SetMicrophone = given.do  # type: ignore[assignment]
    if (state.microphone == who.p) == act.on:
        return []
    # The new recording replaces the other one.
    return [tape.MicrophoneSet(p=who.p, on=act.on)]


@states(facts.KeepAudio)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    do: facts.KeepAudio = given.do  # type: ignore[assignment]
    return [
        tape.AudioArrived(
            piece=do.piece, began_us=do.began_us, length_us=do.length_us, bytes=do.bytes, digest=do.digest
        )
    ]


@states(facts.LoseAudio)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    do: facts.LoseAudio = given.do  # type: ignore[assignment]
    return [tape.AudioLost(from_us=do.from_us, to_us=do.to_us)]


@states(facts.HearVoice)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    do: facts.HearVoice = given.do  # type: ignore[assignment]
    return [tape.VoiceHeard(spans=do.spans)]


@decides(ops.AddChapter, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.AddChapter = given.do  # type: ignore[assignment]
    if len(state.chapters) >= MAX_CHAPTERS:
        raise Refusal("class_act.limit", 409, things=text("class_act.things.chapters"), max=MAX_CHAPTERS)
    begins_us = now_us if act.begins_us is None else min(act.begins_us, now_us)
    number = max(state.chapters, default=0) + 1
    return [tape.ChapterAdded(chapter=number, begins_us=begins_us, text=given.texts[0])]


@decides(ops.MoveChapter, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.MoveChapter = given.do  # type: ignore[assignment]
    if act.chapter not in state.chapters:
        raise Refusal("class_act.no_thing", 404, thing=text("class_act.thing.chapter"), number=act.chapter)
    return [tape.ChapterMoved(chapter=act.chapter, begins_us=min(act.begins_us, now_us))]


@decides(ops.MarkNow, ASKING)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    if len(state.marks) >= MAX_MARKS:
        raise Refusal("class_act.limit", 409, things=text("class_act.things.marks"), max=MAX_MARKS)
    return [tape.Marked(p=who.p, marked_us=now_us, text=given.texts[0] if given.texts else 0)]
