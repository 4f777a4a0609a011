"""Time limits after a class: events off the record are removed from the class's own log first, a day after the end the
whole log, and later the recording and the guests. Tables follow.
"""

import asyncio
import logging
from collections.abc import Awaitable, Iterable
from datetime import datetime, timedelta
from pathlib import Path

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from lab.actions.classes.live_class import class_folder, live_classes
from lab.actions.classes.people import erase, expired_guests
from lab.actions.classes.recordings import STAGE, sealed_of
from lab.actions.classes.seal_class import seal_again
from lab.actions.classes.shown_labs import close_labs
from lab.actions.control_exercise import end_exercises
from lab.actions.delete_run import delete_run
from lab.actions.keep_tables import erase_from_tables, keep_tables
from lab.analytics.build.people import pseudonym
from lab.analytics.rounds import rounds
from lab.classroom.recorded.retention import finish_keeping, forget_off_record, keep_sealed_log, remove_recording
from lab.models import Class, Participant
from lab.runtime.host import host
from lab.texts.refusal import Refusal

logger = logging.getLogger(__name__)

EVERY_S = 3_600
LOG_KEPT = timedelta(hours=24)
_SILENCED = "silenced"
"""In a class's settings: its log does not tell any more what was off the record."""
_UNSEALED = "unsealed"
"""In a class's settings: people were erased whom its recording may still contain."""


async def keep_time_limits() -> None:
    """Applies them now and once an hour, until it is cancelled."""
    while True:
        for apply in (apply_time_limits, erase_expired):
            try:
                await apply(timezone.now())
            except Exception:
                logger.exception("the time limits of classes could not be applied")
        await _attempt(keep_tables(), "the time limits of tables could not be applied")
        await asyncio.sleep(EVERY_S)


async def erase_expired(now: datetime) -> None:
    """Erases the guests of classes that ended longer ago than `GUEST_DAYS`. A failure does not stop the others."""
    expired: dict[Class, list[Participant]] = {}
    for guest in await sync_to_async(expired_guests)(now):
        expired.setdefault(guest.classroom, []).append(guest)
    for classroom, guests in expired.items():
        people = _pseudonyms(guests)
        await _note(classroom, _UNSEALED, True)
        for guest in guests:
            await _attempt(_erase(guest, guest), f"guest {guest.source} of class {classroom.slug} could not be erased")
        await _attempt(erase_from_tables(people), f"guests of class {classroom.slug} may still be in tables")
    # Once for all of a class, whose whole log that reads; and again after a failure or a restart.
    for classroom in [one async for one in Class.objects.filter(settings__unsealed=True)]:
        await _attempt(_seal(classroom), f"class {classroom.slug} could not be sealed without those who were erased")


async def _attempt(doing: Awaitable[None], failure: str) -> None:
    try:
        await doing
    except Exception:
        logger.exception(failure)


async def erase_person(chosen: Participant, by: Participant) -> None:
    """Erases a person, also from the recording and the tables. Raises Refusal if tables may still contain them."""
    people = _pseudonyms([chosen])
    await _note(chosen.classroom, _UNSEALED, True)
    await _erase(chosen, by)
    try:
        await _seal(chosen.classroom)
    finally:
        rounds().forget(chosen.classroom.slug)
        await erase_from_tables(people)


def _pseudonyms(people: Iterable[Participant]) -> set[str]:
    return {pseudonym(Path(settings.DATA), one.user_id) for one in people if one.user_id is not None}


async def _seal(classroom: Class) -> None:
    await seal_again(classroom)
    await _note(classroom, _UNSEALED, False)


async def _erase(chosen: Participant, by: Participant) -> None:
    """A guest's runs are deleted as well, since they could no longer be accessed."""
    user = chosen.user
    if user is not None and chosen.is_guest:
        await end_exercises(host().labs(), user)
        async for run in user.runs.all():
            await delete_run(host(), run, confirmed=True)
    await sync_to_async(erase)(chosen, by)


async def apply_time_limits(now: datetime) -> None:
    """To all classes that have ended."""
    ended = Class.objects.filter(state=Class.State.ENDED, ended_at__lte=now)
    for classroom in [one async for one in ended]:
        assert classroom.ended_at is not None
        folder, stage = class_folder(classroom.slug), classroom.settings.get(STAGE, "")
        await asyncio.to_thread(finish_keeping, folder)
        if not stage and not classroom.settings.get(_SILENCED) and await sealed_of(classroom) is not None:
            await live_classes().close_class(classroom.slug)
            await asyncio.to_thread(forget_off_record, folder)
            await _note(classroom, _SILENCED, True)
        if classroom.ended_at > now - LOG_KEPT:
            continue
        days = settings.RECORDING_DAYS
        is_over = bool(days) and classroom.ended_at + timedelta(days=days) <= now
        if not stage and await sealed_of(classroom) is not None:
            await live_classes().close_class(classroom.slug)
            await asyncio.to_thread(keep_sealed_log, folder)
            await _note(classroom, STAGE, "kept")
        if is_over and stage != "deleted":
            await close_labs(classroom.slug)
            await asyncio.to_thread(remove_recording, folder)
            await _note(classroom, STAGE, "deleted")


def is_recording_deleted(classroom: Class) -> bool:
    """Whether the retention time of a class's recording is over."""
    return bool(classroom.settings.get(STAGE) == "deleted")


def ensure_recorded(classroom: Class) -> None:
    """Raises Refusal (404) if the recording was deleted after its retention time."""
    if is_recording_deleted(classroom):
        raise Refusal("refusal.recording_deleted", 404, title=classroom.title, days=settings.RECORDING_DAYS)


async def _note(classroom: Class, name: str, value: str | bool) -> None:
    await sync_to_async(_write_setting)(classroom, name, value)


def _write_setting(classroom: Class, name: str, value: str | bool) -> None:
    """Other settings of the class may have changed since it was read."""
    with transaction.atomic():
        classroom.refresh_from_db(fields=["settings"])
        classroom.settings = {**classroom.settings, name: value}
        classroom.save(update_fields=["settings"])
