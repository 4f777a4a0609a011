"""A learner's work on an exercise: completed steps, unmet conditions, predictions and their outcomes.

The newest view decides, after each batch of events and each change of time. Only a prediction is settled event by
event: its outcome is what was there when the thing in question had happened, whatever came after.
"""

import contextlib
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from broker_core.events import Envelope
from broker_core.events.rpc import RpcDelivered
from broker_core.texts import Text, render, text
from broker_core.view.fold import Fold
from broker_core.view.tree import View
from lab.exercises.event_conditions import RpcArrives
from lab.exercises.loader import Exercise, Prediction, Step
from lab.exercises.places import Unresolved, number_text, offset_of, offset_text
from lab.exercises.predicate import Answer, Moment, ask_all
from lab.protocol.frames import Exercise as ExerciseFrame
from lab.texts.refusal import Refusal

StepPhase = Literal["open", "active", "done"]


class Checked(msgspec.Struct, frozen=True):
    """When a step was reached, and what was found, as the code of a message."""

    at_us: int
    detail: str


class Given(msgspec.Struct):
    """A prediction: the choice, how sure the learner was, and the choice that came true (else the offset that did)."""

    choice: str
    confidence: float | None
    outcome: str | None = None


class Progress(msgspec.Struct):
    """One step. `offsets`: the meaning of its prediction's choices, while it is asked and after."""

    phase: StepPhase = "open"
    checked: Checked | None = None
    given: Given | None = None
    offsets: dict[str, int] = {}


class _State(msgspec.Struct):
    """What is stored. `steps` by id."""

    steps: dict[str, Progress]
    hints_shown: int = 0


