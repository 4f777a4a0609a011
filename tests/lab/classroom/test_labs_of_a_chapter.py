"""Acceptance statement 2: learners who come at once have labs of the chapter, at next to no cost."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from lab.actions.classes.give_labs import give_own_lab, start_over_in_class
from lab.actions.classes.join_class import join_class
from lab.actions.classes.live_class import close_classes
from lab.exercises.loader import exercises
from lab.models import Branch, Class, ExerciseProgress, Participant, Presence, Run
from lab.recordings.folder import run_folder
from lab.runtime.host import Host
from tests.support.lab_server import LabServer, Visitor

LEARNERS = 40
MAX_BYTES = 20_000_000
LESSON = next(iter(exercises().values()))


@pytest.fixture
def room(lab_server: LabServer, visitor: Visitor) -> Iterator[Class]:
    """A class of a lesson, which nobody has joined yet."""
    assert visitor.post("/classes/new", title="Replication", chapter=LESSON.slug).status == 200
    made = Class.objects.get()
    yield made
    lab_server.call(lambda _: close_classes())
    slugs = list(Run.objects.filter(classroom=made).values_list("slug", flat=True))

    async def close(host: Host) -> None:
        for slug in slugs:
            await host.close_run(slug)

    lab_server.call(close)
    Run.objects.filter(slug__in=slugs).delete()
    made.delete()
    User.objects.filter(username__startswith="guest-").delete()


def disk_bytes(folders: list[Path]) -> int:
    """What folders take on the disk: each file once, however many names it has."""
    files = [path.stat() for folder in folders for path in folder.rglob("*") if path.is_file()]
    return sum({status.st_ino: status.st_blocks * 512 for status in files}.values())


def test_40_who_come_at_once_have_labs_of_the_chapter_and_take_20_mb(lab_server: LabServer, room: Class) -> None:
    people = [join_class(room, None, "", "number", "en", timezone.now()).participant for _ in range(LEARNERS)]

    async def come(host: Host) -> list[int]:
        async def shown(participant: Participant) -> int:
            await give_own_lab(host, participant)
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


def test_learner_who_starts_over_stays_in_the_class(lab_server: LabServer, room: Class) -> None:
    participant = join_class(room, None, "", "number", "en", timezone.now()).participant
    lab_server.call(lambda host: give_own_lab(host, participant))
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


@pytest.mark.parametrize("presence", [Presence.KICKED, Presence.LEFT, Presence.WAITING])
def test_who_is_not_in_the_class_gets_no_other_lab_of_it(
    lab_server: LabServer, room: Class, presence: Presence
) -> None:
    participant = join_class(room, None, "", "number", "en", timezone.now()).participant
    lab_server.call(lambda host: give_own_lab(host, participant))
    run = Run.objects.get(learners=participant)
    Participant.objects.filter(pk=participant.pk).update(presence=presence)

    async def again(host: Host) -> Branch | None:
        assert participant.user is not None
        return await start_over_in_class(host, participant.user, run.slug, LESSON.slug)

    assert lab_server.call(again) is None
    assert Run.objects.get(learners=participant) == run
