"""The state of a lab, given to a class."""

import asyncio
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from lab.actions import give_state, start_run
from lab.actions.execution import finish_imports
from lab.actions.give_state import save_for_handout, set_aside, take_state, take_state_here
from lab.archives.unfinished import UnfinishedFolder
from lab.models import Branch, Class, Participant, Run
from lab.recordings.checkpoints import Checkpoints
from lab.recordings.folder import branch_folder, run_folder
from lab.runtime.host import Host
from lab.texts.refusal import Refusal
from tests.support.lab_page import TOPIC
from tests.support.lab_server import PATIENCE_S, LabServer, Visitor


def close_run(server: LabServer, slug: str) -> None:
    server.call(lambda host: host.close_run(slug))


async def last_seq(host: Host, slug: str) -> int:
    return (await host.lab(slug, "main")).ring.last_seq


@pytest.fixture
def classroom(lab_server: LabServer, visitor: Visitor) -> Iterator[Class]:
    """A class of the visitor with a learner, p2."""
    owner = Run.objects.get(slug=visitor.new_run()).owner
    learner, _ = User.objects.get_or_create(username="a learner")
    made = Class.objects.create(slug="kite-1", owner=owner, title="Replication", link_key="k")
    Participant.objects.create(classroom=made, number=2, user=learner)
    yield made
    for run in Run.objects.filter(classroom=made):
        close_run(lab_server, run.slug)
        run.delete()
    made.delete()


def test_learner_continues_from_the_shared_state_in_a_new_run(
    lab_server: LabServer, visitor: Visitor, classroom: Class
) -> None:
    slug = visitor.new_run()
    with visitor.socket(slug) as socket:
        socket.run(TOPIC)
        socket.ask({"k": "time", "op": "pause"})
        seq = socket.ask({"k": "time", "op": "now"})["seq"]
    branch = Branch.objects.select_related("run").get(run__slug=slug)
    participant = Participant.objects.select_related("classroom").get(classroom=classroom)
    given = lab_server.call(lambda host: set_aside(host, classroom, branch, seq))
    assert given.seq == seq and given.at_us > 0
    taken = lab_server.call(lambda host: take_state(host, participant, given.number, "Lin's state"))
    run = taken.run
    assert (run.owner, run.classroom, run.participant) == (participant.user, classroom, participant)
    assert run.origin == f"{slug}/main/{seq}" and (run.seed, run.era) == (branch.run.seed, branch.run.era)

    async def look(host: Host) -> tuple[Any, ...]:
        lab = await host.lab(run.slug, "main")
        before = lab.core, lab.ring.last_seq
        await lab.act(lambda live: live.run.submit("broker kill 2", "p2"))
        return *before, lab.core, lab.bootstrap, lab.ring.last_seq

    core, at_seq, awake, bootstrap, later_seq = lab_server.call(look)
    assert core == "recorded" and seq <= at_seq < seq + 100
    assert awake == "live" and bootstrap == "" and later_seq > at_seq
    assert lab_server.call(lambda host: last_seq(host, slug)) == seq


def test_state_of_a_lab_that_plays_is_saved_while_an_earlier_instant_is_being_saved(
    lab_server: LabServer, visitor: Visitor
) -> None:
    slug = visitor.new_run()
    with visitor.socket(slug) as socket:
        socket.run(TOPIC)

    async def stand(host: Host) -> tuple[int, int]:
        lab = await host.lab(slug, "main")
        earlier = await lab.act(lambda live: live.checkpoint_aside())
        assert earlier is not None
        await lab.act(lambda live: live.run.advance(live.run.now_us + 3_000_000))
        seq = await save_for_handout(lab)
        return seq, Checkpoints(lab.recording.folder).last_seq()

    seq, saved_seq = lab_server.call(stand)
    assert seq == saved_seq > 0


