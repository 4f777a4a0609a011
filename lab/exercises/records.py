"""The learning events of a lesson, created where the session decides. The observer adds the run and the wall time."""

from collections.abc import Sequence

from lab.exercises.lesson import Choice, Exercise, Step
from lab.exercises.progress import State
from lab.exercises.questions import choices_of
from lab.learning.events import (
    AnswerGiven,
    AnyEvent,
    HintShown,
    LessonFinished,
    LessonReset,
    LessonStarted,
    PredictionGiven,
    PredictionSettled,
    StepChecked,
    StepSkipped,
    TransferAnswered,
    WrongStateShown,
)
from lab.learning.scoring import brier


class Records:
    """Collects the learning events of one lesson."""

    def __init__(self, exercise: Exercise) -> None:
        self._exercise = exercise
        self._events: list[AnyEvent] = []
        self._lesson = exercise.slug

    def take(self) -> list[AnyEvent]:
        """The events since the last call."""
        events, self._events = self._events, []
        return events

    def started(self) -> None:
        self._add(LessonStarted(lesson=self._lesson))

    def reset(self) -> None:
        self._add(LessonReset(lesson=self._lesson))

    def checked(self, step: Step, state: State) -> None:
        """The goals of a step are met. Questions have their own events."""
        if step.kind == "goals":
            part, attempt = self._part_of(step), state.steps[step.id].attempts + 1
            self._add(
                StepChecked(step=step.id, part=part, attempt=attempt, hints=state.hints_shown, lesson=self._lesson)
            )

    def wrong_state(self, step: Step, wrong: str) -> None:
        self._add(WrongStateShown(step=step.id, wrong=wrong, lesson=self._lesson))

    def hint(self, step: Step | None, shown: int) -> None:
        self._add(HintShown(step=step.id if step else "", hint=shown, lesson=self._lesson))

    def skipped(self, step: Step, state: State) -> None:
        """The learner continues without the step; recorded once for each step."""
        if not state.steps[step.id].skipped:
            self._add(StepSkipped(step=step.id, lesson=self._lesson))

    def predicted(self, step: Step, state: State) -> None:
        progress, choices = state.steps[step.id], choices_of(step)
        assert progress.given is not None
        self._add(
            PredictionGiven(
                step=step.id,
                attempt=progress.attempts,
                choice=progress.given.choice,
                choices=len(choices),
                p=_sure(progress.given.confidence, len(choices)),
                hints=state.hints_shown,
                lesson=self._lesson,
            )
        )

    def settled(self, step: Step, state: State) -> None:
        progress, choices = state.steps[step.id], choices_of(step)
        given = progress.given
        assert given is not None
        right, p = given.choice == given.outcome, _sure(given.confidence, len(choices))
        self._add(
            PredictionSettled(
                step=step.id,
                part=self._part_of(step),
                attempt=progress.attempts,
                choice=given.choice,
                choices=len(choices),
                p=p,
                outcome=given.outcome or "",
                right=right,
                brier=brier(p, len(choices), right),
                misconception="" if right else _tag(choices, given.choice),
                tags=tuple(one.tag for one in choices if one.tag and one.value != given.outcome),
                hints=state.hints_shown,
                lesson=self._lesson,
            )
        )

    def answered(self, step: Step, state: State, outcome: str) -> None:
        progress = state.steps[step.id]
        assert progress.given is not None
        right = progress.given.choice == outcome
        self._add(
            AnswerGiven(
                step=step.id,
                part=self._part_of(step),
                attempt=progress.attempts,
                answer=progress.given.choice,
                outcome=outcome,
                right=right,
                misconception="" if right else _tag(choices_of(step), progress.given.choice),
                lesson=self._lesson,
            )
        )

    def transferred(self, place: int, confidence: float | None) -> None:
        assert self._exercise.transfer is not None
        choices = self._exercise.transfer.choices
        right = choices[place].right
        p = 0.0 if confidence is None else _sure(confidence, len(choices))
        self._add(
            TransferAnswered(
                choice=str(place),
                choices=len(choices),
                p=p,
                outcome=str(next(at for at, one in enumerate(choices) if one.right)),
                right=right,
                brier=brier(p, len(choices), right) if p else 0.0,
                misconception=choices[place].tag,
                tags=tuple(one.tag for one in choices if one.tag),
                lesson=self._lesson,
            )
        )

    def part_finished(self, step: Step, state: State) -> None:
        """A step is done; it completes its part if it was the last open step of it."""
        part, parts = self._part_of(step), max(len(self._exercise.parts), 1)
        steps = [one for one in self._exercise.steps if self._part_of(one) == part]
        if all(state.steps[one.id].phase == "done" for one in steps):
            self._add(LessonFinished(part=part, parts=parts, lesson=self._lesson))

    def _part_of(self, step: Step) -> int:
        ids = [one.id for one in self._exercise.steps]
        starts = [ids.index(part.step) for part in self._exercise.parts]
        return max(sum(start <= ids.index(step.id) for start in starts), 1)

    def _add(self, event: AnyEvent) -> None:
        self._events.append(event)


def _sure(confidence: float | None, choices: int) -> float:
    """The confidence: a guess if the learner gave none."""
    return 1 / choices if confidence is None else confidence


def _tag(choices: Sequence[Choice], value: str) -> str:
    return next((one.tag for one in choices if one.value == value), "")
