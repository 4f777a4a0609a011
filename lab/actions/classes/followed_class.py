"""What keeps a live class in sync with the database.

The database has the participants and the door; the class records differences from its own state as events. So an
inconsistency after a crash is resolved when the class is opened again.
"""

import asyncio
import logging
from collections.abc import Collection, Iterator, Sequence
from http import HTTPStatus

from asgiref.sync import sync_to_async
from django.utils import timezone

from lab.actions.classes.lessons.start import begun, start_of
from lab.classroom.acts import Given
from lab.classroom.acts.facts import AnyFact, EndClass, Rename, SetDoor, SetPerson
from lab.classroom.audience import Viewer
from lab.classroom.events import ROOM
from lab.classroom.frames import Alarm
from lab.classroom.notices import Notice
from lab.classroom.room import Room
from lab.classroom.words import ClassWords
from lab.models import Class, Participant, Presence, source_name
from lab.protocol.frames import encode
from lab.selectors import MAIN
from lab.texts.refusal import Refusal

logger = logging.getLogger(__name__)

US = 1_000_000
FOLLOW_PACE_S = 0.15
"""Minimum interval between two updates after changes of the database: hundreds may join within seconds."""
_STANDING = {
    Presence.IN: "in",
    Presence.WAITING: "waiting",
    Presence.LEFT: "left",
    Presence.KICKED: "kicked",
    Presence.MERGED: "gone",
    Presence.ERASED: "gone",
}
_OF_ONE = frozenset({"joined", "waiting", "lab_given", "left", "renamed", "role_given", "kicked", "let_back", "erased"})
"""Notices of changes that concern one participant: when hundreds join, not all who are there are read for each."""


class FollowedClass:
    """A class that follows the database."""

    def __init__(self, class_id: int, slug: str, room: Room, words: ClassWords) -> None:
        self.class_id = class_id
        self.slug = slug
        self.room = room
        self.words = words
        self._users: dict[str, int] = {}
        self._noticed: list[Notice] = []
        self._is_following = False
        self._followed_s = -FOLLOW_PACE_S
        self._waiting: list[asyncio.Future[None]] = []
        self._is_all_due = False
        """A failed update is followed by one of all participants."""

    async def mirror(self, who: str = ROOM, numbers: Collection[int] | None = None) -> list[Refusal]:
        """Records differences between database and class, and returns the refusals of those that the class does not
        accept. `who`: the actor; `numbers`: of the participants that may differ, None for all.
        """
        refused: list[Refusal] = []
        found = await sync_to_async(self._facts)(numbers)
        # All of them wait for one batch of the writer, in this order.
        doing = (self.room.do(Given(who, fact)) for fact in found)
        for outcome in await asyncio.gather(*doing, return_exceptions=True):
            # An ended class records no further events.
            if not isinstance(outcome, BaseException) or self.room.board.now.ended:
                continue
            if not isinstance(outcome, Refusal) or outcome.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise outcome
            # Of one fact: the others are recorded, and the class is opened without it.
            logger.warning("class %s: %s", self.slug, outcome)
            refused.append(outcome)
        return refused

    async def viewer_of(self, member: Participant) -> Viewer | None:
        """How a participant sees the class; None if they may not. Raises Refusal if the class does not accept them."""
        board = self.room.board
        if board.viewer(member.source) is None:
            # Right after joining: with the others who have just joined.
            await self.followed()
        if board.viewer(member.source) is None:
            refused = await self.mirror(numbers={member.number})
            if refused and board.viewer(member.source) is None:
                raise refused[0]
        return board.viewer(member.source)

    async def follow(self, notice: Notice) -> None:
        """The door has changed the database. Changes that arrive during the update, or soon after one, are combined."""
        self._noticed.append(notice)
        if self._is_following:
            return
        self._is_following = True
        loop = asyncio.get_running_loop()
        try:
            while self._noticed:
                await asyncio.sleep(self._followed_s + FOLLOW_PACE_S - loop.time())
                self._followed_s = loop.time()
                noticed, self._noticed = self._noticed, []
                waiting, self._waiting = self._waiting, []
                try:
                    await self._update(noticed)
                finally:
                    _release(waiting)
        except Refusal as refusal:
            # An ended class records no further events.
            logger.info("class %s: %s", self.slug, refusal)
        finally:
            self._is_following = False
            _release(self._waiting)

    async def _update(self, noticed: Collection[Notice]) -> None:
        by = {source_name(one.by) if one.by else ROOM for one in noticed}
        is_of_some = all(one.kind in _OF_ONE for one in noticed) and not self._is_all_due
        numbers = {one.number for one in noticed} if is_of_some else None
        self._is_all_due = True
        if any(one.kind == "erased" for one in noticed):
            # First: it does not depend on whether the log of the class can be written.
            await sync_to_async(self.words.load)()
            self.room.refresh()
        await self.mirror(by.pop() if len(by) == 1 else ROOM, numbers)
        self._is_all_due = False
        for one in noticed:
            await self._tell(one)

    async def followed(self) -> None:
        """Returns when the changes that were noticed before are recorded, or could not be."""
        if self._is_following:
            done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(done)
            await done

    async def _tell(self, notice: Notice) -> None:
        """Events that are not visible in the database's state."""
        match notice.kind:
            case "renamed":
                await self.room.do(Given(source_name(notice.by), Rename(source_name(notice.number))))
            case "code_renewed":
                self.room.tell_door(encode(Alarm(self.room.now_us(), "new_code")))
            case "under_attack":
                self.room.tell_staff("alarm", encode(Alarm(self.room.now_us(), "wrong_codes")))

    def _facts(self, numbers: Collection[int] | None) -> list[AnyFact]:
        classroom = Class.objects.get(pk=self.class_id)
        chosen = classroom.participants.all() if numbers is None else classroom.participants.filter(number__in=numbers)
        ordered = chosen.select_related("run", "claims").prefetch_related("run__branches").order_by("number")
        people = self.words.take_names(lambda: list(ordered.all()))
        for person in people:
            if person.user_id is not None:
                self._users[person.source] = person.user_id
        return list(facts_of(classroom, people, self.room.now_us()))


def facts_of(classroom: Class, people: Sequence[Participant], now_us: int) -> Iterator[AnyFact]:
    """The state of a class and its participants in the database."""
    yield from begun(classroom)
    handout = start_of(classroom).handout
    for person in people:
        yield person_of(person, handout)
    until = classroom.door_until
    is_open = classroom.door_is_open and (until is None or until > timezone.now())
    left_us = int((until - timezone.now()).total_seconds() * US) if until is not None else 0
    yield SetDoor(is_open, now_us + left_us if until is not None else 0, classroom.admits)
    if classroom.state == Class.State.ENDED:
        yield EndClass()


def person_of(person: Participant, handout: int) -> SetPerson:
    """A participant as the class states them. `handout`: with which the lesson began in which they have their lab."""
    lab = ""
    if person.run is not None:
        newest = max(person.run.branches.all(), key=lambda branch: branch.pk, default=None)
        lab = f"{person.run.slug}/{newest.name if newest else MAIN}"
    claims = person.claims.source if person.claims is not None else ""
    standing = _STANDING[Presence(person.presence)]
    return SetPerson(person.source, person.role, standing, person.consent, lab, claims, handout)  # type: ignore[arg-type]


def _release(waiting: list["asyncio.Future[None]"]) -> None:
    for one in waiting:
        if not one.done():
            one.set_result(None)
    waiting.clear()
