"""Polls settled by the leading lab: it continues to the deciding instant, and is paused there.

The answer is read from the lab's events, like the outcome of a lesson's prediction. After a restart of the server the
events since the start of settling are read from the recording.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextvars import Context

import msgspec

from broker_core.events import Envelope
from broker_core.texts import text
from broker_core.view.tree import View
from lab.actions.classes.live_labs import ClassRoom
from lab.classroom.acts import Given, facts, ops
from lab.classroom.board import Now
from lab.classroom.events import ROOM
from lab.classroom.polls import Settling
from lab.exercises.lesson import Choice, Step
from lab.exercises.loader import exercises
from lab.exercises.pause_conditions import forms
from lab.exercises.settling import Question, Reading
from lab.recordings.recording import Recording
from lab.runtime.host import Host
from lab.runtime.lab import Lab
from lab.runtime.lab_thread import wait_for
from lab.runtime.live_run import LiveRun, PublishedUpdate
from lab.runtime.stops import stop_of
from lab.texts.refusal import Refusal

logger = logging.getLogger(__name__)

LOOK_S = 1.0
"""Interval of checks whether the lab is still observed: it may have been closed and reopened."""
MAX_TEXT_LENGTH = 500
MAX_CHOICE_LENGTH = 200
_OBSERVERS = -1_000_000_000
"""Numbers of users are positive, and those of the observers of classes are near zero."""


def completed_poll(act: ops.MakePoll, chapter: str) -> ops.MakePoll:
    """The completed poll: the prediction of a step gets the text and the choices of the class's lesson, in both
    languages. Raises Refusal for conditions that a lab cannot settle.
    """
    unreadable = Question(act.when, act.within_s, act.holds, act.asks).unreadable
    if unreadable is not None:
        raise Refusal("class_act.condition", 400, condition=unreadable, forms=forms())
    # What a page sends as these is nothing that the lesson says.
    act = msgspec.structs.replace(act, tags=(), other_text="", other_choices=(), lesson="")
    if act.form != "prediction" or act.choices:
        return act
    step = predicted_step(chapter, act.step)
    if step is None or step.prediction is None:
        raise Refusal("class_act.no_prediction", 404, step=act.step)
    other = ops.other_language(act.lang)
    return msgspec.structs.replace(
        act,
        text=act.text or _plain(step, act.lang),
        choices=tuple(_choice_text(choice, act.lang) for choice in step.prediction.choices),
        tags=tuple(choice.tag for choice in step.prediction.choices),
        # What staff ask in their own words is in one language.
        other_text="" if act.text else _plain(step, other),
        other_choices=tuple(_choice_text(choice, other) for choice in step.prediction.choices),
        lesson=chapter,
    )


def _plain(step: Step, language: str) -> str:
    """A step's text as a poll shows it."""
    return " ".join(step.text.in_language(language).replace("**", "").replace("`", "").split())[:MAX_TEXT_LENGTH]


def predicted_step(chapter: str, number: int) -> Step | None:
    """A step of the lesson that a class works on, from 1, if it is a prediction."""
    lesson = exercises().get(chapter)
    step = lesson.steps[number - 1] if lesson is not None and 1 <= number <= len(lesson.steps) else None
    return step if step is not None and step.prediction is not None else None


def _choice_text(choice: Choice, language: str) -> str:
    note = "" if choice.note is None else f": {choice.note.in_language(language)}"
    return f"{choice.value}{note}"[:MAX_CHOICE_LENGTH]


async def begin_settling(host: Host, lead: str, act: ops.SettlePoll) -> facts.BeginSettling | ops.SettlePoll:
    """The act with the place of the lab that leads, `run/branch`; the act itself while none does. Raises Refusal for a
    lab that cannot be opened.
    """
    if not lead:
        return act
    run, _, branch = lead.partition("/")
    lab = await host.lab(run, branch)
    return facts.BeginSettling(act.poll, lead, lab.recording.last_seq)


def question_of(settling: Settling) -> Question:
    """The question for a lab."""
    step = predicted_step(settling.chapter, settling.step) if settling.form == "prediction" else None
    return Question(settling.when, settling.within_s, settling.holds, settling.asks, step)


