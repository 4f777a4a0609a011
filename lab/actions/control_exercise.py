"""An exercise on a branch: begin it, also in a run of its own; predict, take a hint, begin anew, leave it, and go on
after a reload.
"""

import asyncio

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import transaction

from lab.actions.delete_run import delete_run
from lab.actions.start_run import proposed_seed, start_run
from lab.exercises.loader import Exercise as Content
from lab.exercises.loader import exercises
from lab.exercises.predicate import Moment
from lab.exercises.seat import NOTHING, Seat, lay_table, moment_of
from lab.exercises.session import ExerciseSession
from lab.models import Branch, ExerciseProgress
from lab.protocol.frames import Done, Exercise
from lab.runtime.host import Host
from lab.runtime.lab import Lab
from lab.runtime.live_run import LiveRun
from lab.texts.refusal import Refusal


async def control_exercise(lab: Lab, user: User, branch: Branch, frame: Exercise) -> Done:
    """Does it; the exercise's frame goes to all pages of this user. Raises Refusal for what cannot be done."""
    if frame.op == "start":
        await _start(lab, user, branch, frame.exercise)
    else:
        seat = lab.observers.get(user.pk)
        if not isinstance(seat, Seat):
            raise Refusal("No exercise has begun here.", "One was expected.", "Choose an exercise and start it.", 409)
        if frame.op == "leave":
            await _leave(lab, user, branch)
        else:
            await seat.handle(frame)
    return Done(frame.id, lab.ring.last_seq)


async def resume_exercise(lab: Lab, user: User, branch: Branch) -> None:
    """After a reload or a restart: the exercise that this user had begun on this branch, as it was left."""
    seat = lab.observers.get(user.pk)
    if isinstance(seat, Seat):
        seat.tell()
        return
    progress = await ExerciseProgress.objects.filter(user=user, branch=branch).afirst()
    if progress is None or progress.exercise not in exercises():
        return
    exercise = exercises()[progress.exercise]
    view = await asyncio.to_thread(lab.recording.view_at, lab.recording.last_seq)
    session = ExerciseSession(exercise, Moment(view, lab.recording.last_at_us, True), progress.state)
    _sit_down(lab, user, branch, session)


async def start_exercise_run(host: Host, user: User, slug: str, language: str) -> Branch:
    """Begins an exercise in a new run of its era; returns the run's main branch. Of a run in which it cannot begin
    nothing is left. Raises Refusal.
    """
    exercise = _exercise(slug)
    name = exercise.title.zh if language == "zh-CN" else exercise.title.en
    form = {"name": name, "seed": str(proposed_seed()), "brokers": "3", "era": exercise.era}
    branch = await start_run(host, user, form)
    try:
        await _start(await host.lab(branch.run.slug, branch.name), user, branch, slug)
    except BaseException:
        await delete_run(host, branch.run, confirmed=True)
        raise
    return branch


def _exercise(slug: str) -> Content:
    """Raises Refusal where there is none."""
    exercise = exercises().get(slug)
    if exercise is None:
        raise Refusal(
            f"There is no exercise {slug!r}.", f"One of {', '.join(exercises())} was expected.", "Choose one of these."
        )
    return exercise


async def _start(lab: Lab, user: User, branch: Branch, slug: str) -> None:
    exercise = _exercise(slug)

    def job(live: LiveRun) -> ExerciseSession:
        lay_table(live, exercise)
        live.pacer.set_rate(exercise.rate)
        return ExerciseSession(exercise, moment_of(live))

    session = await lab.act(job)
    await sync_to_async(_note_start)(user, branch, session)
    _sit_down(lab, user, branch, session)


def _note_start(user: User, branch: Branch, session: ExerciseSession) -> None:
    with transaction.atomic():
        progress = ExerciseProgress.objects.filter(user=user, branch=branch)
        progress.delete()
        progress.create(user=user, branch=branch, exercise=session.exercise.slug, state=session.state)


async def _leave(lab: Lab, user: User, branch: Branch) -> None:
    lab.observers.pop(user.pk, None)
    await ExerciseProgress.objects.filter(user=user, branch=branch).adelete()
    for watcher in lab.watchers:
        if watcher.user_id == user.pk:
            watcher.say(NOTHING)


def _sit_down(lab: Lab, user: User, branch: Branch, session: ExerciseSession) -> None:
    seat = Seat(lab, user.pk, branch, session)
    lab.observers[user.pk] = seat
    seat.tell()
