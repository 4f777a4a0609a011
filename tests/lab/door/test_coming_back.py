"""The ways back into a class, and what they do not reveal."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from lab.actions.classes.live_class import live_classes
from lab.classroom import presence
from lab.models import Class, DevicePass, Participant, Run
from tests.support.classroom.class_pages import Page as ClassPage
from tests.support.classroom.class_pages import page_of
from tests.support.classroom.guest import Guest, key_on, participant
from tests.support.lab_server import LabServer, Visitor

# Coming back


def test_all_five_ways_lead_back_to_the_same_participant_and_lab_where_it_was(
    room: Class, staff: Visitor, guest: Guest, lab_server: LabServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Acceptance statement 5: reload, 30 seconds offline, closed browser, second device, lost cookie with the key."""
    key = key_on(guest.join(room.link_key, "Ada").text)
    run = guest.new_run(brokers="1")
    Participant.objects.filter(classroom=room, number=2).update(run=Run.objects.get(slug=run))
    with guest.socket(run) as lab:
        lab.play(["kafka-topics.sh --create --topic mine --partitions 1 --replication-factor 1"])
        seq = lab.ask({"k": "time", "op": "now"})["seq"]
    shown: list[dict[str, object]] = []

    def is_back(visitor: Guest, have: int = 0, boot: str = "") -> ClassPage:
        """The class and the lab open as they were."""
        with page_of(lab_server, room.slug, visitor, have=have, boot=boot) as page:
            assert page.until("welcome")["you"]["p"] == "p2"
            if not have:
                page.until("snap")
                assert page.held["/mine"]["lab"] == f"{run}/main"
        with visitor.socket(run) as lab:
            shown.append(lab.of_kind("snap"))
        assert shown[-1]["seq"] == seq and shown[-1]["state"] == shown[0]["state"]
        return page

    first = is_back(guest)
    is_back(guest)
    with page_of(lab_server, room.slug, staff) as board:
        board.until("snap")
        with monkeypatch.context() as hasty:
            # A participant who has lost their connection is away immediately, and not after ten seconds.
            hasty.setattr(presence, "AWAY_AFTER_US", 0)
            board.until_held("/people/p2 presence", "away")
        is_back(guest, first.upto, first.boot)
        board.until_held("/people/p2 presence", "here")
    closed = guest.get(f"/join/{room.link_key}/")
    assert closed.url.endswith(f"/classes/{room.slug}/")
    is_back(guest)
    page_ = guest.post(f"/classes/{room.slug}/elsewhere").text
    handed = re.search(r"big-code mono\">([0-9A-Z]{4}-[0-9A-Z]{4})<", page_)
    assert handed
    phone = Guest(lab_server)
    phone.post("/continue/", **{"pass": handed[1]})
    is_back(phone)
    is_back(guest)
    other = Guest(lab_server)
    other.post(f"/return/{room.slug}/", op="key", key=key)
    is_back(other)
    assert room.participants.count() == 2


def test_closed_browser_comes_back_by_link_when_the_door_is_closed(room: Class, staff: Visitor, guest: Guest) -> None:
    guest.join(room.link_key, "Ada")
    staff.post(f"/classes/{room.slug}/door", op="close")
    back = guest.get(f"/join/{room.link_key}/")
    assert back.url.endswith(f"/classes/{room.slug}/") and "(p2)." in back.text
    assert room.participants.count() == 2


def test_eight_characters_admit_another_device_once(room: Class, guest: Guest, lab_server: LabServer) -> None:
    guest.join(room.link_key, "Ada")
    page = guest.post(f"/classes/{room.slug}/elsewhere")
    shown = re.search(r"big-code mono\">([0-9A-Z]{4}-[0-9A-Z]{4})<", page.text)
    assert shown and "<svg" in page.text
    key = shown[1]
    phone = Guest(lab_server)
    assert "value=" in phone.get(f"/continue/{key.replace('-', '')}/").text
    back = phone.post("/continue/", **{"pass": key.lower()})
    assert back.url.endswith(f"/classes/{room.slug}/") and "(p2)." in back.text
    assert Guest(lab_server).post("/continue/", **{"pass": key}).status == 404
    assert guest.get(f"/classes/{room.slug}/").url.endswith(f"/classes/{room.slug}/")


def test_a_pass_is_void_after_five_minutes(room: Class, guest: Guest, lab_server: LabServer) -> None:
    guest.join(room.link_key, "Ada")
    page = guest.post(f"/classes/{room.slug}/elsewhere").text
    shown = re.search(r"big-code mono\">([0-9A-Z-]{9})<", page)
    assert shown
    made = DevicePass.objects.get()
    assert made.expires_at - timezone.now() < timedelta(minutes=5)
    DevicePass.objects.update(expires_at=timezone.now())
    assert Guest(lab_server).post("/continue/", **{"pass": shown[1]}).status == 404


def test_the_return_key_finds_the_same_participant_and_lab(room: Class, guest: Guest, lab_server: LabServer) -> None:
    key = key_on(guest.join(room.link_key, "Ada").text)
    run = guest.new_run(brokers="1")
    Participant.objects.filter(classroom=room, number=2).update(run=Run.objects.get(slug=run))
    other = Guest(lab_server)
    assert other.get(f"/r/{run}/main").url.count("/sign-in/") == 1
    back = other.post(f"/return/{room.slug}/", op="key", key=key.replace("-", " ").lower())
    assert "(p2)." in back.text and f"/r/{run}/main" in back.text
    assert other.get(f"/r/{run}/main").url.endswith(f"/r/{run}/main")


