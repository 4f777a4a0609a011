"""The rows of the tables that a person may see: their own runs, and the classes that they are staff of."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User

from lab.analytics.build.logs import class_log, learner_log
from lab.analytics.build.people import pseudonym
from lab.analytics.store.ledger import BranchEntry
from lab.models import Class, Participant, Presence, Run
from lab.rights import may


@dataclass(frozen=True)
class Visible:
    """Units of the tables, by their names in the ledger.

    Attributes:
        branches: of runs.
        classes: by slug, including rows about them in the logs of others.
        logs: of classes, and one's own.
        has_all: includes tables over all learners.
        is_everything: includes all units and columns, for the operator.
    """

    branches: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()
    logs: frozenset[str] = frozenset()
    has_all: bool = False
    is_everything: bool = False

    def units(self, unit: str) -> frozenset[str] | None:
        """The visible units of a kind; None for all."""
        if self.is_everything or unit == "study" or (unit == "all" and self.has_all):
            return None
        return {"branch": self.branches, "class": self.classes, "log": self.logs}.get(unit, frozenset())


EVERYTHING = Visible(is_everything=True)


def may_ask(user: User) -> bool:
    """Whether a user may run SQL: instructors and staff of classes."""
    return may(user, None, "staff") or bool(_classes(user))


def visible_to(user: User, ledger: Mapping[str, BranchEntry]) -> Visible:
    """The units that `may` allows, from the database."""
    classes = _classes(user)
    own = set(Run.objects.filter(owner_id=user.pk).values_list("slug", flat=True))
    # A user who may export the recording of a class sees the labs in it.
    runs = own | set(Run.objects.filter(classroom__in=classes).values_list("slug", flat=True))
    slugs = frozenset(one.slug for one in classes)
    return Visible(
        branches=frozenset(_branches(ledger.values(), runs)),
        classes=slugs,
        logs=frozenset((*map(class_log, slugs), learner_log(pseudonym(Path(settings.DATA), user.pk)))),
        has_all=may(user, None, "staff"),
    )


def _branches(entries: Iterable[BranchEntry], runs: set[str]) -> Iterable[str]:
    return (entry.branch for entry in entries if entry.unit == "branch" and entry.run in runs)


def _classes(user: User) -> list[Class]:
    taken = Participant.objects.filter(user=user, presence=Presence.IN).select_related("classroom")
    return [one.classroom for one in taken if may(user, one.classroom, "export")]
