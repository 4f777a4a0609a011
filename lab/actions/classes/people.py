"""Participant actions of staff: admit, rename, assign roles, remove; and erasing a person."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from lab.actions.classes.live_class import class_folder
from lab.classroom.names import checked_nickname, free_nickname, skeleton_of
from lab.classroom.notices import Notice, tell
from lab.classroom.recorded.notes import forget_notes
from lab.classroom.recorded.sealed import forget_words
from lab.database.write_ahead_log import empty_log
from lab.learning.log import delete_history
from lab.models import Class, Participant, Presence, Role
from lab.rights import rights_changed
from lab.texts.refusal import Refusal


def admit(participant: Participant, by: Participant) -> None:
    """Admits a waiting participant. Raises Refusal if they are not waiting."""
    if participant.presence != Presence.WAITING:
        raise Refusal("refusal.not_waiting", 409, number=participant.number)
    participant.presence, participant.claims = Presence.IN, None
    participant.save(update_fields=["presence", "claims"])
    tell(Notice("joined", participant.classroom_id, participant.number, by.number))


def admit_all(classroom: Class, by: Participant) -> int:
    """Admits all waiting participants who do not claim an earlier identity; returns their number."""
    waiting = list(classroom.participants.filter(presence=Presence.WAITING, claims__isnull=True))
    for one in waiting:
        admit(one, by)
    return len(waiting)


def accept_claim(waiting: Participant, by: Participant, now: datetime) -> Participant:
    """Accepts the claimed identity of a waiting person: they get that participant's place and lab. Earlier cookies and
    sockets become invalid. Raises Refusal if no participant is claimed, or the staff member may not decide about them.
    """
    with transaction.atomic():
        waiting.refresh_from_db()
        target = waiting.claims
        if waiting.presence != Presence.WAITING or target is None:
            raise Refusal("refusal.not_waiting", 409, number=waiting.number)
        guest = waiting.user
        waiting.presence, waiting.user, waiting.nickname, waiting.skeleton = Presence.MERGED, None, "", ""
        waiting.key_hash = ""
        waiting.save()
        if guest is not None and waiting.is_guest:
            guest.delete()
        target.epoch += 1
        target.presence, target.seen_at = Presence.IN, now
        target.save(update_fields=["epoch", "presence", "seen_at"])
        target.passes.all().delete()
    _recheck(target)
    tell(Notice("came_back", target.classroom_id, target.number, by.number))
    return target


def rename(participant: Participant, name: str, by: Participant) -> None:
    """Changes a nickname. Raises Refusal if it is not allowed."""
    wanted = checked_nickname(name)
    with transaction.atomic():
        others = participant.classroom.participants.exclude(pk=participant.pk).exclude(skeleton="")
        shown = free_nickname(wanted, others.values_list("skeleton", flat=True))
        participant.nickname, participant.skeleton = shown, skeleton_of(shown)
        participant.save(update_fields=["nickname", "skeleton"])
    _recheck(participant)
    tell(Notice("renamed", participant.classroom_id, participant.number, by.number))


def give_role(participant: Participant, role: str, by: Participant) -> None:
    """Assigns a role. Raises Refusal for an unknown role, and for the class's instructor."""
    if role not in Role.values or role == Role.INSTRUCTOR or participant.role == Role.INSTRUCTOR:
        raise Refusal("refusal.role_not_given", field="role", role=role[:40])
    participant.role = role
    participant.save(update_fields=["role"])
    _recheck(participant)
    tell(Notice("role_given", participant.classroom_id, participant.number, by.number, role))


def kick(participant: Participant, by: Participant) -> None:
    """Removes a participant: their sockets are closed, and neither code nor key lets them in again. They keep their
    lab. Raises Refusal for the instructor.
    """
    if participant.role == Role.INSTRUCTOR:
        raise Refusal("refusal.instructor_stays", 409)
    participant.presence = Presence.KICKED
    participant.save(update_fields=["presence"])
    participant.passes.all().delete()
    _recheck(participant)
    tell(Notice("kicked", participant.classroom_id, participant.number, by.number))


def let_back(participant: Participant, by: Participant) -> None:
    """Allows a removed participant to come back."""
    if participant.presence != Presence.KICKED:
        raise Refusal("refusal.not_removed", 409, number=participant.number)
    participant.presence = Presence.IN
    participant.save(update_fields=["presence"])
    _recheck(participant)
    tell(Notice("let_back", participant.classroom_id, participant.number, by.number))


def erase(participant: Participant, by: Participant) -> None:
    """Erases the name, keys, cookies and texts of a person immediately, also from the recording of the class, which has
    to be sealed again if it shows their lab, and a guest's learning history. A guest's user is anonymous anyway and
    keeps its runs until they are deleted; without runs it is deleted. Raises Refusal for the instructor.
    """
    if participant.role == Role.INSTRUCTOR:
        raise Refusal("refusal.instructor_stays", 409)
    user = participant.user
    with transaction.atomic():
        # A lab that was deleted meanwhile must not be written back.
        participant.refresh_from_db(fields=["run"])
        participant.passes.all().delete()
        texts = set(participant.texts.values_list("number", flat=True))
        participant.texts.all().delete()
        participant.nickname = participant.skeleton = participant.key_hash = ""
        participant.epoch += 1
        participant.presence, participant.user = Presence.ERASED, None
        participant.save()
        user_id = user.pk if user is not None else None
        if user is not None and participant.is_guest and not user.runs.exists():
            user.delete()
    empty_log()
    if user_id is not None and participant.is_guest:
        delete_history(user_id)
    if user_id is not None:
        rights_changed([user_id])
    folder = class_folder(participant.classroom.slug)
    forget_words(folder, participant.source, texts)
    forget_notes(folder, participant.source)
    tell(Notice("erased", participant.classroom_id, participant.number, by.number))


def _recheck(participant: Participant) -> None:
    if participant.user_id is not None:
        rights_changed([participant.user_id])


def expired_guests(now: datetime) -> list[Participant]:
    """The guests of classes that ended longer ago than `GUEST_DAYS`."""
    ended = now - timedelta(days=settings.GUEST_DAYS)
    found = Participant.objects.filter(
        # Viewers of a recorded lesson join after its end.
        is_guest=True,
        user__isnull=False,
        classroom__ended_at__lte=ended,
        joined_at__lte=ended,
    )
    return list(found.select_related("user", "classroom"))