def test_five_wrong_return_keys_block_further_tries_for_ten_minutes(room: Class, guest: Guest) -> None:
    assert [guest.post(f"/return/{room.slug}/", op="key", key="0" * 10).status for _ in range(5)] == [404] * 5
    sixth = guest.post(f"/return/{room.slug}/", op="key", key="0" * 10)
    assert sixth.status == 429 and 500 < int(sixth.headers["Retry-After"]) <= 600


def test_return_page_does_not_reveal_which_classes_exist(room: Class, lab_server: LabServer) -> None:
    answers = []
    for slug in (room.slug, "nosuch"):
        guest = Guest(lab_server)
        pages = [guest.get(f"/classes/{slug}/"), guest.post(f"/return/{slug}/", op="key", key="0" * 10)]
        answers.append(
            [(each.status, re.sub(r'nonce="[^"]+"|value="[^"]+"', "", each.text).replace(slug, "")) for each in pages]
        )
    assert answers[0] == answers[1]


def test_claimed_name_has_no_effect_until_staff_confirm(
    room: Class, guest: Guest, staff: Visitor, lab_server: LabServer
) -> None:
    guest.join(room.link_key, "Ada")
    run = guest.new_run(brokers="1")
    other = Guest(lab_server)
    waiting = other.post(f"/return/{room.slug}/", op="claim", name="ada")
    assert "waiting to be admitted" in waiting.text
    assert other.get(f"/r/{run}/main").url.count("/sign-in/") == 1
    page = staff.get(f"/classes/{room.slug}/").text
    assert "claims to be Ada (p2)" in page and "last seen" in page
    with guest.socket(run) as socket:
        socket.of_kind("welcome")
        staff.post(f"/classes/{room.slug}/people/3", op="was")
        assert "(p2)." in other.get(f"/classes/{room.slug}/").text
        assert other.get(f"/r/{run}/main").url.endswith(f"/r/{run}/main")
        # The previous holder of the place is out, and the old socket is closed.
        assert socket.closed()[0] == 4403
    assert "/return/" in guest.get(f"/classes/{room.slug}/").url
    assert guest.get(f"/r/{run}/main").url.count("/sign-in/") == 1


def test_board_shows_whom_somebody_at_the_door_claims_to_be_and_staff_decide_there(
    room: Class, guest: Guest, staff: Visitor, lab_server: LabServer
) -> None:
    guest.join(room.link_key, "Ada")
    other, stranger = Guest(lab_server), Guest(lab_server)
    with page_of(lab_server, room.slug, staff) as board:
        board.until("snap")
        other.post(f"/return/{room.slug}/", op="claim", name="ada")
        board.until_held("/people/p3 claims", "p2")
        assert board.held["/people/p3"]["waits"] and board.held["/people/p2"]["name"] == "Ada"
        stranger.post(f"/return/{room.slug}/", op="claim", name="Ada")
        board.until_held("/people/p4 claims", "p2")
        assert board.act("admit", p="p4")["k"] == "done"
        assert board.act("accept_claim", p="p3")["k"] == "done"
        assert board.act("accept_claim", p="p4")["status"] == 409, "was admitted as somebody new"
    assert "(p2)." in other.get(f"/classes/{room.slug}/").text
    assert "(p4)." in stranger.get(f"/classes/{room.slug}/").text
    assert "/return/" in guest.get(f"/classes/{room.slug}/").url


def test_participants_are_last_seen_when_their_page_was_open_not_when_they_joined(
    room: Class, guest: Guest, lab_server: LabServer
) -> None:
    guest.join(room.link_key, "Ada")
    Guest(lab_server).join(room.link_key, "Bob")
    long_ago = timezone.now() - timedelta(hours=1)
    room.participants.update(seen_at=long_ago, joined_at=long_ago)

    async def note(host: object) -> None:
        await (await live_classes().of(room)).note_seen()

    with page_of(lab_server, room.slug, guest) as page:
        page.until("snap")
        lab_server.call(note)
    assert timezone.now() - participant(room, 2).seen_at < timedelta(minutes=1)
    assert participant(room, 3).seen_at == long_ago, "has no page open"


def test_claiming_a_name_does_not_reveal_whether_it_exists(room: Class, guest: Guest, lab_server: LabServer) -> None:
    guest.join(room.link_key, "Ada")
    shown = []
    for name in ("Ada", "Nobody"):
        text = Guest(lab_server).post(f"/return/{room.slug}/", op="claim", name=name).text
        shown.append(re.sub(r'nonce="[^"]+"|[A-Z]\w+ [A-Z]\w+( \d)?, you', "", text))
    assert shown[0] == shown[1]


def test_an_account_comes_back_without_cookie_or_key(room: Class, lab_server: LabServer) -> None:
    mei = Visitor(lab_server).sign_in_as("door-mei")
    User.objects.get(username="door-mei").set_password("x")
    account = User.objects.get(username="door-mei")
    account.set_password("river-stone-42")
    account.save()
    mei.sign_in_as("door-mei")
    mei.post(f"/join/{room.link_key}/", name="Mei", consent="number")
    assert participant(room, 2).user == account and not participant(room, 2).is_guest
    again = Visitor(lab_server).sign_in_as("door-mei")
    assert "(p2)." in again.get(f"/classes/{room.slug}/").text
