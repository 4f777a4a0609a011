"""Classes in memory for tests: a state with people, acts by name, times as arguments."""

from broker_core.events import Event
from lab.classroom.acts import AnyAct, AnyFact, Given
from lab.classroom.acts.facts import OpenClass, SetPerson
from lab.classroom.decide import decide
from lab.classroom.events import ROOM, ClassEnvelope
from lab.classroom.folds import fold
from lab.classroom.state import State
from lab.texts.refusal import Refusal

US = 1_000_000
TEACHER, ASSISTANT, ADA, BOB, WATCHER, SCREEN = "p1", "p2", "p3", "p4", "p5", "p6"
ROLES = {
    TEACHER: "instructor",
    ASSISTANT: "co-instructor",
    ADA: "learner",
    BOB: "learner",
    WATCHER: "observer",
    SCREEN: "projector",
}


class NoWords:
    """Names and texts that identify themselves."""

    def name(self, p: str) -> str:
        return f"name of {p}"

    def text(self, number: int) -> tuple[str, str]:
        return f"text {number}", "en"


class MemoryClass:
    """A class without disk and sockets."""

    def __init__(self, learners: int = 2, *, steps: int = 4, minutes: int = 8, hints: tuple[int, ...] = ()) -> None:
        self.state = State()
        self.log: list[ClassEnvelope] = []
        self.now_us = 0
        self.fact(OpenClass("a-lesson", steps, minutes, hints))
        for p, role in ROLES.items():
            self.join(p, role)
        for number in range(7, 7 + learners - 2):
            self.join(f"p{number}", "learner")

    def join(self, p: str, role: str, *, waits: bool = False) -> None:
        standing = "waiting" if waits else "in"
        lab = f"run-{p}/main" if role == "learner" and not waits else ""
        self.fact(SetPerson(p, role, standing, lab=lab))  # type: ignore[arg-type]

    def kick(self, p: str) -> list[Event]:
        return self.fact(SetPerson(p, self.state.people[p].role, "kicked"))

    def after(self, seconds: float) -> None:
        self.now_us += int(seconds * US)

    def do(self, who: str, act: AnyAct, id: str = "", texts: tuple[int, ...] = ()) -> list[Event]:
        return self.give(Given(who, act, id, texts))

    def fact(self, fact: AnyFact, who: str = ROOM) -> list[Event]:
        return self.give(Given(who, fact))

    def give(self, given: Given) -> list[Event]:
        """Decides an act and folds what follows. Raises Refusal."""
        found = decide(self.state, given, self.now_us)
        for event in found:
            envelope = (self.state.last_seq + 1, self.now_us, given.who, given.id, event)
            fold(self.state, envelope)
            self.log.append(envelope)
        return found

    def refused(self, who: str, act: AnyAct) -> int:
        """The status with which an act is refused; 0 if it is not."""
        try:
            decide(self.state, Given(who, act, "", (1,) * 7), self.now_us)
        except Refusal as refusal:
            return refusal.status
        return 0
