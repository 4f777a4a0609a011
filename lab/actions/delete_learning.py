"""Deletes what is stored of a user's learning."""

from django.contrib.auth.models import User

from lab.learning.log import delete_history
from lab.models import ExerciseProgress
from lab.texts.refusal import Refusal


def delete_learning(user: User, confirmed: bool) -> None:
    """Deletes answers, cards and progress. Runs, recordings and bookmarks stay. Raises Refusal unless confirmed."""
    if not confirmed:
        raise Refusal("refusal.learning_deletion_unconfirmed")
    delete_history(user.pk)
    ExerciseProgress.objects.filter(user=user).delete()
