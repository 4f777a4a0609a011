"""Acceptance statement 2: learners who come at once have labs of the chapter, at next to no cost."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from asgiref.sync import SyncToAsync, ThreadSensitiveContext
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from lab.actions import start_run
from lab.actions.classes.give_labs import give_own_lab, start_over_in_class
from lab.actions.classes.join_class import join_class
from lab.classroom.notices import Notice, forget_listener, on_notice
from lab.exercises.loader import exercises
from lab.models import Branch, Class, ExerciseProgress, Participant, Presence, Run
from lab.recordings.folder import run_folder
from lab.runtime.host import Host
from lab.runtime.policy import IN_CLASS
from tests.support.classroom.class_pages import page_of
from tests.support.classroom.guest import Guest
from tests.support.classroom.lesson_room import remove_class
from tests.support.classroom.slow_copies import copied_on_signal
from tests.support.lab_server import PATIENCE_S, LabServer, Visitor

T = TypeVar("T")
LEARNERS = 40
MAX_BYTES = 20_000_000
JOINS, MAX_QUERIES, MAX_SWITCHES = 4, 30, 12
LESSON = next(iter(exercises().values()))
SOON_S = 2.0
"""How long a second copy may take to begin, which should not."""


@pytest.fixture
def room(lab_server: LabServer, visitor: Visitor) -> Iterator[Class]:
    """A class of a lesson, which nobody has joined yet."""
    assert visitor.post("/classes/new", title="Replication", chapter=LESSON.slug).status == 200
    made = Class.objects.get()
    yield made
    remove_class(lab_server, made)


def disk_bytes(folders: list[Path]) -> int:
    """What folders take on the disk: each file once, however many names it has."""
    files = [path.stat() for folder in folders for path in folder.rglob("*") if path.is_file()]
    return sum({status.st_ino: status.st_blocks * 512 for status in files}.values())


def test_40_who_come_at_once_have_labs_of_the_chapter_and_take_20_mb(lab_server: LabServer, room: Class) -> None:
    people = [join_class(room, None, "", "number", "en", timezone.now()).participant for _ in range(LEARNERS)]

    async def come(host: Host) -> list[int]:
        async def shown(participant: Participant) -> int:
            await give_own_lab(host, participant, lambda _: None)
            run = await Run.objects.aget(learners=participant)
            lab = await host.lab(run.slug, "main")
            return (await lab.snapshot()).seq

        first, *others = people
        return [await shown(first), *await asyncio.gather(*map(shown, others))]

    seqs = lab_server.call(come)
    instructor = Participant.objects.select_related("run").get(classroom=room, number=1)
    assert instructor.run is not None and len(set(seqs)) == 1 and seqs[0] > 0
    runs = list(Run.objects.filter(classroom=room).exclude(pk=instructor.run.pk))
    assert len(runs) == LEARNERS
    begun = ExerciseProgress.objects.filter(branch__run__in=runs).values_list("exercise", flat=True)
    assert list(begun) == [LESSON.slug] * LEARNERS
    folders = [run_folder(run.slug) for run in runs]
    # The first one holds the files that all share.
    assert disk_bytes(folders) - disk_bytes(folders[:1]) <= MAX_BYTES


def test_join_takes_few_queries_and_thread_switches(
    lab_server: LabServer, room: Class, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the link to the first picture of the class, with a lab: hundreds come within seconds."""
    done: Counter[str] = Counter()
    switch, execute = SyncToAsync.__call__, CursorWrapper.execute

    async def counted_switch(self: Any, *given: Any, **named: Any) -> Any:
        done["switches"] += 1
        return await switch(self, *given, **named)

    def counted_execute(self: Any, *given: Any) -> Any:
        done["queries"] += 1
        return execute(self, *given)

    def join(name: str) -> None:
        guest = Guest(lab_server)
        form = guest.get(f"/join/{room.link_key}/").text
        monkeypatch.setattr(guest, "csrf_token", lambda: form.partition('csrfmiddlewaretoken" value="')[2][:64])
        assert guest.join(room.link_key, name).status == 200
        with page_of(lab_server, room.slug, guest) as page:
            while not (page.held.get("/mine") or {}).get("lab"):
                page.read()

    join("Ada")
    monkeypatch.setattr(SyncToAsync, "__call__", counted_switch)
    monkeypatch.setattr(CursorWrapper, "execute", counted_execute)
    for number in range(JOINS):
        join(f"Bob {number}")
    assert done["queries"] <= MAX_QUERIES * JOINS
    assert done["switches"] <= MAX_SWITCHES * JOINS


