"""Joining with a name, and coming back: by key, by pass, or as confirmed by staff."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from lab.actions.classes.door import DOOR_FIELDS, is_open
from lab.classroom.codes import PASS_SIGNS, RETURN_KEY_SIGNS, draw_key, key_hash, parsed_key
from lab.classroom.names import checked_nickname, free_nickname, offered_nickname, skeleton_of
from lab.classroom.notices import Notice, tell
from lab.classroom.state import MAX_PEOPLE
from lab.learning.log import append, delete_history, history_of
from lab.models import Class, Consent, DevicePass, Participant, Presence, Role
from lab.rights import rights_changed
from lab.texts.refusal import Refusal

PASS_MINUTES = 5
MAX_PARTICIPANTS = 1_000
MAX_WAITING = 200
"""Maximum per class: each waiting participant has a row in the database, and staff could not review more."""


@dataclass(frozen=True)
class Joined:
    """A new participant, and the return key, which is not stored."""

    participant: Participant
    return_key: str


def join_class(
    classroom: Class, user: User | None, name: str, consent: str, language: str, now: datetime, claims: str = ""
) -> Joined:
    """A new participant: of an account, or a guest. An empty name is replaced with a suggested one; `claims` is the
    name that the person claims to have had. Raises Refusal for a closed door, an invalid name, an unknown choice, and a
    full class.
    """
    if consent not in Consent.values:
        raise Refusal("refusal.unknown_consent", field="consent", choice=consent[:40])
    wanted = checked_nickname(name) if name.strip() else ""
    key = draw_key(RETURN_KEY_SIGNS)
    with transaction.atomic():
        classroom.refresh_from_db(fields=DOOR_FIELDS)
        if not claims and not is_open(classroom, now):
            raise Refusal("refusal.no_class_link", 404)
        if user is not None and (known := classroom.participants.filter(user=user).first()):
            return Joined(known, "")
        waits = classroom.admits or bool(claims)
        last = _ensure_few(classroom, waits)
        shown = _free_name(classroom, wanted) if wanted else offered_name_in(classroom, language)
        made = enrol(
            classroom,
            user,
            shown,
            language,
            now,
            consent=consent,
            presence=Presence.WAITING if waits else Presence.IN,
            key_hash=key_hash("return", classroom.slug, key),
            claims=named(classroom, claims) if claims else None,
            number=last + 1,
        )
    tell(Notice("waiting" if waits else "joined", classroom.pk, made.number))
    return Joined(made, key)


def enrol(
    classroom: Class, user: User | None, nickname: str, language: str, now: datetime, *, number: int = 0, **fields: Any
) -> Participant:
    """Stores a participant under a number of a class, 0: the next one; a guest if there is no user. Call it in a
    transaction that has locked the class.
    """
    number = number or _last_number(classroom) + 1
    return Participant.objects.create(
        classroom=classroom,
        number=number,
        user=user or make_guest(),
        is_guest=user is None,
        nickname=nickname,
        skeleton=skeleton_of(nickname),
        language=language,
        joined_at=now,
        seen_at=now,
        **fields,
    )


def claim_name(classroom: Class, name: str, language: str, now: datetime) -> Joined:
    """A person without cookie and key claims to be an earlier participant. They wait, under a suggested name, until
    staff decide; the response does not reveal whether the claimed name exists. Raises Refusal like `join_class`.
    """
    if classroom.state == Class.State.ENDED:
        raise Refusal("refusal.class_ended", 409, title=classroom.title)
    asked = checked_nickname(name)
    return join_class(classroom, None, "", Consent.NUMBER, language, now, claims=asked)


def named(classroom: Class, name: str) -> Participant | None:
    """The participant of a name. Staff have accounts and cannot be claimed."""
    learners = classroom.participants.filter(role__in=(Role.LEARNER, Role.OBSERVER), is_guest=True)
    return learners.filter(skeleton=skeleton_of(name), presence__in=(Presence.IN, Presence.LEFT)).first()


def offered_name_in(classroom: Class, language: str) -> str:
    """A name of two words that nobody in the class has."""
    return _free_name(classroom, offered_nickname(language, ()))


def _free_name(classroom: Class, name: str) -> str:
    """The name, or `Ada 2` if it is taken. The names of hundreds are read only then."""
    is_taken = classroom.participants.filter(skeleton=skeleton_of(name)).exists()
    return free_nickname(name, names_taken(classroom)) if is_taken else name


def names_taken(classroom: Class) -> set[str]:
    """The skeletons of all names in a class."""
    return set(classroom.participants.exclude(skeleton="").values_list("skeleton", flat=True))


def return_by_key(classroom: Class, typed: str, now: datetime) -> Participant:
    """The participant of a return key. Raises the same Refusal for a wrong key and for a removed participant."""
    key = parsed_key(typed, RETURN_KEY_SIGNS)
    hashed = key_hash("return", classroom.slug, key) if key else ""
    found = classroom.participants.filter(key_hash=hashed).first() if hashed else None
    if found is None or found.presence not in (Presence.IN, Presence.LEFT, Presence.WAITING):
        raise Refusal("refusal.wrong_return_key", 404, field="key")
    _came_back(found, now)
    return found


def renew_return_key(participant: Participant) -> str:
    """Another return key; that of before is void."""
    key = draw_key(RETURN_KEY_SIGNS)
    participant.key_hash = key_hash("return", participant.classroom.slug, key)
    participant.save(update_fields=["key_hash"])
    return key


def make_pass(participant: Participant, now: datetime) -> str:
    """Eight signs that let the participant continue on another device: once, for five minutes. Those of before are
    void.
    """
    key = draw_key(PASS_SIGNS)
    with transaction.atomic():
        participant.passes.all().delete()
        DevicePass.objects.create(
            participant=participant,
            code_hash=key_hash("pass", "", key),
            expires_at=now + timedelta(minutes=PASS_MINUTES),
        )
    return key


def use_pass(typed: str, now: datetime) -> Participant:
    """The participant of a pass, which is void from now on. Raises Refusal, the same for a wrong, used and old one."""
    key = parsed_key(typed, PASS_SIGNS)
    with transaction.atomic():
        found = DevicePass.objects.filter(code_hash=key_hash("pass", "", key)).first() if key else None
        if found is not None:
            found.delete()
    if found is None or found.expires_at <= now:
        raise Refusal("refusal.wrong_pass", 404, field="pass")
    participant = found.participant
    if participant.presence not in (Presence.IN, Presence.LEFT, Presence.WAITING):
        raise Refusal("refusal.wrong_pass", 404, field="pass")
    _came_back(participant, now)
    return participant


def keep_with_account(participant: Participant, account: User) -> None:
    """Moves a guest to an account, with their runs, progress and entries, and their learning history if the account has
    none; the cookie becomes invalid. Raises Refusal if the account already takes part.
    """
    guest = participant.user
    with transaction.atomic():
        if participant.classroom.participants.filter(user=account).exists():
            raise Refusal("refusal.account_takes_part", 409)
        participant.user, participant.is_guest, participant.key_hash = account, False, ""
        participant.epoch += 1
        participant.save()
        if guest is not None:
            for rows in (guest.runs, guest.bookmarks):
                rows.update(owner=account)
            for own in (guest.progress, guest.challenge_entries):
                own.update(user=account)
            guest_id = guest.pk
            guest.delete()
            if not history_of(account.pk):
                for one in history_of(guest_id):
                    append(account.pk, one.event, one.at_ms)
            delete_history(guest_id)
    if guest is not None:
        # Sockets read their rights in another thread, which sees what is committed.
        rights_changed([guest_id])


def leave_class(participant: Participant) -> None:
    """The participant leaves, and may come back by key or account."""
    if participant.presence == Presence.IN and participant.role != Role.INSTRUCTOR:
        participant.presence = Presence.LEFT
    # Cookies on every device end.
    participant.epoch += 1
    participant.save(update_fields=["presence", "epoch"])
    participant.passes.all().delete()
    if participant.user_id is not None:
        rights_changed([participant.user_id])
    tell(Notice("left", participant.classroom_id, participant.number, participant.number))


def _came_back(participant: Participant, now: datetime) -> None:
    if participant.presence == Presence.LEFT:
        participant.presence = Presence.IN
    participant.seen_at = now
    participant.save(update_fields=["presence", "seen_at"])
    tell(Notice("came_back", participant.classroom_id, participant.number, participant.number))


def _ensure_few(classroom: Class, waits: bool) -> int:
    """The last number of the class. Raises Refusal if there are too many in it, or with those who have left."""
    last = _last_number(classroom)
    if last >= MAX_PEOPLE:
        raise Refusal("refusal.class_many_joined", 409, max=MAX_PEOPLE)
    # Numbers are unique, so the rows are counted only when a limit may have been reached.
    if last >= MAX_PARTICIPANTS and _count(classroom, Presence.IN) >= MAX_PARTICIPANTS:
        raise Refusal("refusal.class_full", 409, max=MAX_PARTICIPANTS)
    if waits and last >= MAX_WAITING and _count(classroom, Presence.WAITING) >= MAX_WAITING:
        raise Refusal("refusal.class_queue_full", 409, max=MAX_WAITING)
    return last


def _last_number(classroom: Class) -> int:
    return classroom.participants.order_by("-number").values_list("number", flat=True).first() or 0


def _count(classroom: Class, presence: Presence) -> int:
    return classroom.participants.filter(presence=presence).count()


def make_guest() -> User:
    """A user without name and password: they are known by a cookie, and by nothing else."""
    guest = User(username=f"guest-{secrets.token_hex(10)}")
    guest.set_unusable_password()
    guest.save()
    return guest
