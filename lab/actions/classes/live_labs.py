"""The labs of a live class: what happens in them becomes facts of the class, and the class pauses them.

Steps come from the learning log immediately; a sweep once a second detects lost steps and records the position of each
lab. The leading lab is checked ten times a second. A sleeping lab is not woken.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from contextvars import Context
from functools import partial
from typing import Protocol

from broker_core.events.console import CommandCompleted, CommandReceived
from broker_core.texts import Text, text
from lab.classroom.acts import Given
from lab.classroom.acts.facts import (
    AnyFact,
    LoseStep,
    MakeMistake,
    MoveLab,
    Predict,
    ReachStep,
    RefuseCommand,
    ResetWork,
    SeeLabs,
    Settle,
    TakeHint,
)
from lab.classroom.board import Now
from lab.classroom.events import ROOM
from lab.exercises.loader import exercises
from lab.exercises.observer import ExerciseObserver
from lab.learning.events import (
    AnswerGiven,
    AnyEvent,
    HintShown,
    LessonReset,
    PredictionGiven,
    PredictionSettled,
    StepChecked,
    StepSkipped,
    WrongStateShown,
)
from lab.runtime.host import host
from lab.runtime.lab import Lab
from lab.runtime.live_run import LiveRun, PublishedUpdate
from lab.runtime.pacer import Pacer
from lab.runtime.policy import AFTER_CLASS
from lab.texts.refusal import Refusal

logger = logging.getLogger(__name__)

LEAD_S = 0.1
SWEEP_EVERY = 10
US = 1_000_000


class ClassRoom(Protocol):
    """The part of the room that its labs need."""

    def tell(self, given: Given) -> None: ...

    def touch(self, p: str) -> None: ...


class CommandWatch:
    """Observes a learner's commands in a lab, and which of them fail."""

    def __init__(self, room: ClassRoom, p: str, lab: str) -> None:
        self._room = room
        self._p = p
        self._lab = lab
        self._own: set[int] = set()

    def happened(self, live: LiveRun, batch: PublishedUpdate) -> None:
        for _, _, _, _, event in batch.envelopes:
            if isinstance(event, CommandReceived) and event.source == self._p:
                self._own.add(event.command)
                self._room.touch(self._p)
            elif isinstance(event, CommandCompleted) and event.command in self._own:
                self._own.discard(event.command)
                if event.exit_code:
                    self._room.tell(Given(self._p, RefuseCommand(self._p, self._lab)))

    def stopped(self) -> None:
        logger.warning("commands of %s are not followed any more", self._p)


