"""The live classes of this process: opened from their logs on demand, and kept in sync with the database."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextvars import Context
from pathlib import Path
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.utils import timezone

from lab.actions.classes.followed_class import FollowedClass
from lab.actions.classes.lessons.start import opening
from lab.actions.classes.live_labs import ClassLabs
from lab.actions.classes.settle_poll import PollSettling
from lab.actions.classes.start_class import end_class
from lab.actions.classes.wall import ClassWall
from lab.classroom import notices
from lab.classroom.acts import Given
from lab.classroom.board import Now
from lab.classroom.events import CLASS, ROOM
from lab.classroom.grants import LabGrant
from lab.classroom.journal import FORMAT, Header
from lab.classroom.notices import Notice
from lab.classroom.room import Room
from lab.classroom.words import ClassWords
from lab.learning.events import AnyEvent
from lab.learning.log import forget_listener, on_append
from lab.models import Class, Participant, Run, source_name
from lab.rights import Audience, Grant, grants
from lab.runtime.classes.shown_labs import note_shown
from lab.runtime.host import host
from lab.runtime.sharing.load import load
from lab.texts.refusal import Refusal

logger = logging.getLogger(__name__)

MEASURE_S = 0.1
"""Between two measurements of how late the event loop comes."""
RETRY_S = 10.0
"""Between two attempts to open a class for its labs."""
SEEN_S = 20.0
"""Between two updates of when participants were last seen."""

_enders: list["Callable[[LiveClass], Awaitable[None]]"] = []


def on_ended(finish: "Callable[[LiveClass], Awaitable[None]]") -> None:
    """Registers a function that is called after a class has ended."""
    _enders.append(finish)


class LiveClass(FollowedClass):
    """An open class: its room, its labs and what it grants."""

    def __init__(self, class_id: int, slug: str, room: Room, words: ClassWords, runs: dict[str, str]) -> None:
        """`runs`: the participant of each run of the class."""
        super().__init__(class_id, slug, room, words)
        self.labs = ClassLabs(class_id, room, self._users, runs)
        self.wall = ClassWall(room, host())
        self.settling = PollSettling(class_id, room, host())
        self.unload = load.on_change(lambda step: room.shed(step, load.pointer_hz))
        self._granted: frozenset[LabGrant] = frozenset()
        self._has_ended = bool(room.board.now.ended)
        self._noting = asyncio.create_task(self._note_seen(), context=Context())
        self.finishing: asyncio.Task[None] | None = None
        """What is done once, after the class has ended."""
        self._working: set[asyncio.Task[None]] = set()

    def apply(self, now: Now) -> None:
        """Grants and revokes rights to labs, and pauses labs, according to the class's state."""
        self.labs.apply(now)
        for lab in (now.lead_lab, now.stage[2] if now.stage else ""):
            if lab:
                note_shown(class_folder(self.slug), lab.partition("/")[0])
        self.wall.apply(now)
        self.settling.apply(now)
        for given in now.grants - self._granted:
            grants.give(self._grant(given))
        ended = self._granted - now.grants
        self._granted = now.grants
        for one in ended:
            grants.end(self._grant(one))
        if now.ended and not self._has_ended:
            self._has_ended = True
            # Not in the context of the caller: within a call of sync_to_async it could not make another one.
            self.finishing = asyncio.get_running_loop().create_task(self._finish(), context=Context())

    async def _note_seen(self) -> None:
        while True:
            await asyncio.sleep(SEEN_S)
            try:
                await self.note_seen()
            except Exception:
                logger.exception("when the people of class %s were last seen was not stored", self.slug)

    async def note_seen(self) -> None:
        """Stores that participants with an open page are seen now, for staff who decide whom they let back."""
        numbers = [int(p.removeprefix("p")) for p in self.room.people_here()]
        if numbers:
            here = Participant.objects.filter(classroom_id=self.class_id, number__in=numbers)
            await here.aupdate(seen_at=timezone.now())

    def work(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Runs work for the class in the background; it ends with the class."""
        task = asyncio.get_running_loop().create_task(coroutine, context=Context())
        self._working.add(task)
        task.add_done_callback(self._working.discard)

    def close(self) -> None:
        """Stops the tasks that follow the class; its room is closed separately."""
        for task in (self._noting, *self._working):
            task.cancel()
        self.unload()
        self.settling.close()
        self.wall.close()
        self.labs.close()

    async def _finish(self) -> None:
        try:
            await sync_to_async(_note_end)(self.class_id)
            for finish in _enders:
                await finish(self)
        except Exception:
            logger.exception("what follows the end of class %s failed", self.slug)

    def _grant(self, given: LabGrant) -> Grant:
        to: Audience | int = "all" if given.to == "all" else int(given.to.removeprefix("p"))
        return Grant(self.class_id, given.lab.partition("/")[0], to, frozenset(given.rights))


def _runs_of(classroom: Class) -> dict[str, str]:
    numbers = classroom.runs.filter(participant__isnull=False).order_by().values_list("slug", "participant__number")
    return {run: source_name(number) for run, number in numbers}


def _note_end(class_id: int) -> None:
    """Also ends the class in the database if it ended because no staff were left."""
    classroom = Class.objects.filter(pk=class_id).exclude(state=Class.State.ENDED).first()
    if classroom is not None:
        end_class(classroom, timezone.now())


def class_folder(slug: str) -> Path:
    """The folder of a class's log and handouts."""
    return classes_folder() / slug


def classes_folder() -> Path:
    """The folder of the folders of all classes."""
    return Path(settings.DATA) / "classes"


class LiveClasses:
    """Use it from one event loop."""

    def __init__(self) -> None:
        self._open: dict[str, LiveClass] = {}
        self._failed_until_s: dict[str, float] = {}
        """When a class that could not be opened is tried again for its labs."""
        self._lock = asyncio.Lock()
        self._loop = asyncio.get_running_loop()
        self._following: set[asyncio.Task[None]] = set()
        self._listens = False
        self._measuring: asyncio.Task[None] | None = None

    async def _measure(self) -> None:
        """Measures the delay of the event loop while there are classes."""
        while True:
            due_s = self._loop.time() + MEASURE_S
            await asyncio.sleep(MEASURE_S)
            now_s = self._loop.time()
            load.measured(now_s - due_s if self._open else 0.0, now_s)

    def _noticed(self, notice: Notice) -> None:
        """Any thread may call it."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            # Not in the context of the caller: within a call of sync_to_async it could not make another one.
            self._loop.call_soon_threadsafe(self._follow, notice, context=Context())

    def _follow(self, notice: Notice) -> None:
        live = next((one for one in self._open.values() if one.class_id == notice.class_id), None)
        if live is not None:
            following = self._loop.create_task(live.follow(notice))
            self._following.add(following)
            following.add_done_callback(self._following.discard)

    def learned(self, user_id: int, event: AnyEvent) -> None:
        """Something was written to a user's learning log. Any thread may call it."""
        for live in list(self._open.values()):
            live.labs.learned(user_id, event)

    def command_refused(self, lab: str, source: str) -> None:
        """A command of `source` was refused in a lab, `run/branch`, before anything came of it."""
        for live in self._open.values():
            live.labs.command_refused(lab, source)

    def opened(self, slug: str) -> LiveClass | None:
        """A class that is open already."""
        return self._open.get(slug)

    async def of_run(self, run: Run) -> LiveClass | None:
        """The open class of a participant's run, opened if it is not; None without one. Call it before the lab is
        opened: a class that has paused its labs stops it from the start, also after a restart of the server.
        """
        if run.classroom is None or run.participant is None or run.classroom.state == Class.State.ENDED:
            return None
        slug = run.classroom.slug
        live = self.opened(slug)
        if live is None:
            if self._loop.time() < self._failed_until_s.get(slug, 0.0):
                return None
            # The row of a run may be old.
            classroom = await Class.objects.filter(pk=run.classroom.pk, state=Class.State.OPEN).afirst()
            if classroom is None:
                return None
            try:
                live = await self.of(classroom)
            except Refusal as refusal:
                # Without its log the class has neither a pause nor a pace; its labs stay open.
                logger.warning("class %s cannot be opened for its labs: %s", slug, refusal)
                self._failed_until_s[slug] = self._loop.time() + RETRY_S
                return None
        await live.labs.add_run(run.slug, run.participant.source)
        return live

    async def of(self, classroom: Class) -> LiveClass:
        """The class, opened if it is not open. Raises Refusal when its log cannot be read or written, and (404)
        when it was deleted meanwhile.
        """
        # A caller that is cancelled, as when its page is closed, leaves no class half open.
        return await asyncio.shield(self._loop.create_task(self._opened_or_begun(classroom), context=Context()))

    async def _opened_or_begun(self, classroom: Class) -> LiveClass:
        async with self._lock:
            if not self._listens:
                notices.on_notice(self._noticed)
                self._listens = True
                if settings.SHEDS_LOAD:
                    self._measuring = self._loop.create_task(self._measure(), context=Context())
            live = self._open.get(classroom.slug)
            if live is None:
                if not await Class.objects.filter(pk=classroom.pk).aexists():
                    raise Refusal("refusal.no_class", 404, slug=classroom.slug)
                live = await self._begin(classroom)
                self._open[classroom.slug] = live
            return live

    async def _begin(self, classroom: Class) -> LiveClass:
        words = await sync_to_async(ClassWords)(classroom.pk)
        header = Header(
            FORMAT,
            classroom.slug,
            wall_ms=time.time_ns() // 1_000_000,
            chapter=classroom.chapter,
            languages=tuple(classroom.languages),
            schema=CLASS.hash,
        )
        runs = await sync_to_async(_runs_of)(classroom)
        room = await Room.open(class_folder(classroom.slug), words, header)
        live = LiveClass(classroom.pk, classroom.slug, room, words, runs)
        try:
            if not room.board.now.ended:
                await room.do(Given(ROOM, await sync_to_async(opening)(classroom.chapter)))
                await live.mirror()
            room.on_change(live.apply)
        except BaseException:
            # Otherwise the next attempt would be a second writer of the same log.
            live.close()
            await room.close()
            raise
        return live

    async def close_class(self, slug: str, then: Callable[[], Awaitable[object]] | None = None) -> None:
        """Ends the sockets of a class and closes its log; it may be opened again, but not before `then` has ended."""
        await self._finished([slug])
        async with self._lock:
            live = self._open.pop(slug, None)
            if live is not None:
                await self._close(live)
            if then is not None:
                await then()

    async def close(self) -> None:
        """Closes all classes, as the process ends."""
        if self._listens:
            notices.forget_listener(self._noticed)
            self._listens = False
        if self._measuring is not None:
            self._measuring.cancel()
            load.reset()
        await self._finished(list(self._open))
        async with self._lock:
            for live in list(self._open.values()):
                try:
                    await self._close(live)
                except Exception:
                    logger.exception("class %s was not closed in order; it is recovered when it is opened", live.slug)
            self._open.clear()

    async def _finished(self, slugs: Sequence[str]) -> None:
        """Waits for the tasks that follow the end of classes and use them."""
        for slug in slugs:
            live = self._open.get(slug)
            if live is not None and live.finishing is not None:
                await live.finishing

    async def _close(self, live: LiveClass) -> None:
        live.close()
        await live.room.close()
        await sync_to_async(grants.end_class)(live.class_id)


_classes: LiveClasses | None = None


def live_classes() -> LiveClasses:
    """The classes of this process, created by the first call, which must come from the serving event loop."""
    global _classes
    if _classes is None:
        _classes = LiveClasses()
        on_append(_classes.learned)
    return _classes


async def close_classes() -> None:
    """Closes all classes. The next call of `live_classes` makes others."""
    global _classes
    if _classes is not None:
        closing, _classes = _classes, None
        forget_listener(closing.learned)
        await closing.close()
