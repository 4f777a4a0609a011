"""Reads: what a page or a socket may see. Every function checks `lab.rights`, or returns what the user owns."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Prefetch, Q, QuerySet

from lab.class_rights import Right
from lab.models import STAFF_ROLES, Bookmark, Branch, Class, Participant, Presence, Role, Run, source_name
from lab.recordings.folder import BranchFolder, branch_folder
from lab.recordings.summary import RecordingSummary, read_summary
from lab.rights import require
from lab.texts.i18n import translate
from lab.texts.refusal import Refusal

MAIN = "main"
OWNER_SOURCE = source_name(1)
"""The owner, in the journals of a run that belongs to no class."""
_TOLD = {
    "BrokerStopped": ("BrokerStopped",),
    "BrokerFrozen": ("BrokerFrozen",),
    "LinkCut": ("LinkCut", "LinkCutOneWay"),
    "LogTruncated": ("LogTruncated",),
    "LeaderElected": ("LeaderElected",),
    "InvariantViolated": ("InvariantViolated",),
}
"""What a run's card counts, and the kinds of marks that it counts as that."""
_TOPICS_NAMED = 4
_OLDEST_FIRST = Prefetch("branches", Branch.objects.order_by("pk"))


def runs_of(user: User | AnonymousUser) -> QuerySet[Run]:
    """The runs of a user, newest first."""
    return Run.objects.filter(owner_id=user.pk).prefetch_related(_OLDEST_FIRST)


def run_of(user: User | AnonymousUser, slug: str, right: Right = "see") -> Run:
    """A run to which this user has a right. Raises Refusal: 404 if it does not exist or is not visible to them, and 403
    without the right.
    """
    missing = Refusal("refusal.no_run", 404, run=slug)
    run = Run.objects.filter(slug=slug).prefetch_related(_OLDEST_FIRST).first()
    if run is None:
        raise missing
    require(user, run, right, missing)
    return run


def branch_of(user: User | AnonymousUser, slug: str, name: str, right: Right = "see") -> Branch:
    """A branch of a run to which this user has a right, with its run. Raises Refusal like `run_of`."""
    return branch_and_rights(user, slug, name, right)[0]


def branch_and_rights(
    user: User | AnonymousUser, slug: str, name: str, right: Right = "see"
) -> tuple[Branch, frozenset[Right]]:
    """The same with all rights that the user has to it."""
    missing = Refusal("refusal.no_branch_of_run", 404, run=slug, branch=name)
    found = Branch.objects.filter(run__slug=slug, name=name)
    branch = found.select_related("run__owner", "run__classroom", "run__participant").first()
    if branch is None:
        raise missing
    return branch, require(user, branch, right, missing)


class PlaceInRun(NamedTuple):
    """How a user appears in a run.

    Attributes:
        source: their identity in its journals: the number of a participant, never a name. The owner of a run outside of
            classes is `p1`; empty for a user who is not in its class.
        shown_name: as `shown_name`.
        names: the names behind the sources of the run's commands that the user may know, by source. Recordings of
            before hold names themselves.
    """

    source: str
    shown_name: str
    names: dict[str, str]


def place_in(user: User, run: Run) -> PlaceInRun:
    """How a user appears in a run. Hundreds show the run that leads a class: one query for the person."""
    member = _member_of(user, run)
    source = _source_of(user, run, member)
    name = _name_of(member) if member is not None and member.is_guest else shown_name(user)
    names: dict[str, str] = {}
    if member is not None and member.presence == Presence.IN:
        known = Participant.objects.filter(classroom_id=run.classroom_id).exclude(nickname="")
        if not member.is_staff:
            # Not the hundreds of others.
            known = known.filter(Q(role__in=STAFF_ROLES) | Q(pk=member.pk))
        names = {source_name(number): nickname for number, nickname in known.values_list("number", "nickname")}
    if run.owner_id == user.pk:
        names[source] = name
    return PlaceInRun(source, name, names)


