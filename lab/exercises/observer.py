"""A learner at work on a branch: tells the exercise of what happens there, the learner's pages of what it says, and
keeps how far they have come.
"""

import asyncio
from typing import Any

from lab.exercises.loader import Exercise
from lab.exercises.predicate import Moment
from lab.exercises.predicates import BrokersUp, Goal, ask_all
from lab.exercises.session import ExerciseSession
from lab.exercises.setup import run_setup
from lab.models import Branch, ExerciseProgress
from lab.protocol.frames import Exercise as ExerciseFrame
from lab.runtime.lab import Lab
from lab.runtime.live_run import Batch, LiveRun
from lab.texts.refusal import Refusal

NOTHING: dict[str, Any] = {
    "k": "exercise",
    "slug": "",
    "steps": [],
    "hints_shown": 0,
    "masked": False,
    "finished": False,
}
"""The frame of a learner without an exercise."""


class Seat:
    """One learner on one branch. `happened` runs in the lab's thread, everything else on the event loop."""

    def __init__(self, lab: Lab, user_id: int, branch: Branch, session: ExerciseSession) -> None:
        self._lab = lab
        self._user_id = user_id
        self._branch = branch
        self.session = session
        self._loop = asyncio.get_running_loop()
        self._saving: set[asyncio.Task[None]] = set()

    def happened(self, live: LiveRun, batch: Batch) -> None:
        """Events were made, or time was paused or played."""
        if self.session.on_events(moment_of(live), batch.envelopes):
            self._loop.call_soon_threadsafe(self.tell)

    async def handle(self, frame: ExerciseFrame) -> None:
        """Predict, hint or reset. Raises Refusal for what cannot be done now."""

        def job(live: LiveRun) -> None:
            if frame.op == "reset":
                lay_table(live, self.session.exercise)
            self.session.handle(frame, moment_of(live))

        await self._lab.act(job)
        self.tell()

    def tell(self) -> None:
        """Sends the newest frame to the learner's pages, each in its language, and stores the state."""
        for watcher in self._lab.watchers:
            if watcher.user_id == self._user_id:
                watcher.say(self.session.frame("zh" if watcher.language == "zh-CN" else "en"))
        task = self._loop.create_task(self._save())
        self._saving.add(task)
        task.add_done_callback(self._saving.discard)

    async def _save(self) -> None:
        await ExerciseProgress.objects.filter(
            user_id=self._user_id, branch=self._branch, exercise=self.session.exercise.slug
        ).aupdate(state=self.session.state)


def lay_table(live: LiveRun, exercise: Exercise) -> None:
    """Runs the set-up of an exercise and stops time behind it.

    Raises Refusal when it cannot be run, or when the lab is not as the exercise needs it even so.
    """
    era = live.run.config.era
    if era != exercise.era:
        raise Refusal(
            f"This run is of era {era}, and the exercise is about era {exercise.era}.",
            f"A run of era {exercise.era} was expected.",
            "Start the exercise in a new run: its card in the list does that.",
            409,
        )
    live.pacer.set_mode("pause")
    # A set-up waits in vain for brokers that are down, and may have deleted something by then.
    _ensure([goal for goal in exercise.needs if isinstance(goal, BrokersUp)], live)
    run_setup(live.run, exercise.setup)
    _ensure(exercise.needs, live)


def _ensure(needed: list[Goal], live: LiveRun) -> None:
    needs = ask_all(needed, moment_of(live))
    if not needs.met:
        raise Refusal(
            f"This lab is not as the exercise needs it: {needs.says.en}",
            "A lab as its set-up leaves a new run was expected.",
            "Put that right here, or begin the exercise in a new run with three brokers.",
            409,
        )


def moment_of(live: LiveRun) -> Moment:
    """What the learner has in front of them."""
    return Moment(live.run.view, live.run.now_us, not live.pacer.running)
