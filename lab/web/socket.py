"""The socket of a branch: reads frames, passes them on, sends the watcher's frames."""

import asyncio
import contextlib
import logging
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

from django.contrib.auth.models import User

from broker_core.texts import Text, render, text
from lab import selectors
from lab.actions import complete_line, control_exercise, control_time, submit_command
from lab.actions.classes.live_class import live_classes
from lab.class_rights import Right
from lab.models import Branch
from lab.preferences import chosen_language
from lab.protocol.frames import (
    CLOSE_FAILED,
    CLOSE_INVALID_FRAME,
    CLOSE_NOT_FOUND,
    CLOSE_NOT_SIGNED_IN,
    CLOSE_RIGHT_ENDED,
    CLOSE_TOO_MUCH,
    MAX_INVALID_FRAMES,
    Ack,
    ClientFrame,
    Complete,
    Do,
    ExerciseFrame,
    Hello,
    InvalidFrame,
    No,
    Time,
    check_hello,
    encode,
    parse,
)
from lab.rights import let_go, rights_of
from lab.runtime.host import host
from lab.runtime.policy import IN_CLASS as IN_CLASS_POLICY
from lab.runtime.streaming.watcher import BranchClosed, TooManyWaiting, Visitor, Watcher
from lab.selectors import PlaceInRun
from lab.texts.refusal import Refusal
from lab.web.act_limit import ALONE, IN_CLASS, ActLimit
from lab.web.classes.guests import person_of_scope
from lab.web.holding import HoldingSocket

logger = logging.getLogger(__name__)

MAX_REASON_BYTES = 123
"""Maximum size of the reason for closing a socket, in UTF-8 (RFC 6455)."""


@dataclass(frozen=True)
class _Known:
    """What is known about the user of a socket, until rights change."""

    rights: frozenset[Right]
    place: PlaceInRun


def _found(user: User, run: str, branch: str) -> tuple[Branch, _Known]:
    found, rights = selectors.branch_and_rights(user, run, branch)
    return found, _Known(rights, selectors.place_in(user, found.run))


