"""Decides who may do what.

`may(person, thing, right)` answers for a run (or one of its branches), a class, a participant, and the site (None).

| right | of a run | of a class | of a participant | of the site |
|---|---|---|---|---|
| see | watch it, read its files and history | receive its events | their name | the pages of a user |
| ask | - | ask, back a question, set a mark, follow | - | - |
| act | commands, exercises, bookmarks | have a lab, vote, raise a hand | what they do themselves | start runs |
| time | play, pause, step | pause all | - | - |
| fork | go another way from an instant of it | take a state that is given | - | - |
| export | derive data sets from it | take its recording away | - | their own data |
| staff | - | lead, admit, poll, look | admit, rename, kick | teach classes |
| own | rename, delete | end, delete, give roles | - | - |

The rights to a class follow from the role (lab/class_rights.py). Temporary rights of a participant (the stage, the
lead, a look, help) are `Grant`s, granted and revoked by the code that writes the event about it; `rights_changed` then
checks every open socket again.
"""

import threading
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet
from django.http import HttpRequest

from lab.class_rights import OF_ROLE, Right
from lab.models import Branch, Class, Participant, Presence, Role, Run
from lab.texts.refusal import Refusal

LOCAL_USER = "learner"
"""The one user of a lab on loopback, whom the token of the start signs in."""

Person: TypeAlias = User | AnonymousUser
Thing: TypeAlias = Run | Branch | Class | Participant | None
Audience = Literal["all", "staff"]

_OF_RUN: frozenset[Right] = frozenset(("see", "act", "time", "fork", "export", "own"))
_NONE: frozenset[Right] = frozenset()


async def user_of(request: HttpRequest) -> User:
    """The signed-in user of a request. Raises Refusal (401) if there is none."""
    user = await request.auser()
    if not isinstance(user, User):
        raise Refusal("refusal.not_signed_in", 401)
    return user


def may(person: Person, thing: Thing, right: Right) -> bool:
    """Whether a person has a right. Reads the database; call it from a thread that may."""
    return right in rights_of(person, thing)


def rights_of(person: Person, thing: Thing) -> frozenset[Right]:
    """All rights of a person to a thing."""
    if not isinstance(person, User) or not person.is_active:
        return _NONE
    if thing is None:
        return _of_site(person)
    if isinstance(thing, Branch):
        return _of_run(person, thing.run)
    if isinstance(thing, Run):
        return _of_run(person, thing)
    if isinstance(thing, Class):
        return _of_class(person, thing)
    return _of_participant(person, thing)


def knows_of(person: Person, thing: Run | Branch) -> bool:
    """Whether a person may know of a run: it is theirs, they are staff of its class, or it is shown to them."""
    run = thing.run if isinstance(thing, Branch) else thing
    if rights_of(person, run):
        return True
    membership = _membership(person, run.classroom_id)
    return membership is not None and membership.is_staff


def require(person: Person, thing: Thing, right: Right, missing: Refusal | None = None) -> frozenset[Right]:
    """All rights of a person to a thing. Raises Refusal without this one: `missing` (404) if the person may not know
    that the thing exists, otherwise 403.
    """
    rights = rights_of(person, thing)
    if right in rights:
        return rights
    is_known = bool(rights) or (isinstance(thing, Run | Branch) and knows_of(person, thing))
    if missing is not None and not is_known:
        raise missing
    raise Refusal("refusal.not_allowed", 403)


def membership_of(person: Person, classroom: Class) -> Participant | None:
    """The person's participation in a class, if they are admitted to it. Its user and its class are loaded."""
    found = _membership(person, classroom.pk)
    if found is not None:
        found.classroom = classroom
    return found


def membership_in(person: Person, slug: str) -> Participant | None:
    """The same, in the class of this slug, which is read with it."""
    return _admissions(person).filter(classroom__slug=slug).select_related("classroom").first()


def _membership(person: Person, class_id: int | None) -> Participant | None:
    return None if class_id is None else _admissions(person).filter(classroom_id=class_id).first()


def _admissions(person: Person) -> QuerySet[Participant]:
    """Participations in the classes that a person is admitted to. Their user is loaded."""
    if not isinstance(person, User) or not person.is_active:
        return Participant.objects.none()
    return Participant.objects.filter(user_id=person.pk, presence=Presence.IN).select_related("user")


def _of_site(person: User) -> frozenset[Right]:
    """A guest who was removed from the class keeps existing runs, but cannot start new ones."""
    if person.is_staff:
        return frozenset(("see", "act", "export", "staff"))
    as_guest = Participant.objects.filter(user=person, is_guest=True).first()
    is_in = as_guest is None or as_guest.presence == Presence.IN
    return frozenset(("see", "act", "export")) if is_in else frozenset(("see", "export"))


