"""A user's own runs that can be compared with a recorded class."""

from collections.abc import Collection
from typing import NamedTuple

from lab.models import Branch, ExerciseProgress, Participant
from lab.selectors import MAIN


class OwnRun(NamedTuple):
    """A branch as `run/branch`, and the slug of the lesson that was begun in it; empty for none."""

    address: str
    lesson: str


def own_runs(participant: Participant, lessons: Collection[str]) -> list[OwnRun]:
    """The likeliest first: the lab that the participant has in the class, runs in which they began one of the lessons
    of the class, and those that they took over from its recording, each newest first. Asks the database.
    """
    user, classroom, own = participant.user, participant.classroom, participant.run
    if user is None:
        return []
    found = []
    if own is not None and own.owner_id == user.pk:
        newest = own.branches.order_by("-pk").first()
        found.append(f"{own.slug}/{newest.name if newest else MAIN}")
    begun = ExerciseProgress.objects.filter(user=user, exercise__in=lessons, branch__run__owner=user)
    begun = begun.select_related("branch__run").order_by("-started_at", "-pk")
    lesson_of = {_address(one.branch): one.exercise for one in begun}
    taken = Branch.objects.filter(run__classroom=classroom, run__participant=participant, run__owner=user)
    taken = taken.select_related("run").order_by("-run__created_at", "-pk")
    addresses = dict.fromkeys([*found, *lesson_of, *map(_address, taken)])
    return [OwnRun(address, lesson_of.get(address, "")) for address in addresses]


def _address(branch: Branch) -> str:
    return f"{branch.run.slug}/{branch.name}"
