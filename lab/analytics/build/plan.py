"""Plans a build: which units of which tables are out of date with respect to recordings and code."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lab.analytics.store.builds import Build
from lab.analytics.store.ledger import BranchEntry
from lab.analytics.tables import Table

GROUP_EVENTS = 4_000_000
"""Maximum number of events that are made into tables at a time."""
GROUP_BRANCHES = 1_000


@dataclass(frozen=True)
class Dirty:
    """The dirty units of one table, each with the last event that is already included (0: make it again completely)."""

    table: Table
    units: Mapping[str, int]


@dataclass
class Plan:
    """The work of a build by table, in dependency order."""

    tables: list[Dirty] = field(default_factory=list)

    @property
    def units(self) -> set[str]:
        return {unit for dirty in self.tables for unit in dirty.units}


def dirty_branches(
    base: Build | None,
    ledger: Mapping[str, BranchEntry],
    tables: Sequence[Table],
    codes: Mapping[str, str],
    only: Iterable[str] | None = None,
    *,
    restarted: Collection[str] = (),
    is_full: bool = False,
) -> Plan:
    """The dirty tables of branches.

    Args:
        base: the newest build.
        ledger: the branches as read by this build.
        tables: the requested ones with their needs.
        codes: the digests of their code.
        only: branches; all by default.
        restarted: branches that are rebuilt completely.
        is_full: makes everything again.
    """
    branches = set(ledger) if only is None else set(only) & set(ledger)
    plan = Plan()
    for table in tables:
        if table.unit != "branch":
            continue
        made_to = {} if base is None or is_full else base.made_to(table.name, codes[table.name])
        units = {}
        for branch in sorted(branches):
            last_seq = ledger[branch].last_seq
            if branch in restarted:
                units[branch] = 0
            elif made_to.get(branch, -1) < last_seq:
                units[branch] = made_to.get(branch, 0) if table.per_event else 0
        if units:
            plan.tables.append(Dirty(table, units))
    return plan


def dirty_logs(
    base: Build | None,
    ledger: Mapping[str, BranchEntry],
    tables: Sequence[Table],
    codes: Mapping[str, str],
    chosen: Iterable[str],
    classes: Mapping[str, Sequence[str]],
    *,
    is_full: bool = False,
) -> Plan:
    """The dirty tables of logs, of classes and over all, except those that are read directly.

    Args:
        base: the newest build.
        ledger: the logs as read by this build.
        tables: the requested ones with their needs.
        codes: the digests of their code.
        chosen: logs.
        classes: the classes to build, each with the logs that their tables are made from.
        is_full: makes everything again.
    """
    logs = {name: entry.last_seq for name, entry in ledger.items() if entry.unit == "log"}
    now: dict[str, Mapping[str, int]] = {
        "log": {name: logs[name] for name in chosen},
        "class": {slug: sum(logs[name] for name in names) for slug, names in classes.items()},
        "all": {"all": sum(logs.values())},
    }
    plan = Plan()
    for table in tables:
        if not table.needs or table.unit not in now:
            continue
        made_to = {} if base is None or is_full else base.made_to(table.name, codes[table.name])
        units = {unit: seq for unit, seq in sorted(now[table.unit].items()) if made_to.get(unit) != seq}
        if units:
            plan.tables.append(Dirty(table, units))
    return plan


def groups(plan: Plan, ledger: Mapping[str, BranchEntry]) -> list[list[str]]:
    """The branches of a plan in groups that are built one after the other, parents before their forks."""
    found: list[list[str]] = []
    events = 0
    for branch in sorted(plan.units, key=lambda one: (ledger[one].created_ms, one)):
        more = ledger[branch].last_seq
        if not found or events + more > GROUP_EVENTS or len(found[-1]) >= GROUP_BRANCHES:
            found.append([])
            events = 0
        found[-1].append(branch)
        events += more
    return found
