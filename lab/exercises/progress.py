"""The stored state of a learner's work on a lesson."""

from typing import Any, Literal

import msgspec

from lab.exercises.tally import Tally

StepPhase = Literal["open", "active", "done"]
Meaning = int | str | None
"""The meaning of a choice once the question was asked: a number or a word; None for a range, and for a value that is
read at the outcome.
"""


class Checked(msgspec.Struct, frozen=True):
    """When a step was completed, and what was found, as a message id."""

    at_us: int
    detail: str
    seq: int = 0


class Given(msgspec.Struct):
    """A prediction or an answer: the choice, the confidence, and the choice that came true (else the value). `choice`
    is empty if the question was skipped.
    """

    choice: str
    confidence: float | None
    outcome: str | None = None


class Frozen(msgspec.Struct, frozen=True):
    """The run was paused at the event `seq` of a step's freeze."""

    at_us: int
    seq: int


class Progress(msgspec.Struct):
    """One step.

    Attributes:
        meanings: the meanings of the choices of its question, by name.
        attempts: predictions that were locked in or answers that were given, also those that had to be repeated.
        seen: ids of wrong states that were shown.
        skipped: the learner continued without completing it.
    """

    phase: StepPhase = "open"
    checked: Checked | None = None
    given: Given | None = None
    meanings: dict[str, Meaning] = {}
    attempts: int = 0
    seen: list[str] = []
    frozen: Frozen | None = None
    skipped: bool = False


class State(msgspec.Struct):
    """A lesson.

    Attributes:
        steps: by id.
        pace: the last step, from 1, that the class may be at; 0 for all.
        hints: the places of the hints that were shown.
        transfer: the place of the choice taken in the transfer question.
        seed: of the run.
        chain: the first and the last event that the debrief explains; 0 for none.
        via: for each of them the event before it at which its chain continues.
        found: the last event at which a chain may continue.
    """

    steps: dict[str, Progress]
    pace: int = 0
    hints: list[int] = []
    transfer: int | None = None
    seed: int = 0
    chain: tuple[int, int] = (0, 0)
    via: tuple[int, int] = (0, 0)
    found: int = 0
    tally: Tally = msgspec.field(default_factory=Tally)

    @property
    def hints_shown(self) -> int:
        return len(self.hints)


def stored_seq(state: dict[str, Any]) -> int:
    """The last event included in a stored state; 0 for a state of another version."""
    tally = state.get("tally")
    seq = tally.get("seq", 0) if isinstance(tally, dict) else 0
    return seq if isinstance(seq, int) else 0
