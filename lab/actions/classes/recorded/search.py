"""Search in a recorded class: captions, chapters, polls, questions, notes, commands and telling events of its labs."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from functools import partial

import msgspec

from broker_core.events.envelope import sentence
from lab.actions.classes.recorded.captions import captions_of
from lab.actions.classes.recorded.chapters import shown_chapters
from lab.actions.classes.recorded.notes import notes_of
from lab.actions.classes.recordings import look_into
from lab.actions.classes.shown_labs import recording_of, shown_ends
from lab.actions.rerun import commands_of
from lab.classroom.audience import Viewer
from lab.classroom.recorded.class_map import ClassMap
from lab.models import Participant
from lab.recordings import history
from lab.recordings.recording import Recording
from lab.texts.i18n import LANGUAGES
from lab.texts.refusal import Refusal

MAX_QUERY = 100
MAX_FOUND = 200


class Found(msgspec.Struct):
    """An instant of class time whose text has all words of a query. `kind`: caption, chapter, poll, question, note,
    command, event.
    """

    at_us: int
    kind: str
    text: str
    language: str = ""


async def search(me: Participant, query: str, language: str) -> list[Found]:
    """Searches a recording; returns at most 200 instants, by time. Raises Refusal for a query that is too long."""
    matches = matcher(query)
    if not query.split():
        return []
    found = [one async for one in all_instants(me, language) if matches(one.text)]
    return sorted(found, key=lambda one: one.at_us)[:MAX_FOUND]


def matcher(query: str) -> Callable[[str], bool]:
    """A predicate for texts that contain all words of a query. Raises Refusal if the query is too long."""
    if len(query) > MAX_QUERY:
        raise Refusal("refusal.query_too_long", field="q", length=len(query), max=MAX_QUERY)
    words = query.casefold().split()
    return lambda text: all(word in text.casefold() for word in words)


async def all_instants(me: Participant, language: str) -> AsyncIterator[Found]:
    """Everything that a participant may find, in no order."""
    classroom, viewer = me.classroom, Viewer(me.source, me.role)
    for chapter in await shown_chapters(classroom, language):
        yield Found(chapter["at_us"], "chapter", chapter["title"])
    for poll in await look_into(classroom, lambda playback: playback.asked_polls()):
        yield Found(poll["at_us"], "poll", poll["title"])
    for asked in await look_into(classroom, lambda playback: playback.questions(viewer)):
        yield Found(asked["at_us"], "question", asked["text"])
    for note in await notes_of(me):
        yield Found(note["at_us"], "note", note["text"])
    for spoken in LANGUAGES:
        for cue in await captions_of(classroom, spoken):
            yield Found(cue.from_us, "caption", cue.text, spoken)
    class_map = await look_into(classroom, lambda playback: playback.map)
    for address, last_seq in (await look_into(classroom, shown_ends)).items():
        with suppress(Refusal):  # no copy of its run was made
            recording = await recording_of(classroom, address, last_seq)
            number = class_map.number_of(address)
            look = partial(_of_lab, recording, class_map, number, last_seq, language)
            for one in await asyncio.to_thread(lambda look: list(look()), look):
                yield one


def _of_lab(recording: Recording, class_map: ClassMap, number: int, last_seq: int, language: str) -> Iterator[Found]:
    """Commands and marks, each at the instant at which the class first saw it."""
    for seq, lab_us, line in commands_of(recording.inputs()):
        # The result of a command is in the next event.
        shown = class_map.first_shown(number, seq + 1, lab_us) if seq < last_seq else None
        if shown is not None:
            yield Found(shown, "command", line)
    for mark in history.marks(recording.segments()):
        shown = class_map.first_shown(number, mark.seq, mark.at_us) if mark.seq <= last_seq else None
        if shown is not None:
            yield Found(shown, "event", sentence(recording.events(mark.seq, mark.seq)[0][4], language), language)
