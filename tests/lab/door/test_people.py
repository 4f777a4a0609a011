"""What staff do about people, what guests may not do, and what erasing a person removes."""

import asyncio
import os
import re
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone
from pytest_django.fixtures import Settings

from lab.actions.classes import join_class, keep_recordings, people
from lab.actions.classes.keep_recordings import erase_expired, keep_time_limits
from lab.actions.classes.live_class import class_folder, live_classes
from lab.actions.keep_tables import keep_tables
from lab.analytics.build.logs import class_log
from lab.analytics.build.people import pseudonym
from lab.analytics.session import Spark
from lab.analytics.store.builds import Store
from lab.learning import log as learning
from lab.learning.events import LessonStarted
from lab.models import Branch, Class, DevicePass, Participant, Presence, Role, Run
from lab.urls import urlpatterns
from tests.support.analytics.hand_made import bytes_of, publish_acts, publish_rows
from tests.support.classroom.guest import Guest, key_on, participant
from tests.support.lab_server import PATIENCE_S, LabServer, Visitor

# Staff's acts


def test_kicked_participant_is_out_at_once_and_keeps_the_lab(
    room: Class, guest: Guest, staff: Visitor, lab_server: LabServer
) -> None:
    key = key_on(guest.join(room.link_key, "Ada").text)
    run = guest.new_run(brokers="1")
    staff.post(f"/classes/{room.slug}/people/2", op="kick")
    assert "removed you" in guest.get(f"/classes/{room.slug}/").text
    assert "removed you" in guest.get(f"/join/{room.link_key}/").text
    assert Guest(lab_server).post(f"/return/{room.slug}/", op="key", key=key).status == 404
    assert guest.get(f"/r/{run}/main").status == 200
    assert guest.post("/runs/new", name="more", seed="1", brokers="1").status == 403
    staff.post(f"/classes/{room.slug}/people/2", op="let-back")
    assert "(p2)." in guest.get(f"/classes/{room.slug}/").text


def test_the_live_class_follows_the_door(room: Class, guest: Guest, staff: Visitor) -> None:
    live = staff.server.call(lambda host: live_classes().of(room))
    state = live.room._writer.state

    async def until(wanted: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S / 2):
            while not wanted():
                await asyncio.sleep(0.01)

    guest.join(room.link_key, "Ada")
    staff.server.call(lambda host: until(lambda: "p2" in state.people))
    staff.post(f"/classes/{room.slug}/people/2", op="role", role="observer")
    staff.server.call(lambda host: until(lambda: state.people["p2"].role == "observer"))
    staff.post(f"/classes/{room.slug}/people/2", op="rename", name="Ada L")
    staff.server.call(lambda host: until(lambda: live.words.name("p2") == "Ada L"))
    staff.post(f"/classes/{room.slug}/people/2", op="kick")
    staff.server.call(lambda host: until(lambda: state.people["p2"].is_kicked))


def test_roles_are_given_by_the_instructor_alone(
    room: Class, guest: Guest, staff: Visitor, lab_server: LabServer
) -> None:
    guest.join(room.link_key, "Ada")
    other = Guest(lab_server)
    other.join(room.link_key, "Bo")
    staff.post(f"/classes/{room.slug}/people/2", op="role", role="co-instructor")
    assert guest.post(f"/classes/{room.slug}/people/3", op="rename", name="Bob").status == 200
    assert participant(room, 3).nickname == "Bob"
    assert guest.post(f"/classes/{room.slug}/people/3", op="role", role="co-instructor").status == 403
    assert guest.post(f"/classes/{room.slug}/people/1", op="kick").status == 403
    assert guest.post(f"/classes/{room.slug}/end", confirm="yes").status == 403
    assert staff.post(f"/classes/{room.slug}/people/2", op="role", role="instructor").status == 400
    assert staff.post(f"/classes/{room.slug}/people/1", op="kick").status == 409
    assert participant(room, 3).role == Role.LEARNER


def test_leaving_invalidates_the_cookie_everywhere(room: Class, guest: Guest) -> None:
    guest.join(room.link_key, "Ada")
    stolen = guest.cookie(f"-class-{room.slug}")
    guest.post(f"/classes/{room.slug}/leave")
    assert not guest.has_cookie(f"-class-{room.slug}")
    guest.cookies.set_cookie(stolen)
    assert "/return/" in guest.get(f"/classes/{room.slug}/").url and "/sign-in/" in guest.get("/runs/").url


# Guests and their cookies


