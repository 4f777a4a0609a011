"""An exercise on a branch: start it, predict, take a hint, start over, leave it, and resume it after a reload."""

import asyncio
from collections.abc import Callable, Iterable

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import transaction

from lab.actions.classes.lessons.pace import pace_of_class
from lab.exercises.lesson import Exercise
from lab.exercises.loader import exercises
from lab.exercises.observer import DELETED, NOTHING, ExerciseObserver, moment_of, resumed_session, run_exercise_setup
from lab.exercises.session import ExerciseSession
from lab.models import Branch, ExerciseProgress
from lab.protocol.frames import Done, ExerciseFrame
from lab.runtime.lab import Lab
from lab.runtime.live_run import LiveRun
from lab.texts.refusal import Refusal


async def control_exercise(lab: Lab, user: User, branch: Branch, frame: ExerciseFrame) -> Done:
    """Executes an action; the exercise's frame is sent to all pages of this user. Raises Refusal if it is not
    possible.
    """
    if frame.op == "start":
        await start_exercise(lab, user, branch, frame.exercise)
    else:
        observer = lab.observers.get(user.pk)
        if not isinstance(observer, ExerciseObserver):
            raise Refusal("refusal.no_exercise_started", 409)
        if frame.op == "leave":
            await _leave(lab, user, branch)
        else:
            await observer.handle(frame)
    return Done(frame.id, lab.ring.last_seq)


async def resume_exercise(lab: Lab, user: User, branch: Branch) -> None:
    """After a reload or a restart, resumes the exercise that this user has started on this branch."""
    if not isinstance(lab.observers.get(user.pk), ExerciseObserver):
        progress = await ExerciseProgress.objects.filter(user=user, branch=branch).afirst()
        if progress is None or progress.exercise not in exercises():
            return
        await _observe(lab, user, branch, exercises()[progress.exercise], progress.state)
    await _publish(lab, user, branch)


async def _publish(lab: Lab, user: User, branch: Branch) -> None:
    """Sends the frame of a lesson to the learner's pages. The class knows of it now; the pace that it set before that
    is made up for.
    """
    observer = lab.observers.get(user.pk)
    if isinstance(observer, ExerciseObserver):
        await observer.set_pace(await pace_of_class(branch, observer.shown.exercise))
        observer.publish()


async def _observe(lab: Lab, user: User, branch: Branch, exercise: Exercise, state: dict[str, object]) -> None:
    loop = asyncio.get_running_loop()
    pace = await pace_of_class(branch, exercise.slug)

    def make(live: LiveRun | None) -> ExerciseObserver:
        paused = live is None or not live.pacer.running
        session = resumed_session(exercise, lab.recording, state, paused=paused, pace=pace)
        if live is None:
            # The server has forgotten the speed, and the lesson's texts count on it.
            lab.pacer.set_rate(exercise.rate)
        observer = ExerciseObserver(lab, user.pk, branch, session, loop)
        if live is not None:
            observer.begin(live)
        return observer

    await lab.observe(user.pk, make)


def _exercise(slug: str) -> Exercise:
    """The exercise in progress. Raises Refusal if there is none."""
    exercise = exercises().get(slug)
    if exercise is None:
        raise Refusal("refusal.no_exercise", exercise=slug, exercises=", ".join(exercises()))
    return exercise


async def start_exercise(
    lab: Lab, user: User, branch: Branch, slug: str, *, first: Callable[[LiveRun], None] | None = None
) -> None:
    """Runs the set-up and starts the exercise, replacing the user's earlier one on the branch; `first` is done before
    that, in the same job. Raises Refusal.
    """
    exercise = _exercise(slug)
    loop = asyncio.get_running_loop()
    pace = await pace_of_class(branch, slug)

    def job(live: LiveRun) -> ExerciseObserver:
        if first is not None:
            first(live)
        run_exercise_setup(live, exercise)
        live.pacer.set_rate(exercise.rate)
        session = ExerciseSession(exercise, moment_of(live), seq=live.run.seq, pace=pace)
        observer = ExerciseObserver(lab, user.pk, branch, session, loop)
        observer.begin(live)
        # In the same job, so that no event occurs between the session's first look and the first call of the observer.
        lab.observers[user.pk] = observer
        return observer

    observer = await lab.act(job)
    await sync_to_async(_store_start)(user, branch, observer)
    await _publish(lab, user, branch)


def _store_start(user: User, branch: Branch, observer: ExerciseObserver) -> None:
    shown = observer.shown
    with transaction.atomic():
        progress = ExerciseProgress.objects.filter(user=user, branch=branch)
        progress.delete()
        progress.create(user=user, branch=branch, exercise=shown.exercise, state=shown.state)


async def end_exercises(labs: Iterable[Lab], user: User) -> None:
    """Ends this user's exercises in some labs after their progress was deleted, and notifies their pages."""
    for lab in labs:
        if isinstance(lab.observers.get(user.pk), ExerciseObserver):
            await _end(lab, user, DELETED)


async def _leave(lab: Lab, user: User, branch: Branch) -> None:
    await _end(lab, user, NOTHING)
    await ExerciseProgress.objects.filter(user=user, branch=branch).adelete()


async def _end(lab: Lab, user: User, frame: dict[str, str]) -> None:
    """Stops observing for this user; their pages get a last frame."""
    observer = lab.observers.pop(user.pk, None)
    if isinstance(observer, ExerciseObserver) and lab.core == "live":
        await lab.act(observer.end)
    for watcher in lab.watchers:
        if watcher.user_id == user.pk:
            watcher.send(frame)