def _of_run(person: User, run: Run) -> frozenset[Right]:
    if run.owner_id == person.pk:
        return _OF_RUN
    granted = grants.of_run(run.slug)
    if not granted:
        return _NONE
    rights: set[Right] = set()
    members: dict[int, Participant | None] = {}
    for grant in granted:
        if grant.class_id not in members:
            members[grant.class_id] = _membership(person, grant.class_id)
        member = members[grant.class_id]
        if member is not None and grant.reaches(member):
            rights |= grant.rights
    return frozenset(rights)


def _of_class(person: User, classroom: Class) -> frozenset[Right]:
    member = _membership(person, classroom.pk)
    return _NONE if member is None else OF_ROLE[member.role]


def _of_participant(person: User, participant: Participant) -> frozenset[Right]:
    """Staff may do nothing to the instructor, and co-instructors nothing to each other. All know the names of staff."""
    rights: set[Right] = set()
    if participant.user_id == person.pk and participant.presence == Presence.IN:
        rights |= {"see", "act", "export"}
    member = _membership(person, participant.classroom_id)
    if member is not None and (member.is_staff or participant.is_staff):
        rights.add("see")
    if member is not None and member.is_staff and (member.role == Role.INSTRUCTOR or not participant.is_staff):
        rights.add("staff")
    return frozenset(rights)


# For a while


@dataclass(frozen=True)
class Grant:
    """Rights to a run that a class grants and that end with one of its events. `to`: everyone admitted (`all`),
    `staff`, or the number of one participant.
    """

    class_id: int
    run: str
    to: Audience | int
    rights: frozenset[Right]

    def reaches(self, member: Participant) -> bool:
        """Whether it is for this member of the class."""
        match self.to:
            case "all":
                return True
            case "staff":
                return member.is_staff
            case number:
                return member.number == number


class Grants:
    """All grants in force in this process. After a restart the class grants them again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_run: dict[str, list[Grant]] = {}

    def of_run(self, run: str) -> tuple[Grant, ...]:
        """Returns the grants for a run."""
        return tuple(self._by_run.get(run, ()))

    def give(self, grant: Grant) -> None:
        """Adds a grant, and checks open sockets again: a page that shows the run may do more now. One that is granted
        several times has to be revoked as many times.
        """
        with self._lock:
            self._by_run[grant.run] = [*self._by_run.get(grant.run, ()), grant]
        rights_changed(run=grant.run)

    def end(self, grant: Grant) -> None:
        """Ends one, and checks open sockets again."""
        with self._lock:
            left = list(self._by_run.get(grant.run, ()))
            if grant in left:
                left.remove(grant)
            self._keep(grant.run, left)
        rights_changed(run=grant.run)

    def end_class(self, class_id: int) -> None:
        """Ends all that came through a class."""
        with self._lock:
            for run, given in list(self._by_run.items()):
                self._keep(run, [grant for grant in given if grant.class_id != class_id])
        rights_changed()

    def _keep(self, run: str, left: list[Grant]) -> None:
        if left:
            self._by_run[run] = left
        else:
            self._by_run.pop(run, None)


grants = Grants()


class Holder(Protocol):
    """Something that is open on the strength of a right, such as a socket."""

    @property
    def holder_id(self) -> int | None:
        """The id of the holder's user; None while it is being read."""

    def recheck(self) -> None:
        """Asks for its rights again, and ends without them. Must return at once; any thread may call it."""


_holders: dict[Holder, str] = {}
"""What is open, and the run that it shows, if it shows one."""
_holders_lock = threading.Lock()


def hold(holder: Holder, run: str = "") -> None:
    """Registers a holder, which is notified when rights change; `run` is the slug of the run that it shows."""
    with _holders_lock:
        _holders[holder] = run


def let_go(holder: Holder) -> None:
    """The holder is closed."""
    with _holders_lock:
        _holders.pop(holder, None)


def rights_changed(user_ids: Collection[int] | None = None, run: str = "") -> None:
    """Checks the sockets of these users, or of all users, again; with `run`, only those that show it. Sockets without
    the right are closed at once with 4403.
    """
    with _holders_lock:
        concerned = [
            one
            for one, shown in _holders.items()
            if (user_ids is None or one.holder_id is None or one.holder_id in user_ids) and (not run or shown == run)
        ]
    for holder in concerned:
        holder.recheck()