def source_of(user: User, run: Run) -> str:
    """The identity of a user in the journals of a run: `PlaceInRun.source`."""
    return _source_of(user, run, None if run.owner_id == user.pk else _member_of(user, run))


def _member_of(user: User, run: Run) -> Participant | None:
    if run.classroom_id is None:
        return None
    return Participant.objects.filter(classroom_id=run.classroom_id, user=user).order_by().first()


def _source_of(user: User, run: Run, member: Participant | None) -> str:
    if run.owner_id == user.pk:
        return run.participant.source if run.participant else OWNER_SOURCE
    return member.source if member else ""


def shown_name(user: User) -> str:
    """The displayed name of a user: a guest's nickname, otherwise the number."""
    guest = Participant.objects.filter(user=user, is_guest=True).first()
    return _name_of(guest) if guest else user.get_username()


def _name_of(guest: Participant) -> str:
    return guest.nickname or guest.source


def branches_and_bookmarks(branch: Branch) -> tuple[list[Branch], list[Bookmark]]:
    """All branches of the branch's run, oldest first, and the branch's bookmarks."""
    branches = branch.run.branches.select_related("run", "parent").order_by("pk")
    return list(branches), list(branch.bookmarks.all())


def branch_choices(user: User | AnonymousUser) -> list[dict[str, Any]]:
    """Every branch of every run of a user, for the page that compares two: newest runs first."""
    return [
        {
            "address": f"{run.slug}/{branch.name}",
            "run": run.slug,
            "branch": branch.name,
            "name": run.name,
            "era": run.era,
            "era_text": f"era.{run.era}",
            "seed": run.seed,
            "brokers": run.brokers,
        }
        for run in runs_of(user)
        for branch in run.branches.all()
    ]


