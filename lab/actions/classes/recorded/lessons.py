"""A recorded lesson: a class with one participant that never opens its door. Its recording is shared by a link.

An instructor leads with a lab, speaks, draws and sets chapters, as in a class. When the recording is finished, people
with the link can watch it: they become learners, and may take over.
"""

from collections.abc import Mapping
from datetime import datetime

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import transaction

from lab.actions.classes.door import RECORDS_LESSON, is_lesson
from lab.actions.classes.give_labs import open_labs
from lab.actions.classes.join_class import enrol, names_taken
from lab.actions.classes.keep_recordings import is_recording_deleted
from lab.actions.classes.live_class import live_classes
from lab.actions.classes.recordings import is_imported
from lab.actions.classes.start_class import start_class
from lab.classroom.acts import Given, ops
from lab.classroom.names import offered_nickname
from lab.models import Class, Participant, Presence
from lab.runtime.host import Host
from lab.selectors import MAIN
from lab.texts.refusal import Refusal

MAX_WATCHING = 10_000
"""Guests of one recording."""


async def record_lesson(
    host: Host, user: User, form: Mapping[str, str], chapters: tuple[str, ...], language: str, now: datetime
) -> Class:
    """Begins a recording with a lab of the user's own, which is shown from the first instant on. Raises Refusal."""
    made = await sync_to_async(start_class)(user, form, chapters, now, settings={RECORDS_LESSON: True})
    await open_labs(host, user, made, language)
    me = await made.participants.select_related("run").aget(number=1)
    assert me.run is not None, "it was given a moment ago"
    live = await live_classes().of(made)
    await live.mirror()
    await live.room.do(Given(me.source, ops.TakeLead(f"{me.run.slug}/{MAIN}")))
    return made


def lesson_of_link(key: str) -> Class:
    """The recorded lesson, or the imported recording, of a link. Raises Refusal (404), the same for a link that never
    was, a recording that is not finished, and one that was deleted.
    """
    found = Class.objects.filter(link_key=key, state=Class.State.ENDED).first()
    if found is None or not (is_lesson(found) or is_imported(found)) or is_recording_deleted(found):
        raise Refusal("refusal.no_lesson_link", 404)
    return found


def watch(classroom: Class, user: User | None, language: str, now: datetime) -> Participant:
    """The viewer of a recorded lesson: a participant with a generated name, a guest if there is no user. Raises
    Refusal: 404 if removed, 409 if there are too many guests.
    """
    with transaction.atomic():
        # Unique numbers, even for simultaneous viewers.
        classroom = Class.objects.select_for_update().get(pk=classroom.pk)
        known = classroom.participants.filter(user=user).first() if user is not None else None
        if known is not None:
            if known.presence == Presence.KICKED:
                raise Refusal("refusal.no_lesson_link", 404)
            if known.presence == Presence.LEFT:
                known.presence = Presence.IN
                known.save(update_fields=["presence"])
            return known
        if user is None and classroom.participants.filter(is_guest=True).count() >= MAX_WATCHING:
            raise Refusal("refusal.class_full", 409, max=MAX_WATCHING)
        nickname = offered_nickname(language, names_taken(classroom))
        return enrol(classroom, user, nickname, language, now)
