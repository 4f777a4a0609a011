"""Removes people from the tables who are no longer in the logs. Uses neither Django nor Spark."""

from collections.abc import Sequence, Set

from lab.analytics.build.acts import FoundLog
from lab.analytics.build.people import is_pseudonym
from lab.analytics.build.segments import appended
from lab.analytics.store.builds import Store
from lab.analytics.store.erase import erase, people_in, senders_in, still_names
from lab.analytics.store.ledger import BranchEntry


def erase_gone(store: Store, found: Sequence[FoundLog], *, is_all: bool) -> None:
    """Removes everyone who has been erased from a class or has deleted their history since the last build."""
    base = store.newest()
    if base is None:
        return
    known = {one.entry.branch: one for one in found}
    classes = {one.entry.class_: one for one in found if one.entry.class_}
    ledger = base.ledger()
    logs = {name for name, entry in ledger.items() if entry.unit == "log" and name not in known and is_all}
    logs |= {name for name, one in known.items() if name in ledger and _is_new(one, ledger[name])}
    acting = [(known[log], there) for log, there in people_in(store, base).items() if log in known]
    # The tables of a class may never have been made, and those of its runs have been.
    sending = [(classes[name], there) for name, there in senders_in(store, base).items() if name in classes]
    people = {
        person
        for one, there in acting + sending
        if one.entry.class_
        for person in there - set(one.people.values())
        if is_pseudonym(person)
    }
    # A class's log is deleted with the class, a learner's log with the learner.
    if logs or people:
        erase(store, base, people, logs)


def erase_named(store: Store, people: Set[str], logs: Set[str]) -> None:
    """Removes people and logs if they are in the tables."""
    base = store.newest()
    if base is None:
        return
    there = logs & base.ledger().keys()
    if there or still_names(store, base, people):
        erase(store, base, people, there)


def _is_new(one: FoundLog, entry: BranchEntry) -> bool:
    """Whether a learner has deleted their history and begun another one, which every look at their page does."""
    if not entry.learner:
        return False
    try:
        return appended(one.folder, entry.ranges, entry.damage, entry.last_seq, 0).is_rewritten
    except FileNotFoundError:
        return True