def test_handouts_are_numbered_and_a_missing_one_is_refused(
    lab_server: LabServer, visitor: Visitor, classroom: Class
) -> None:
    branch = Branch.objects.select_related("run").get(run__slug=visitor.new_run())
    participant = Participant.objects.select_related("classroom").get(classroom=classroom)
    first = lab_server.call(lambda host: set_aside(host, classroom, branch, 5)).number
    assert lab_server.call(lambda host: set_aside(host, classroom, branch, 9)).number == first + 1
    for job in (
        lambda host: set_aside(host, classroom, branch, 0),
        lambda host: set_aside(host, classroom, branch, 10**9),
        lambda host: take_state(host, participant, 999, "x"),
    ):
        before = Run.objects.count()
        with pytest.raises(Refusal):
            lab_server.call(job)
        assert Run.objects.count() == before
    taken = lab_server.call(lambda host: take_state(host, participant, first, "x"))
    assert run_folder(taken.run.slug).is_dir()


@pytest.fixture
def handout(lab_server: LabServer, visitor: Visitor, classroom: Class) -> int:
    """The number of a handout of the class."""
    branch = Branch.objects.select_related("run").get(run__slug=visitor.new_run())
    number: int = lab_server.call(lambda host: set_aside(host, classroom, branch, 5)).number
    return number


def on_disk() -> set[str]:
    """Runs, and what is noted of folders that are not complete."""
    return {path.name for path in settings.RUNS.iterdir() if not path.name.startswith(".deleted-")}


@pytest.mark.parametrize("step", ["copy_handout", "_enter"])
def test_request_that_is_cancelled_leaves_no_run_without_files_and_no_files_without_run(
    lab_server: LabServer, classroom: Class, handout: int, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    participant = Participant.objects.select_related("classroom").get(classroom=classroom)
    begun, goes_on, ended = threading.Event(), threading.Event(), threading.Event()
    do = getattr(give_state, step)

    def wait(*given: Any) -> Any:
        begun.set()
        assert goes_on.wait(PATIENCE_S)
        try:
            return do(*given)
        finally:
            ended.set()

    monkeypatch.setattr(give_state, step, wait)
    before = on_disk()

    async def cancel(host: Host) -> None:
        taking = asyncio.create_task(take_state(host, participant, handout, "x"))
        await asyncio.to_thread(begun.wait, PATIENCE_S)
        taking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await taking
        goes_on.set()
        await asyncio.to_thread(ended.wait, PATIENCE_S)
        # What goes on has entered the run, or not.
        going_on = [task for task in asyncio.all_tasks() if "take_state" in str(task.get_coro())]
        await asyncio.gather(*going_on, return_exceptions=True)

    lab_server.call(cancel)
    assert on_disk() - before == set(Run.objects.filter(participant=participant).values_list("slug", flat=True))


def test_files_of_a_run_that_was_not_entered_before_the_process_was_killed_are_removed(
    lab_server: LabServer, classroom: Class, handout: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    participant = Participant.objects.select_related("classroom").get(classroom=classroom)
    before = on_disk()

    class Killed(BaseException):
        pass

    def enter(*given: Any) -> Branch:
        (slug,) = (name for name in on_disk() - before if not name.startswith("."))
        finish_imports()
        assert run_folder(slug).is_dir(), "a copy in progress must not be touched"
        raise Killed

    def end_process(folder: UnfinishedFolder) -> None:
        assert folder._lock is not None
        os.close(folder._lock)

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(give_state, "_enter", enter)
        patched.setattr(UnfinishedFolder, "discard", end_process)
        take_state_here(participant, handout, "x", branch_folder)
    assert on_disk() > before, "otherwise this tests nothing"
    finish_imports()
    assert on_disk() == before


def test_nothing_is_left_of_a_run_that_was_refused(
    lab_server: LabServer, classroom: Class, handout: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    participant = Participant.objects.select_related("classroom").get(classroom=classroom)
    monkeypatch.setattr(start_run, "MAX_GUEST_RUNS", 0)
    before = on_disk()
    with pytest.raises(Refusal):
        lab_server.call(lambda host: take_state(host, participant, handout, "x"))
    assert on_disk() == before
