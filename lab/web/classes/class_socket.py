"""The socket of a class: reads frames, passes them to the room, sends the frames of its lanes."""

import asyncio
import contextlib
import logging
from http import HTTPStatus
from typing import Any

from asgiref.sync import sync_to_async
from django.db import DatabaseError

from broker_core.texts import Text, render, text
from lab.actions.classes.give_labs import give_lab_in_class
from lab.actions.classes.hand_out import take_handout
from lab.actions.classes.lessons.begin import begin_lesson
from lab.actions.classes.lessons.start import has_gone_on
from lab.actions.classes.live_acts import do_in_class
from lab.actions.classes.live_class import LiveClass, live_classes
from lab.classroom.acts import Given
from lab.classroom.acts.facts import ShowLab
from lab.classroom.acts.ops import (
    BeginLesson,
    CastVote,
    DoorAct,
    TakeState,
    other_language,
    other_texts_of,
    texts_of,
)
from lab.classroom.buckets import ActLimits
from lab.classroom.events import CLASS, ROOM
from lab.classroom.frames import (
    ActFrame,
    ClassAck,
    ClassBye,
    ClassDone,
    ClassFrame,
    ClassHello,
    ClassNo,
    ClassTime,
    ClassWelcome,
    Here,
    Kept,
    Place,
    PointFrame,
    TimeAnswer,
    ViewFrame,
    You,
    check_hello,
    limited_as,
    parse,
)
from lab.classroom.lanes import Outbox, TooManyAnswers
from lab.classroom.room import REPLAYS
from lab.models import Participant, Role
from lab.preferences import chosen_language
from lab.protocol.frames import (
    CLOSE_FAILED,
    CLOSE_INVALID_FRAME,
    CLOSE_NOT_FOUND,
    CLOSE_NOT_SIGNED_IN,
    CLOSE_RIGHT_ENDED,
    CLOSE_TOO_MUCH,
    MAX_INVALID_FRAMES,
    InvalidFrame,
    encode,
)
from lab.rights import let_go, membership_of
from lab.runtime.host import host
from lab.runtime.machine.space import disk_full, is_disk_full
from lab.runtime.sharing.load import load
from lab.texts.refusal import Refusal
from lab.web.classes.completed_acts import completed
from lab.web.classes.guests import Removed, participation_in, person_of_scope
from lab.web.holding import HoldingSocket

logger = logging.getLogger(__name__)

MAX_REASON_BYTES = 123
"""The longest reason of a closed socket, in UTF-8 (RFC 6455)."""


