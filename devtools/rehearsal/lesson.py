"""How a scripted learner does a lesson: with the lines of its own solution, as the learner's page sends them."""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from devtools.rehearsal.lab_page import LabPage
from lab.exercises.lesson import Exercise
from lab.exercises.moment import Moment
from lab.exercises.places import Unresolved
from lab.exercises.quantities import value_of
from lab.exercises.questions import meanings_of, outcome_of
from lab.exercises.solution import sections_of

RATE = 2.0
"""Simulated seconds a second, at which a learner plays a lesson."""
MAX_PLAY_S = 6.0
"""A longer time is played at a higher rate."""
UNTIL_DONE_S = 60.0
"""Simulated seconds that a step without a length takes at most."""
STEPS = 200
STEP_S = 0.15
"""Between two steps: a class allows ten acts a second."""
LATE_S = 2.0
"""How long a learner waits at the end of the lines for the step to be done."""
HINTS = 0.4
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s")
_RPC = re.compile(r"@([A-Z][A-Za-z]+)\.(request|response)")

ReadState = Callable[[], Awaitable[dict[str, Any]]]
"""Reads the lab as it stands: its view, and the instant as `at_us`."""


class Acted(NamedTuple):
    """Something of which the class is notified: a prediction, a hint, an answer or a skipped step."""

    kind: str
    step: int


class Doing:
    """One learner in one lesson, on one page. `noted` is called right before an act of which the class is notified,
    `dropped` when such an act has not done its step.
    """

    def __init__(
        self,
        page: LabPage,
        exercise: Exercise,
        read: ReadState,
        rest: Callable[[], Awaitable[None]],
        chance: random.Random,
        noted: Callable[[Acted], None],
        dropped: Callable[[Acted], None],
    ) -> None:
        """`rest`: the time that this learner takes between two things."""
        self._page, self._exercise, self._read, self._rest = page, exercise, read, rest
        self._chance, self._noted, self._dropped = chance, noted, dropped
        self._lines = {section.step: section.lines for section in sections_of(exercise)}
        self._controller = -1

    async def do(self, last: int = 0) -> None:
        """Does the lesson from the active step on, up to step `last`, counted from 1; 0: to its end."""
        steps = [step.id for step in self._exercise.steps]
        await self._page.until(lambda: bool(self._page.lesson), LATE_S)
        while (step := self._page.step) is not None:
            number = steps.index(step["id"]) + 1
            if last and number > last:
                return
            await self._do_step(step["id"], number)
            if not self._is_done(number):
                return

    async def hint(self) -> bool:
        """Takes the next hint of the active step, if there is one."""
        lesson, step = self._page.lesson, self._page.step
        if step is None or len(lesson["hints"]) >= lesson["hints_in_all"]:
            return False
        number = [one.id for one in self._exercise.steps].index(step["id"]) + 1
        self._noted(Acted("HintTaken", number))
        return await self._page.ask("exercise", op="hint")

    async def _do_step(self, step: str, number: int) -> None:
        """Does a step; a learner who does not succeed takes a hint, and then skips the step."""
        if self._chance.random() < HINTS:
            await self.hint()
        for line in self._lines[step]:
            await self._rest()
            await self._do_line(step, number, line)
        if not await self._page.until(lambda: self._is_done(number), LATE_S):
            # What does the step later is not the answer, and the learner's own time is no delay.
            self._dropped(Acted("StepReached", number))
            await self.hint()
            await self._rest()
            if not self._is_done(number):
                self._noted(Acted("StepReached", number))
                await self._page.ask("exercise", op="skip", step=step)
                # What is skipped may show its outcome later: a prediction.
                await self._page.until(lambda: self._is_done(number), LATE_S)

    def _is_done(self, number: int) -> bool:
        return bool(self._page.lesson["steps"][number - 1]["state"] == "done")

    async def _do_line(self, step: str, number: int, line: str) -> None:
        page = self._page
        match line.split():
            case ["pause"]:
                await page.ask("time", op="pause")
            case ["play", *length]:
                await self._play(number, float(_SECONDS.fullmatch(length[0])[1]) if length else UNTIL_DONE_S)  # type: ignore[index]
            case ["step", "rpc"]:
                await page.ask("time", op="step_rpc")
            case ["step", "rpc", "until", "done"]:
                await self._step_until(number)
            case ["step", "rpc", "until", message]:
                await self._step_until(number, message)
            case ["predict", *words]:
                self._noted(Acted("Predicted", number))
                sure = self._chance.choice((0.5, 0.7, 0.9))
                await page.ask("exercise", op="predict", step=step, choice=" ".join(words), confidence=sure)
            case ["answer", *words]:
                given = " ".join(words) or await self._right_answer(step)
                self._noted(Acted("StepReached", number))
                await page.ask("exercise", op="answer", step=step, choice=given)
            case ["fact", *_]:
                # Measured by the page itself; the step is skipped.
                pass
            case _:
                await page.ask("do", line=await self._resolved(line))

    async def _play(self, number: int, seconds: float) -> None:
        rate = max(RATE, seconds / MAX_PLAY_S)
        await self._page.play(rate)
        await self._page.until(lambda: self._is_done(number), seconds / rate)

    async def _step_until(self, number: int, message: str = "") -> None:
        """Steps from RPC to RPC until the step is done, or until such a message is in flight."""
        for _ in range(STEPS):
            is_there = await self._resolved(f"@{message}") != f"@{message}" if message else self._is_done(number)
            if is_there or not await self._page.ask("time", op="step_rpc"):
                return
            await asyncio.sleep(STEP_S)

    async def _resolved(self, line: str) -> str:
        """A line in which `@controller` and `@Produce.response` are names of what is there now."""
        if "@" not in line:
            return line
        view = (await self._read())["state"]

        def oldest(match: re.Match[str]) -> str:
            found = [name for name, rpc in view["rpcs"].items() if (rpc["api"], rpc["kind"]) == match.groups()]
            return min(found, key=lambda name: int(name[1:]), default=match[0])

        if "restore" not in line or self._controller < 0:
            self._controller = view["controller"]["broker"]
        return _RPC.sub(oldest, line).replace("@controller", str(self._controller))

    async def _right_answer(self, step: str) -> str:
        """What is right now, as far as the picture tells it."""
        asked = self._exercise.step(step).answer
        assert asked is not None, f"{step} asks no question"
        seen = await self._read()
        moment = Moment(seen["state"], seen["at_us"], paused=True)
        try:
            found = value_of(moment, asked.asks)
            choices = asked.choices
            return outcome_of(choices, meanings_of(choices, moment), moment, found) if choices else str(found)
        except Unresolved:
            return "0"
