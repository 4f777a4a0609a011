"""The labs of a class: the instructor's, and one for each learner who is admitted, all from the same instant.

That instant is a handout: the set-up of a lesson runs only once. When the class goes on with another lesson, all get
labs of its handout; earlier ones are kept.
"""

import asyncio
import logging
import shutil
from collections.abc import Callable
from http import HTTPStatus
from typing import TypeVar
from weakref import WeakValueDictionary

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import transaction

from lab import selectors
from lab.actions.classes.door import is_lesson
from lab.actions.classes.lessons.start import FIRST_HANDOUT, Start, has_gone_on, lesson_of, set_start, start_of
from lab.actions.classes.live_class import LiveClass, class_folder
from lab.actions.classes.start_class import delete_class
from lab.actions.give_state import SetAside, save_for_handout, set_aside, take_state, take_state_here
from lab.actions.open_lab import open_lab
from lab.actions.start_lesson import start_lesson
from lab.classroom.acts import Given
from lab.classroom.acts.facts import RefuseLab
from lab.classroom.events import ROOM
from lab.classroom.notices import Notice, tell
from lab.exercises.loader import exercises
from lab.models import STAFF_ROLES, Branch, Class, ExerciseProgress, Participant, Presence, Role
from lab.runtime.classes.handouts import handout_folder
from lab.runtime.host import Host
from lab.runtime.machine.space import is_disk_full
from lab.runtime.policy import IN_CLASS
from lab.texts.refusal import Refusal

T = TypeVar("T")
logger = logging.getLogger(__name__)

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
        await sync_to_async(delete_class)(classroom)
        await asyncio.to_thread(shutil.rmtree, class_folder(classroom.slug), ignore_errors=True)
        raise
    await sync_to_async(_begin)(classroom, instructor, branch)


async def _first_lab(host: Host, user: User, classroom: Class, instructor: Participant, language: str) -> Branch:
    if classroom.origin:
        run, name, seq = classroom.origin.split("/")
        origin = await sync_to_async(selectors.branch_of)(user, run, name, "fork")
        await set_aside(host, classroom, origin, int(seq))
        return await take_state(host, instructor, FIRST_HANDOUT, classroom.title)
    lesson = lesson_of(classroom.chapter)
    branch = await (start_lesson(host, user, lesson, language) if lesson else open_lab(host, user, classroom.title))
    await set_aside_start(host, classroom, branch)
    return branch


async def set_aside_start(host: Host, classroom: Class, branch: Branch) -> SetAside:
    """Pauses a lab that has just been started, and sets its state aside for the others."""
    lab = await host.lab(branch.run.slug, branch.name)
    await lab.act(lambda live: live.pacer.set_mode("pause"))
    return await set_aside(host, classroom, branch, await save_for_handout(lab))


async def give_own_lab(
    host: Host, participant: Participant, then: Callable[[Branch | None], T], *, is_fresh: bool = False
) -> T:
    """Creates the lab of an admitted learner without one, if the class has labs, in the lesson that the class is at;
    returns the result of `then`, which is called after it, in the same thread, with the branch if one was created. The
    lab is given even if the request is cancelled meanwhile. `is_fresh`: the participant and their class were read by
    this request. Raises Refusal for one run too many, and without disk space.
    """
    made: list[Branch] = []

    def give(*, is_known: bool) -> T:
        if not is_known:
            participant.refresh_from_db(fields=["run", "role", "presence"])
            participant.classroom.refresh_from_db(fields=["settings"])
        if _has_labs(participant.classroom) and _wants_lab(participant):
            try:
                made.append(_take_start(host, participant))
            except _NoneWanted:
                participant.refresh_from_db(fields=["run", "role", "presence"])
        return then(made[0] if made else None)

    async def given() -> T:
        lock = _giving.setdefault(participant.pk, asyncio.Lock())
        # Another tab may get a lab while this one waits.
        is_known = is_fresh and not lock.locked()
        async with lock:
            try:
                return await sync_to_async(give)(is_known=is_known)
            finally:
                # Also if `then` fails: the lab has been given.
                for branch in made:
                    _note_given(host, participant, branch)

    # The thread goes on when the request is cancelled, and a page that is loaded again has to wait for it.
    return await asyncio.shield(given())


def _has_labs(classroom: Class) -> bool:
    """Whether participants get labs: a recorded lesson has the instructor's alone."""
    return not is_lesson(classroom) and handout_folder(classroom.slug, FIRST_HANDOUT).path.is_dir()


def _wants_lab(participant: Participant) -> bool:
    """Whether the participant is to have a lab, and has none: a learner, or a co-instructor who had one before."""
    if participant.run_id is not None or participant.presence != Presence.IN:
        return False
    if participant.role == Role.CO_INSTRUCTOR:
        return participant.runs.filter(classroom_id=participant.classroom_id).exists()
    return participant.role == Role.LEARNER


async def give_lab_in_class(host: Host, live: LiveClass, participant: Participant) -> None:
    """The same for somebody whose page is open or who is away: if there is no lab for them, the class is told why."""
    try:
        await give_own_lab(host, participant, lambda _: None)
    except Exception as error:
        why = _why_refused(error)
        if why == "failed":
            logger.exception("%s in class %s got no lab", participant.source, live.slug)
        live.room.tell(Given(ROOM, RefuseLab(participant.source, why)))


