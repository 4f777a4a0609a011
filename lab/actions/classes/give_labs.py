"""The labs of a class: the instructor's, and one for each learner who is admitted, all from the same instant.

That instant is the class's first handout: the chapter's set-up runs only once.
"""

import asyncio
import shutil
from weakref import WeakValueDictionary

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import transaction

from lab import selectors
from lab.actions.classes.live_class import class_folder, lesson_of
from lab.actions.classes.start_class import delete_class
from lab.actions.give_state import save_for_handout, set_aside, take_state
from lab.actions.open_lab import open_lab
from lab.actions.start_lesson import start_lesson
from lab.classroom.notices import Notice, tell
from lab.models import Branch, Class, ExerciseProgress, Participant, Presence, Role
from lab.runtime.classes.handouts import handout_folder
from lab.runtime.host import Host

FIRST_HANDOUT = 1
_LESSON = "lesson"
"""In a class's settings: how its lesson begins."""
_giving: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
"""By participant: two tabs of one person get one lab."""


async def open_labs(host: Host, user: User, classroom: Class, language: str) -> None:
    """Makes the instructor's lab, as the class begins: of its chapter, its instant of a run, or an empty cluster, and
    sets it aside for the learners. A class without a lab is deleted again. Raises Refusal.
    """
    instructor = await classroom.participants.select_related("classroom").aget(number=1)
    try:
        branch = await _first_lab(host, user, classroom, instructor, language)
    except BaseException:
        await sync_to_async(delete_class)(classroom, confirmed=True)
        await asyncio.to_thread(shutil.rmtree, class_folder(classroom.slug), ignore_errors=True)
        raise
    await sync_to_async(_belongs)(branch, instructor)
    await sync_to_async(_keep_start)(classroom, branch)


async def _first_lab(host: Host, user: User, classroom: Class, instructor: Participant, language: str) -> Branch:
    if classroom.origin:
        run, name, seq = classroom.origin.split("/")
        origin = await sync_to_async(selectors.branch_of)(user, run, name, "fork")
        await set_aside(host, classroom, origin, int(seq))
        return await take_state(host, instructor, FIRST_HANDOUT, classroom.title)
    lesson = lesson_of(classroom.chapter)
    branch = await (start_lesson(host, user, lesson, language) if lesson else open_lab(host, user, classroom.title))
    lab = await host.lab(branch.run.slug, branch.name)
    await lab.act(lambda live: live.pacer.set_mode("pause"))
    await set_aside(host, classroom, branch, await save_for_handout(lab))
    return branch


async def give_own_lab(host: Host, participant: Participant) -> None:
    """Creates the lab of an admitted learner without one, if the class has labs. Raises Refusal without disk space."""
    async with _giving.setdefault(participant.pk, asyncio.Lock()):
        await participant.arefresh_from_db(fields=["run", "role"])
        if participant.run_id is not None or participant.role != Role.LEARNER:
            return
        if not handout_folder(participant.classroom.slug, FIRST_HANDOUT).path.is_dir():
            return
        await _take_first(host, participant)


async def start_over_in_class(host: Host, user: User, run: str, lesson: str) -> Branch | None:
    """A new lab in the same class, in which a learner begins the class's lesson again; the earlier one is kept. If they
    have begun again since they opened the run, as with two clicks, it is that one.

    None if the run is not the user's lab in a class of this lesson that is open and that they are in. Raises Refusal.
    """
    participant = await _learner_of(user, run, lesson)
    if participant is None:
        return None
    async with _giving.setdefault(participant.pk, asyncio.Lock()):
        participant = await _learner_of(user, run, lesson)
        if participant is None:
            return None
        if participant.run is not None and participant.run.slug != run:
            return await participant.run.branches.select_related("run").order_by("pk").alast()
        return await _take_first(host, participant)


async def _learner_of(user: User, run: str, lesson: str) -> Participant | None:
    """The learner whose lab in an open class of the lesson a run is."""
    learners = Participant.objects.select_related("classroom", "user", "run").filter(
        user=user, runs__slug=run, role=Role.LEARNER, presence=Presence.IN, classroom__state=Class.State.OPEN
    )
    found = await learners.afirst()
    begins = found.classroom.settings.get(_LESSON) if found is not None else None
    return found if begins is not None and begins["slug"] == lesson else None


async def _take_first(host: Host, participant: Participant) -> Branch:
    """The participant's lab becomes a new one, which continues from the instant at which the class began."""
    classroom = participant.classroom
    branch = await take_state(host, participant, FIRST_HANDOUT, classroom.title)
    await sync_to_async(_assign)(branch, participant)
    tell(Notice("lab_given", classroom.pk, participant.number))
    return branch


def _belongs(branch: Branch, participant: Participant) -> None:
    """The run is that of a participant in the class."""
    with transaction.atomic():
        run = branch.run
        run.classroom, run.participant = participant.classroom, participant
        run.save(update_fields=["classroom", "participant"])
        participant.run = run
        participant.save(update_fields=["run"])


def _keep_start(classroom: Class, branch: Branch) -> None:
    """Stores the initial state of the lesson, because the instructor's own progress advances."""
    progress = ExerciseProgress.objects.filter(branch=branch).first()
    if progress is not None:
        classroom.settings = {**classroom.settings, _LESSON: {"slug": progress.exercise, "state": progress.state}}
        classroom.save(update_fields=["settings"])


def _assign(branch: Branch, participant: Participant) -> None:
    """Assigns a lab to a learner and sets its lesson to the start: the lab's past is that of the instructor's."""
    _belongs(branch, participant)
    begins = participant.classroom.settings.get(_LESSON)
    if begins is not None and participant.user is not None:
        ExerciseProgress.objects.create(
            user=participant.user, branch=branch, exercise=begins["slug"], state=begins["state"]
        )
