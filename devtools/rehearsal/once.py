"""What happens in a class once: all labs are paused, staff look into labs, a state is given to all."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from devtools.rehearsal.learners import Learner
from devtools.rehearsal.patience import patience
from devtools.rehearsal.people import clock_ms
from devtools.rehearsal.taught import Taught, until
from devtools.rehearsal.visitor import Refused


async def pause_all(taught: Taught) -> None:
    """All labs play, are paused by the class, and continue."""
    learners = [one for one in taught.learners if one.page is not None]
    async with patience("labs that play"):
        await asyncio.gather(*(one.play_on() for one in learners))
        await until("labs that play", lambda: all(one.page is not None and one.page.is_playing for one in learners))
    taught.figures.paused_labs = len(learners)
    began_ms = clock_ms()
    await taught.board.act("pause_all")
    await until("paused labs", lambda: not any(one.page is not None and one.page.is_playing for one in learners))
    taught.figures.paused = clock_ms() - began_ms
    await taught.board.act("resume_all")
    await until("labs that continue", lambda: all(one.page is not None and one.page.is_playing for one in learners))
    await asyncio.gather(*(one.pause() for one in learners if not one.manner.plays_on))


async def look(taught: Taught) -> None:
    """Staff see a lab, on each path: from the wall, at a question, with help, on stage. Measures until its learner's
    page says so.
    """
    board, learners = taught.board, taught.at_work()
    first, asker, helped, shown = (learners[number % len(learners)] for number in range(4))

    async def notified(path: str, learner: Learner, act: Coroutine[Any, Any, bool], section: str = "looked_by") -> None:
        began_ms = clock_ms()
        if not await act:
            raise Refused(f"The path {path} into the lab of {learner.p} was refused.")
        await until(f"{path}: the notice to the learner", lambda: bool(learner.sections["/mine"][section]))
        taught.figures.looked[path] = clock_ms() - began_ms

    async def end(learner: Learner, *ops: str) -> None:
        for op in ops:
            await board.act(op, p=learner.p)
        await until("a look that has ended", lambda: not learner.sections["/mine"]["looked_by"])

    await notified("wall", first, board.act("look", p=first.p))
    await end(first, "end_look")
    await asker.act("ask", text="Is this the offset?", lang="en", at={"lab": await asker.own_lab(), "seq": 1})
    await notified("question", asker, board.act("look", p=asker.p))
    await end(asker, "end_look")
    await notified("help", helped, board.act("begin_help", p=helped.p))
    await end(helped, "end_help", "end_look")
    await board.act("ask_stage", p=shown.p)
    await until("the question for the stage", lambda: bool(shown.sections["/mine"]["stage_until_us"]))
    await notified("stage", shown, shown.act("answer_stage", accepted=True, named=False), "on_stage")
    await board.act("clear_stage")


async def give_state(taught: Taught) -> None:
    """The state of the leading lab is given; all learners open it, and then act in it at once."""
    board, figures, learners = taught.board, taught.figures, taught.learners
    here = [one for one in learners if one.is_here.is_set()]
    began_ms = clock_ms()
    if not await board.act("give_state"):
        raise Refused("The state of the leading lab was not given.")
    await until("the state that was given", lambda: bool(board.handouts()))
    newest = max(board.handouts())
    figures.given_seq = board.sections[f"/handouts/{newest}"]["seq"]
    async with patience("learners who take a state"):
        figures.given = max(await asyncio.gather(*(one.take(newest) for one in here))) - began_ms
    began_ms = clock_ms()
    async with patience("engines of labs that were taken"):
        woken = await asyncio.gather(*(one.wake() for one in here))
    figures.woken = min(woken) - began_ms, max(woken) - began_ms
