"""A learner who does an exercise, shared by its tests."""

from typing import Any

from lab.exercises.loader import exercises
from lab.exercises.moment import Moment
from lab.exercises.session import ExerciseSession
from lab.exercises.setup import run_setup
from lab.protocol.frames import ExerciseFrame
from lab.runtime.headless.rehearsal import rehearsal_run

SLUG = "001-high-watermark-two-fetches"
OFFSET = "002-finding-an-offset"
POWER = "003-what-a-power-loss-takes"


class Learner:
    """A learner with a lab of their own, who controls its time."""

    def __init__(self, *before: str, seed: int = 1) -> None:
        self.exercise = exercises()[SLUG]
        self.run = rehearsal_run(seed)
        run_setup(self.run, [*before, *self.exercise.setup])
        self.run.take()
        self.paused = True
        self.session = ExerciseSession(self.exercise, self.moment)

    @property
    def moment(self) -> Moment:
        return Moment(self.run.view, self.run.now_us, self.paused)

    def look(self) -> bool:
        return self.session.on_events(self.moment, [made[0] for made in self.run.take()])

    def send(self) -> None:
        self.run.submit("producer open p1 --acks all")
        self.run.submit("producer send p1 orders-0 k:v")

    def step(self) -> None:
        self.run.step_rpc()
        self.look()

    def step_until(self, step: str, state: str = "done") -> None:
        for _ in range(100):
            if self.states[step] == state:
                return
            self.step()
        raise AssertionError(f"{step} is {self.states[step]}: {self.why_not()}")

    def handle(self, op: Any, **more: Any) -> None:
        self.session.handle(ExerciseFrame(id="u1", op=op, **more), self.moment)

    def predict(self, choice: str) -> None:
        self.handle("predict", step="predict", choice=choice, confidence=0.7)

    @property
    def states(self) -> dict[str, str]:
        return dict(self.session.phases)

    def of(self, step: str, language: str = "en") -> dict[str, Any]:
        return next(one for one in self.session.frame(language)["steps"] if one.get("id") == step)

    def why_not(self, language: str = "en") -> str:
        return next(one["why_not"] for one in self.session.frame(language)["steps"] if one["state"] == "active")