class ClassLabs:
    """The labs of one class. `users`: the user of each participant; `runs`: the participant of each run of the class,
    also of earlier lessons. Use it from the event loop.
    """

    def __init__(self, class_id: int, room: ClassRoom, users: dict[str, int], runs: dict[str, str]) -> None:
        self._room = room
        self._users = users
        self._runs = runs
        self._class_id = class_id
        # Numbers of users are positive.
        self._observer_id = -1 - class_id
        self._labs: dict[str, str] = {}
        self._fronts: dict[str, str] = {}
        self._lead = ""
        self._term: tuple[str, int] | None = None
        self._handout = 0
        self._roles: dict[str, str] = {}
        self._lesson, self._pace = "", 0
        self._is_pace_new = False
        self._has_ended = False
        self._stops: dict[str, Text] = {}
        """Runs that the class stops, and why."""
        self._stopped: set[str] = set()
        """Runs that it has stopped at any time."""
        self._is_closed = False
        self._shown_paused: frozenset[str] = frozenset()
        self._is_paused = False
        self._lead_was: MoveLab | None = None
        self._seen: dict[str, int] = {}
        self._phases: dict[str, dict[str, str]] = {}
        self._work = asyncio.Event()
        self._task = asyncio.create_task(self._run(), context=Context())

    def apply(self, now: Now) -> None:
        """Applies a change of what the class requires of its labs."""
        self._is_pace_new = self._is_pace_new or (now.lesson, now.pace) != (self._lesson, self._pace)
        self._lesson, self._pace, self._roles = now.lesson, now.pace, now.roles
        if now.ended and not self._has_ended:
            self._has_ended = True
            of_learners = {*self._labs.values(), *now.labs.values(), *now.fronts.values()}
            for lab in (of_learners | {self._lead, now.lead_lab}) - {""}:
                host().set_policy(lab.partition("/")[0], AFTER_CLASS)
        if now.handout != self._handout:
            self._leave()
            self._handout = now.handout
        if now.lead != self._term:
            # Each lead starts without a known position of its lab, even if it is the same as in the previous lead.
            self._term, self._lead_was = now.lead, None
        self._labs, self._lead = now.labs, now.lead_lab
        self._fronts = now.fronts
        self._shown_paused, self._is_paused = now.paused, now.is_paused
        self._note_stops()
        self._work.set()

    async def add_run(self, run: str, p: str) -> None:
        """A run of a participant in the class is opened. Returns when its time is stopped, if the class stops it."""
        if self._runs.get(run) != p:
            self._runs[run] = p
            self._note_stops()
            self._work.set()
        if run in self._stops:
            # Its lab may be open already, as after it was made.
            await self._pause()

    def _leave(self) -> None:
        """The class has gone on with another lesson, in other labs."""
        for lab in {*self._labs.values(), *self._fronts.values()}:
            host().set_policy(lab.partition("/")[0], AFTER_CLASS)
        self._phases.clear()

    def learned(self, user_id: int, event: AnyEvent) -> None:
        """Something was written to a learner's learning log. Any thread may call it."""
        lab = f"{event.run}/{event.branch}"
        for p, own in self._labs.items():
            if own == lab and self._users.get(p) == user_id:
                for fact in facts_of(p, lab, event):
                    self._room.tell(Given(p, fact))

    def command_refused(self, lab: str, source: str) -> None:
        """A command of `source` was refused in a lab before anything came of it."""
        if lab in (self._labs.get(source), self._fronts.get(source)):
            self._room.tell(Given(source, RefuseCommand(source, lab)))

    def close(self) -> None:
        """Stops watching. Labs that are paused for the class continue."""
        self._is_closed = True
        self._task.cancel()
        for run in self._stops:
            host().note_stop(run, None)
        self._stops = {}
        for lab in host().labs():
            if self._is_to_be_released(lab):
                _change(lab, Pacer.release)

    async def _run(self) -> None:
        turn = 0
        while True:
            self._work.clear()
            try:
                await self._pause()
                self._look_at_lead()
                if turn % SWEEP_EVERY == 0 or self._is_pace_new:
                    self._is_pace_new = False
                    await self._sweep()
            except Exception:
                logger.exception("a look at the labs of a class failed")
            turn += 1
            try:
                await asyncio.wait_for(self._work.wait(), LEAD_S)
            except TimeoutError:
                continue

    def _note_stops(self) -> None:
        """Determines the runs that the class stops: with all their branches, also those that are made or opened later.
        A pause stops all runs of learners, a hold those that are shown.
        """
        # Acts that were given before the class was closed are still applied.
        if self._is_closed:
            return
        runs = {lab.partition("/")[0] for lab in self._shown_paused}
        if self._is_paused:
            runs |= {run for run, p in self._runs.items() if self._roles.get(p) == "learner"}
        why = text("class_act.stop.paused") if self._is_paused else text("class_act.stop.held")
        stops = dict.fromkeys(runs, why)
        if stops == self._stops:
            return
        for run in self._stops.keys() - stops.keys():
            host().note_stop(run, None)
        for run in stops:
            host().note_stop(run, why)
        self._stops = stops
        self._stopped |= stops.keys()

    async def _pause(self) -> None:
        """Stops and releases the labs that are open."""
        changes = []
        for lab in host().labs():
            why = self._stops.get(lab.recording.folder.run)
            if why is not None and lab.pacer.stopped_by != why:
                changes.append(_changed(lab, partial(Pacer.stop, why=why)))
            elif self._is_to_be_released(lab):
                changes.append(_changed(lab, Pacer.release))
        # All at once: a busy lab delays no other.
        await asyncio.gather(*changes)

    def _is_to_be_released(self, lab: Lab) -> bool:
        """Whether it still stands for this class, which does not stop it any more."""
        run = lab.recording.folder.run
        return run in self._stopped and run not in self._stops and lab.pacer.is_stopped

    def _look_at_lead(self) -> None:
        run, _, branch = self._lead.partition("/")
        lab = host().open_lab(run, branch) if self._lead else None
        if lab is None:
            return
        clock = lab.clock()
        moved = MoveLab(self._lead, lab.ring.last_seq, clock.at_us, clock.mode, int(clock.rate * US))
        if moved != self._lead_was:
            self._lead_was = moved
            self._room.tell(Given(ROOM, moved))

    async def _sweep(self) -> None:
        await self._set_pace()
        moved = []
        for p, address in dict.fromkeys((*self._labs.items(), *self._fronts.items())):
            run, _, branch = address.partition("/")
            lab = host().open_lab(run, branch)
            if lab is None:
                continue
            if self._observer_id not in lab.observers:
                watch = CommandWatch(self._room, p, address)
                await lab.observe(self._observer_id, lambda _, watch=watch: watch)  # type: ignore[misc]
            seq = lab.ring.last_seq
            if self._seen.get(address) != seq and self._fronts.get(p) == address:
                self._seen[address] = seq
                moved.append((p, seq, lab.clock().at_us))
            observer = self._observer(p, address)
            if observer is not None and self._labs.get(p) == address:
                self._compare_steps(p, address, observer, lab)
        if moved:
            self._room.tell(Given(ROOM, SeeLabs(tuple(moved))))

    def pace_of(self, p: str, lesson: str, joins_as: str = "") -> int:
        """The last step of a lesson that a participant may reach in the labs of the class; 0: no limit. `joins_as`: the
        role of somebody who has joined, but whom the class does not know yet.
        """
        return self._pace if lesson == self._lesson and self._roles.get(p, joins_as) == "learner" else 0

    async def _set_pace(self) -> None:
        """In all labs of the class that are open, also in branches that their learners have left, and in labs of
        earlier lessons, in which everyone goes on at their own pace.
        """
        people = {user_id: p for p, user_id in self._users.items()}
        for lab in host().labs():
            for user_id, observer in list(lab.observers.items()):
                if not isinstance(observer, ExerciseObserver) or observer.class_id != self._class_id:
                    continue
                # Somebody else has just joined, and has the pace of the class from the start.
                if user_id in people:
                    pace = self.pace_of(people[user_id], observer.shown.exercise)
                    with contextlib.suppress(Refusal):  # the lab is being closed
                        await observer.set_pace(pace)

    def _observer(self, p: str, address: str) -> ExerciseObserver | None:
        """The observer of a learner's lesson in a lab, if it is open."""
        run, _, branch = address.partition("/")
        lab = host().open_lab(run, branch)
        found = lab.observers.get(self._users.get(p, 0)) if lab is not None else None
        return found if isinstance(found, ExerciseObserver) else None

    def _compare_steps(self, p: str, address: str, observer: ExerciseObserver, lab: Lab) -> None:
        """States steps that were reached before the class looked, and those that are lost."""
        shown = observer.shown
        phases = {id: str(step["phase"]) for id, step in shown.state["steps"].items()}
        before = self._phases.get(p, {})
        if phases == before:
            return
        self._phases[p] = phases
        seq, at_us, lesson = lab.ring.last_seq, lab.clock().at_us, shown.exercise
        for step, (id, phase) in enumerate(phases.items(), 1):
            if phase == "done":
                skipped = bool(shown.state["steps"][id].get("skipped"))
                self._room.tell(Given(ROOM, ReachStep(p, lesson, step, address, seq, at_us, skipped)))
            elif before.get(id) == "done":
                self._room.tell(Given(ROOM, LoseStep(p, lesson, step, address, seq, at_us)))


