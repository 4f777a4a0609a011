"""Deletes a user's learning data."""

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from lab.actions.control_exercise import end_exercises
from lab.learning.log import delete_history
from lab.models import ExerciseProgress
from lab.runtime.host import Host
from lab.texts.refusal import Refusal


async def delete_learning(host: Host, user: User, confirmed: bool) -> None:
    """Deletes answers, cards and progress, and ends the lessons in progress. Runs, recordings and bookmarks stay.
    Raises Refusal unless confirmed.
    """
    if not confirmed:
        raise Refusal("refusal.learning_deletion_unconfirmed")
    await ExerciseProgress.objects.filter(user=user).adelete()
    # Before the history, because a lesson in progress records events until it ends.
    await end_exercises(host.labs(), user)
    await sync_to_async(delete_history)(user.pk)