class ClassSocket(HoldingSocket):
    """/ws/classes/<class>/: see lab/classroom/frames.py for the frames."""

    async def connect(self) -> None:
        self._sender: asyncio.Task[None] | None = None
        self._doing: set[asyncio.Task[None]] = set()
        self._invalid_frames = 0
        self._is_ended = False
        self.sight: frozenset[str] = frozenset()
        self.place: Place = "lab"
        self._front = ""
        self.begin_holding()
        await self.accept()
        slug = self.scope["url_route"]["kwargs"]["slug"]
        try:
            found = await self.read_person(lambda person: participation_in(person, slug))
            if found is None:
                await self._close(CLOSE_NOT_SIGNED_IN, text("refusal.sign_in_first"))
                return
            self._classroom, self._member = found.classroom, found
            self.entered()
            self._live: LiveClass = await live_classes().of(self._classroom)
            await self._count()
        except Removed:
            await self._close(CLOSE_RIGHT_ENDED, text("class_act.removed"))
        except Refusal as refusal:
            is_missing = refusal.status == HTTPStatus.NOT_FOUND
            await self._close(CLOSE_NOT_FOUND if is_missing else CLOSE_RIGHT_ENDED, refusal.what)

    async def _count(self) -> None:
        """Notes the socket among those of the person; closes it if one was closed for a flood just now."""
        limits = self._live.room.limits(self._member.source)
        if limits.is_held_off(self._live.room.now_us()):
            await self._close(CLOSE_TOO_MUCH, text("class_act.flood"))
            return
        limits.open_socket(self)

    # Rights

    async def _recheck(self) -> None:
        if await self._read(self._member_now) is None:
            self.end("kicked", again=False)

    def _member_now(self) -> Participant | None:
        person = person_of_scope(self.scope)
        return membership_of(person.user, self._classroom) if person is not None and person.user == self._user else None

    # Seat

    def welcome(self) -> None:
        """Sends the new role to the page, and gives the person the lab that belongs to it."""
        self._welcome()
        if not self._live.room.board.now.ended:
            self._live.work(give_lab_in_class(host(), self._live, self._member))

    def _welcome(self) -> None:
        """Sends the person's identity and role to the page."""
        live, p = self._live, self._member.source
        viewer = self.outbox.viewer
        frame = ClassWelcome(
            slug=live.slug,
            title=self._classroom.title,
            boot=live.room.boot,
            schema=CLASS.hash,
            you=You(p, viewer.role, live.words.name(p)),
            class_us=live.room.now_us(),
            limits={"acts_a_second": ActLimits.RATE, "acts_at_once": ActLimits.BURST},
        )
        self._answer(frame)

    def end(self, why: str, *, again: bool) -> None:
        """Sends a bye frame, and closes."""
        if why == "kicked":
            self._end(CLOSE_RIGHT_ENDED, text("class_act.removed"), ClassBye(why, again))
        else:
            self._end(CLOSE_FAILED, text("class_act.closed"), ClassBye(why, again))

    def make_room(self) -> None:
        if hasattr(self, "outbox"):
            self._live.room.leave(self._member.source, self)
        self._end(CLOSE_TOO_MUCH, text("class_act.many_pages", max=ActLimits.MAX_SOCKETS))

    def _end(self, code: int, reason: Text, bye: ClassBye | None = None) -> None:
        if not self._is_ended:
            self._is_ended = True
            self._begin(self._say_bye(code, reason, bye))

    async def _say_bye(self, code: int, reason: Text, bye: ClassBye | None) -> None:
        if self._sender is not None:
            self._sender.cancel()
        with contextlib.suppress(OSError):
            if bye is not None:
                await self.send(text_data=encode(bye).decode())
            await self._close(code, reason)

    async def disconnect(self, code: int) -> None:
        let_go(self)
        for task in (self._sender, *self._doing):
            if task is not None:
                task.cancel()
        if hasattr(self, "_live"):
            self._live.room.limits(self._member.source).close_socket(self)
        if hasattr(self, "outbox"):
            self._live.room.leave(self._member.source, self)

    # Frames

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if not hasattr(self, "_live") or self._is_ended:
            return
        try:
            await self._receive(text_data)
        except TooManyAnswers:
            await self._end_flood()

    async def _receive(self, text_data: str | None) -> None:
        try:
            frame = parse(text_data)
            if not hasattr(self, "outbox"):
                await self._greet(frame)
            else:
                await self._dispatch(frame)
        except InvalidFrame as refusal:
            await self._refuse_frame(refusal)
        except TooManyAnswers:
            raise
        except Exception as error:
            if not hasattr(self, "outbox"):
                raise
            self._fail(frame, error)

    async def _greet(self, frame: ClassFrame) -> None:
        if not isinstance(frame, ClassHello):
            raise InvalidFrame("refusal.hello_missing")
        check_hello(frame)
        room, p = self._live.room, self._member.source
        try:
            viewer = await self._live.viewer_of(self._member)
        except Refusal as refusal:
            is_full = refusal.status < HTTPStatus.INTERNAL_SERVER_ERROR
            await self._close(CLOSE_RIGHT_ENDED if is_full else CLOSE_FAILED, refusal.what)
            return
        if self._is_ended:
            # It was closed meanwhile: it must not enter the room.
            return
        if viewer is None:
            self.end("kicked", again=False)
            return
        if viewer.role == Role.OBSERVER and not load.accepts_observers:
            await self._close(CLOSE_TOO_MUCH, text("class_act.observers_wait"))
            return
        have = frame.have if frame.boot == room.boot else -1
        self.place = frame.place
        self.outbox = Outbox(room.board, viewer, have)
        self._welcome()
        room.enter(p, self)
        if self._member.run_id is None and not room.board.now.ended and has_gone_on(self._classroom):
            # There was none for them when the lesson began, or the server ended then.
            self._live.work(give_lab_in_class(host(), self._live, self._member))
        self._sender = asyncio.create_task(self._send_frames())

    async def _dispatch(self, frame: ClassFrame) -> None:
        room, p = self._live.room, self._member.source
        if isinstance(frame, ClassAck) and self.outbox.acknowledge(frame.upto):
            # There are no more of these than frames that were sent.
            return
        if not await self._is_allowed(frame):
            return
        match frame:
            case ClassAck():
                pass
            case ActFrame():
                await self._act(frame)
            case ViewFrame(view=view, term=term):
                room.view(p, term, view)
            case PointFrame():
                room.point(p, frame)
            case Here():
                self._note_here(frame)
            case ClassTime(ms=ms):
                self._answer(TimeAnswer(ms, room.now_us()))
            case ClassHello():
                raise InvalidFrame("refusal.second_hello")

    async def _is_allowed(self, frame: ClassFrame) -> bool:
        """Whether the person's limits allow a frame. If they do not, it is refused, or the socket is closed."""
        limits, now_us = self._live.room.limits(self._member.source), self._live.room.now_us()
        kind = limited_as(frame)
        if limits.take(kind, now_us):
            return True
        if limits.closes(now_us):
            await self._end_flood()
        elif limits.is_answered(now_us):
            refusal = Refusal("class_act.too_fast", HTTPStatus.TOO_MANY_REQUESTS, rate=limits.rate(kind))
            self._refuse(getattr(frame, "id", None), refusal, limits.again_ms(kind))
        return False

    async def _end_flood(self) -> None:
        room = self._live.room
        room.limits(self._member.source).hold_off(room.now_us())
        await self._close(CLOSE_TOO_MUCH, text("class_act.flood"))

    def _note_here(self, frame: Here) -> None:
        """A frame too many is left out: pages send one every 15 s anyway."""
        room, p = self._live.room, self._member.source
        limits = room.limits(p)
        if not limits.take("here", room.now_us()):
            return
        self.sight = frozenset(frame.sight)
        room.set_hidden(p, self, frame.hidden)
        if self.place == REPLAYS and frame.at_us is not None:
            room.set_replayed(p, self, frame.at_us)
        # The page has come to the front with a lab, or has gone to the background.
        front = "" if frame.hidden else frame.lab
        if front and front != self._front:
            if not limits.take("front", room.now_us()):
                # It may be written. The next frame says it again.
                return
            room.tell(Given(ROOM, ShowLab(p, front)))
        self._front = front

    async def _act(self, frame: ActFrame) -> None:
        if isinstance(frame.do, CastVote | BeginLesson):
            # An anonymous vote completes only when others have voted as well, and the lab of a lesson takes seconds.
            doing = asyncio.create_task(self._do(frame))
            self._doing.add(doing)
            doing.add_done_callback(self._doing.discard)
        else:
            await self._do(frame)

    async def _do(self, frame: ActFrame) -> None:
        live, p = self._live, self._member.source
        texts: tuple[int, ...] = ()
        try:
            if isinstance(frame.do, DoorAct):
                await self._do_at_door(frame.id, frame.do)
                return
            if isinstance(frame.do, TakeState) and self.outbox.viewer.role == Role.LEARNER:
                taken = await take_handout(host(), live, self._member, frame.do.handout, frame.id)
                self._answer(ClassDone(frame.id, taken))
                return
            if isinstance(frame.do, BeginLesson) and self.outbox.viewer.audience == "staff":
                began = await begin_lesson(host(), live, Given(p, frame.do, frame.id), self._language)
                self._answer(ClassDone(frame.id, began))
                return
            act = await completed(live, self._user, self._member, self.outbox.viewer, frame.do)
            bodies = texts_of(act)
            if bodies:
                language = getattr(frame.do, "lang", "en")
                texts = await sync_to_async(live.words.add)(self._member, language, bodies)
                if others := other_texts_of(act):
                    texts += await sync_to_async(live.words.add)(self._member, other_language(language), others)
            before = live.room.board.last_seq
            seq = await live.room.do(Given(p, act, frame.id, texts), lambda: self._answer(Kept(frame.id)))
            if texts and seq <= before:
                # Executed before: its texts were stored then.
                await self._discard(texts)
            self._answer(ClassDone(frame.id, seq))
        except Refusal as refusal:
            await self._discard(texts)
            self._refuse(frame.id, refusal)
        except TooManyAnswers:
            await self._end_flood()
        except Exception as error:
            self._fail(frame, error)
            await self._discard(texts)

    async def _discard(self, texts: tuple[int, ...]) -> None:
        """Removes the texts of an act that was not done. On a full disk they stay, and no event refers to them."""
        with contextlib.suppress(DatabaseError):
            await sync_to_async(self._live.words.discard)(texts)

    def _fail(self, frame: ClassFrame, error: Exception) -> None:
        """Answers a frame that failed because of an error of the lab, or for want of disk space. In the handler of the
        exception.
        """
        done = type(frame.do if isinstance(frame, ActFrame) else frame).__name__
        logger.exception("%s of %s in class %s failed", done, self._member.source, self._live.slug)
        failed = Refusal("class_act.failed", HTTPStatus.INTERNAL_SERVER_ERROR)
        refusal = disk_full(error) if is_disk_full(error) else failed
        self._refuse(getattr(frame, "id", None), refusal)

    async def _do_at_door(self, id: str, act: DoorAct) -> None:
        await do_in_class(self._live, self._classroom, self._user, self._member, act)
        self._answer(ClassDone(id, self._live.room.board.last_seq))

    # Sending

    async def _send_frames(self) -> None:
        try:
            while True:
                frame = (await self.outbox.next()).decode()
                if self._is_ended:
                    return
                await self.send(text_data=frame)
        except OSError:
            # The page has disconnected (uvicorn's ClientDisconnected); `disconnect` cleans up.
            return
        except Exception:
            logger.exception("frames could not be sent to a page of class %s", self._classroom)
            await self._close(CLOSE_FAILED, text("refusal.sending_failed"))

    def _answer(self, frame: Any) -> None:
        self.outbox.answer(encode(frame))

    def _refuse(self, id: str | None, refusal: Refusal, again_ms: int = 0) -> None:
        said = refusal.as_json(self._language)
        self._answer(ClassNo(id, int(refusal.status), said["what"], said["expected"], said["todo"], again_ms))

    async def _refuse_frame(self, refusal: InvalidFrame) -> None:
        if not hasattr(self, "outbox"):
            await self._close(CLOSE_INVALID_FRAME, refusal.what)
            return
        self._invalid_frames += 1
        if self._invalid_frames > MAX_INVALID_FRAMES:
            # Not CLOSE_INVALID_FRAME: the hello was of this version, so loading the page again would not help.
            await self._end_flood()
        else:
            self._refuse(refusal.frame, refusal)

    async def _close(self, code: int, reason: Text) -> None:
        self._is_ended = True
        if hasattr(self, "outbox"):
            # An executed act is acknowledged even to a page that is closed for a flood.
            for answer in self.outbox.take_answers():
                await self.send(text_data=answer.decode())
        shown = render(reason, self._language).encode()[:MAX_REASON_BYTES]
        await self.close(code, shown.decode(errors="ignore"))

    @property
    def _language(self) -> str:
        headers = dict(self.scope["headers"])
        accepted: str = headers.get(b"accept-language", b"").decode("latin-1")
        return chosen_language(self.scope["cookies"], accepted)
