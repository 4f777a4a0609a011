"""Starts, ends and deletes classes."""

import re
from collections.abc import Mapping
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from lab import selectors
from lab.actions.classes.door import close_door, is_lesson, open_door
from lab.actions.start_run import new_slug
from lab.classroom.codes import draw_link_key
from lab.classroom.names import checked_nickname, free_nickname, skeleton_of
from lab.classroom.notices import Notice, tell
from lab.database.write_ahead_log import empty_log
from lab.models import MAX_TITLE_LENGTH, Class, Participant, Presence, Role
from lab.rights import LOCAL_USER, grants, require, rights_changed
from lab.texts.i18n import LANGUAGES
from lab.texts.refusal import Refusal

MAX_CLASSES = 100
"""The most classes of one instructor."""


def start_class(
    user: User,
    form: Mapping[str, str],
    chapters: tuple[str, ...],
    now: datetime,
    settings: Mapping[str, object] | None = None,
) -> Class:
    """Starts a class from a form: `title`; `start`, a slug of `chapters`, `run/branch/seq` or empty; `languages`;
    `admits`. The user is its instructor, p1, and its door is open unless it records a lesson. Raises Refusal.
    """
    require(user, None, "staff")
    title = checked_title(form.get("title", ""))
    chapter, origin = _checked_start(user, form.get("start", ""), chapters)
    with transaction.atomic():
        if user.classes.count() >= MAX_CLASSES:
            raise Refusal("refusal.class_limit", 409, max=MAX_CLASSES)
        made = Class.objects.create(
            slug=new_slug(),
            owner=user,
            title=title,
            chapter=chapter,
            origin=origin,
            languages=[one for one in LANGUAGES if form.get(f"language-{one}")] or list(LANGUAGES),
            admits=form.get("admits") == "on",
            link_key=draw_link_key(),
            state=Class.State.OPEN,
            settings=dict(settings or {}),
        )
        enter_instructor(made, user)
    tell(Notice("class_opened", made.pk, 1))
    if not is_lesson(made):
        open_door(made, now)
    return made


def enter_instructor(classroom: Class, user: User) -> None:
    """Enters the user as p1 of a new class."""
    name = _name_of_instructor(user)
    Participant.objects.create(
        classroom=classroom,
        number=1,
        user=user,
        is_guest=False,
        role=Role.INSTRUCTOR,
        nickname=name,
        skeleton=skeleton_of(name),
    )


def end_class(classroom: Class, now: datetime) -> None:
    """Ends a class: closes its door and revokes the rights that it granted. Runs stay with their owners."""
    close_door(classroom)
    classroom.state, classroom.ended_at = Class.State.ENDED, now
    classroom.save(update_fields=["state", "ended_at"])
    grants.end_class(classroom.pk)
    tell(Notice("class_ended", classroom.pk))


def delete_class(classroom: Class) -> None:
    """Deletes a class with all names and texts, and its guests. People with accounts keep their runs."""
    grants.end_class(classroom.pk)
    guests = list(classroom.participants.filter(is_guest=True).values_list("user_id", flat=True))
    with transaction.atomic():
        # A guest without runs is deleted; one with runs keeps them, and the cookie becomes invalid with the class.
        User.objects.filter(pk__in=[one for one in guests if one], runs__isnull=True).delete()
        classroom.delete()
    empty_log()
    rights_changed()


def checked_title(title: str) -> str:
    """A title without surrounding space. Raises Refusal for an empty or long one."""
    title = " ".join(title.split())
    if not title:
        raise Refusal("refusal.class_title_missing", field="title", max=MAX_TITLE_LENGTH)
    if len(title) > MAX_TITLE_LENGTH:
        raise Refusal("refusal.class_title_too_long", field="title", length=len(title), max=MAX_TITLE_LENGTH)
    return title


def _checked_start(user: User, start: str, chapters: tuple[str, ...]) -> tuple[str, str]:
    """(slug of a chapter or lesson, instant of a run): one of them, or neither."""
    start = start.strip()
    if not start or start in chapters:
        return start, ""
    found = re.fullmatch(r"(?:.*/r/)?([\w-]{1,16})/([\w-]{1,32})(?:/|\?seq=)(\d{1,18})", start)
    if found is None:
        raise Refusal("refusal.class_start_unknown", field="start", start=start[:80])
    try:
        selectors.branch_of(user, found[1], found[2], "fork")
    except Refusal as refusal:
        raise Refusal("refusal.class_start_unknown", refusal.status, field="start", start=start[:80]) from refusal
    return "", "/".join(found.groups())


def _name_of_instructor(user: User) -> str:
    if user.username == LOCAL_USER:
        return free_nickname("Instructor", ())
    try:
        return checked_nickname(user.get_full_name() or user.get_username())
    except Refusal:
        return free_nickname("Instructor", ())


def members_of(classroom: Class) -> list[Participant]:
    """All current and former participants, by number."""
    gone = (Presence.MERGED, Presence.ERASED)
    return list(classroom.participants.exclude(presence__in=gone).select_related("user", "run", "claims"))
