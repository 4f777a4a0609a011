"""Plays an exercise's `solution.lab` against an engine: the proof that it can be solved, step by step.

Its sections name the steps, in order:

    [produce]                       the step that the lines below bring about
    producer open p1 --acks all     a console line, as a learner types it
    play / pause                    the buttons: time runs until the step is done, or stands still
    step rpc [until done]           Enter, once or as often as the step needs
    predict HW                      locks in a prediction
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from broker_core.events import Envelope
from broker_core.refusals import ShellError
from broker_core.view.tree import View
from lab.exercises.lesson import Exercise
from lab.exercises.loader import ContentError, lines_of
from lab.exercises.moment import Moment
from lab.exercises.predicate import ask_all
from lab.exercises.session import ExerciseSession
from lab.exercises.setup import Engine, run_setup
from lab.protocol.frames import ExerciseFrame
from lab.texts.refusal import Refusal

MAX_STEPS = 500
PLAY_US = 60_000_000
PLAY_STEP_US = 10_000


class TimedEngine(Engine, Protocol):
    """An engine that the rehearsal moves through time."""

    @property
    def view(self) -> View: ...

    def step_rpc(self) -> bool: ...

    def advance(self, until_us: int) -> int: ...

    def take(self) -> Sequence[tuple[Envelope, Any, Any]]: ...


class Section(NamedTuple):
    """The lines that bring one step about."""

    step: str
    lines: list[str]


def sections_of(exercise: Exercise) -> Iterator[Section]:
    """The sections of a solution. Raises ContentError unless they name the steps, each once, in order."""
    sections: list[Section] = []
    for line in lines_of(exercise.solution):
        if line.startswith("[") and line.endswith("]"):
            sections.append(Section(line[1:-1], []))
        elif sections:
            sections[-1].lines.append(line)
        else:
            raise ContentError(f"{exercise.slug}/solution.lab: {line!r} stands before the first [step].")
    named, steps = [section.step for section in sections], [step.id for step in exercise.steps]
    if named != steps:
        raise ContentError(f"{exercise.slug}/solution.lab: it has the sections {named}; {steps} were expected.")
    yield from sections


class Rehearsal:
    """An exercise on an engine whose brokers run."""

    def __init__(self, exercise: Exercise, engine: TimedEngine) -> None:
        """Runs the set-up and begins. Raises ContentError when that fails, or when the first step is done already."""
        self.exercise = exercise
        self._engine = engine
        self._paused = True
        try:
            run_setup(engine, exercise.setup)
        except Refusal as refusal:
            raise ContentError(f"{exercise.slug}/setup.lab: {refusal.what}") from None
        needs = ask_all(exercise.needs, self._moment())
        if not needs.met:
            raise ContentError(f"{exercise.slug}: after the set-up, what it needs is not there: {needs.says}")
        engine.take()
        self.session = ExerciseSession(exercise, self._moment())
        for step in exercise.steps:
            if self._phase(step.id) == "done":
                raise ContentError(f"{exercise.slug}: step {step.id!r} is done before anything was done.")

    def play(self) -> None:
        """Plays the solution. Raises ContentError where it does not do what the steps ask for."""
        steps = [step.id for step in self.exercise.steps]
        for place, section in enumerate(sections_of(self.exercise)):
            for line in section.lines:
                self._do(section.step, line)
            self._look()
            if self._phase(section.step) != "done":
                why = self.session.frame("en")["steps"][place]["why_not"]
                raise ContentError(f"{self.exercise.slug}/solution.lab: [{section.step}] is not done at its end: {why}")
            ahead = [step for step in steps[place + 1 :] if self._phase(step) == "done"]
            if ahead:
                raise ContentError(f"{self.exercise.slug}/solution.lab: [{section.step}] does {ahead[0]!r} as well.")
        if not self.session.is_finished:
            raise ContentError(f"{self.exercise.slug}: the solution has ended and the exercise has not.")

    def _do(self, step: str, line: str) -> None:
        match line.split():
            case ["pause"]:
                self._paused = True
            case ["play"]:
                self._play_until_done(step)
            case ["step", "rpc"]:
                self._engine.step_rpc()
            case ["step", "rpc", "until", "done"]:
                for _ in range(MAX_STEPS):
                    if self._phase(step) == "done":
                        break
                    self._engine.step_rpc()
                    self._look()
            case ["predict", *words]:
                self._predict(step, " ".join(words))
            case _:
                try:
                    self._engine.submit(line)
                except ShellError as error:
                    raise ContentError(f"{self.exercise.slug}/solution.lab: {line!r}: {error}") from None
        self._look()

    def _play_until_done(self, step: str) -> None:
        self._paused = False
        end_us = self._engine.now_us + PLAY_US
        while self._phase(step) != "done" and self._engine.now_us < end_us:
            self._engine.advance(self._engine.now_us + PLAY_STEP_US)
            self._look()

    def _predict(self, step: str, choice: str) -> None:
        frame = ExerciseFrame(id="", op="predict", step=step, choice=choice, confidence=0.5)
        try:
            self.session.handle(frame, self._moment())
        except Refusal as refusal:
            raise ContentError(f"{self.exercise.slug}/solution.lab: predict {choice}: {refusal}") from None

    def _look(self) -> None:
        self.session.on_events(self._moment(), [made[0] for made in self._engine.take()])

    def _moment(self) -> Moment:
        return Moment(self._engine.view, self._engine.now_us, self._paused)

    def _phase(self, step: str) -> str:
        steps = self.session.frame("en")["steps"]
        phase: str = next(one["state"] for one in steps if one["id"] == step)
        return phase