def test_forged_and_old_cookies_identify_no_participant(
    room: Class, guest: Guest, lab_server: LabServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest.join(room.link_key, "Ada")
    real = guest.cookie(f"-class-{room.slug}")
    assert real.value
    for value in ("", "x", real.value[:-1] + "x", real.value.replace(":", "::"), "W10:1:1", "~" * 4_000):
        forger = Guest(lab_server)
        forger._add_cookie(real.name, value)
        assert "/sign-in/" in forger.get("/runs/").url
    # A header has no control characters: the server does not read on.
    forger = Guest(lab_server)
    forger._add_cookie(real.name, "\x7f" * 4_000)
    assert forger.get("/runs/").status == 400
    elsewhere = Guest(lab_server)
    elsewhere._add_cookie(real.name.replace(room.slug, "otherrm"), real.value)
    assert "/sign-in/" in elsewhere.get("/runs/").url
    monkeypatch.setattr("lab.web.classes.guests.MAX_AGE_S", -1)
    assert "/sign-in/" in guest.get("/runs/").url


def test_a_guest_has_no_rights_beyond_their_own(
    room: Class, guest: Guest, staff: Visitor, lab_server: LabServer
) -> None:
    guest.join(room.link_key, "Ada")
    mine, theirs = guest.new_run(brokers="1"), staff.new_run(brokers="1")
    assert guest.get(f"/r/{mine}/main").status == 200 and guest.get(f"/r/{theirs}/main").status == 404
    assert guest.post("/classes/new", title="mine").status == 403
    assert 'id="new-class"' not in guest.get("/classes/").text
    user = participant(room, 2).user
    assert user is not None and not user.has_usable_password() and not user.is_staff
    # Nor is there a way in by the form for accounts.
    assert guest.post("/sign-in/", user=user.username, password="").status == 403


def test_guests_of_two_classes_in_one_browser_are_two_people(room: Class, staff: Visitor, guest: Guest) -> None:
    answer = staff.post("/classes/new", title="another", chapter="", origin="")
    other = Class.objects.get(slug=answer.url.split("/")[-2])
    guest.join(room.link_key, "Ada")
    first = guest.new_run(brokers="1")
    guest.join(other.link_key, "Ada")
    assert "(p2)." in guest.get(f"/classes/{room.slug}/").text and "(p2)." in guest.get(f"/classes/{other.slug}/").text
    assert participant(room, 2).user != participant(other, 2).user
    assert guest.get(f"/r/{first}/main").status == 200
    with guest.socket(first) as socket:
        assert socket.of_kind("welcome")["user"] == "Ada"


# Rights: every address of a class

OPERATIONS: list[tuple[str, dict[str, Any]]] = [
    *(("door", {"op": op}) for op in ("open", "stay", "close", "renew", "admits", "admits-not", "admit-all")),
    *(("people/2", {"op": op, "name": "X", "role": "observer", "confirm": "yes"})
      for op in ("admit", "was", "rename", "role", "kick", "let-back", "erase")),
    ("end", {"confirm": "yes"}),
    ("delete", {"confirm": "yes"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("address", "form"), OPERATIONS, ids=lambda each: each if isinstance(each, str) else each.get("op", "")
)
def test_operations_of_staff_are_404_to_strangers_and_403_to_learners(
    room: Class, guest: Guest, lab_server: LabServer, address: str, form: dict[str, str]
) -> None:
    guest.join(room.link_key, "Ada")
    before = Class.objects.filter(pk=room.pk).values().get(), list(room.participants.values())
    stranger = Visitor(lab_server).sign_in_as("door-stranger")
    User.objects.filter(username="door-stranger").update(is_staff=True)
    assert Guest(lab_server).post(f"/classes/{room.slug}/{address}", **form).status == 401
    assert stranger.post(f"/classes/{room.slug}/{address}", **form).status == 404
    assert guest.post(f"/classes/{room.slug}/{address}", **form).status == 403
    assert (Class.objects.filter(pk=room.pk).values().get(), list(room.participants.values())) == before


OF_INSTRUCTOR = {"role", "end", "delete"}


@pytest.mark.parametrize("role", [Role.CO_INSTRUCTOR, Role.OBSERVER, Role.PROJECTOR])
def test_operations_of_staff_follow_from_the_role(
    room: Class, guest: Guest, staff: Visitor, lab_server: LabServer, role: Role
) -> None:
    """Those that a co-instructor may do change another participant; the others change nothing."""
    Guest(lab_server).join(room.link_key, "Ada")
    guest.join(room.link_key, "Grace")
    staff.post(f"/classes/{room.slug}/people/3", op="role", role=role)
    for address, form in OPERATIONS:
        before = Class.objects.filter(pk=room.pk).values().get(), list(room.participants.values())
        status = guest.post(f"/classes/{room.slug}/{address}", **form).status
        if role == Role.CO_INSTRUCTOR and form.get("op", address) not in OF_INSTRUCTOR:
            # Such as to admit somebody who does not wait.
            assert status in (200, 409), form
        else:
            assert status == 403, form
            assert (Class.objects.filter(pk=room.pk).values().get(), list(room.participants.values())) == before
    assert participant(room, 2).presence == (Presence.ERASED if role == Role.CO_INSTRUCTOR else Presence.IN)


@pytest.mark.parametrize("address", ["leave", "erase", "key", "elsewhere"])
def test_addresses_of_participants_are_404_to_strangers(room: Class, lab_server: LabServer, address: str) -> None:
    stranger = Visitor(lab_server).sign_in_as("door-stranger")
    assert stranger.post(f"/classes/{room.slug}/{address}", confirm="yes").status == 404


ADDRESSES = {
    "classes/<slug>/": "members; others are sent to the page that takes keys",
    "classes/<slug>/door": "staff",
    "classes/<slug>/people/<number>": "staff",
    "classes/<slug>/leave": "members, for themselves",
    "classes/<slug>/erase": "members, for themselves",
    "classes/<slug>/key": "members, for themselves",
    "classes/<slug>/elsewhere": "members, for themselves",
    "classes/<slug>/account": "members, for themselves",
    "classes/<slug>/end": "own",
    "classes/<slug>/delete": "own",
    "api/classes/<slug>/presence": "everybody, about themselves",
    "return/<slug>/": "everybody",
}
"""Every address of a class has its tests in this module."""


def test_every_address_of_the_door_is_in_the_table() -> None:
    found = {re.sub(r"<\w+:(\w+)>", r"<\1>", str(pattern.pattern)) for pattern in urlpatterns}
    assert set(ADDRESSES) <= found
    ours = {name for name in found if "<slug>" in name and re.match("(api/)?classes/|return/", name)}
    assert {name for name in ours if name.count("/") < 4} <= set(ADDRESSES) | LIVE_ADDRESSES


LIVE_ADDRESSES = {
    f"classes/<slug>/{page}/"
    for page in ("analytics", "board", "projector", "watch", "summary", "replay", "transcript")
}
"""Those of the live class, which has tests of its own."""


@pytest.mark.parametrize("name", ["stranger", "guest of another class"])
def test_presence_of_others_is_not_sent(room: Class, guest: Guest, lab_server: LabServer, name: str) -> None:
    guest.join(room.link_key, "Ada")
    other = Visitor(lab_server).sign_in_as("door-stranger") if name == "stranger" else Guest(lab_server)
    assert other.get(f"/api/classes/{room.slug}/presence").json == {"presence": ""}


# Privacy


def test_erasing_a_person_deletes_name_keys_and_cookies_at_once(
    room: Class, guest: Guest, staff: Visitor, lab_server: LabServer
) -> None:
    """Acceptance statement 24, of what concerns the door."""
    key = key_on(guest.join(room.link_key, "Zuleika Dobson").text)
    run = guest.new_run(brokers="1")
    guest.post(f"/classes/{room.slug}/elsewhere")
    user = participant(room, 2).user
    assert user is not None
    learning.append(user.pk, LessonStarted(lesson="x", run=run, branch="main"))
    staff.post(f"/classes/{room.slug}/people/2", op="erase", confirm="yes")
    assert not (settings.DATA / "learning" / learning.learner_id(user.pk)).exists()
    erased = participant(room, 2)
    assert (erased.nickname, erased.skeleton, erased.key_hash, erased.user) == ("", "", "", None)
    assert erased.presence == Presence.ERASED and not DevicePass.objects.exists()
    assert "/return/" in guest.get(f"/classes/{room.slug}/").url and "/sign-in/" in guest.get("/runs/").url
    assert Guest(lab_server).post(f"/return/{room.slug}/", op="key", key=key).status == 404
    assert "Zuleika" not in staff.get(f"/classes/{room.slug}/").text
    assert not Run.objects.filter(slug=run).exists() and not Branch.objects.filter(run__slug=run).exists()
    assert not User.objects.filter(username__startswith="guest-").exists()


def test_participant_may_erase_themselves(room: Class, guest: Guest) -> None:
    guest.join(room.link_key, "Ada")
    assert guest.post(f"/classes/{room.slug}/erase").status == 400
    assert guest.post(f"/classes/{room.slug}/erase", confirm="yes").url.endswith("/join/")
    assert participant(room, 2).presence == Presence.ERASED


def test_erasing_a_person_reaches_tables_at_once(
    room: Class, guest: Guest, staff: Visitor, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.TABLES = tmp_path / "tables"
    store, log = Store.at(str(settings.TABLES)), class_log(room.slug)
    # As at the start of a lab, whose tables these are from now on.
    staff.server.call(lambda _: keep_tables())
    staff.server.call(lambda host: live_classes().of(room))
    guest.join(room.link_key, "Ada")
    run = guest.new_run(brokers="1")
    user, teacher = participant(room, 2).user, participant(room, 1).user
    assert user is not None and teacher is not None
    person, other = pseudonym(settings.DATA, user.pk), pseudonym(settings.DATA, teacher.pk)
    publish_acts(store, {log: person})
    publish_acts(store, {log: other})
    line = {"run": run, "branch": f"{run}/main", "command": 1, "learner": "p2", "line": "# I am Zuleika"}
    publish_rows(
        store, {"silver.commands": [line]}, {f"{run}/main": settings.RUNS / run / "main" / "recording" / "events-0"}
    )
    assert person.encode() in bytes_of(store) and b"Zuleika" in bytes_of(store)
    monkeypatch.setattr(Spark, "start", None)
    staff.post(f"/classes/{room.slug}/people/2", op="erase", confirm="yes")
    left = bytes_of(store)
    assert person.encode() not in left and b"Zuleika" not in left and other.encode() in left
    staff.post(f"/classes/{room.slug}/delete", confirm="yes")
    assert other.encode() not in bytes_of(store)


def test_tables_are_removed_after_their_days_while_the_server_runs(
    room: Class, staff: Visitor, tmp_path: Path, settings: Settings
) -> None:
    settings.TABLES, settings.TABLE_DAYS = tmp_path / "tables", 30
    store, log = Store.at(str(settings.TABLES)), class_log(room.slug)
    staff.server.call(lambda host: live_classes().of(room))
    teacher = participant(room, 1).user
    assert teacher is not None
    publish_acts(store, {log: pseudonym(settings.DATA, teacher.pk)})
    staff.server.call(lambda _: keep_tables())
    newest = store.newest()
    assert newest is not None and log in newest.ledger()
    for segment in (class_folder(room.slug) / "class-0").glob("*.log"):
        os.utime(segment, (0, time.time() - 31 * 86_400))

    async def keep(_: object) -> None:
        keeping = asyncio.create_task(keep_time_limits())
        async with asyncio.timeout(PATIENCE_S / 2):
            while log.encode() in await asyncio.to_thread(bytes_of, store):
                await asyncio.sleep(0.01)
        keeping.cancel()

    staff.server.call(keep)


def test_a_deleted_class_leaves_no_name(room: Class, guest: Guest, staff: Visitor) -> None:
    guest.join(room.link_key, "Ada")
    staff.server.call(lambda host: live_classes().of(room))
    assert class_folder(room.slug).exists()
    assert staff.post(f"/classes/{room.slug}/delete").status == 400
    assert staff.post(f"/classes/{room.slug}/delete", confirm="yes").url.endswith("/classes/")
    assert not class_folder(room.slug).exists()
    assert not Participant.objects.exists() and not User.objects.filter(username__startswith="guest-").exists()


def test_guests_end_30_days_after_their_class_and_accounts_stay(room: Class, guest: Guest, staff: Visitor) -> None:
    guest.join(room.link_key, "Ada")
    run = guest.new_run(brokers="1")
    staff.server.call(lambda host: host.close_run(run))
    staff.post(f"/classes/{room.slug}/end", confirm="yes")
    ended = Class.objects.get(pk=room.pk).ended_at
    assert ended is not None
    staff.server.call(lambda _: erase_expired(ended + timedelta(days=29)))
    assert guest.get(f"/r/{run}/main").status == 200
    staff.server.call(lambda _: erase_expired(ended + timedelta(days=30)))
    assert not Run.objects.filter(slug=run).exists() and not (settings.RUNS / run).exists()
    assert "/sign-in/" in guest.get("/runs/").url
    assert participant(room, 1).user is not None


def test_guests_end_while_the_server_runs(room: Class, guest: Guest, staff: Visitor) -> None:
    guest.join(room.link_key, "Ada")
    run = guest.new_run(brokers="1")
    staff.post(f"/classes/{room.slug}/end", confirm="yes")
    old = timezone.now() - timedelta(days=31)
    Class.objects.filter(pk=room.pk).update(ended_at=old)
    Participant.objects.filter(classroom=room).update(joined_at=old)
    left = Participant.objects.filter(classroom=room, presence=Presence.IN, is_guest=True)

    async def keep(_: object) -> None:
        keeping = asyncio.create_task(keep_time_limits())
        async with asyncio.timeout(PATIENCE_S / 2):
            while await left.aexists():
                await asyncio.sleep(0.01)
        keeping.cancel()

    staff.server.call(keep)
    assert participant(room, 2).presence == Presence.ERASED and participant(room, 2).nickname == ""
    assert not Run.objects.filter(slug=run).exists() and not (settings.RUNS / run).exists()
    assert "/sign-in/" in guest.get("/runs/").url


def test_failed_erasure_does_not_stop_the_others_and_a_class_is_sealed_once(
    room: Class, guest: Guest, staff: Visitor, lab_server: LabServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [Guest(lab_server), Guest(lab_server)]
    for number, one in enumerate((guest, *others)):
        one.join(room.link_key, f"Guest {number}")
    staff.post(f"/classes/{room.slug}/end", confirm="yes")
    sealed: list[Class] = []

    def erase(chosen: Participant, by: Participant) -> None:
        if chosen.number == 2:
            raise OSError("the disk is full")
        people.erase(chosen, by)

    async def seal_again(classroom: Class) -> None:
        sealed.append(classroom)

    monkeypatch.setattr(keep_recordings, "erase", erase)
    monkeypatch.setattr(keep_recordings, "seal_again", seal_again)
    staff.server.call(lambda _: erase_expired(timezone.now() + timedelta(days=31)))
    left = [participant(room, number).presence for number in (2, 3, 4)]
    assert left == [Presence.IN, Presence.ERASED, Presence.ERASED]
    assert sealed == [room]


def test_class_that_could_not_be_sealed_without_its_guests_is_sealed_the_next_time(
    room: Class, guest: Guest, staff: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest.join(room.link_key, "Ada")
    staff.post(f"/classes/{room.slug}/end", confirm="yes")
    sealed: list[Class] = []

    async def seal_again(classroom: Class) -> None:
        sealed.append(classroom)
        if len(sealed) == 1:
            raise OSError("the disk is full")

    monkeypatch.setattr(keep_recordings, "seal_again", seal_again)
    for _ in range(3):
        staff.server.call(lambda _: erase_expired(timezone.now() + timedelta(days=31)))
        assert participant(room, 2).presence == Presence.ERASED
    assert sealed == [room, room]


def test_erasing_keeps_settings_that_the_class_has_got_meanwhile(
    room: Class, guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a lesson begins while a participant erases themselves."""

    async def seal_again(classroom: Class) -> None:
        other = await Class.objects.aget(pk=classroom.pk)
        other.settings = {**other.settings, "lesson": "next"}
        await other.asave(update_fields=["settings"])

    monkeypatch.setattr(keep_recordings, "seal_again", seal_again)
    guest.join(room.link_key, "Ada")
    guest.post(f"/classes/{room.slug}/erase", confirm="yes")
    room.refresh_from_db()
    assert room.settings["lesson"] == "next" and not room.settings["unsealed"]


def test_a_guest_may_keep_the_work_with_an_account(room: Class, guest: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[bool] = []
    monkeypatch.setattr(join_class, "rights_changed", lambda _: checked.append(connection.in_atomic_block))
    guest.join(room.link_key, "Ada")
    run = guest.new_run(brokers="1")
    account = User.objects.create_user("door-kept", password="river-stone-42")
    before = participant(room, 2).user
    guest.post("/sign-in/", user="door-kept", password="river-stone-42")
    assert "door-kept" in guest.get(f"/classes/{room.slug}/").text
    guest.post(f"/classes/{room.slug}/account")
    kept = participant(room, 2)
    assert kept.user == account and not kept.is_guest and kept.user != before
    assert Run.objects.get(slug=run).owner == account
    assert checked == [False], "sockets that are checked again read what is committed"
    assert guest.get(f"/r/{run}/main").status == 200 and not guest.has_cookie(f"-class-{room.slug}")
    account.delete()
