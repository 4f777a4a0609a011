"""Begins a lesson of the course in a class: its set-up runs once, in a lab of the instructor's, and everyone gets
a new lab from there. Earlier labs are kept.

The database is changed first, in one transaction, then the class states it as an event, and then the labs are given. If
the server ends in between, the class states it when it is opened again, and each page that comes back gets its lab.
"""

import asyncio
from weakref import WeakValueDictionary

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.db import transaction

from lab.actions.classes.give_labs import belongs, give_lab_in_class, set_aside_start
from lab.actions.classes.lessons.start import begun, set_start
from lab.actions.classes.live_class import LiveClass
from lab.actions.delete_run import delete_run
from lab.actions.give_state import SetAside
from lab.actions.start_lesson import start_lesson
from lab.classroom.acts import Given, ops
from lab.classroom.acts.facts import BeginLesson
from lab.course.loader import course
from lab.exercises.lesson import Exercise
from lab.models import Branch, Class, ExerciseProgress, Participant, Presence, Role
from lab.runtime.classes.handouts import discard_handout, handout_folder
from lab.runtime.host import Host
from lab.texts.refusal import Refusal

MAX_LESSONS = 50
"""Lessons of a class, each of which keeps the logs of its start on disk."""
_beginning: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
"""A lock for each class, so that two presses begin one lesson."""


async def begin_lesson(host: Host, live: LiveClass, given: Given, language: str) -> int:
    """Begins the lesson of an act of staff; returns the seq of its event. The labs are given afterwards. It is done
    even if the request is cancelled.

    Raises Refusal if the class has begun another lesson in the meantime, and if no lab of the lesson can be created.
    """

    async def done() -> int:
        async with _beginning.setdefault(live.class_id, asyncio.Lock()):
            return await _begin(host, live, given, language)

    return await asyncio.shield(done())


async def _begin(host: Host, live: LiveClass, given: Given, language: str) -> int:
    act = given.do
    assert isinstance(act, ops.BeginLesson)
    lesson = course().lesson(act.lesson).exercise
    act_id = f"{given.who}/{given.id}"
    is_open, known, at, handout, lessons = await live.room.read(
        lambda state: (state.is_open, state.acts.get(act_id), state.chapter, state.handout, len(state.lessons))
    )
    if known is not None:
        return known.seq
    if not is_open:
        raise Refusal("class_act.ended", 409)
    if act.after != handout:
        if at == act.lesson:
            # If stating it failed before, the class has found it in the database since then.
            live.work(_give_labs(host, live))
            return live.room.board.last_seq
        raise Refusal("class_act.lesson_begun", 409)
    if lessons >= MAX_LESSONS:
        raise Refusal("class_act.many_lessons", 409, max=MAX_LESSONS)
    fact = await _made(host, live, lesson, language)
    seq = await live.room.do(Given(given.who, fact, given.id))
    await live.mirror()
    live.work(_give_labs(host, live))
    return seq


async def _made(host: Host, live: LiveClass, lesson: Exercise, language: str) -> BeginLesson:
    """The instructor's lab of the lesson, which is from now on that of the class. A lesson that cannot begin leaves
    nothing behind.
    """
    classroom = await Class.objects.select_related("owner").aget(pk=live.class_id)
    branch = await start_lesson(host, classroom.owner, lesson, language)
    made: SetAside | None = None
    try:
        made = await set_aside_start(host, classroom, branch)
        return await sync_to_async(_enter)(classroom, branch, made.number)
    except BaseException:
        await asyncio.shield(_discard(host, classroom, branch, made))
        raise


async def _discard(host: Host, classroom: Class, branch: Branch, made: SetAside | None) -> None:
    # First, because a full disk may hinder the database.
    if made is not None:
        await asyncio.to_thread(discard_handout, handout_folder(classroom.slug, made.number))
    await delete_run(host, branch.run, confirmed=True)


def _enter(classroom: Class, branch: Branch, handout: int) -> BeginLesson:
    with transaction.atomic():
        classroom.refresh_from_db()
        if classroom.state != Class.State.OPEN:
            raise Refusal("class_act.ended", 409)
        # A participant without a lab of this lesson gets one.
        classroom.participants.update(run=None)
        instructor = classroom.participants.get(number=1)
        belongs(branch, instructor)
        set_start(classroom, handout, ExerciseProgress.objects.get(branch=branch))
        (fact,) = begun(classroom)
    return fact


async def _give_labs(host: Host, live: LiveClass) -> None:
    """A lab of the lesson for everyone who is in, also for those who are away."""
    async with ThreadSensitiveContext():
        wanting = Participant.objects.select_related("classroom", "user").filter(
            classroom_id=live.class_id, presence=Presence.IN, run=None, role__in=(Role.LEARNER, Role.CO_INSTRUCTOR)
        )
        async for participant in wanting:
            await give_lab_in_class(host, live, participant)
