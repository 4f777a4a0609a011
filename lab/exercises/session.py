"""A learner's work on a lesson: completed steps, unmet conditions, predictions and answers with their outcomes.

The newest view decides, after each batch of events and each change of time. Only a prediction is settled event by
event: its outcome is read right after the awaited event, whatever happens later.
"""

import contextlib
from collections.abc import Sequence
from typing import Any

import msgspec

from broker_core.events import Envelope
from broker_core.events.rpc import RpcDelivered
from broker_core.texts import text
from broker_core.view.fold import Fold
from broker_core.view.tree import View
from lab.exercises.frames import lesson_frame
from lab.exercises.happenings import Happening, Measured
from lab.exercises.lesson import Exercise, Step, Wrong
from lab.exercises.moment import Moment
from lab.exercises.places import Unresolved
from lab.exercises.predicate import GoalState, ask_all
from lab.exercises.progress import Checked, Frozen, Given, Progress, State, StepPhase
from lab.exercises.quantities import value_of
from lab.exercises.questions import (
    answer_asked,
    awaited,
    check_confidence,
    choice_of,
    choices_of,
    found_at,
    meanings_of,
    number_of,
    outcome_of,
)
from lab.exercises.records import Records
from lab.exercises.tally import Tally
from lab.learning.events import AnyEvent
from lab.protocol.frames import ExerciseFrame
from lab.texts.refusal import Refusal


