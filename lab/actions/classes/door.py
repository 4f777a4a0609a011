"""The door of a class: open for some minutes or until it is closed, with a code and a link; and whether people wait."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from lab.classroom.codes import draw_code, draw_link_key
from lab.classroom.notices import Notice, tell
from lab.models import Class
from lab.texts.refusal import Refusal

DOOR_MINUTES = 15
RECORDS_LESSON = "records_lesson"
"""In the settings of a class of one, which records a lesson."""
DOOR_FIELDS = ("state", "door_is_open", "door_until", "admits")
"""What decides whether people may come in, and whether they wait."""


def is_lesson(classroom: Class) -> bool:
    """Whether a class records a lesson, which cannot be joined."""
    return bool(classroom.settings.get(RECORDS_LESSON))


def open_door(classroom: Class, now: datetime, *, stays: bool = False) -> None:
    """Opens the door: people may join with the code for 15 minutes, or until the door is closed. Raises Refusal if the
    class has ended or records a lesson.
    """
    if is_lesson(classroom):
        raise Refusal("refusal.lesson_without_door", 409, title=classroom.title)
    with transaction.atomic():
        classroom.refresh_from_db()
        if classroom.state == Class.State.ENDED:
            raise Refusal("refusal.class_ended", 409, title=classroom.title)
        _close_expired(now)
        if classroom.code is None or not is_open(classroom, now):
            classroom.code = draw_code(lambda code: Class.objects.filter(code=code).exists())
        classroom.door_is_open = True
        classroom.door_until = None if stays else now + timedelta(minutes=DOOR_MINUTES)
        classroom.save(update_fields=["code", "door_is_open", "door_until"])
    tell(Notice("door_opened", classroom.pk))


def close_door(classroom: Class) -> None:
    """Closes the door: joining by code or link is no longer possible, and the code becomes invalid. Participants stay,
    and come back without a code.
    """
    classroom.code, classroom.door_is_open, classroom.door_until = None, False, None
    classroom.save(update_fields=["code", "door_is_open", "door_until"])
    tell(Notice("door_closed", classroom.pk))


def renew_code(classroom: Class, now: datetime) -> None:
    """Another code and another link; those of before are void."""
    with transaction.atomic():
        classroom.refresh_from_db()
        _close_expired(now)
        classroom.link_key = draw_link_key()
        if is_open(classroom, now):
            classroom.code = draw_code(lambda code: Class.objects.filter(code=code).exists())
        classroom.save(update_fields=["code", "link_key"])
    tell(Notice("code_renewed", classroom.pk))


def set_admits(classroom: Class, admits: bool) -> None:
    """Whether people wait until staff let them in."""
    classroom.admits = admits
    classroom.save(update_fields=["admits"])
    tell(Notice("door_changed", classroom.pk))


def is_open(classroom: Class, now: datetime) -> bool:
    """Whether new participants may join at this instant."""
    if classroom.state == Class.State.ENDED or not classroom.door_is_open:
        return False
    return classroom.door_until is None or now < classroom.door_until


def class_of_code(code: int | None, now: datetime) -> Class:
    """The class of a code. Raises Refusal, the same for a code that does not exist and for a closed door."""
    found = Class.objects.filter(code=code).first() if code is not None else None
    if found is None or not is_open(found, now):
        raise Refusal("refusal.no_class_code", 404, field="code")
    return found


def class_of_link(key: str) -> Class | None:
    """The class of a link, whether its door is open or not."""
    return Class.objects.filter(link_key=key).first()


def ensure_open(linked: Class | None, now: datetime) -> Class:
    """The class of a link, if its door is open. Raises Refusal as `class_of_code`."""
    if linked is None or not is_open(linked, now):
        raise Refusal("refusal.no_class_link", 404)
    return linked


def _close_expired(now: datetime) -> None:
    """Codes of doors that have closed by themselves are free again."""
    Class.objects.filter(Q(door_until__lte=now) | Q(state=Class.State.ENDED), code__isnull=False).update(
        code=None, door_is_open=False, door_until=None
    )