def _change(lab: Lab, change: Callable[[Pacer], None]) -> None:
    change(lab.pacer)
    lab.time_changed()


async def _changed(lab: Lab, change: Callable[[Pacer], None]) -> None:
    """Changes the pacer between two slices if the engine runs; pages get the new clock."""
    try:
        if lab.core == "live":
            await lab.act(lambda _: change(lab.pacer))
            lab.time_changed()
        else:
            change(lab.pacer)
    except Refusal:
        # Its engine has failed or is being closed, so its time is already stopped.
        change(lab.pacer)


def facts_of(p: str, lab: str, event: AnyEvent) -> Iterator[AnyFact]:
    """The facts for the class from a learning event."""
    if isinstance(event, LessonReset):
        yield ResetWork(p, event.lesson)
        return
    lesson = exercises().get(event.lesson)
    ids = [step.id for step in lesson.steps] if lesson is not None else []
    id = getattr(event, "step", "")
    if id not in ids:
        return
    step = ids.index(id) + 1
    match event:
        case PredictionGiven():
            yield Predict(p, event.lesson, step, event.choice, round(event.p * 100))
        case PredictionSettled(choice=choice) if choice:
            yield Settle(p, event.lesson, step, event.right)
        case HintShown():
            yield TakeHint(p, event.lesson, step, event.hint)
        case WrongStateShown():
            yield MakeMistake(p, event.lesson, step, event.wrong, "state")
    if isinstance(event, PredictionSettled | AnswerGiven) and event.misconception:
        yield MakeMistake(p, event.lesson, step, event.misconception, "choice")
    if isinstance(event, StepSkipped) and lesson is not None and lesson.steps[step - 1].prediction is None:
        # Of a skipped prediction, the outcome is awaited all the same.
        yield ReachStep(p, event.lesson, step, lab, event.seq, event.at_us, skipped=True)
    is_right = isinstance(event, AnswerGiven) and event.right
    if is_right or isinstance(event, StepChecked | PredictionSettled):
        # Of a question that was skipped, the outcome is shown all the same.
        skipped = isinstance(event, PredictionSettled) and not event.choice
        yield ReachStep(p, event.lesson, step, lab, event.seq, event.at_us, skipped)