def branch_pairs(choices: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Returns the first and the newest branch of each run with a fork, to compare; newest runs first."""
    ends: dict[str, list[dict[str, Any]]] = {}
    for choice in choices:
        ends.setdefault(choice["run"], []).append(choice)
    return [(branches[0], branches[-1]) for branches in ends.values() if len(branches) > 1]


def forked_at_us(user: User | AnonymousUser, run: str, one: str, other: str) -> int | None:
    """Up to which instant two branches of a run share their past, microseconds; None for the same branch."""
    branches = {branch.pk: branch for branch in Branch.objects.filter(run__slug=run, run__in=runs_of(user))}
    first, second = (_shared_with(branches, name) for name in (one, other))
    ends = [[until for until in (first[pk], second[pk]) if until is not None] for pk in first.keys() & second.keys()]
    return max((min(each) for each in ends if each), default=None)


def _shared_with(branches: dict[int, Branch], name: str) -> dict[int, int | None]:
    """A branch and its ancestors, by key: the instant up to which the branch shares their past; None is for itself."""
    branch = next((each for each in branches.values() if each.name == name), None)
    until: int | None = None
    shared: dict[int, int | None] = {}
    while branch is not None:
        shared[branch.pk] = until
        if branch.parent_id is None:
            break
        until = branch.parent_at_us if until is None else min(until, branch.parent_at_us)
        branch = branches.get(branch.parent_id)
    return shared


def run_cards(user: User | AnonymousUser, language: str, live: set[tuple[str, str]]) -> list[dict[str, Any]]:
    """The list of runs as its template wants it. `live`: (run, branch) of the engines that run now."""
    return [_card(run, _touched(run), language, live) for run in runs_of(user)]


#: What the list of runs may be ordered by: "" is the order in which they were started, the newest first.
CARD_ORDERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "": lambda card: 0,
    "used": lambda card: card["age_s"],
    "name": lambda card: card["name"].casefold(),
    "size": lambda card: -card["bytes"],
}


def found_cards(cards: list[dict[str, Any]], query: str, order: str) -> list[dict[str, Any]]:
    """The runs in whose name, summary or era all words of the query occur, in one of `CARD_ORDERS`."""
    words = query.casefold().split()

    def matches(card: dict[str, Any]) -> bool:
        text = f"{card['name']} {card['summary']} {card['era']} {card['id']}".casefold()
        return all(word in text for word in words)

    return sorted(filter(matches, cards), key=CARD_ORDERS.get(order, CARD_ORDERS[""]))


def newest_run_cards(
    user: User | AnonymousUser, language: str, live: set[tuple[str, str]], most: int
) -> tuple[list[dict[str, Any]], int]:
    """The runs used last, up to `most`, the newest first, and the number of all runs."""
    touched = [(run, _touched(run)) for run in runs_of(user)]
    newest = sorted(touched, key=lambda pair: max(pair[1].values()), reverse=True)[:most]
    return [_card(run, times, language, live) for run, times in newest], len(touched)


def _touched(run: Run) -> dict[str, float]:
    """When something was last recorded in each branch."""
    return {branch.name: _touched_s(branch_folder(run.slug, branch.name)) for branch in run.branches.all()}


def _card(run: Run, touched_s: dict[str, float], language: str, live: set[tuple[str, str]]) -> dict[str, Any]:
    folders = {branch.name: branch_folder(run.slug, branch.name) for branch in run.branches.all()}
    summaries = {name: read_summary(folder) for name, folder in folders.items()}
    # The branch used last represents the run.
    newest = max(touched_s, key=lambda name: touched_s[name])
    shown = summaries[newest]
    return {
        "id": run.slug,
        "name": run.name,
        "address": f"{run.slug}/{newest}",
        "href": f"/r/{run.slug}/{newest}",
        "age_s": max(0, int(time.time() - touched_s[newest])),
        "bytes": sum(summary.bytes for summary in summaries.values()),
        "events": shown.last_seq,
        "brokers": run.brokers,
        "era": run.era,
        "era_text": f"era.{run.era}",
        "seed": run.seed,
        "last_at_us": shown.last_at_us,
        "branches": len(folders),
        "summary": _sentence(shown, language),
        "density": shown.density,
        "density_max": max(shown.density, default=0),
        "alarms": [bar + 0.35 for bar in shown.alarms],
        "alarm_count": shown.happened.get("InvariantViolated", 0),
        "live": any((run.slug, name) in live for name in folders),
    }


def _touched_s(folder: BranchFolder) -> float:
    """When something was last recorded; 0 when nothing is there."""
    return max((path.stat().st_mtime for path in folder.recording.glob("events-0/*.log")), default=0.0)


def _sentence(summary: RecordingSummary, language: str) -> str:
    """Topics and what happened, such as `orders, payments; 2 broker stops, 1 link cut`."""
    comma, semicolon = ("，", "；") if language == "zh-CN" else (", ", "; ")
    named = [topic for topic in summary.topics if not topic.startswith("__")]
    topics = ", ".join(named[:_TOPICS_NAMED] + ["…"] * (len(named) > _TOPICS_NAMED))
    counts = {what: sum(summary.happened.get(kind, 0) for kind in kinds) for what, kinds in _TOLD.items()}
    happened = comma.join(translate(language, f"runs.happened.{what}", n=n) for what, n in counts.items() if n)
    return semicolon.join(part for part in (topics, happened) if part)


def class_cards(user: User) -> list[dict[str, Any]]:
    """The classes of a user for a list: those that run first."""
    rows = Participant.objects.filter(user=user, presence=Presence.IN).select_related("classroom", "classroom__owner")
    cards = [
        {
            "slug": row.classroom.slug,
            "title": row.classroom.title,
            "is_live": row.classroom.state == Class.State.OPEN,
            "role": row.role,
            "learners": row.classroom.participants.filter(presence=Presence.IN, role=Role.LEARNER).count(),
        }
        for row in rows.order_by("-classroom__created_at")
    ]
    return sorted(cards, key=lambda card: not card["is_live"])
