"""A live class, in the event loop: its connections and what is sent to them. Its `Writer` decides and writes.

Durable acts go through `do`; volatile frames (views, pointer, counts, tiles) are forwarded at once, and only the newest
is kept.
"""

import asyncio
import secrets
from collections.abc import Callable
from contextvars import Context
from pathlib import Path
from typing import Protocol, TypeVar

from lab.classroom.acts import Given
from lab.classroom.acts.facts import ChangeView, ComeBack, GoAway, Point, Tick
from lab.classroom.board import Board, Now, Published
from lab.classroom.buckets import ActLimits, Bucket
from lab.classroom.clock import Clocks, MachineClocks
from lab.classroom.events import ROOM, ClassEnvelope
from lab.classroom.frames import Caption, CatchingUp, Count, LookedAt, Place, PointFrame, Shed
from lab.classroom.journal import ClassJournal, Header
from lab.classroom.lanes import Outbox
from lab.classroom.presence import Sockets
from lab.classroom.state import State
from lab.classroom.views import Words
from lab.classroom.writer import Job, Outcome, Writer
from lab.protocol.frames import encode
from lab.texts.refusal import Refusal

PUBLIC_PACE_S = 0.05
"""Minimum interval between frames of events that all participants see, staff apart: the first event is sent at once,
those that follow in one frame. What a single participant sees is sent at once.
"""
COUNTED: Place = "projector"
"""The page that shows how many are here. The others get no number: while hundreds join, it is another each second."""
REPLAYS: Place = "replay"
"""The page of participants who catch up: it shows an earlier instant, and gets nothing of what is shown now."""
CATCHING_UP = frozenset({"learner", "observer"})
"""The roles of those who are shown as catching up while they replay the class."""
TICK_S = 1.0
VIEW_KEPT_S = 0.2
"""Minimum interval at which the presenter's view is written."""

T = TypeVar("T")


class Seat(Protocol):
    """A socket of the class."""

    outbox: Outbox
    sight: frozenset[str]
    """Participants whose tiles its page shows."""
    place: Place
    """Which page it is."""

    def welcome(self) -> None:
        """The role has changed: sends a welcome."""

    def end(self, why: str, *, again: bool) -> None:
        """The person has left or was removed from the class."""