class ExerciseSession:
    """One learner, one branch, one lesson. It must be given everything that happens, in order."""

    def __init__(
        self,
        exercise: Exercise,
        moment: Moment,
        state: dict[str, Any] | None = None,
        *,
        seq: int = 0,
        pace: int | None = None,
    ) -> None:
        """Starts the lesson, or resumes it from `state`. A state of another version of the lesson, or one that cannot
        be read, starts it over: `is_restarted`. `moment` is after event `seq`; `pace` is that of the class, None for
        the one in `state`.
        """
        self.exercise = exercise
        self._records = Records(exercise)
        self._state = State({})
        self._pending: Fold | None = None
        self._wrong: Wrong | None = None
        self._why_not = text("goal.done")
        self._happenings = tuple(exercise.happenings)
        if state is not None:
            with contextlib.suppress(msgspec.ValidationError):
                self._state = msgspec.convert(state, State)
        if pace is not None:
            self._state.pace = pace
        self.is_restarted = state is not None and [step.id for step in exercise.steps] != list(self._state.steps)
        if state is None or self.is_restarted:
            self._begin(moment, seq)
        self._look(self._counted(moment))
        self._wait_for_outcome(moment)

    @property
    def state(self) -> dict[str, Any]:
        """What to store, as JSON."""
        stored: dict[str, Any] = msgspec.to_builtins(self._state)
        return stored

    @property
    def tally(self) -> Tally:
        """What it has counted."""
        return self._state.tally

    @property
    def phases(self) -> dict[str, StepPhase]:
        """The phase of each step, by its id."""
        return {id: progress.phase for id, progress in self._state.steps.items()}

    @property
    def is_finished(self) -> bool:
        return all(progress.phase == "done" for progress in self._state.steps.values())

    @property
    def is_masked(self) -> bool:
        """Whether the page hides outcomes: a prediction is asked for and not given yet."""
        step = self._active()
        return step is not None and step.prediction is not None and self._state.steps[step.id].given is None

    def handle(self, frame: ExerciseFrame, moment: Moment, seq: int | None = None) -> None:
        """Handles a request of the learner. Raises Refusal if it is not possible now.

        `reset` discards everything; run the set-up first, whose last event is `seq`. The session does not handle
        `start` and `leave`.
        """
        moment = self._counted(moment)
        match frame.op:
            case "predict":
                self._predict(frame, moment)
            case "answer":
                self._answer(frame, moment)
            case "transfer":
                self._transfer(frame)
            case "hint":
                self._hint()
            case "skip":
                self._skip(frame, moment)
            case "reset":
                self._records.reset()
                self._begin(moment, self._state.tally.seq if seq is None else seq)
                self._look(self._counted(moment))
            case _:
                raise ValueError(f"{frame.op} is not the session's")

    def on_events(self, moment: Moment, envelopes: Sequence[Envelope] = ()) -> bool:
        """Handles events, or a change of the clock; `moment` is after that. Returns whether the frame has changed."""
        before, wrong, why_not = self._shown(), self._wrong, self._why_not
        tally = self._state.tally
        at_event: tuple[int, int] | None = None
        for envelope in envelopes:
            if envelope[0] <= tally.seq:
                # Of the set-up, or taken before the state was stored.
                continue
            if at_event is not None and (isinstance(envelope[4], RpcDelivered) or envelope[1] > at_event[0]):
                self._settle(at_event, moment)
                at_event = None
            at_event = self._take(envelope, moment) or at_event
        self._settle(at_event, moment)
        if self._pending is not None and (overdue_us := self._overdue_us(moment.at_us)) is not None:
            self._settle((overdue_us, tally.seq), moment)
        self._look(self._counted(moment))
        return self._shown() != before or self._wrong is not wrong or self._why_not != why_not

    def frame(self, language: str) -> dict[str, Any]:
        """The `exercise` frame for the page."""
        return lesson_frame(
            self.exercise,
            self._state,
            self._why_not,
            self._wrong,
            language,
            is_masked=self.is_masked,
            is_restarted=self.is_restarted,
            waits=self.waits,
        )

    def take_learning_events(self) -> list[AnyEvent]:
        """The learning events since the last call."""
        return self._records.take()

    def saw(self, fact: str, figures: dict[str, int], moment: Moment) -> None:
        """The learner did something on the page without an event, such as a measurement."""
        tally, step = self._state.tally, self._active()
        tally.facts[fact] = figures
        awaited = step.prediction.after if step is not None and step.prediction is not None else None
        if isinstance(awaited, Measured) and awaited.what == fact:
            self._settle((moment.at_us, tally.seq), moment)
        self._look(self._counted(moment))

    # Freezes

    @property
    def freeze(self) -> Happening | None:
        """The happening at which the run is to be paused, if the active step has one that has not occurred."""
        step = self._active()
        if step is None or step.freeze is None or self._state.steps[step.id].frozen is not None or self.is_masked:
            return None
        return step.freeze.on

    # Steps

    def _shown(self) -> bytes:
        """The part of the state that the frame shows."""
        state = self._state
        return msgspec.json.encode((state.steps, state.hints, state.transfer, state.chain))

    def _counted(self, moment: Moment) -> Moment:
        return moment._replace(tally=self._state.tally)

    def _begin(self, moment: Moment, seq: int) -> None:
        seed = int(moment.view["run"].get("seed", 0))
        steps = {step.id: Progress() for step in self.exercise.steps}
        self._state = State(steps, pace=self._state.pace, seed=seed)
        tally = self._state.tally
        tally.seq, tally.began_us = seq, moment.at_us
        tally.step_began(moment.at_us)
        self._state.steps[self.exercise.steps[0].id].phase = "active"
        self._pending = None
        self._records.started()

    def _active(self) -> Step | None:
        return next((step for step in self.exercise.steps if self._state.steps[step.id].phase == "active"), None)

    def _look(self, moment: Moment) -> None:
        """Completes steps whose goals are met, one by one, and records why the next one is not."""
        if self._active() is None and self.waits:
            self._state.tally.step_began(moment.at_us)
            self._open_next(moment)
        while (step := self._active()) is not None:
            if self._is_past_pace(step):
                self._why_not, self._wrong = text("goal.waits"), None
                return
            answer = self._ask(step, moment)
            self._why_not = answer.says
            if not answer.met:
                self._wrong = self._wrong_state(step, moment)
                return
            self._records.checked(step, self._state)
            self._reached(step, Checked(moment.at_us, answer.says.code, moment.tally.seq), moment)
        self._why_not, self._wrong = text("goal.done"), None

    def _wrong_state(self, step: Step, moment: Moment) -> Wrong | None:
        found = next((one for one in step.wrong if ask_all(one.goals, moment).met), None)
        seen = self._state.steps[step.id].seen
        if found is not None and found.id not in seen:
            seen.append(found.id)
            self._records.wrong_state(step, found.id)
        return found

    def _ask(self, step: Step, moment: Moment) -> GoalState:
        if step.answer is not None:
            return GoalState(False, answer_asked(self._state.steps[step.id]))
        if step.prediction is None:
            return ask_all(step.goals, moment)
        if self._state.steps[step.id].given is not None:
            return GoalState(False, awaited(step.prediction, self._state.tally, moment.at_us))
        place = self.exercise.steps.index(step)
        before = self.exercise.steps[place - 1]
        # Events that have happened were counted for the previous step and remain counted.
        still = ask_all([goal for goal in before.goals if not goal.happenings], moment)
        if still.met or self._state.steps[before.id].skipped:
            return GoalState(False, text("goal.predict_first"))
        # The instant in question has passed: the prediction has to be repeated.
        self._state.steps[step.id] = Progress(attempts=self._state.steps[step.id].attempts)
        self._state.steps[before.id].phase = "active"
        self._state.steps[before.id].checked = None
        return still

    def _reached(self, step: Step, checked: Checked | None, moment: Moment) -> None:
        steps = self._state.steps
        steps[step.id].phase = "done"
        steps[step.id].checked = checked
        self._state.tally.step_began(moment.at_us)
        self._records.part_finished(step, self._state)
        self._open_next(moment)

    def _open_next(self, moment: Moment) -> None:
        """Opens the first step that is not open yet, unless the class's pace does not include it."""
        steps = self._state.steps
        following = next((other for other in self.exercise.steps if steps[other.id].phase == "open"), None)
        if following is None or self._is_past_pace(following):
            return
        steps[following.id].phase = "active"
        if following.kind != "goals":
            with contextlib.suppress(Unresolved):
                steps[following.id].meanings = meanings_of(choices_of(following), moment)

    def _is_past_pace(self, step: Step) -> bool:
        return 0 < self._state.pace <= self.exercise.steps.index(step)

    def set_pace(self, pace: int, moment: Moment) -> None:
        """Limits progress to step `pace`, counted from 1; 0: no limit. Later steps are not opened, and their goals are
        not completed.
        """
        self._state.pace = pace
        self._look(self._counted(moment))

    @property
    def pace(self) -> int:
        """The current pace."""
        return self._state.pace

    @property
    def waits(self) -> bool:
        """Whether the learner has to wait for the class."""
        step = self._active()
        return not self.is_finished and (step is None or self._is_past_pace(step))

    def _skip(self, frame: ExerciseFrame, moment: Moment) -> None:
        """Skips the step; the outcome of a question is shown all the same."""
        step = self._active()
        if step is None or frame.step != step.id:
            raise Refusal("refusal.no_step_to_skip", 409)
        progress, checked = self._state.steps[step.id], None
        self._records.skipped(step, self._state)
        progress.skipped = True
        if step.prediction is not None and progress.given is None:
            self._lock_in(step, Given("", None), moment)
            return
        self._pending = None
        if step.answer is not None:
            with contextlib.suppress(Unresolved):
                found = value_of(moment, step.answer.asks)
                progress.given = Given("", None, outcome_of(choices_of(step), progress.meanings, moment, found))
                checked = found_at(step, moment, found, moment.at_us, moment.tally.seq)
        self._reached(step, checked, moment)
        self._look(moment)

    def _hint(self) -> None:
        active = self._active()
        helpful = self.exercise.hints_for(active.id if active else "")
        left = [place for place in helpful if place not in self._state.hints]
        if not left:
            raise Refusal("refusal.no_more_hints", max=len(helpful))
        if self.waits:
            raise Refusal("refusal.class_waits", 409)
        self._state.hints.append(left[0])
        self._records.hint(active, self._state.hints_shown)

    # Questions

    def _predict(self, frame: ExerciseFrame, moment: Moment) -> None:
        step = self._active()
        if step is None or step.prediction is None or frame.step != step.id:
            raise Refusal("refusal.no_prediction_asked")
        progress = self._state.steps[step.id]
        if progress.given is not None:
            raise Refusal("refusal.prediction_locked")
        choice = choice_of(step, frame.choice)
        check_confidence(frame.confidence, len(step.prediction.choices))
        progress.attempts += 1
        self._lock_in(step, Given(choice, frame.confidence), moment)

    def _lock_in(self, step: Step, given: Given, moment: Moment) -> None:
        """Waits for the outcome from now on, or reads it if it is available."""
        assert step.prediction is not None
        self._state.steps[step.id].given = given
        self._state.tally.locked_in(moment.at_us, measures_since=step.prediction.since is not None)
        if given.choice:
            self._records.predicted(step, self._state)
        self._why_not = awaited(step.prediction, self._state.tally, moment.at_us)
        self._wait_for_outcome(moment)
        tally = self._state.tally
        if tally.happened(step.prediction.after, since_step=True) >= step.prediction.times:
            # The event came before the prediction was locked in, and may not come again.
            self._settle((moment.at_us, tally.seq), moment)
            self._look(self._counted(moment))

    def _answer(self, frame: ExerciseFrame, moment: Moment) -> None:
        step = self._active()
        if step is None or step.answer is None or frame.step != step.id:
            raise Refusal("refusal.no_answer_asked")
        given = choice_of(step, frame.choice) if step.answer.choices else str(number_of(frame.choice))
        try:
            found = value_of(moment, step.answer.asks)
        except Unresolved as unresolved:
            raise Refusal("refusal.answer_not_there", 409, why=unresolved.why) from None
        progress = self._state.steps[step.id]
        outcome = str(found)
        if step.answer.choices:
            outcome = outcome_of(step.answer.choices, progress.meanings, moment, found)
        progress.attempts += 1
        progress.given = Given(given, None, outcome if outcome == given else None)
        self._records.answered(step, self._state, outcome)
        if outcome == given:
            self._reached(step, found_at(step, moment, found, moment.at_us, moment.tally.seq), moment)
        self._look(moment)

    def _transfer(self, frame: ExerciseFrame) -> None:
        transfer = self.exercise.transfer
        if transfer is None or not self.is_finished or self._state.transfer is not None:
            raise Refusal("refusal.no_transfer_asked", 409)
        place = number_of(frame.choice)
        if not 0 <= place < len(transfer.choices):
            raise Refusal("refusal.invalid_choice", choice=str(frame.choice), choices=f"0-{len(transfer.choices) - 1}")
        check_confidence(frame.confidence, len(transfer.choices))
        self._state.transfer = place
        self._records.transferred(place, frame.confidence)

    def _wait_for_outcome(self, moment: Moment) -> None:
        """Follows a copy of the view from here on, if a prediction was given whose outcome is still open."""
        step = self._active()
        if step is not None and step.prediction is not None and self._state.steps[step.id].given is not None:
            self._pending = Fold(msgspec.json.decode(msgspec.json.encode(moment.view)))

    def _take(self, envelope: Envelope, moment: Moment) -> tuple[int, int] | None:
        """Counts an event, folds it if an outcome is awaited; returns its instant if it is the awaited one."""
        step, tally, found = self._active(), self._state.tally, None
        view = moment.view if self._pending is None else self._pending.view
        if step is not None and self.freeze is not None and self.freeze.happens(view, envelope[4]):
            self._state.steps[step.id].frozen = Frozen(envelope[1], envelope[0])
        since = step.prediction.since if step is not None and step.prediction is not None else None
        if since is not None and since.happens(view, envelope[4]):
            tally.measure_from(envelope[1])
        if self._pending is not None and step is not None and step.prediction is not None:
            overdue_us = self._overdue_us(envelope[1])
            if overdue_us is not None and overdue_us < envelope[1]:
                self._settle((overdue_us, tally.seq), moment)
            elif step.prediction.after.happens(view, envelope[4]):
                before = tally.happened(step.prediction.after, since_step=True)
                if before + 1 >= step.prediction.times:
                    found = envelope[1], envelope[0]
        tally.take(view, envelope, self._happenings)
        self._follow_chain(view, envelope)
        if self._pending is not None:
            self._pending.fold(envelope)
        return found

    def _follow_chain(self, view: View, envelope: Envelope) -> None:
        """Records the events that the debrief explains, and for each of them where its chain continues."""
        chain, state = self.exercise.chain, self._state
        if chain is not None and chain.of.happens(view, envelope[4]):
            is_first = not state.chain[0]
            state.chain = envelope[0] if is_first else state.chain[0], envelope[0]
            state.via = state.found if is_first else state.via[0], state.found
        if chain is not None and chain.via is not None and chain.via.happens(view, envelope[4]):
            state.found = envelope[0]

    def _overdue_us(self, now_us: int) -> int | None:
        """The instant at which the outcome of the pending prediction is read at the latest, if it has passed."""
        step = self._active()
        if step is None or step.prediction is None:
            return None
        ms, tally = step.prediction.limit_ms, self._state.tally
        from_us = tally.locked_us if step.prediction.since is None else tally.since_us
        if ms is None or from_us < 0:
            return None
        due_us = max(tally.locked_us, from_us + ms * 1000)
        return due_us if now_us >= due_us else None

    def _settle(self, at_event: tuple[int, int] | None, moment: Moment) -> None:
        """Reads the outcome of the pending prediction from the followed view, at an instant and after an event."""
        step = self._active()
        if at_event is None or self._pending is None or step is None or step.prediction is None:
            return
        progress, view = self._state.steps[step.id], self._pending.view
        assert progress.given is not None
        self._pending = None
        then = Moment(view, at_event[0], moment.paused, self._state.tally)
        try:
            found = value_of(then, step.prediction.asks)
            checked = found_at(step, then, found, *at_event)
        except Unresolved:
            # It lost its leader at that instant: the question has no answer.
            self._state.steps[step.id] = Progress("active", meanings=progress.meanings, attempts=progress.attempts)
            return
        progress.given.outcome = outcome_of(step.prediction.choices, progress.meanings, then, found)
        if progress.given.choice:
            self._records.settled(step, self._state)
        self._reached(step, checked, then)
