"""Notes on a recorded class, private or shared."""

import asyncio
import re
from typing import Any

import msgspec

from lab.actions.classes.live_class import class_folder
from lab.actions.classes.recordings import instant_within
from lab.classroom.recorded.notes import MAX_NOTES, MAX_TEXT, OWN, SHARED, StoredNote, add_note, read_notes, remove_note
from lab.models import Participant
from lab.texts.refusal import Refusal

_ID = re.compile(rf"({OWN}|{SHARED})-(\d{{1,9}})")


class NewNote(msgspec.Struct):
    """A note at an instant of class time; `shared`: for the whole class."""

    at_us: int
    text: str
    shared: bool = False


async def notes_of(me: Participant) -> list[dict[str, Any]]:
    """Everything that a participant may read, by time."""
    folder = class_folder(me.classroom.slug)
    own = await asyncio.to_thread(read_notes, folder, me.source)
    notes = [*(_note_json(OWN, one) for one in own), *await shared_notes(me.classroom.slug)]
    return sorted(notes, key=lambda one: one["at_us"])


async def shared_notes(slug: str) -> list[dict[str, Any]]:
    """The notes that staff of a class share with it, by time."""
    return [_note_json(SHARED, one) for one in await asyncio.to_thread(read_notes, class_folder(slug), SHARED)]


async def write_note(me: Participant, note: NewNote) -> dict[str, Any]:
    """Adds a note. Raises Refusal for an invalid text, for too many notes, and if a user who is not staff shares
    one.
    """
    text = note.text.strip()
    if not 1 <= len(text) <= MAX_TEXT:
        raise Refusal("refusal.note_text", field="text", length=len(text), max=MAX_TEXT)
    _ensure_may_share(me, note.shared)
    folder = class_folder(me.classroom.slug)
    whose = SHARED if note.shared else me.source
    at_us = await instant_within(me.classroom, note.at_us)
    added = await asyncio.to_thread(add_note, folder, whose, at_us, text, me.source)
    if added is None:
        raise Refusal("refusal.many_notes", 409, max=MAX_NOTES)
    return _note_json(SHARED if note.shared else OWN, added)


async def delete_note(me: Participant, id: str) -> None:
    """Deletes a note. Raises Refusal for an unknown note, and for a shared one if the user is not staff."""
    found = _ID.fullmatch(id)
    if found is not None:
        is_shared = found[1] == SHARED
        _ensure_may_share(me, is_shared)
        folder = class_folder(me.classroom.slug)
        if await asyncio.to_thread(remove_note, folder, SHARED if is_shared else me.source, int(found[2])):
            return
    raise Refusal("refusal.no_note", 404, id=id[:40])


def _ensure_may_share(me: Participant, is_shared: bool) -> None:
    if is_shared and not me.is_staff:
        raise Refusal("refusal.not_allowed", 403)


def _note_json(whose: str, note: StoredNote) -> dict[str, Any]:
    return {"id": f"{whose}-{note.note}", "at_us": note.at_us, "text": note.text, "shared": whose == SHARED}
