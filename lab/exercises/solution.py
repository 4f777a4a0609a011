"""Plays an exercise's `solution.lab` against an engine, step by step, which proves that it can be solved.

Its sections name the steps, in order:

    [produce]                       the step that the lines below bring about
    [produce/console]               another way to bring it about, which only `check_exercises` plays
    producer open p1 --acks all     a console line, as a learner types it
    play / pause                    the buttons: time runs until the step is done, or the simulation is paused
    play 10s                        time runs so long, or until the step is done
    step rpc [until done]           Enter, once or as often as the step needs
    step rpc until Produce.request  Enter, until such a message is in flight
    predict HW                      locks in a prediction
    answer 35 / answer              answers a question, with these words or with what is right
    fact zero_copy bytes=0          what the page states about a measurement, with its figures

In a console line `@controller` is the broker that is the controller; in `link restore`, the one that was meant before.
`@Produce.response` is the oldest response of that API that is in flight, and `@Produce.request` the oldest request.

`wrong.lab` has the same lines in sections `[step/wrong state]`, each played after the solution of the steps before.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from broker_core.events import Envelope
from broker_core.refusals import ShellError
from broker_core.view.tree import View
from lab.exercises.lesson import Exercise
from lab.exercises.loader import ContentError, lines_of
from lab.exercises.moment import Moment
from lab.exercises.predicate import ask_all
from lab.exercises.quantities import value_of
from lab.exercises.questions import meanings_of, outcome_of
from lab.exercises.session import ExerciseSession
from lab.exercises.setup import Engine, cluster_of, run_setup
from lab.protocol.frames import ExerciseFrame
from lab.runtime.headless.rehearsal import rehearsal_run
from lab.texts.refusal import Refusal

MAX_STEPS = 500
"""Messages of a `step rpc until`."""
TIMED_OUT = "[timeout]"
"""What `wait` prints when its condition was not met in time."""
_RPC = re.compile(r"@([A-Z][A-Za-z]+\.(?:request|response))")
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s")
PLAY_US = 60_000_000
"""As long as a `play` without a length takes at most."""
PLAY_STEP_US = 10_000


class TimedEngine(Engine, Protocol):
    """An engine whose time the rehearsal advances."""

    @property
    def view(self) -> View: ...

    def step_rpc(self) -> bool: ...

    def advance(self, until_us: int) -> int: ...

    def take(self) -> Sequence[tuple[Envelope, Any, Any]]: ...


def lesson_run(exercise: Exercise, seed: int) -> TimedEngine:
    """A run in memory with the cluster of a lesson, its brokers up."""
    return rehearsal_run(seed, **cluster_of(exercise))


class Section(NamedTuple):
    """The lines that complete one step."""

    step: str
    lines: list[str]


def sections_of(exercise: Exercise) -> Iterator[Section]:
    """The sections of a solution. Raises ContentError unless they name the steps, each once, in order."""
    sections = [section for section in _solution(exercise) if "/" not in section.step]
    named, steps = [section.step for section in sections], [step.id for step in exercise.steps]
    if named != steps:
        raise ContentError(f"{exercise.slug}/solution.lab: it has the sections {named}; {steps} were expected.")
    yield from sections


def other_ways_of(exercise: Exercise) -> list[Section]:
    """Other ways to bring steps about. Raises ContentError for one that names no step."""
    sections = [section for section in _solution(exercise) if "/" in section.step]
    steps = {step.id for step in exercise.steps}
    for section in sections:
        if section.step.partition("/")[0] not in steps:
            raise ContentError(f"{exercise.slug}/solution.lab: [{section.step}] names no step of {sorted(steps)}.")
    return sections


def _solution(exercise: Exercise) -> list[Section]:
    return _sections(f"{exercise.slug}/solution.lab", exercise.solution)


def wrong_sections_of(exercise: Exercise) -> list[Section]:
    """The sections of wrong.lab. Raises ContentError unless they name each wrong state once."""
    sections = _sections(f"{exercise.slug}/wrong.lab", exercise.wrong)
    named = sorted(one.step for one in sections)
    states = sorted(f"{step.id}/{wrong.id}" for step in exercise.steps for wrong in step.wrong)
    if named != states:
        raise ContentError(f"{exercise.slug}/wrong.lab: it has the sections {named}; {states} were expected.")
    return sections


def _sections(where: str, script: str) -> list[Section]:
    sections: list[Section] = []
    for line in lines_of(script):
        if line.startswith("[") and line.endswith("]"):
            sections.append(Section(line[1:-1], []))
        elif sections:
            sections[-1].lines.append(line)
        else:
            raise ContentError(f"{where}: {line!r} is before the first [section].")
    return sections


class Rehearsal:
    """An exercise on an engine whose brokers run."""

    def __init__(self, exercise: Exercise, engine: TimedEngine) -> None:
        """Runs the set-up and begins. Raises ContentError when that fails, or when the first step is done already."""
        self.exercise = exercise
        self._engine = engine
        self._paused = True
        self._controller = -1
        self.envelopes: list[Envelope] = []
        """The events since the set-up."""
        try:
            run_setup(engine, exercise.setup)
        except Refusal as refusal:
            raise ContentError(f"{exercise.slug}/setup.lab: {refusal.what}") from None
        late = [one["line"] for one in engine.view["console"].values() if TIMED_OUT in one["output"]]
        if late:
            raise ContentError(f"{exercise.slug}/setup.lab: {late[0]!r} times out: the learner waits in vain.")
        needs = ask_all(exercise.needs, self._moment())
        if not needs.met:
            raise ContentError(f"{exercise.slug}: after the set-up, what it needs is not there: {needs.says}")
        self.before = [one[0] for one in engine.take()]
        """The events of the set-up."""
        self.session = ExerciseSession(exercise, self._moment())
        for step in exercise.steps:
            if self._phase(step.id) == "done":
                raise ContentError(f"{exercise.slug}: step {step.id!r} is done before anything was done.")

    def play(self, until: str = "", before: Callable[[str], None] | None = None) -> None:
        """Plays the solution, or the part of it before step `until`. Calls `before` with the id of each step that it is
        about to play. Raises ContentError where it does not complete a step.
        """
        steps = [step.id for step in self.exercise.steps]
        for place, section in enumerate(sections_of(self.exercise)):
            if section.step == until:
                return
            if before is not None:
                before(section.step)
            self.do(section)
            if self._phase(section.step) != "done":
                why = self.session.frame("en")["steps"][place]["why_not"]
                raise ContentError(f"{self.exercise.slug}/solution.lab: [{section.step}] is not done at its end: {why}")
            ahead = [step for step in steps[place + 1 :] if self._phase(step) == "done"]
            if ahead:
                raise ContentError(f"{self.exercise.slug}/solution.lab: [{section.step}] does {ahead[0]!r} as well.")
        if not self.session.is_finished:
            raise ContentError(f"{self.exercise.slug}: the solution has ended and the exercise has not.")

    def do(self, section: Section) -> None:
        """Plays the lines of a section."""
        for line in section.lines:
            self._do(section.step.partition("/")[0], line)
        self._look()

    def _do(self, step: str, line: str) -> None:
        match line.split():
            case ["pause"]:
                self._paused = True
            case ["play"]:
                self._play_until_done(step, PLAY_US)
            case ["play", length]:
                self._play_until_done(step, self._seconds_us(length))
            case ["step", "rpc"]:
                self._engine.step_rpc()
            case ["step", "rpc", "until", "done"]:
                for _ in range(MAX_STEPS):
                    if self._phase(step) == "done":
                        break
                    self._engine.step_rpc()
                    self._look()
            case ["step", "rpc", "until", message]:
                self._step_until_in_flight(message)
            case ["predict", *words]:
                self._handle("predict", step, " ".join(words))
            case ["answer", *words]:
                self._handle("answer", step, " ".join(words) or self.right_answer(step))
            case ["fact", name, *figures]:
                pairs = (figure.partition("=") for figure in figures)
                self.session.saw(name, {key: int(value) for key, _, value in pairs}, self._moment())
            case _:
                try:
                    self._engine.submit(self._resolved(line))
                except ShellError as error:
                    raise ContentError(f"{self.exercise.slug}/solution.lab: {line!r}: {error}") from None
        self._look()

    def _resolved(self, line: str) -> str:
        """A line of a script in which `@controller` is replaced by the id of the controller, and `@Produce.response` by
        the name of a message.
        """
        line = _RPC.sub(lambda match: self._oldest_in_flight(match[1]), line)
        if "@controller" not in line:
            return line
        if self._controller < 0 or "restore" not in line:
            self._controller = self._engine.view["controller"]["broker"]
        return line.replace("@controller", str(self._controller))

    def _step_until_in_flight(self, message: str) -> None:
        for _ in range(MAX_STEPS):
            if self._in_flight(message):
                return
            self._engine.step_rpc()
            self._look()

    def _oldest_in_flight(self, message: str) -> str:
        found = self._in_flight(message)
        if not found:
            raise ContentError(f"{self.exercise.slug}: no {message} is in flight.")
        return min(found, key=lambda name: int(name[1:]))

    def _in_flight(self, message: str) -> list[str]:
        """The names of the messages in flight that match, for example, `Produce.request`."""
        rpcs = self._engine.view["rpcs"]
        return [name for name, rpc in rpcs.items() if f"{rpc['api']}.{rpc['kind']}" == message]

    def _seconds_us(self, length: str) -> int:
        match = _SECONDS.fullmatch(length)
        if match is None:
            raise ContentError(f"{self.exercise.slug}: play {length}: expected seconds, as in play 10s.")
        return int(float(match[1]) * 1_000_000)

    def _play_until_done(self, step: str, length_us: int) -> None:
        self._paused = False
        end_us = self._engine.now_us + length_us
        while self._phase(step) != "done" and self._engine.now_us < end_us:
            self._engine.advance(self._engine.now_us + PLAY_STEP_US)
            self._look()

    def right_answer(self, step: str) -> str:
        """The right answer now."""
        asked = self.exercise.step(step)
        if asked.answer is None:
            raise ContentError(f"{self.exercise.slug}: step {step!r} asks no question.")
        moment = self._moment()._replace(tally=self.session.tally)
        found = value_of(moment, asked.answer.asks)
        choices = asked.answer.choices
        return outcome_of(choices, meanings_of(choices, moment), moment, found) if choices else str(found)

    def _handle(self, op: Literal["predict", "answer"], step: str, choice: str) -> None:
        asked = self.exercise.step(step).prediction
        confidence = None if asked is None else 1 / len(asked.choices)
        frame = ExerciseFrame(id="", op=op, step=step, choice=choice, confidence=confidence)
        try:
            self.session.handle(frame, self._moment())
        except Refusal as refusal:
            raise ContentError(f"{self.exercise.slug}/solution.lab: {op} {choice}: {refusal}") from None

    def _look(self) -> None:
        made = [one[0] for one in self._engine.take()]
        self.envelopes += made
        self.session.on_events(self._moment(), made)

    def _moment(self) -> Moment:
        return Moment(self._engine.view, self._engine.now_us, self._paused)

    def _phase(self, step: str) -> str:
        return self.session.phases[step]
