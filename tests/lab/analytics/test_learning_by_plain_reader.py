"""The tables of learning against a plain reader of the dumped logs, over drawn histories of learners and classes."""

import io
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from django.contrib.auth import get_user_model
from django.test import override_settings
from pyspark.sql import SparkSession

from lab.analytics.build.log_run import WantedLogs, build_logs
from lab.analytics.build.logs import logs
from lab.analytics.build.people import pseudonym
from lab.analytics.store.builds import Store
from lab.analytics.store.reading import rows
from lab.analytics.tables import Table
from lab.analytics.tables.registry import TABLES
from lab.classroom.journal import FORMAT, ClassJournal, Header
from lab.learning.log import append, close_all, learner_id
from lab.management.commands import dump_log
from lab.models import Class, Participant, Run
from tests.support.analytics.plain.classes import MAKERS, PlainLearning, room_of
from tests.support.analytics.plain.compared import differences
from tests.support.analytics.plain.dump import Rows
from tests.support.analytics.plain.learning import acts_of
from tests.support.classroom.made_up_lessons import history, lesson_of_class
from tests.support.soak import IS_SOAK

NOON_MS = 1_780_000_000_000
SEEDS = (1, 2, 3) if IS_SOAK else (1,)
LEARNERS = 26
"""From 20 answers on there is a discrimination."""
OF_LEARNING = [table for table in TABLES.values() if table.unit in ("log", "class", "all") and table.layer == "gold"]


class Drawn(NamedTuple):
    """The tables of a drawn history, and what the plain reader makes of it."""

    store: Store
    plain: PlainLearning

    def rows(self, table: str) -> Rows:
        build = self.store.newest()
        assert build is not None
        found = rows(self.store, build, table)
        return [] if found is None else found.to_pylist()


def dumped(folder: Path) -> str:
    out, err = io.StringIO(), io.StringIO()
    files = ",".join(map(str, sorted(folder.glob("*.log"))))
    assert dump_log.run(["--deep-iteration", "--print-data-log", "--files", files], out, err) == 0, err.getvalue()
    return out.getvalue()


def drawn(session: SparkSession, data: Path, seed: int) -> Drawn:
    """Learners of two classes, some of both and some alone."""
    draw = Random(seed)
    users = [get_user_model().objects.create_user(f"drawn {seed} {number}") for number in range(LEARNERS)]
    slugs = [f"drawn{seed}{letter}" for letter in "ab"]
    people: dict[str, dict[str, str]] = {slug: {} for slug in slugs}
    rooms: dict[int, dict[str, str]] = {user.pk: {} for user in users}
    for slug, members in zip(slugs, (users[:24], users[20:25]), strict=True):
        made = Class.objects.create(slug=slug, owner=users[0], title=slug, link_key=slug.ljust(32, "k"))
        for number, user in enumerate(members, 1):
            Participant.objects.create(classroom=made, number=number, user=user, skeleton=f"{slug}{number}")
            run = f"{slug}r{number}"
            Run.objects.create(slug=run, owner=user, name="x", seed=1, brokers=3, classroom=made)
            people[slug][f"p{number}"] = pseudonym(data, user.pk)
            rooms[user.pk][run] = slug
        journal = ClassJournal(data / "classes" / slug, Header(FORMAT, slug, NOON_MS))
        for seq, (at_s, who, event) in enumerate(lesson_of_class(draw, len(members) + 1), 1):
            journal.append([(seq, int(at_s * 1_000_000), who, "", event)])
        journal.close()
    for user in users:
        at_ms = NOON_MS + draw.randint(0, 60_000)
        for after_ms, event in history(draw, [*rooms[user.pk], *rooms[user.pk], ""]):
            at_ms += after_ms
            append(user.pk, event, at_ms)
    store = Store.at(str(data / "tables"))
    build_logs(lambda: session, store, WantedLogs(logs()))
    close_all()
    learners = {}
    for user in users:
        person = pseudonym(data, user.pk)
        learners[person] = acts_of(
            dumped(data / "learning" / learner_id(user.pk) / "learning-0"), person, rooms[user.pk]
        )
    classes = {slug: room_of(dumped(data / "classes" / slug / "class-0"), people[slug]) for slug in slugs}
    return Drawn(store, PlainLearning(learners, classes))


@pytest.fixture(scope="module", params=SEEDS)
def made(
    session: SparkSession, tmp_path_factory: pytest.TempPathFactory, database: None, request: pytest.FixtureRequest
) -> Iterator[Drawn]:
    data = tmp_path_factory.mktemp("drawn")
    with override_settings(DATA=data, TABLES=data / "tables"):
        close_all()
        yield drawn(session, data, request.param)
        close_all()
        get_user_model().objects.filter(username__startswith=f"drawn {request.param} ").delete()


def test_the_plain_reader_has_every_table() -> None:
    assert {table.name for table in OF_LEARNING} == MAKERS.keys()


@pytest.mark.soak
@pytest.mark.parametrize("table", OF_LEARNING, ids=lambda table: table.name)
def test_tables_match_a_plain_reader(made: Drawn, table: Table) -> None:
    plain = made.plain[table.name]
    assert plain, "nothing to be compared"
    assert differences(table, made.rows(table.name), plain)[:5] == []
