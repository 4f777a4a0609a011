"""A learner's exercise on a branch: follows the events, updates the learner's pages, and stores the progress."""

import asyncio
import logging
import time
from contextvars import Context
from typing import Any, NamedTuple

import msgspec

from broker_core.texts import LANGUAGES
from lab.exercises.lesson import Exercise
from lab.exercises.moment import Moment
from lab.exercises.predicate import Goal, ask_all
from lab.exercises.progress import stored_seq
from lab.exercises.session import ExerciseSession
from lab.exercises.setup import run_setup
from lab.learning import log as learning
from lab.learning.events import AnyEvent
from lab.models import Branch, ExerciseProgress
from lab.protocol.frames import ExerciseFrame, No
from lab.recordings.recording import Recording
from lab.runtime.lab import Lab
from lab.runtime.live_run import LiveRun, PublishedUpdate
from lab.runtime.stops import stop_of
from lab.texts.refusal import Refusal

logger = logging.getLogger(__name__)

NOTHING = {"k": "exercise", "slug": ""}
"""The frame of a learner without an exercise."""
DELETED = {**NOTHING, "ended": "deleted"}
"""The frame of a learner whose progress was deleted in the meantime."""


class Shown(NamedTuple):
    """The state of a session for pages and storage: created in the lab's thread, immutable."""

    exercise: str
    state: dict[str, Any]
    frames: dict[str, dict[str, Any]]
    """By the language of the page."""

    @classmethod
    def of(cls, session: ExerciseSession) -> "Shown":
        """A snapshot of the session."""
        frames = {language: session.frame(language) for language in LANGUAGES}
        return cls(session.exercise.slug, session.state, frames)