class PollWatch:
    """Follows a lab until it has settled a poll, and pauses it there. In the lab's thread."""

    def __init__(self, room: ClassRoom, settling: Settling, observer_id: int, reading: Reading) -> None:
        self._room = room
        self._settling = settling
        self._observer_id = observer_id
        self._reading = reading
        self._is_told = False

    def begin(self, live: LiveRun, recording: Recording) -> None:
        """Reads the lab's events since the start of settling, then resumes it."""
        self._take(live, recording.events(self._reading.last_seq + 1, recording.last_seq))
        if not self._is_told and not live.pacer.running:
            live.pacer.set_mode("play")

    def happened(self, live: LiveRun, batch: PublishedUpdate) -> None:
        """The events are recorded, so the class's log may refer to them."""
        self._take(live, batch.envelopes)

    def _take(self, live: LiveRun, envelopes: Sequence[Envelope]) -> None:
        for envelope in envelopes:
            self._reading.take(envelope)
        self._reading.end()
        name, settled = stop_of(self._observer_id), self._reading.settled
        if settled is None:
            # A rebuilt engine has no stops.
            live.stops.setdefault(name, self._stops)
            return
        live.stops.pop(name, None)
        if not self._is_told:
            self._is_told = True
            live.flush()
            settling = self._settling
            fact = facts.SettlePoll(settling.poll, settling.lab, settled.outcome, settled.seq, settled.why_not)
            self._room.tell(Given(ROOM, fact))

    def _stops(self, view: View, envelope: Envelope) -> bool:
        self._reading.take(envelope)
        return self._reading.is_due

    def stopped(self) -> None:
        self._room.tell(Given(ROOM, facts.GiveUpSettling(self._settling.poll, self._settling.lab)))


class PollSettling:
    """Lets the leading lab settle the poll of one class. Use it from the event loop."""

    def __init__(self, class_id: int, room: ClassRoom, host: Host) -> None:
        self._room = room
        self._host = host
        self._observer_id = _OBSERVERS - class_id
        self._wanted: Settling | None = None
        self._watched: Settling | None = None
        self._work = asyncio.Event()
        self._task = asyncio.create_task(self._run(), context=Context())

    def apply(self, now: Now) -> None:
        """Applies a change of the poll to settle."""
        if now.settling != self._wanted:
            self._wanted = now.settling
            self._work.set()

    def close(self) -> None:
        """Stops. A playing lab continues."""
        self._task.cancel()
        lab = self._lab(self._watched) if self._watched is not None else None
        if lab is not None:
            lab.observers.pop(self._observer_id, None)

    async def _run(self) -> None:
        while True:
            self._work.clear()
            try:
                await self._look()
            except Refusal as refusal:
                logger.warning("a poll is not settled: %s", refusal)
                self._give_up()
            except Exception:
                logger.exception("a poll is not settled")
                self._give_up()
            await wait_for(self._work, LOOK_S)

    def _give_up(self) -> None:
        if self._wanted is not None:
            self._room.tell(Given(ROOM, facts.GiveUpSettling(self._wanted.poll, self._wanted.lab)))

    def _lab(self, settling: Settling) -> Lab | None:
        run, _, branch = settling.lab.partition("/")
        return self._host.open_lab(run, branch)

    async def _look(self) -> None:
        wanted, watched = self._wanted, self._watched
        if watched is not None and watched != wanted:
            self._watched = None
            lab = self._lab(watched)
            if lab is not None:
                await lab.read(self._leave(lab))
        if wanted is not None and not self._is_watched(wanted):
            await self._begin(wanted)
            self._watched = wanted

    def _is_watched(self, settling: Settling) -> bool:
        lab = self._lab(settling)
        return settling == self._watched and lab is not None and self._observer_id in lab.observers

    def _leave(self, lab: Lab) -> Callable[[LiveRun | None], None]:
        def job(live: LiveRun | None) -> None:
            lab.observers.pop(self._observer_id, None)
            if live is not None:
                live.stops.pop(stop_of(self._observer_id), None)

        return job

    async def _begin(self, settling: Settling) -> None:
        run, _, branch = settling.lab.partition("/")
        lab = await self._host.lab(run, branch)
        recording, question = lab.recording, question_of(settling)
        if not question.can_be_settled:
            raise Refusal("class_act.not_now", 409, problem=text("class_act.problem.not_by_lab"))

        def job(live: LiveRun) -> None:
            live.flush()
            at_us = recording.events(settling.seq, settling.seq)[0][1]
            reading = Reading(question, recording.view_at(settling.seq), at_us, settling.seq)
            watch = PollWatch(self._room, settling, self._observer_id, reading)
            lab.observers[self._observer_id] = watch
            watch.begin(live, recording)

        await lab.act(job)
        lab.time_changed()
