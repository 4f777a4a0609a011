"""A learner takes a state that was given once, whatever becomes of the press and however often they press."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from lab.actions import give_state
from lab.actions.classes.hand_out import take_handout
from lab.actions.classes.live_class import live_classes
from lab.classroom.acts import Given
from lab.classroom.acts.facts import TakeState
from lab.classroom.room import Room
from lab.models import Participant, Run
from lab.recordings.folder import BranchFolder
from lab.runtime.classes.handouts import copy_handout
from lab.runtime.host import Host
from tests.support.classroom.class_pages import Classroom
from tests.support.classroom.slow_copies import copied_on_signal
from tests.support.lab_server import LabServer

PATIENCE_S = 60.0
SOON_S = 1.0
"""As long as a second copy would take to begin."""


@pytest.fixture
def classroom(lab_server: LabServer) -> Iterator[Classroom]:
    """A class in which state 1 was given."""
    made = Classroom(lab_server)
    leading = made.visitors["p1"].new_run(name="The instructor's")
    run, teacher_row = Run.objects.get(slug=leading), Participant.objects.get(classroom=made.model, number=1)
    run.classroom, run.participant, teacher_row.run = made.model, teacher_row, run
    run.save()
    teacher_row.save()
    with made.page("p1") as teacher:
        teacher.until("snap")
        assert teacher.act("take_lead", lab=f"{leading}/main")["k"] == "done"
        assert teacher.act("give_state")["k"] == "done"
    yield made
    made.close()


def runs_of_ada(classroom: Classroom) -> list[Run]:
    return list(Run.objects.filter(participant__number=2, classroom=classroom.model))


def test_second_press_waits_until_the_class_knows_of_the_run(
    classroom: Classroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies: list[BranchFolder] = []
    copied_again, is_noting, goes_on = threading.Event(), threading.Event(), threading.Event()
    do = Room.do

    def copy(handout: BranchFolder, target: BranchFolder) -> None:
        copies.append(target)
        if len(copies) > 1:
            copied_again.set()
        copy_handout(handout, target)

    async def slow(room: Room, given: Given, *rest: Any) -> int:
        if isinstance(given.do, TakeState):
            is_noting.set()
            await asyncio.to_thread(goes_on.wait, PATIENCE_S)
        return await do(room, given, *rest)

    monkeypatch.setattr(give_state, "copy_handout", copy)
    monkeypatch.setattr(Room, "do", slow)
    with classroom.page("p2") as tab, classroom.page("p2") as other:
        tab.until("snap")
        other.until("snap")
        tab.send(k="act", id="first", do={"op": "take_state", "handout": 1})
        assert is_noting.wait(PATIENCE_S)
        other.send(k="act", id="second", do={"op": "take_state", "handout": 1})
        copied_again.wait(SOON_S)
        goes_on.set()
        tab.until("done")
        other.until("done")
        (run,) = runs_of_ada(classroom)
        tab.until_held("/mine taken", {"1": f"{run.slug}/main"})


def test_work_in_a_taken_state_is_on_the_wall(classroom: Classroom) -> None:
    own = classroom.visitors["p2"].new_run(name="Ada's")
    ada = Participant.objects.get(classroom=classroom.model, number=2)
    run = Run.objects.get(slug=own)
    run.classroom, run.participant, ada.run = classroom.model, ada, run
    run.save()
    ada.save()

    async def mirror(host: Host) -> None:
        await (await live_classes().of(classroom.model)).mirror()

    classroom.server.call(mirror)
    with classroom.page("p2") as learner, classroom.page("p1") as teacher:
        learner.until("snap")
        teacher.until("snap")
        learner.send(k="here", lab=f"{own}/main")
        assert learner.act("take_state", handout=1)["k"] == "done"
        taken = learner.held["/mine"]["taken"]["1"]
        teacher.until_held("/people/p2 lab", f"{own}/main")
        with classroom.page("p2") as other:
            other.until("snap")
            other.send(k="here", lab=taken)
            teacher.until_held("/people/p2 lab", taken)
            tiles = classroom.server.call(shown_on_the_wall(classroom))
            assert tiles == {tuple(taken.split("/")): "p2"}
            assert teacher.act("look", "look", p="p2")["k"] == "done"
            assert classroom.visitors["p1"].get(f"/r/{taken}").status == 200
            learner.send(k="here", hidden=True, lab=f"{own}/main")
            learner.send(k="here", lab=f"{own}/main")
            teacher.until_held("/people/p2 lab", f"{own}/main")
            other.send(k="here", lab="nobodys/main")
            other.act("mark", "mark")
            teacher.until_held("/people/p2 lab", f"{own}/main")


def shown_on_the_wall(classroom: Classroom) -> Callable[[Host], Awaitable[dict[tuple[str, str], str]]]:
    async def shown(host: Host) -> dict[tuple[str, str], str]:
        return dict((await live_classes().of(classroom.model)).wall._shown)

    return shown


def test_press_that_is_cancelled_gives_one_run_and_the_class_knows_of_it(
    classroom: Classroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, goes_on = copied_on_signal(monkeypatch)

    async def press_twice(host: Host) -> dict[int, str]:
        live = await live_classes().of(classroom.model)

        async def press() -> None:
            me = Participant.objects.select_related("classroom", "user")
            await take_handout(host, live, await me.aget(classroom=classroom.model, number=2), 1)

        first = asyncio.create_task(press())
        await asyncio.to_thread(begun.wait, PATIENCE_S)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        begun.clear()
        again = asyncio.create_task(press())
        # If it does not wait for the first one, it begins a copy of its own.
        await asyncio.to_thread(begun.wait, SOON_S)
        goes_on.set()
        await again
        return await live.room.read(lambda state: dict(state.people["p2"].taken))

    taken = classroom.server.call(press_twice)
    (run,) = runs_of_ada(classroom)
    assert taken == {1: f"{run.slug}/main"}