class LabSocket(HoldingSocket):
    """/ws/runs/<run>/<branch>/: see lab/protocol/frames.py for the frames."""

    async def connect(self) -> None:
        self._watcher: Watcher | None = None
        self._sender: asyncio.Task[None] | None = None
        self._invalid_frames = 0
        names = self.scope["url_route"]["kwargs"]
        self.begin_holding(names["run"])
        await self.accept()
        try:
            found = await self.read_person(lambda person: _found(person.user, names["run"], names["branch"]))
            if found is None:
                await self._close(CLOSE_NOT_SIGNED_IN, text("refusal.sign_in_first"))
                return
            self._branch, self._known = found
            self.entered()
            self._limit = ActLimit(ALONE if self._branch.run.classroom_id is None else IN_CLASS)
            if self._branch.run.classroom_id is not None:
                host().set_policy(names["run"], IN_CLASS_POLICY)
            await live_classes().of_run(self._branch.run)
            self._lab = await host().lab(names["run"], names["branch"])
        except Refusal as refusal:
            is_missing = refusal.status == HTTPStatus.NOT_FOUND
            await self._close(CLOSE_NOT_FOUND if is_missing else CLOSE_RIGHT_ENDED, refusal.what)

    async def _recheck(self) -> None:
        known = await self._read(self._known_now)
        if known is None or "see" not in known.rights:
            # Even if the page does not close: nothing more is read from it or sent to it.
            self._known = replace(self._known, rights=frozenset())
            if self._sender is not None:
                self._sender.cancel()
            await self._close(CLOSE_RIGHT_ENDED, text("refusal.right_ended"))
        elif known != self._known:
            self._known = known
            if self._watcher is not None:
                self._watcher.rights_changed(known.rights, known.place.names)

    def _known_now(self) -> _Known | None:
        person = person_of_scope(self.scope)
        if person is None or person.user != self._user:
            return None
        run = self._branch.run
        return _Known(rights_of(person.user, run), selectors.place_in(person.user, run))

    def _require(self, right: Right) -> None:
        if right not in self._known.rights:
            raise Refusal("refusal.not_allowed", 403)

    async def disconnect(self, code: int) -> None:
        let_go(self)
        if self._sender is not None:
            self._sender.cancel()
        if self._watcher is not None:
            self._lab.leave(self._watcher)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if not hasattr(self, "_lab"):
            return
        try:
            frame = parse(text_data)
            if self._watcher is None:
                await self._greet(frame)
            elif isinstance(frame, Ack):
                self._watcher.acknowledged(frame.seq)
            elif await self._is_within_limit(getattr(frame, "id", None)):
                await self._dispatch(frame, self._watcher)
        except InvalidFrame as refusal:
            await self._refuse_frame(refusal)
        except Refusal as refusal:
            # What the class itself prevents is no failure of the learner.
            if isinstance(frame, Do) and refusal.id != "refusal.time_stopped":
                live_classes().command_refused(f"{self._branch.run.slug}/{self._branch.name}", self._known.place.source)
            await self._send(No(getattr(frame, "id", None), **refusal.as_json(self._language)))

    async def _is_within_limit(self, frame_id: str | None) -> bool:
        """Whether one more act may be executed; if not, a refusal is sent, at most once a second, or the socket is
        closed.
        """
        match self._limit.take():
            case "go":
                self._lab.ensure_not_busy()
                return True
            case "refuse":
                await self._send(No(frame_id, **Refusal("refusal.too_many_acts", 429).as_json(self._language)))
            case "close":
                await self._close(CLOSE_TOO_MUCH, text("refusal.too_many_acts.what"))
        return False

    async def _greet(self, frame: ClientFrame) -> None:
        if not isinstance(frame, Hello):
            raise InvalidFrame("refusal.hello_missing")
        check_hello(frame)
        user = self._user
        run = self._branch.run
        visitor = Visitor(
            user_id=user.pk,
            user=self._known.place.shown_name,
            run_name=run.name,
            rights=self._known.rights,
            names=self._known.place.names,
            language=self._language,
        )
        self._watcher = Watcher(self._lab, visitor, have=frame.have, boot=frame.boot)
        self._lab.watch(self._watcher)
        self._sender = asyncio.create_task(self._send_frames(self._watcher))
        if "act" not in self._known.rights:
            return
        try:
            await control_exercise.resume_exercise(self._lab, user, self._branch)
        except Refusal:
            raise
        except Exception:
            # The run can be watched without it; a closed socket would only reconnect and fail again.
            logger.exception("a lesson on %s was not resumed", self._branch)
            raise Refusal("refusal.exercise_stopped", 500) from None

    async def _dispatch(self, frame: ClientFrame, watcher: Watcher) -> None:
        match frame:
            case Do():
                self._require("act")
                watcher.send(await submit_command.submit_command(self._lab, self._known.place.source, frame))
            case Time():
                self._require("time")
                watcher.send(await control_time.control_time(self._lab, frame))
            case Complete():
                self._require("act")
                watcher.send(await complete_line.complete_line(self._lab, frame))
            case ExerciseFrame():
                self._require("act")
                watcher.send(await control_exercise.control_exercise(self._lab, self._user, self._branch, frame))
            case Hello():
                raise InvalidFrame("refusal.second_hello")

    @property
    def _language(self) -> str:
        return chosen_language(self.scope["cookies"], self._header(b"accept-language"))

    def _header(self, name: bytes) -> str:
        return dict(self.scope["headers"]).get(name, b"").decode("latin-1")

    async def _send_frames(self, watcher: Watcher) -> None:
        try:
            while True:
                await self.send(text_data=await watcher.next_frame())
        except TooManyWaiting:
            await self._close(CLOSE_TOO_MUCH, text("refusal.answers_unread"))
        except BranchClosed:
            await self._close(CLOSE_NOT_FOUND, text("refusal.run_deleted"))
        except OSError:
            # The page has disconnected (uvicorn's ClientDisconnected); `disconnect` cleans up.
            return
        except Exception:
            # Without its sender the page would stay open and receive nothing; closed, it connects again and resumes.
            logger.exception("frames could not be sent to a page of %s", self._branch)
            await self._close(CLOSE_FAILED, text("refusal.sending_failed"))

    async def _refuse_frame(self, refusal: InvalidFrame) -> None:
        self._invalid_frames += 1
        if self._watcher is None or self._invalid_frames > MAX_INVALID_FRAMES:
            await self._close(CLOSE_INVALID_FRAME, refusal.what)
        else:
            await self._send(No(refusal.frame, **refusal.as_json(self._language)))

    async def _close(self, code: int, reason: Text) -> None:
        shown = render(reason, self._language).encode()[:MAX_REASON_BYTES]
        with contextlib.suppress(OSError):  # the page has disconnected
            await self.close(code, shown.decode(errors="ignore"))

    async def _send(self, frame: Any) -> None:
        await self.send(text_data=encode(frame).decode())
