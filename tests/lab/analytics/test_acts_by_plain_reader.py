"""The tables of acts against a plain reader of the dumped logs, over logs with events of every kind."""

import io
import json
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
from lab.analytics.tables.registry import TABLES
from lab.classroom.events import CLASS, room
from lab.classroom.journal import FORMAT, ClassJournal, Header
from lab.learning.events import KINDS
from lab.learning.log import append, close_all, learner_id
from lab.management.commands import dump_log
from lab.models import Class, Participant, Run
from tests.support.analytics.plain.acts import bronze_of_class, bronze_of_learner, silver_of
from tests.support.analytics.plain.compared import differences
from tests.support.analytics.plain.dump import Row, Rows
from tests.support.classroom.drawn_events import drawn_event
from tests.support.soak import IS_SOAK

NOON_MS = 1_780_000_000_000
SEEDS = (1, 2) if IS_SOAK else (1,)
SLUG = "acts{}"
NAMES = ("p1", "p2", "p3", "p99", "staff", "c7f3", "")
"""Two participants, one who was erased, one that is not known, and what is not a participant."""
ACTORS = ("p1", "p2", "p3", "p99", "room", "")
TABLES_OF_ACTS = ("bronze.acts", "silver.acts")


class Drawn(NamedTuple):
    """The tables of drawn logs, and what the plain reader makes of these."""

    store: Store
    plain: dict[str, Rows]

    def rows(self, table: str) -> Rows:
        build = self.store.newest()
        assert build is not None
        found = rows(self.store, build, table)
        assert found is not None
        return [_parsed(row) for row in found.to_pylist()]


def _parsed(row: Row) -> Row:
    return {**row, "payload": json.loads(row["payload"])} if "payload" in row else row


def dumped(folder: Path) -> str:
    out, err = io.StringIO(), io.StringIO()
    files = ",".join(map(str, sorted(folder.glob("*.log"))))
    assert dump_log.run(["--deep-iteration", "--print-data-log", "--files", files], out, err) == 0, err.getvalue()
    return out.getvalue()


def write_class(draw: Random, folder: Path, slug: str) -> None:
    """Six events of each kind in any order, after the class was opened, in several batches."""
    events = [drawn_event(draw, kind, NAMES) for kind in CLASS.kinds.values() for _ in range(6)]
    events = [event for event in events if not isinstance(event, room.ClassOpened | room.ClassResumed)]
    draw.shuffle(events)
    events.insert(0, room.ClassOpened(draw.choice(("", "acks")), 2, 10, (0, 1)))
    events.insert(len(events) // 2, room.ClassResumed(3_000, NOON_MS + 9_000_000))
    journal = ClassJournal(folder, Header(FORMAT, slug, NOON_MS))
    at_us, seq = 0, 0
    while events:
        batch, events = events[:40], events[40:]
        said = []
        for event in batch:
            at_us, seq = at_us + draw.choice((0, 1, 999, 1_500_000)), seq + 1
            said.append((seq, at_us, draw.choice(ACTORS), "", event))
        journal.append(said)
    journal.close()


def write_learner(draw: Random, user_id: int, runs: tuple[str, ...], rooms: tuple[str, ...]) -> None:
    at_ms = NOON_MS
    for _ in range(4):
        for kind in KINDS.values():
            at_ms += draw.choice((0, 1, 70_000))
            where = {
                "v": 1, "run": draw.choice(runs), "classroom": draw.choice(rooms), "rating": draw.randint(1, 4),
                "choices": 4, "p": draw.choice((0.25, 0.5, 0.7, 0.9)),
            }  # fmt: skip
            append(user_id, drawn_event(draw, kind, (), **where), at_ms)


def drawn(session: SparkSession, data: Path, seed: int) -> Drawn:
    """A class with two participants, one of whom also learned alone, and the history of both."""
    draw, slug = Random(seed), SLUG.format(seed)
    users = [get_user_model().objects.create_user(f"{slug} {number}") for number in range(2)]
    made = Class.objects.create(slug=slug, owner=users[0], title=slug, link_key=slug.ljust(32, "k"))
    Participant.objects.create(classroom=made, number=3, skeleton=f"{slug}3")
    people, rooms = {}, {}
    for number, user in enumerate(users, 1):
        Participant.objects.create(classroom=made, number=number, user=user, skeleton=f"{slug}{number}")
        Run.objects.create(slug=f"{slug}r{number}", owner=user, name="x", seed=1, brokers=3, classroom=made)
        people[f"p{number}"] = pseudonym(data, user.pk)
        rooms[user.pk] = {f"{slug}r{number}": slug}
    write_class(draw, data / "classes" / slug, slug)
    for user in users:
        write_learner(draw, user.pk, (*rooms[user.pk], "alone", ""), ("", slug))
    store = Store.at(str(data / "tables"))
    build_logs(lambda: session, store, WantedLogs(logs(), TABLES_OF_ACTS))
    close_all()
    every = [list(bronze_of_class(dumped(data / "classes" / slug / "class-0"), slug, people))]
    for user in users:
        dump = dumped(data / "learning" / learner_id(user.pk) / "learning-0")
        every.append(list(bronze_of_learner(dump, pseudonym(data, user.pk), rooms[user.pk])))
    bronze = [row for acts in every for row in acts]
    return Drawn(store, {"bronze.acts": bronze, "silver.acts": [row for acts in every for row in silver_of(acts)]})


@pytest.fixture(scope="module", params=SEEDS)
def made(
    session: SparkSession, tmp_path_factory: pytest.TempPathFactory, database: None, request: pytest.FixtureRequest
) -> Iterator[Drawn]:
    data = tmp_path_factory.mktemp("acts")
    with override_settings(DATA=data, TABLES=data / "tables"):
        close_all()
        yield drawn(session, data, request.param)
        close_all()
        get_user_model().objects.filter(username__startswith=SLUG.format(request.param)).delete()


def test_logs_have_acts_of_every_kind(made: Drawn) -> None:
    kinds = {row["kind"] for row in made.plain["bronze.acts"]}
    families = {kind for kind, of in CLASS.kinds.items() if CLASS.family_of(of) not in ("seen", "map")}
    # All events of a kind may be about somebody who is not known.
    assert KINDS.keys() <= kinds and len(families - kinds) < 10


@pytest.mark.soak
@pytest.mark.parametrize("name", TABLES_OF_ACTS)
def test_tables_of_acts_match_a_plain_reader(made: Drawn, name: str) -> None:
    plain = made.plain[name]
    assert len(plain) > 100
    assert differences(TABLES[name], made.rows(name), plain)[:8] == []
