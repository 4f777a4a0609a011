"""Finds the logs of acts: those of classes and of learners."""

from collections.abc import Sequence
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model

from lab.analytics.build.acts import FoundLog
from lab.analytics.build.found import is_kept
from lab.analytics.build.people import forgotten, pseudonym
from lab.analytics.store.ledger import BranchEntry
from lab.learning.log import learner_id
from lab.models import Class, Participant, Run


def class_log(slug: str) -> str:
    """The name of a class's log in the tables."""
    return f"class:{slug}"


def learner_log(person: str) -> str:
    """The name of a learner's log in the tables."""
    return f"learner:{person}"


def logs(classes: Sequence[str] | None = None) -> list[FoundLog]:
    """The logs of this installation: all that tables keep (HIGHWATER_TABLE_DAYS), or those of some classes and of their
    learners.
    """
    found = every_log(classes)
    return found if classes is not None else [one for one in found if is_kept(one.folder, settings.TABLE_DAYS)]


def every_log(classes: Sequence[str] | None = None) -> list[FoundLog]:
    """The logs as `logs` has them, however old they are."""
    data = Path(settings.DATA)
    left_out = forgotten(data)
    chosen = Class.objects.order_by("pk")
    people = Participant.objects.filter(user__isnull=False).order_by("classroom_id", "number")
    if classes is not None:
        chosen = chosen.filter(slug__in=classes)
        people = people.filter(classroom__slug__in=classes)
    members: dict[int, dict[str, str]] = {}
    for classroom_id, number, user_id in people.values_list("classroom_id", "number", "user_id"):
        person = pseudonym(data, user_id)
        if person not in left_out:
            members.setdefault(classroom_id, {})[f"p{number}"] = person
    found = []
    for one in chosen:
        folder = data / "classes" / one.slug / "class-0"
        if folder.is_dir():
            name = class_log(one.slug)
            entry = BranchEntry(name, "", str(folder), class_=one.slug, unit="log")
            found.append(FoundLog(folder, entry, members.get(one.pk, {})))
    users = get_user_model().objects.order_by("pk")
    if classes is not None:
        users = users.filter(participations__classroom__slug__in=classes).distinct()
    found += _of_learners(list(users.values_list("pk", flat=True)))
    return found


def log_of(user_id: int) -> FoundLog | None:
    """The log of one learner, or None."""
    return next(iter(_of_learners([user_id])), None)


def _of_learners(user_ids: Sequence[int]) -> list[FoundLog]:
    data = Path(settings.DATA)
    left_out = forgotten(data)
    memberships = Participant.objects.filter(user__isnull=False)
    runs = Run.objects.filter(classroom__isnull=False)
    if len(user_ids) == 1:
        memberships, runs = memberships.filter(user_id=user_ids[0]), runs.filter(owner_id=user_ids[0])
    known = set(memberships.values_list("user_id", "classroom__slug"))
    rooms: dict[int, dict[str, str]] = {}
    for owner_id, run, slug in runs.values_list("owner_id", "slug", "classroom__slug"):
        # A person erased from a class keeps their own history, which is no longer part of the class.
        if (owner_id, slug) in known:
            rooms.setdefault(owner_id, {})[run] = slug
    found = []
    for user_id in user_ids:
        person, folder = pseudonym(data, user_id), data / "learning" / learner_id(user_id) / "learning-0"
        if person not in left_out and folder.is_dir():
            # The path would identify the learner.
            entry = BranchEntry(learner_log(person), "", "", learner=person, unit="log")
            found.append(FoundLog(folder, entry, rooms=rooms.get(user_id, {})))
    return found