class ExerciseSession:
    """One learner, one branch, one exercise. Tell it of everything that happens, in order."""

    def __init__(self, exercise: Exercise, moment: Moment, state: dict[str, Any] | None = None) -> None:
        """Starts the exercise, or resumes it from `state`. A state of another version of the exercise, or one that
        cannot be read, starts it over.
        """
        self.exercise = exercise
        self._state = _State({})
        self._pending: Fold | None = None
        if state is not None:
            with contextlib.suppress(msgspec.ValidationError):
                self._state = msgspec.convert(state, _State)
        if [step.id for step in exercise.steps] != list(self._state.steps):
            self._begin()
        self._look(moment)
        self._wait_for_outcome(moment.view)

    @property
    def state(self) -> dict[str, Any]:
        """What to store, as JSON."""
        stored: dict[str, Any] = msgspec.to_builtins(self._state)
        return stored

    @property
    def finished(self) -> bool:
        return all(progress.phase == "done" for progress in self._state.steps.values())

    @property
    def masked(self) -> bool:
        """Whether the page hides outcomes: a prediction is asked and not given yet."""
        step = self._active()
        return step is not None and step.prediction is not None and self._state.steps[step.id].given is None

    def handle(self, frame: ExerciseFrame, moment: Moment) -> None:
        """Does what the learner asked for. Raises Refusal for what cannot be done now.

        `reset` forgets everything; run the set-up before it. `start` and `leave` are not the session's.
        """
        match frame.op:
            case "predict":
                self._predict(frame, moment)
            case "hint":
                if self._state.hints_shown == len(self.exercise.hints):
                    raise Refusal("refusal.no_more_hints", max=len(self.exercise.hints))
                self._state.hints_shown += 1
            case "reset":
                self._begin()
                self._look(moment)
            case _:
                raise ValueError(f"{frame.op} is not the session's")

    def on_events(self, moment: Moment, envelopes: Sequence[Envelope] = ()) -> bool:
        """Events have happened, or time was paused or played; `moment` is after that. Has the frame changed?"""
        before = msgspec.json.encode(self._state)
        why_before = self._why_not
        if self._pending is not None:
            self._settle(self._pending, moment, envelopes)
        self._look(moment)
        return msgspec.json.encode(self._state) != before or self._why_not != why_before

    def frame(self, language: str) -> dict[str, Any]:
        """The `exercise` frame for the page."""
        return {
            "k": "exercise",
            "slug": self.exercise.slug,
            "steps": [self._step_frame(step, language) for step in self.exercise.steps],
            "hints_shown": self._state.hints_shown,
            "masked": self.masked,
            "finished": self.finished,
        }

    def _step_frame(self, step: Step, language: str) -> dict[str, Any]:
        progress = self._state.steps[step.id]
        checked = progress.checked
        return {
            "id": step.id,
            "state": progress.phase,
            "checked": checked and {"at_us": checked.at_us, "detail": render(checked.detail, language)},
            "why_not": render(self._why_not, language) if progress.phase == "active" else "",
            "prediction": progress.given and msgspec.to_builtins(progress.given),
            "said": _said(step.prediction, progress, language),
        }

    # Steps

    def _begin(self) -> None:
        self._state = _State({step.id: Progress() for step in self.exercise.steps})
        self._state.steps[self.exercise.steps[0].id].phase = "active"
        self._pending = None

    def _active(self) -> Step | None:
        return next((step for step in self.exercise.steps if self._state.steps[step.id].phase == "active"), None)

    def _look(self, moment: Moment) -> None:
        """Ticks off what holds, step by step, and remembers why the next one does not."""
        while (step := self._active()) is not None:
            answer = self._ask(step, moment)
            self._why_not = answer.says
            if not answer.met:
                return
            self._reached(step, Checked(moment.at_us, answer.says.code), moment)
        self._why_not = text("goal.done")

    def _ask(self, step: Step, moment: Moment) -> Answer:
        if step.prediction is None:
            return ask_all(step.goals, moment)
        if self._state.steps[step.id].given is not None:
            return Answer(False, _awaited(step.prediction))
        before = self.exercise.steps[self.exercise.steps.index(step) - 1]
        still = ask_all(before.goals, moment)
        if still.met:
            return Answer(False, text("goal.predict_first"))
        # The instant that was asked about has passed: it has to be repeated.
        self._state.steps[step.id] = Progress()
        self._state.steps[before.id] = Progress("active")
        return still

    def _reached(self, step: Step, checked: Checked, moment: Moment) -> None:
        steps = self._state.steps
        steps[step.id].phase = "done"
        steps[step.id].checked = checked
        following = next((other for other in self.exercise.steps if steps[other.id].phase == "open"), None)
        if following is not None:
            steps[following.id].phase = "active"
            if following.prediction is not None:
                offsets = {one.value: offset_of(moment.view, one.offset) for one in following.prediction.choices}
                steps[following.id].offsets = offsets

    # Predictions

    def _predict(self, frame: ExerciseFrame, moment: Moment) -> None:
        step = self._active()
        if step is None or step.prediction is None or frame.step != step.id:
            raise Refusal("refusal.no_prediction_asked")
        progress = self._state.steps[step.id]
        if progress.given is not None:
            raise Refusal("refusal.prediction_locked")
        values = [choice.value for choice in step.prediction.choices]
        if frame.choice not in values:
            raise Refusal("refusal.invalid_choice", choice=str(frame.choice), choices=", ".join(values))
        if frame.confidence is not None and not 0 <= frame.confidence <= 1:
            raise Refusal("refusal.invalid_confidence", confidence=frame.confidence)
        progress.given = Given(frame.choice, frame.confidence)
        self._why_not = _awaited(step.prediction)
        self._wait_for_outcome(moment.view)

    def _wait_for_outcome(self, view: View) -> None:
        """Follows a copy of the view from here on, if a prediction was given whose outcome is not there yet."""
        step = self._active()
        if step is not None and self._state.steps[step.id].given is not None:
            self._pending = Fold(msgspec.json.decode(msgspec.json.encode(view)))

    def _settle(self, fold: Fold, moment: Moment, envelopes: Sequence[Envelope]) -> None:
        step = self._active()
        assert step is not None and step.prediction is not None
        happened_us = -1
        for envelope in envelopes:
            at_us, event = envelope[1], envelope[4]
            if happened_us >= 0 and (isinstance(event, RpcDelivered) or at_us > happened_us):
                break
            if step.prediction.after.happens(fold.view, event):
                happened_us = at_us
            fold.fold(envelope)
        if happened_us >= 0:
            self._outcome(step, step.prediction, fold.view, happened_us, moment)

    def _outcome(self, step: Step, prediction: Prediction, view: View, at_us: int, moment: Moment) -> None:
        self._pending = None
        progress = self._state.steps[step.id]
        assert progress.given is not None
        try:
            offset, what = offset_of(view, prediction.asks), offset_text(view, prediction.asks)
        except Unresolved:
            # It lost its leader in that instant: the question has no answer any more.
            self._state.steps[step.id] = Progress("active")
            return
        named = (value for value, meant in progress.offsets.items() if meant == offset)
        progress.given.outcome = next(named, str(offset))
        found = text("goal.outcome", offset=what, found=number_text(prediction.asks, offset))
        self._reached(step, Checked(at_us, found.code), moment)


def _said(prediction: Prediction | None, progress: Progress, language: str) -> dict[str, str]:
    """How the page writes the choices of a prediction, and the outcome where that is none of them."""
    if prediction is None:
        return {}
    numbers = dict(progress.offsets)
    outcome = progress.given and progress.given.outcome
    if outcome and outcome not in numbers:
        numbers[outcome] = int(outcome)
    return {value: render(number_text(prediction.asks, number), language) for value, number in numbers.items()}


def _awaited(prediction: Prediction) -> Text:
    return text("goal.outcome_in_flight") if isinstance(prediction.after, RpcArrives) else text("goal.outcome_pending")