def _why_refused(error: Exception) -> str:
    """As `events.room.LabRefused` states it."""
    if is_disk_full(error) or (isinstance(error, Refusal) and error.status == HTTPStatus.INSUFFICIENT_STORAGE):
        return "disk"
    return "runs" if isinstance(error, Refusal) and error.status == HTTPStatus.CONFLICT else "failed"


async def start_over_in_class(host: Host, user: User, run: str, lesson: str) -> Branch | None:
    """A new lab in the same class, in which a learner or staff begin the class's lesson again; the earlier one is kept.
    If they have begun again since they opened the run, as with two clicks, it is that one.

    None if the run is not the user's lab in a class of this lesson that is open and that they are in. Raises Refusal,
    also for a lab of a lesson that the class has left.
    """
    participant = await _worker_of(user, run, lesson)
    if participant is None:
        return None
    return await asyncio.shield(_start_over(host, participant, user, run, lesson))


async def _start_over(host: Host, known: Participant, user: User, run: str, lesson: str) -> Branch | None:
    async with _giving.setdefault(known.pk, asyncio.Lock()):
        participant = await _worker_of(user, run, lesson)
        if participant is None:
            return None
        if participant.run is not None and participant.run.slug != run:
            return await participant.run.branches.select_related("run").order_by("pk").alast()
        branch = await sync_to_async(_take_start)(host, participant, again=True)
        _note_given(host, participant, branch)
        return branch


async def _worker_of(user: User, run: str, lesson: str) -> Participant | None:
    """The learner or member of staff whose lab in an open class of the lesson a run is. Raises Refusal if the class has
    gone on from there.
    """
    workers = Participant.objects.select_related("classroom", "user", "run").filter(
        user=user,
        runs__slug=run,
        role__in=(Role.LEARNER, *STAFF_ROLES),
        presence=Presence.IN,
        classroom__state=Class.State.OPEN,
    )
    found = await workers.afirst()
    if found is None or start_of(found.classroom).lesson == lesson:
        return found
    is_earlier = has_gone_on(found.classroom) and (found.run is None or found.run.slug != run)
    worked = ExerciseProgress.objects.filter(user=user, branch__run__slug=run, exercise=lesson)
    if is_earlier and await worked.aexists():
        raise Refusal("class_act.earlier_lab", HTTPStatus.CONFLICT)
    return None


class _GoneOn(Exception):
    """The class went on with another lesson while a lab was made."""


class _NoneWanted(Exception):
    """The participant got a lab in another tab, or was removed, while a lab was made."""


def _take_start(host: Host, participant: Participant, *, again: bool = False) -> Branch:
    """The participant's lab becomes a new one, which continues from the start of the lesson that the class is at. In a
    thread that may access the database; call `_note_given` after it. `again`: it replaces the one that they have;
    otherwise raises _NoneWanted if they have one.
    """
    start = start_of(participant.classroom)
    while True:

        def assign(branch: Branch, start: Start = start) -> None:
            participant.classroom.refresh_from_db(fields=["settings"])
            if start_of(participant.classroom).handout != start.handout:
                raise _GoneOn
            _assign(branch, participant, start, again=again)

        try:
            return take_state_here(participant, start.handout, _name_of(participant, start), host.folder, assign)
        except _GoneOn:
            start = start_of(participant.classroom)


def _name_of(participant: Participant, start: Start) -> str:
    """The name of a run, by which its owner finds it: that of the class, and of a lesson that it has gone on with."""
    title, lesson = participant.classroom.title, exercises().get(start.lesson)
    if lesson is None or start.handout == FIRST_HANDOUT:
        return title
    return f"{title} · {lesson.title.in_language(participant.language)}"


def _note_given(host: Host, participant: Participant, branch: Branch) -> None:
    """On the event loop: host and class take note of a lab that was given."""
    host.set_policy(branch.run.slug, IN_CLASS)
    tell(Notice("lab_given", participant.classroom.pk, participant.number))


def _begin(classroom: Class, instructor: Participant, branch: Branch) -> None:
    belongs(branch, instructor)
    set_start(classroom, FIRST_HANDOUT, ExerciseProgress.objects.filter(branch=branch).first())


def belongs(branch: Branch, participant: Participant) -> None:
    """The run is the lab of a participant in the class."""
    with transaction.atomic():
        run = branch.run
        run.classroom, run.participant = participant.classroom, participant
        run.save(update_fields=["classroom", "participant"])
        participant.run = run
        participant.save(update_fields=["run"])


def _assign(branch: Branch, participant: Participant, start: Start, *, again: bool) -> None:
    """Assigns a lab to a participant and sets its lesson to the start: the lab's past is that of the instructor's."""
    wanting = Participant.objects.filter(pk=participant.pk, **({} if again else {"run": None, "presence": Presence.IN}))
    if not wanting.update(run=branch.run):
        raise _NoneWanted
    participant.run = branch.run
    if start.lesson and participant.user is not None:
        ExerciseProgress.objects.create(user=participant.user, branch=branch, exercise=start.lesson, state=start.state)
