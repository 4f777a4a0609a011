"""Deletes a user's learning data."""

from pathlib import Path

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User

from lab.actions.control_exercise import end_exercises
from lab.actions.judge_entry import cancel_entry
from lab.actions.keep_tables import erase_from_tables
from lab.analytics.build.logs import learner_log
from lab.analytics.build.people import pseudonym
from lab.learning.log import delete_history
from lab.models import ChallengeEntry, ExerciseProgress
from lab.runtime.host import Host
from lab.texts.refusal import Refusal


async def delete_learning(host: Host, user: User, confirmed: bool) -> None:
    """Deletes answers, cards, progress and entries of challenges, and ends the lessons and judgements in progress.
    Runs, recordings and bookmarks stay. Raises Refusal unless confirmed, and if tables may still contain the data.
    """
    if not confirmed:
        raise Refusal("refusal.learning_deletion_unconfirmed")
    await ExerciseProgress.objects.filter(user=user).adelete()
    entries = ChallengeEntry.objects.filter(user=user)
    async for entry in entries.filter(state=ChallengeEntry.State.JUDGING):
        await cancel_entry(entry)
    await entries.adelete()
    # Before the history, because a lesson in progress records events until it ends.
    await end_exercises(host.labs(), user)
    await sync_to_async(delete_history)(user.pk)
    await erase_from_tables(logs={learner_log(pseudonym(Path(settings.DATA), user.pk))})