def test_guest_with_a_lab_opens_the_page_of_the_class_again(lab_server: LabServer, room: Class) -> None:
    guest = Guest(lab_server)
    assert guest.join(room.link_key, "Ada").status == 200
    run = Run.objects.get(learners__classroom=room, learners__number=2)
    again = guest.get(f"/classes/{room.slug}/")
    assert again.status == 200 and f"/r/{run.slug}/main" in again.text
    assert Run.objects.filter(participant__number=2, classroom=room).count() == 1


def test_disk_of_a_lab_in_which_nothing_was_done_is_shown(lab_server: LabServer, room: Class) -> None:
    """It is a copy without files of brokers until its engine runs."""
    guest = Guest(lab_server)
    assert guest.join(room.link_key, "Ada").status == 200
    run = Run.objects.get(learners__classroom=room, learners__number=2)
    found = guest.get(f"/api/runs/{run.slug}/main/disk/tree?broker=b1")
    assert found.status == 200
    assert any(folder["name"].startswith("orders-") for folder in found.json)


async def in_own_thread(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """As a request does: the queries of each have a thread of their own."""
    SyncToAsync.thread_sensitive_context.set(ThreadSensitiveContext())
    return await work()


@pytest.fixture
def noted() -> Iterator[list[Notice]]:
    """What is told of labs that were given."""
    told: list[Notice] = []

    def listen(notice: Notice) -> None:
        if notice.kind == "lab_given":
            told.append(notice)

    on_notice(listen)
    yield told
    forget_listener(listen)


@pytest.mark.parametrize("way", ["first lab", "start over"])
def test_request_that_is_cancelled_gives_one_lab_and_the_class_is_told(
    lab_server: LabServer, room: Class, monkeypatch: pytest.MonkeyPatch, noted: list[Notice], way: str
) -> None:
    participant = join_class(room, None, "", "number", "en", timezone.now()).participant
    user = participant.user
    assert user is not None
    if way == "start over":
        lab_server.call(lambda host: give_own_lab(host, participant, lambda _: None))
        noted.clear()
    known = set(Run.objects.filter(participant=participant).values_list("slug", flat=True))
    begun, goes_on = copied_on_signal(monkeypatch)

    async def load_twice(host: Host) -> None:
        async def load() -> None:
            me = await Participant.objects.select_related("classroom", "user").aget(pk=participant.pk)
            if way == "first lab":
                await give_own_lab(host, me, lambda _: None)
            else:
                await start_over_in_class(host, user, min(known), LESSON.slug)

        first = asyncio.create_task(in_own_thread(load))
        await asyncio.to_thread(begun.wait, PATIENCE_S)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        begun.clear()
        again = asyncio.create_task(in_own_thread(load))
        # If it does not wait for the first one, it begins a copy of its own.
        await asyncio.to_thread(begun.wait, SOON_S)
        goes_on.set()
        await again

    lab_server.call(load_twice)
    (run,) = Run.objects.filter(participant=participant).exclude(slug__in=known)
    participant.refresh_from_db()
    assert participant.run == run
    assert [(one.class_id, one.number) for one in noted] == [(room.pk, participant.number)]
    assert lab_server.call(lambda host: host._policies.get(run.slug)) == IN_CLASS


def test_class_is_told_of_a_lab_even_if_its_page_cannot_be_shown(
    lab_server: LabServer, room: Class, noted: list[Notice]
) -> None:
    participant = join_class(room, None, "", "number", "en", timezone.now()).participant

    def fail(_: Branch | None) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        lab_server.call(lambda host: give_own_lab(host, participant, fail))
    run = Run.objects.get(learners=participant)
    assert [one.number for one in noted] == [participant.number]
    assert lab_server.call(lambda host: host._policies.get(run.slug)) == IN_CLASS


def test_page_that_waits_for_the_lab_of_another_tab_shows_it_although_there_may_be_no_other(
    lab_server: LabServer, room: Class, monkeypatch: pytest.MonkeyPatch
) -> None:
    participant = join_class(room, None, "", "number", "en", timezone.now()).participant
    monkeypatch.setattr(start_run, "MAX_GUEST_RUNS", 1)

    async def come(host: Host) -> list[str]:
        async def load() -> str:
            me = await Participant.objects.select_related("classroom", "user", "run").aget(pk=participant.pk)
            return await give_own_lab(host, me, lambda _: me.run.slug if me.run else "", is_fresh=True)

        return list(await asyncio.gather(load(), load()))

    assert lab_server.call(come) == [Run.objects.get(learners=participant).slug] * 2


def test_learner_who_starts_over_stays_in_the_class(lab_server: LabServer, room: Class) -> None:
    participant = join_class(room, None, "", "number", "en", timezone.now()).participant
    lab_server.call(lambda host: give_own_lab(host, participant, lambda _: None))
    before = Run.objects.get(learners=participant)
    assert participant.user is not None
    user = participant.user

    async def again(host: Host, lesson: str) -> Branch | None:
        return await start_over_in_class(host, user, before.slug, lesson)

    assert lab_server.call(lambda host: again(host, "031-two-who-lead")) is None, "it is not the class's lesson"
    branch = lab_server.call(lambda host: again(host, LESSON.slug))
    after = Run.objects.get(learners=participant)
    assert branch.run == after and after != before
    assert (after.classroom, after.participant) == (room, participant)
    progress = ExerciseProgress.objects.get(branch=branch)
    assert (progress.exercise, progress.user) == (LESSON.slug, user)
    assert Run.objects.filter(pk=before.pk).exists(), "the earlier lab is kept"
    assert lab_server.call(lambda host: again(host, LESSON.slug)) == branch, "the second of two clicks"


def test_instructor_who_starts_over_stays_in_the_class(lab_server: LabServer, visitor: Visitor, room: Class) -> None:
    instructor = Participant.objects.select_related("run").get(classroom=room, number=1)
    before = instructor.run
    assert before is not None
    others = Run.objects.filter(owner=before.owner).exclude(classroom=room)
    known = set(others)
    assert visitor.post(f"/course/{LESSON.slug}/start", run=before.slug).status == 200
    after = Run.objects.get(learners=instructor)
    assert after != before and (after.classroom, after.participant) == (room, instructor)
    assert ExerciseProgress.objects.get(branch__run=after).exercise == LESSON.slug
    assert set(others.all()) == known, "no personal run"


@pytest.mark.parametrize("presence", [Presence.KICKED, Presence.LEFT, Presence.WAITING])
def test_outsiders_get_no_other_lab_of_the_class(lab_server: LabServer, room: Class, presence: Presence) -> None:
    participant = join_class(room, None, "", "number", "en", timezone.now()).participant
    lab_server.call(lambda host: give_own_lab(host, participant, lambda _: None))
    run = Run.objects.get(learners=participant)
    Participant.objects.filter(pk=participant.pk).update(presence=presence)

    async def again(host: Host) -> Branch | None:
        assert participant.user is not None
        return await start_over_in_class(host, participant.user, run.slug, LESSON.slug)

    assert lab_server.call(again) is None
    assert Run.objects.get(learners=participant) == run
