"""Starts a lesson in a new run with the cluster that it describes."""

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from lab.actions.control_exercise import start_exercise
from lab.actions.start_run import enter_run, proposed_seed, removed_unless_started
from lab.exercises.lesson import Exercise
from lab.exercises.setup import cluster_of
from lab.models import Branch
from lab.runtime.engine import boot
from lab.runtime.host import Host, RunConfig
from lab.runtime.pacer import wall_ms


async def start_lesson(host: Host, user: User, exercise: Exercise, language: str) -> Branch:
    """Starts a new run for the lesson and runs its set-up; returns the run's main branch. Of a run in which it cannot
    begin nothing is left. Raises Refusal.

    All of that is the first job of the run's engine, in memory; its ZooKeeper is moved to the server afterwards, while
    the page loads.
    """
    name = exercise.title.zh if language == "zh-CN" else exercise.title.en
    config = config_for(exercise, name)
    branch = await sync_to_async(enter_run)(user, name, config.seed, len(config.brokers), config.era)
    async with removed_unless_started(host, branch):
        lab = await host.begin(branch.run.slug, branch.name, config)
        await start_exercise(lab, user, branch, exercise.slug, first=boot)
    return branch


def config_for(exercise: Exercise, name: str) -> RunConfig:
    """The cluster of a lesson's run, as its `[run]` describes it."""
    seed = exercise.run.seed or proposed_seed()
    return RunConfig(name=name, seed=seed, start_wall_ms=wall_ms(), **cluster_of(exercise))