class Room:
    """A live class. Create it with `Room.open`, and use it from one event loop."""

    def __init__(self, writer: Writer, journal: ClassJournal, loop: asyncio.AbstractEventLoop, board: Board) -> None:
        self.boot = secrets.token_hex(4)
        self.header = journal.header
        self.board = board
        self._journal = journal
        self._writer = writer
        self._loop = loop
        self._seats: dict[str, list[Seat]] = {}
        self._sockets = Sockets()
        self._limits: dict[str, ActLimits] = {}
        self._pointer = Bucket(10, 10)
        self._view: ChangeView | None = None
        self._stage_view: tuple[tuple[str, bool, str], bytes] | None = None
        """The stage that the newest view of it belongs to, and that view, for pages that connect."""
        self._view_timer: asyncio.TimerHandle | None = None
        self._public_timer: asyncio.TimerHandle | None = None
        self._public_told_s = -PUBLIC_PACE_S
        self._listeners: list[Callable[[Now], None]] = []
        self._ticker: asyncio.Task[None] | None = None
        self._is_closed = False
        self._shed = 0
        self._told_count: tuple[int, int] | None = None
        self._hidden: set[str] = set()
        """Participants all of whose pages are hidden."""
        self._replayed: dict[str, int] = {}
        """Participants who have only the replay in front, with the instant that it shows."""
        self._told_replayed: dict[str, int] | None = None

    @staticmethod
    async def open(folder: Path, words: Words, header: Header | None = None, clocks: Clocks | None = None) -> "Room":
        """Opens the class in a folder, or creates it with a `header`. Raises Refusal if its log cannot be read."""
        loop = asyncio.get_running_loop()
        rooms: list[Room] = []

        def publish(published: Published) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(lambda: rooms[0]._take(published))

        def make() -> tuple[Writer, ClassJournal]:
            journal = ClassJournal(folder, header)
            try:
                return Writer(journal, words, clocks or MachineClocks(), publish), journal
            except BaseException:
                journal.close()
                raise

        writer, journal = await asyncio.to_thread(make)
        room = Room(writer, journal, loop, Board(writer.state))
        rooms.append(room)
        expected = [p for p, person in writer.state.people.items() if person.presence == "here"]
        await asyncio.to_thread(writer.start)
        for p in expected:
            room._sockets.expect(p, room.now_us())
            # They do not count as idle until one of their pages is back.
            room._hidden.add(p)
            writer.set_hidden(p, True)
        room._ticker = asyncio.create_task(room._tick(), context=Context())
        return room

    def now_us(self) -> int:
        """Class time."""
        return self._writer.clock.now_us()

    # Durable

    async def do(self, given: Given, kept: Callable[[], None] | None = None) -> int:
        """Executes an act; returns the seq of its last event once that is written. `kept` is called when a vote has to
        wait for others. Raises Refusal.
        """
        if self._is_closed:
            raise Refusal("class_act.ended", 409)
        done: asyncio.Future[int] = self._loop.create_future()

        def settle(outcome: Outcome) -> None:
            if done.done():
                return
            if isinstance(outcome, BaseException):
                done.set_exception(outcome)
            else:
                done.set_result(outcome)

        def answer(outcome: Outcome) -> None:
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(settle, outcome)

        def tell_kept() -> None:
            if kept is not None:
                self._loop.call_soon_threadsafe(kept)

        self._writer.put(Job(given, answer, tell_kept))
        return await done

    async def read(self, look: Callable[[State], T]) -> T:
        """The result of `look` on the state, in the writer's thread."""
        done: asyncio.Future[T] = self._loop.create_future()

        def job() -> None:
            try:
                found = look(self._writer.state)
            except Exception as error:
                self._loop.call_soon_threadsafe(done.set_exception, error)
            else:
                self._loop.call_soon_threadsafe(done.set_result, found)

        self._writer.call(job)
        return await done

    async def events(self, first_seq: int, last_seq: int) -> list[ClassEnvelope]:
        """Written events, for the replay and the summary."""
        return await self.read(lambda _: self._journal.events(first_seq, last_seq))

    def on_change(self, listener: Callable[[Now], None]) -> None:
        """Calls `listener` now and whenever something relevant to the server may have changed."""
        self._listeners.append(listener)
        listener(self.board.now)

    def refresh(self) -> None:
        """Names and texts were erased from the database: every page gets all sections again, also one that was not
        connected meanwhile.
        """
        self._writer.refresh()

    def touch(self, p: str) -> None:
        """A learner did something in their lab."""
        self._writer.touch(p)

    # Sockets

    def enter(self, p: str, seat: Seat) -> None:
        """A socket opened. The first of a participant who was away brings them back."""
        self._seats.setdefault(p, []).append(seat)
        was_here = self._sockets.is_here(p)
        self._sockets.opened(p, seat)
        stage, kept = self.board.now.stage, self._stage_view
        if kept is not None and kept[0] == stage and stage[0] != p and seat.place != REPLAYS:
            seat.outbox.set("view/stage", kept[1])
        if seat.place == COUNTED:
            seat.outbox.set("count", encode(Count(self.now_us(), *self._here())))
            self._told_count = None
        if seat.outbox.viewer.audience == "staff":
            self._told_replayed = None
        self._note_front(p)
        if not was_here:
            self.tell(Given(ROOM, ComeBack(p)))

    def leave(self, p: str, seat: Seat) -> None:
        """A socket ended. Nothing happens if it has left before."""
        seats = self._seats.get(p, [])
        if seat not in seats:
            return
        seats.remove(seat)
        if not seats:
            self._seats.pop(p, None)
        self._sockets.closed(p, seat, self.now_us())
        self._note_front(p)

    def set_hidden(self, p: str, seat: Seat, hidden: bool) -> None:
        """A page went to the background, or came back."""
        self._sockets.set_hidden(p, seat, hidden)
        self._note_front(p)

    def set_replayed(self, p: str, seat: Seat, at_us: int) -> None:
        """A page that replays the class shows another instant."""
        self._sockets.set_replayed(p, seat, min(at_us, self.now_us()))
        self._note_front(p)

    def _note_front(self, p: str) -> None:
        """Which page a participant has in front may have changed: one was opened or closed, hidden or shown."""
        is_hidden = self._sockets.is_hidden(p)
        if self._sockets.is_here(p) and is_hidden != (p in self._hidden):
            (self._hidden.add if is_hidden else self._hidden.discard)(p)
            self._writer.set_hidden(p, is_hidden)
        at_us = self._sockets.replayed_us(p)
        was_so = self._replayed.pop(p, None) is not None
        if at_us is not None:
            self._replayed[p] = at_us
        if was_so != (at_us is not None):
            self._writer.set_catching_up(p, at_us is not None)

    def limits(self, p: str) -> ActLimits:
        """The buckets of a participant, over all their sockets."""
        return self._limits.setdefault(p, ActLimits())

    def seats(self) -> list[Seat]:
        return [seat for seats in self._seats.values() for seat in seats]

    def staff_seats(self) -> list[Seat]:
        return [seat for seat in self.seats() if seat.outbox.viewer.audience == "staff"]

    # Volatile

    def view(self, p: str, term: int, view: LookedAt) -> None:
        """The view of a page, for those who follow it or look at it; of another lab, only for the latter."""
        now, run = self.board.now, view.branch.partition("/")[0]
        leads = now.lead == (p, term) and run == now.lead_lab.partition("/")[0]
        stage = now.stage if now.stage and now.stage[0] == p and run == now.stage[2].partition("/")[0] else None
        lookers = now.looks.get(p, ())
        if not (leads or stage or lookers) or not self.limits(p).take("view", self.now_us()):
            return
        frame = {"k": "view", "p": p, "term": term, "class_us": self.now_us(), "view": view}
        shown = encode(frame)
        if leads:
            self._keep_view(ChangeView(term, encode(view).decode()))
            self._send("view", shown, but=p)
        if stage:
            of_stage = encode(frame | {"p": p if stage[1] else "", "stage": stage[2]})
            self._stage_view = stage, of_stage
            self._send("view/stage", of_stage, but=p)
        for looker in lookers:
            for seat in self._seats.get(looker, ()):
                seat.outbox.set(f"view/{p}", shown)

    def point(self, p: str, frame: PointFrame) -> None:
        """The presenter's pointer."""
        lead = self.board.now.lead
        if lead is None or lead[0] != p or not self._pointer.take(self.now_us()):
            return
        self.tell(Given(p, Point(lead[1], frame.anchor, frame.u, frame.v, frame.down)))
        shown = {"k": "point", "class_us": self.now_us(), "anchor": frame.anchor, "u": frame.u, "v": frame.v}
        self._send("point", encode(shown | {"down": frame.down}), but=p)

    def caption(self, language: str, from_us: int, to_us: int, text: str) -> None:
        """A caption, for every page."""
        frame = Caption(self.now_us(), language, from_us, to_us, text)
        self._send(f"caption/{language}", encode(frame), but="")

    def shed(self, step: int, pointer_hz: int) -> None:
        """Notifies staff that the server is overloaded, and how far it reduces its work."""
        if step != self._shed:
            self._pointer = Bucket(pointer_hz, pointer_hz)
            self._shed = step
            self.tell_staff("shed", encode(Shed(self.now_us(), step)))

    def tell_staff(self, topic: str, frame: bytes) -> None:
        """A volatile frame for all staff, such as an alarm."""
        for seat in self.staff_seats():
            seat.outbox.set(topic, frame)

    def tell_door(self, frame: bytes) -> None:
        """A volatile frame about the door, for the pages that may show the class code."""
        for seat in self.seats():
            if seat.place == COUNTED or seat.outbox.viewer.audience == "staff":
                seat.outbox.set("door", frame)

    def _send(self, topic: str, frame: bytes, but: str) -> None:
        for p, seats in self._seats.items():
            for seat in seats:
                if p != but and seat.place != REPLAYS:
                    seat.outbox.set(topic, frame)

    def _keep_view(self, view: ChangeView) -> None:
        self._view = view
        if self._view_timer is None:
            self._view_timer = self._loop.call_later(VIEW_KEPT_S, self._write_view)

    def _write_view(self) -> None:
        self._view_timer = None
        if self._view is not None and not self._is_closed:
            self.tell(Given(ROOM, self._view))
        self._view = None

    # From the writer

    def _take(self, published: Published) -> None:
        before = self.board.now
        news = self.board.take(published)
        roles, now_roles = before.roles, self.board.now.roles
        for p in [p for p in self._seats if roles.get(p) != now_roles.get(p)]:
            for seat in list(self._seats[p]):
                self._change_role(seat)
        if published.starts_again:
            # Not before: what a page gets until now is still to be replaced.
            self.boot = secrets.token_hex(4)
            for seat in self.seats():
                seat.outbox.restart(seat.outbox.viewer)
        for seat in self.staff_seats():
            seat.outbox.notify()
        for p in news.people:
            for seat in self._seats.get(p, ()):
                seat.outbox.notify()
        if news.is_public and self._public_timer is None:
            wait_s = self._public_told_s + PUBLIC_PACE_S - self._loop.time()
            self._public_timer = self._loop.call_later(max(0.0, wait_s), self._notify_public)
        if before != self.board.now:
            for listener in self._listeners:
                listener(self.board.now)

    def _change_role(self, seat: Seat) -> None:
        known = self.board.viewer(seat.outbox.viewer.p)
        if known is None:
            seat.end("kicked", again=False)
        elif known != seat.outbox.viewer:
            seat.outbox.restart(known)
            self._told_replayed = None
            seat.welcome()

    def _notify_public(self) -> None:
        self._public_timer, self._public_told_s = None, self._loop.time()
        self._notify_all()

    def _notify_all(self) -> None:
        for seat in self.seats():
            seat.outbox.notify()

    async def _tick(self) -> None:
        while not self._is_closed:
            await asyncio.sleep(TICK_S)
            for p, since_us in self._sockets.take_away(self.now_us()):
                self.tell(Given(ROOM, GoAway(p, since_us)))
            self.tell(Given(ROOM, Tick()))
            self._tell_count()
            self._tell_replayed()
            # Pages that have seen nothing for long are notified of the class's position.
            self._notify_all()
            if self._shed:
                # For staff who connect later.
                self.tell_staff("shed", encode(Shed(self.now_us(), self._shed)))

    def _tell_count(self) -> None:
        screens = [seat for seat in self.seats() if seat.place == COUNTED]
        count = self._here()
        if screens and count != self._told_count:
            self._told_count = count
            for seat in screens:
                seat.outbox.set("count", encode(Count(self.now_us(), *count)))

    def _tell_replayed(self) -> None:
        now = self.board.now
        # A removed participant holds no place, even if a socket of theirs has not ended yet.
        people = {p: at_us for p, at_us in self._replayed.items() if now.roles.get(p) in CATCHING_UP and not now.ended}
        if people != self._told_replayed:
            self._told_replayed = people
            self.tell_staff("catching_up", encode(CatchingUp(self.now_us(), people)))

    def people_here(self) -> list[str]:
        """Participants with an open page."""
        return self._sockets.here()

    def _here(self) -> tuple[int, int]:
        """The number of learners and of observers who are present."""
        here = [self.board.now.roles.get(p) for p in self._sockets.here()]
        return here.count("learner"), here.count("observer")

    def tell(self, given: Given) -> None:
        """Adds a fact without waiting for it. Thread-safe."""
        if not self._is_closed:
            self._writer.put(Job(given, lambda _: None))

    async def close(self) -> None:
        """Writes everything and closes all sockets, which may connect again."""
        if self._is_closed:
            return
        self._write_view()
        self._is_closed = True
        for timer in (self._public_timer, self._view_timer):
            if timer is not None:
                timer.cancel()
        if self._ticker is not None:
            self._ticker.cancel()
        await asyncio.to_thread(self._writer.close)
        for seat in self.seats():
            seat.end("closed", again=True)
