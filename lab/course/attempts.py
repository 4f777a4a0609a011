"""A learner's attempts at lessons, as they are stored with the runs in which they were made."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal, NamedTuple

from django.contrib.auth.models import User
from django.utils import timezone

from lab.exercises.lesson import Exercise
from lab.models import Branch, ExerciseProgress

Dot = Literal["open", "right", "wrong"]


class Attempt(NamedTuple):
    """One attempt. `done`: number of completed steps; `dots`: one for each prediction, in order; `opened`: the ids of
    the steps that the learner has seen.
    """

    slug: str
    run: str
    run_name: str
    branch: str
    started_at: datetime
    done: int
    steps: int
    dots: list[Dot]
    opened: frozenset[str]

    @property
    def is_finished(self) -> bool:
        return self.done == self.steps

    @property
    def age_s(self) -> int:
        """How long ago it was started."""
        return max(0, int((timezone.now() - self.started_at).total_seconds()))

    @property
    def address(self) -> str:
        return f"/r/{self.run}/{self.branch}"


def attempts_of(user: User, known: dict[str, Exercise]) -> dict[str, list[Attempt]]:
    """All attempts of a user at the lessons that exist, by slug, the newest first."""
    rows = ExerciseProgress.objects.filter(user_id=user.pk, exercise__in=known).select_related("branch__run")
    found: dict[str, list[Attempt]] = {}
    for row in rows.order_by("-started_at"):
        found.setdefault(row.exercise, []).append(_attempt(row, known[row.exercise]))
    return found


def started_on(user: User, branch: Branch) -> str:
    """The slug of the lesson that a user has started on a branch; empty if there is none."""
    return ExerciseProgress.objects.filter(user=user, branch=branch).values_list("exercise", flat=True).first() or ""


def best_of(attempts: Iterable[Attempt]) -> Attempt | None:
    """The attempt that represents the lesson: a finished one, else the one with the most progress; of equals the
    newest.
    """
    return max(attempts, key=lambda attempt: (attempt.is_finished, attempt.done), default=None)


def _attempt(row: ExerciseProgress, exercise: Exercise) -> Attempt:
    steps: dict[str, Any] = (row.state or {}).get("steps", {})
    progress = [steps.get(step.id, {}) for step in exercise.steps]
    return Attempt(
        slug=row.exercise,
        run=row.branch.run.slug,
        run_name=row.branch.run.name,
        branch=row.branch.name,
        started_at=row.started_at,
        done=sum(each.get("phase") == "done" for each in progress),
        steps=len(exercise.steps),
        dots=[_dot(each) for each, step in zip(progress, exercise.steps, strict=True) if step.kind != "goals"],
        opened=frozenset(id for id, each in steps.items() if each.get("phase", "open") != "open"),
    )


def _dot(progress: dict[str, Any]) -> Dot:
    given = progress.get("given")
    if not given or given.get("outcome") is None or not given["choice"]:
        return "open"  # Not settled yet, or skipped.
    return "right" if given["outcome"] == given["choice"] else "wrong"
