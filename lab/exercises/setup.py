"""Lays the table: runs the console lines of an exercise's `setup.lab` one after the other, to their end."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from broker_core.refusals import ShellError
from lab.texts.refusal import Refusal

LIMIT_US = 120_000_000


class Engine(Protocol):
    """What a set-up asks of a run."""

    @property
    def now_us(self) -> int: ...

    @property
    def view(self) -> Mapping[str, Any]: ...

    @property
    def running_commands(self) -> tuple[int, ...]: ...

    def submit(self, line: str, source: str = "") -> int: ...

    def step_event(self) -> bool: ...


def run_setup(engine: Engine, lines: Iterable[str]) -> None:
    """Runs the lines, as fast as they go. Raises Refusal when one cannot be run, fails or does not end."""
    for line in lines:
        try:
            command = engine.submit(line, "exercise")
        except ShellError as error:
            raise _refused(line, error.what) from None
        deadline_us = engine.now_us + LIMIT_US
        while command in engine.running_commands:
            if engine.now_us > deadline_us or not engine.step_event():
                raise _refused(line, "it does not end")
        shown = engine.view["console"][str(command)]
        if shown["exit_code"] != 0:
            raise _refused(line, " ".join(shown["output"]) or f"exit code {shown['exit_code']}")


def _refused(line: str, why: str) -> Refusal:
    return Refusal(
        f"The set-up stopped at {line!r}: {why}.",
        "A lab with three brokers that run was expected.",
        "Start the missing brokers, or begin the exercise in a new run.",
        409,
    )