class ExerciseObserver:
    """One learner's exercise on one branch.

    The session belongs to the lab's thread: it is made, changed and read there. The event loop reads `shown` only.
    """

    def __init__(
        self, lab: Lab, user_id: int, branch: Branch, session: ExerciseSession, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._lab = lab
        self._user_id = user_id
        self._branch = branch
        self._session = session
        self._loop = loop
        self._saving: set[asyncio.Task[None]] = set()
        self._active_since_s = time.monotonic()
        self.shown = Shown.of(session)

    @property
    def class_id(self) -> int | None:
        """The id of the class whose lab this is; None for a lab outside of classes."""
        return self._branch.run.classroom_id

    def happened(self, live: LiveRun, batch: PublishedUpdate) -> None:
        """Events were made, or time was paused or resumed. Called in the lab's thread."""
        has_changed = self._session.on_events(moment_of(live), batch.envelopes)
        self._follow(live)
        if has_changed:
            # What is stored must not be ahead of the recording after a kill.
            live.flush()
            self.shown = Shown.of(self._session)
            self._loop.call_soon_threadsafe(self.publish)

    def begin(self, live: LiveRun) -> None:
        """Called once in the lab's thread, before anything happens."""
        self._follow(live)
        self.shown = Shown.of(self._session)

    def end(self, live: LiveRun) -> None:
        """Called in the lab's thread when the learner leaves the lesson."""
        live.stops.pop(stop_of(self._user_id), None)

    def _follow(self, live: LiveRun) -> None:
        """Writes the learning events, and pauses the run where the active step requires it."""
        for event in self._session.take_learning_events():
            learning.append(self._user_id, self._completed(event, live))
            self._active_since_s = time.monotonic()
        freeze = self._session.freeze
        if freeze is None:
            live.stops.pop(stop_of(self._user_id), None)
        else:
            live.stops[stop_of(self._user_id)] = lambda view, envelope: freeze.happens(view, envelope[4])

    def _completed(self, event: AnyEvent, live: LiveRun) -> AnyEvent:
        """With the run, its class, the instant and the wall time since the event before."""
        run = self._branch.run
        added: dict[str, Any] = {
            "run": run.slug,
            "branch": self._branch.name,
            "seq": live.run.seq,
            "at_us": live.run.now_us,
            "era": live.run.config.era,
            "seed": live.run.config.seed,
            "content_version": self._session.exercise.content_version,
            "classroom": run.classroom.slug if run.classroom is not None else "",
        }
        if hasattr(event, "seconds"):
            added["seconds"] = round(time.monotonic() - self._active_since_s, 3)
        return msgspec.structs.replace(event, **added)

    def stopped(self) -> None:
        """The observer failed and no longer follows the branch. Called in the lab's thread."""
        self._loop.call_soon_threadsafe(self._report_stop)

    async def handle(self, frame: ExerciseFrame) -> None:
        """Handles predict, answer, hint and reset. Raises Refusal if that is not possible now."""

        def job(live: LiveRun) -> None:
            if frame.op == "reset":
                run_exercise_setup(live, self._session.exercise)
            self._session.handle(frame, moment_of(live), live.run.seq)
            self._follow(live)
            self.shown = Shown.of(self._session)

        await self._lab.act(job)
        self.publish()
        # What is answered survives a kill of the process.
        if self._saving:
            await asyncio.wait(list(self._saving))

    async def set_pace(self, pace: int) -> None:
        """Sets the class's pace; see `ExerciseSession.set_pace`. Does not wake the engine."""
        if self.shown.state["pace"] == pace:
            return
        recording = self._lab.recording

        def job(live: LiveRun | None) -> bool:
            if self._session.pace == pace:
                return False
            now = Moment(recording.view_at(recording.last_seq), recording.last_at_us, True)
            self._session.set_pace(pace, moment_of(live) if live else now)
            if live is not None:
                self._follow(live)
            self.shown = Shown.of(self._session)
            return True

        if await self._lab.read(job):
            self.publish()

    async def saw(self, fact: str, figures: dict[str, int]) -> None:
        """The learner has measured or looked at something on the page."""

        def job(live: LiveRun) -> None:
            self._session.saw(fact, figures, moment_of(live))
            self._follow(live)
            self.shown = Shown.of(self._session)

        await self._lab.act(job)
        self.publish()

    def publish(self) -> None:
        """Sends the newest frame to the learner's pages, each in its language, and stores the state."""
        shown = self.shown
        for watcher in self._lab.watchers:
            if watcher.user_id == self._user_id:
                watcher.send(shown.frames.get(watcher.language, shown.frames["en"]))
        # Not in the context of the page's connection: its threads end when the page is closed.
        task = self._loop.create_task(self._save(shown), context=Context())
        self._saving.add(task)
        task.add_done_callback(self._saved)

    def _saved(self, task: asyncio.Task[None]) -> None:
        self._saving.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None:
            logger.error("the progress of an exercise on %s was not saved", self._branch, exc_info=failure)

    async def _save(self, shown: Shown) -> None:
        await ExerciseProgress.objects.filter(
            user_id=self._user_id, branch=self._branch, exercise=shown.exercise
        ).aupdate(state=shown.state)

    def _report_stop(self) -> None:
        refusal = Refusal("refusal.exercise_stopped", 500)
        for watcher in self._lab.watchers:
            if watcher.user_id == self._user_id:
                watcher.send(No(None, **refusal.as_json(watcher.language)))


def run_exercise_setup(live: LiveRun, exercise: Exercise) -> None:
    """Runs the set-up of an exercise and pauses the run after it.

    Raises Refusal when it cannot be run, when a class has stopped the run, or when the lab does not meet the exercise's
    needs after it.
    """
    live.pacer.ensure_not_stopped()
    era = live.run.config.era
    if era != exercise.era:
        raise Refusal("refusal.exercise_era", 409, era=era, wanted=exercise.era)
    live.pacer.set_mode("pause")
    # The set-up waits for brokers that are down until it times out, and may have deleted something by then.
    _ensure([goal for goal in exercise.needs if goal.name == "brokers_up"], live)
    run_setup(live.run, exercise.setup)
    _ensure(exercise.needs, live)


def _ensure(needed: list[Goal], live: LiveRun) -> None:
    needs = ask_all(needed, moment_of(live))
    if not needs.met:
        raise Refusal("refusal.exercise_needs", 409, problem=needs.says)


def resumed_session(
    exercise: Exercise, recording: Recording, state: dict[str, Any], *, paused: bool, pace: int
) -> ExerciseSession:
    """The session as it was stored, brought up to the recording's last event: events after the last store, for example
    before a kill of the process, are in the recording. `pace`: of the class now, whatever it was then.
    """
    last = recording.last_seq
    now = Moment(recording.view_at(last), recording.last_at_us, paused)
    stored = stored_seq(state)
    if not 0 < stored < last:
        return ExerciseSession(exercise, now, state, seq=last, pace=pace)
    at_us = recording.events(stored, stored)[0][1]
    then = Moment(recording.view_at(stored), at_us, True)
    session = ExerciseSession(exercise, then, state, seq=stored, pace=pace)
    if session.is_restarted:
        return ExerciseSession(exercise, now, state, seq=last, pace=pace)
    if session.is_finished:
        return ExerciseSession(exercise, now, state, seq=last, pace=pace)
    session.on_events(now, recording.events(stored + 1, last))
    # They were written to the learning log when they happened.
    session.take_learning_events()
    return session


def moment_of(live: LiveRun) -> Moment:
    """The instant that the learner sees."""
    return Moment(live.run.view, live.run.now_us, not live.pacer.running)
