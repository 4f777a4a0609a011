"""Runs the console lines of an exercise's `setup.lab` one after the other, to their end."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from broker_core.eras import ERAS
from broker_core.refusals import ShellError
from broker_core.texts import Text, Value, text
from lab.exercises.lesson import Exercise
from lab.texts.refusal import Refusal

LIMIT_US = 120_000_000


def cluster_of(exercise: Exercise) -> dict[str, Any]:
    """The fields of a RunConfig for the cluster that a lesson's `[run]` describes."""
    wanted = exercise.run
    return {
        "era": exercise.era,
        "brokers": tuple(range(1, wanted.brokers + 1)),
        "broker_config": wanted.config,
        "config_of_broker": {int(broker): {"broker.rack": rack} for broker, rack in wanted.racks.items()},
    }


def needs_new_run(exercise: Exercise) -> bool:
    """Whether each attempt needs a run of its own: the topics of the attempt before would be in the way, because the
    set-up does not delete them, the learner creates them, or the era deletes none.
    """
    deletes = ERAS[exercise.era].defaults.get("delete.topic.enable") != "false"
    gone: set[str] = set()
    for line in exercise.setup:
        words = line.split()
        if words[:1] != ["kafka-topics.sh"]:
            continue
        if "--delete" in words:
            gone.add(_topic_of(words))
        elif "--create" in words and "--if-not-exists" not in words and _topic_of(words) not in gone:
            return True
    return not deletes or not exercise.setup


def _topic_of(words: list[str]) -> str:
    """The value of --topic in either form; empty if there is none, which the tool will refuse."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == "--topic":
            return following
        if word.startswith("--topic="):
            return word.removeprefix("--topic=")
    return ""


class Engine(Protocol):
    """What a set-up needs of a run."""

    @property
    def now_us(self) -> int: ...

    @property
    def view(self) -> Mapping[str, Any]: ...

    @property
    def running_commands(self) -> tuple[int, ...]: ...

    def submit(self, line: str, source: str = "") -> int: ...

    def step_event(self) -> bool: ...


def run_setup(engine: Engine, lines: Iterable[str]) -> None:
    """Runs the lines, as fast as possible. Raises Refusal when one cannot be run, fails or does not end."""
    for line in lines:
        try:
            command = engine.submit(line, "exercise")
        except ShellError as error:
            raise _stopped(line, error.what) from None
        deadline_us = engine.now_us + LIMIT_US
        while command in engine.running_commands:
            if engine.now_us > deadline_us or not engine.step_event():
                raise _stopped(line, text("refusal.setup_endless"))
        shown = engine.view["console"][str(command)]
        if shown["exit_code"] != 0:
            raise _stopped(line, _failure(shown["output"]) or text("refusal.setup_exit", code=shown["exit_code"]))


def _failure(output: list[str]) -> Value:
    """Why a command failed: the lab's message, if it printed one, else its whole output."""
    lines = [line.removeprefix("! ") for line in output]
    return next(filter(None, map(Text.parse, lines)), " ".join(lines))


def _stopped(line: str, why: Value) -> Refusal:
    return Refusal("refusal.setup_stopped", 409, line=line, problem=why)
