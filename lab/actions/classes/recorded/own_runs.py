"""A user's own runs that can be compared with a recorded class."""

from lab.actions.classes.live_class import lesson_of
from lab.models import Branch, ExerciseProgress, Participant
from lab.selectors import MAIN


def own_runs(participant: Participant) -> list[str]:
    """As `run/branch`, the likeliest first: the lab that the participant had in the class, runs in which they began the
    lesson of the class, and those that they took over from its recording, each newest first. Asks the database.
    """
    user, classroom, own = participant.user, participant.classroom, participant.run
    if user is None:
        return []
    found = []
    if own is not None and own.owner_id == user.pk:
        newest = own.branches.order_by("-pk").first()
        found.append(f"{own.slug}/{newest.name if newest else MAIN}")
    lesson = lesson_of(classroom.chapter)
    if lesson is not None:
        begun = ExerciseProgress.objects.filter(user=user, exercise=lesson.slug, branch__run__owner=user)
        found += [_address(one.branch) for one in begun.select_related("branch__run").order_by("-started_at", "-pk")]
    taken = Branch.objects.filter(run__classroom=classroom, run__participant=participant, run__owner=user)
    found += [_address(branch) for branch in taken.select_related("run").order_by("-run__created_at", "-pk")]
    return list(dict.fromkeys(found))


def _address(branch: Branch) -> str:
    return f"{branch.run.slug}/{branch.name}"
