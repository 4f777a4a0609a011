"""The door over HTTP: code, name, admission, the five ways back, staff's acts, and what a guest may not do."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone

from lab.actions.classes import door
from lab.actions.classes.people import erase_expired_guests
from lab.classroom.codes import shown_code, shown_digits
from lab.classroom.limits import KeyTries, WrongCodes
from lab.classroom.notices import Notice, forget_listener, on_notice
from lab.learning import log as learning
from lab.learning.events import LessonStarted
from lab.models import Branch, Class, DevicePass, Participant, Presence, Role, Run
from lab.urls import urlpatterns
from lab.web import door_pages
from tests.support.classroom.guest import Guest
from tests.support.lab_server import LabServer, Visitor

NOTHING_SHOWN = "no class with an open door"


@pytest.fixture
def staff(lab_server: LabServer) -> Visitor:
    lin = Visitor(lab_server).sign_in_as("door-lin")
    User.objects.filter(username="door-lin").update(is_staff=True)
    return lin


@pytest.fixture
def room(staff: Visitor, monkeypatch: pytest.MonkeyPatch) -> Iterator[Class]:
    """An open class, and counters that have counted nothing."""
    monkeypatch.setattr(door_pages, "wrong_codes", WrongCodes())
    monkeypatch.setattr(door_pages, "key_tries", KeyTries())
    answer = staff.post("/classes/new", title="Storage <b>systems</b>", chapter="", origin="", **{"language-en": "on"})
    assert answer.status == 200 and "/classes/" in answer.url, answer.text
    yield Class.objects.get(slug=answer.url.split("/")[-2])
    Class.objects.all().delete()
    User.objects.filter(username__startswith="guest-").delete()


@pytest.fixture
def guest(lab_server: LabServer) -> Guest:
    return Guest(lab_server)


def participant(room: Class, number: int) -> Participant:
    return Participant.objects.get(classroom=room, number=number)


def key_on(page: str) -> str:
    found = re.search(r"big-code mono\">([0-9A-Z]{5}-[0-9A-Z]{5})<", page)
    assert found, page
    return found[1]


# Coming in


@pytest.mark.parametrize("form", ["word", "digits", "address"])
def test_a_code_and_a_name_are_all_it_takes(room: Class, guest: Guest, form: str) -> None:
    room.refresh_from_db()
    assert room.code is not None
    if form == "address":
        named = guest.get(f"/join/{shown_code(room.code)}/")
    else:
        named = guest.post("/join/", code=shown_code(room.code) if form == "word" else shown_digits(room.code))
    assert named.status == 200 and named.url.endswith(f"/join/{room.link_key}/")
    assert "Storage &lt;b&gt;systems&lt;/b&gt;" in named.text and "<b>systems" not in named.text
    home = guest.join(room.link_key, "Ada", "nickname")
    assert home.url.endswith(f"/classes/{room.slug}/") and "Ada" in home.text and key_on(home.text)
    ada = participant(room, 2)
    assert (ada.nickname, ada.role, ada.consent, ada.presence) == ("Ada", "learner", "nickname", "in")
    # Shown once, and stored nowhere.
    assert "big-code" not in guest.get(f"/classes/{room.slug}/").text
    assert key_on(home.text).replace("-", "") not in str(Participant.objects.filter(pk=ada.pk).values())


def test_the_cookie_of_a_guest_lasts_30_days_and_is_closed_to_scripts(room: Class, guest: Guest) -> None:
    guest.join(room.link_key, "Ada")
    cookie = guest.cookie(f"-class-{room.slug}")
    assert cookie.has_nonstandard_attr("HttpOnly") and cookie.get_nonstandard_attr("SameSite") == "Lax"
    assert cookie.expires and abs(cookie.expires - timezone.now().timestamp() - 30 * 86_400) < 3_600


def test_an_empty_name_is_replaced_by_an_offered_one(room: Class, guest: Guest) -> None:
    guest.join(room.link_key, "")
    assert re.fullmatch(r"[A-Z]\w+ [A-Z]\w+", participant(room, 2).nickname)
    assert guest.get(f"/join/{room.link_key}/name").text != participant(room, 2).nickname


def test_a_name_that_looks_like_the_instructors_gets_a_number(room: Class, guest: Guest) -> None:
    Participant.objects.filter(classroom=room, number=1).update(nickname="Lin", skeleton="lln")
    guest.join(room.link_key, "Lіn")
    assert participant(room, 2).nickname == "Lіn 2"


@pytest.mark.parametrize("name", ["x" * 25, "A‮da", "A​da", "p1", "x" * 10_000, "A" + "́" * 8])
def test_a_name_that_is_not_allowed_is_refused_at_its_field(room: Class, guest: Guest, name: str) -> None:
    answer = guest.join(room.link_key, name)
    assert answer.status == 400 and 'role="alert"' in answer.text
    assert re.search(r'name="name"[^>]*aria-invalid="true"', answer.text)
    assert room.participants.count() == 1


def test_markup_in_a_name_is_text_on_every_page(room: Class, guest: Guest, staff: Visitor) -> None:
    name = '"><img src=x>'
    home = guest.join(room.link_key, name)
    for page in (home, staff.get(f"/classes/{room.slug}/"), guest.get("/runs/"), guest.get("/")):
        assert "<img src=x>" not in page.text
    assert "&lt;img src=x&gt;" in home.text


def test_no_such_code_and_a_closed_door_are_one_answer(room: Class, lab_server: LabServer) -> None:
    room.refresh_from_db()
    assert room.code is not None
    code = shown_code(room.code)
    none = Guest(lab_server).post("/join/", code=code[:-1] + ("1" if code[-1] != "1" else "2"))
    Class.objects.filter(pk=room.pk).update(door_until=timezone.now() - timedelta(seconds=1))
    expired = Guest(lab_server).post("/join/", code=code)
    closed = Guest(lab_server).get(f"/join/{code}/")
    without = [re.sub(r'csrfmiddlewaretoken" value="[^"]+"|value="[A-Z]+-\d+"|nonce="[^"]+"', "", each.text)
               for each in (none, expired, closed)]  # fmt: skip
    assert none.status == expired.status == closed.status == 404
    assert NOTHING_SHOWN in none.text.lower() and without[0] == without[1] == without[2]
    link = Guest(lab_server).get(f"/join/{room.link_key}/")
    assert link.status == 404 and room.title.split()[0] not in link.text


def test_the_door_closes_after_15_minutes_unless_told_to_stay(room: Class) -> None:
    now = timezone.now()
    door.open_door(room, now)
    assert door.is_open(room, now + timedelta(minutes=14, seconds=59))
    assert not door.is_open(room, now + timedelta(minutes=15))
    door.open_door(room, now, stays=True)
    assert door.is_open(room, now + timedelta(days=1))
    code = room.code
    door.close_door(room)
    assert room.code is None and not door.is_open(room, now)
    door.open_door(room, now)
    assert room.code != code


def test_a_new_code_makes_code_and_link_of_before_void(room: Class, staff: Visitor, guest: Guest) -> None:
    room.refresh_from_db()
    assert room.code is not None
    before = (shown_code(room.code), room.link_key)
    assert staff.post(f"/classes/{room.slug}/door", op="renew").status == 200
    assert guest.post("/join/", code=before[0]).status == 404
    assert guest.get(f"/join/{before[1]}/").status == 404
    room.refresh_from_db()
    assert guest.get(f"/join/{room.link_key}/").status == 200


def test_wrong_codes_are_answered_with_retry_after(room: Class, guest: Guest, staff: Visitor) -> None:
    statuses = [guest.post("/join/", code="KITE-100").status for _ in range(5)]
    assert statuses == [404] * 5
    sixth = guest.post("/join/", code="KITE-100")
    assert sixth.status == 429 and 1 <= int(sixth.headers["Retry-After"]) <= 30
    # Also for the right one, so that the pause cannot be told from a wrong code; the link has no limits.
    room.refresh_from_db()
    assert room.code is not None
    assert guest.post("/join/", code=shown_code(room.code)).status == 429
    assert guest.get(f"/join/{room.link_key}/").status == 200


def test_staff_are_warned_once_of_somebody_who_guesses(
    room: Class, staff: Visitor, lab_server: LabServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door_pages, "_warned_s", float("-inf"))
    told: list[Notice] = []
    on_notice(told.append)
    try:
        assert "guessing" not in staff.get(f"/classes/{room.slug}/").text
        for _ in range(11):
            browser = Guest(lab_server)
            for _ in range(5):
                browser.post("/join/", code="ZOOM-100")
        assert [one.kind for one in told if one.class_id == room.pk] == ["under_attack"]
        assert "guessing" in staff.get(f"/classes/{room.slug}/").text
    finally:
        forget_listener(told.append)


# Admission


def test_people_wait_until_they_are_let_in(room: Class, staff: Visitor, guest: Guest, lab_server: LabServer) -> None:
    staff.post(f"/classes/{room.slug}/door", op="admits")
    waiting = guest.join(room.link_key, "Ada")
    assert "waiting to be admitted" in waiting.text
    # Nobody yet: neither pages nor labs nor sockets.
    assert "/sign-in/" in guest.get("/runs/").url and "/sign-in/" in guest.get("/").url
    assert guest.get("/api/find.json").status == 401
    assert guest.post("/open-lab").url.count("/sign-in/") == 1
    assert guest.get(f"/api/classes/{room.slug}/presence").json == {"presence": "waiting"}
    assert "Ada" in staff.get(f"/classes/{room.slug}/").text
    staff.post(f"/classes/{room.slug}/people/2", op="admit")
    assert guest.get(f"/api/classes/{room.slug}/presence").json == {"presence": "in"}
    assert guest.get("/runs/").url.endswith("/runs/")
    others = [Guest(lab_server) for _ in range(3)]
    for other in others:
        other.join(room.link_key)
    staff.post(f"/classes/{room.slug}/door", op="admit-all")
    assert all(other.get(f"/api/classes/{room.slug}/presence").json == {"presence": "in"} for other in others)


# Coming back (acceptance 5)


def test_closed_browser_comes_back_by_link_when_the_door_is_closed(room: Class, staff: Visitor, guest: Guest) -> None:
    guest.join(room.link_key, "Ada")
    staff.post(f"/classes/{room.slug}/door", op="close")
    back = guest.get(f"/join/{room.link_key}/")
    assert back.url.endswith(f"/classes/{room.slug}/") and "p2" in back.text
    assert room.participants.count() == 2


def test_another_device_comes_in_once_with_eight_characters(room: Class, guest: Guest, lab_server: LabServer) -> None:
    guest.join(room.link_key, "Ada")
    page = guest.post(f"/classes/{room.slug}/elsewhere")
    shown = re.search(r"big-code mono\">([0-9A-Z]{4}-[0-9A-Z]{4})<", page.text)
    assert shown and "<svg" in page.text
    key = shown[1]
    phone = Guest(lab_server)
    assert "value=" in phone.get(f"/continue/{key.replace('-', '')}/").text
    back = phone.post("/continue/", **{"pass": key.lower()})
    assert back.url.endswith(f"/classes/{room.slug}/") and "p2" in back.text
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
    assert "p2" in back.text and f"/r/{run}/main" in back.text
    assert other.get(f"/r/{run}/main").url.endswith(f"/r/{run}/main")


def test_five_wrong_return_keys_and_then_none_for_ten_minutes(room: Class, guest: Guest) -> None:
    assert [guest.post(f"/return/{room.slug}/", op="key", key="0" * 10).status for _ in range(5)] == [404] * 5
    sixth = guest.post(f"/return/{room.slug}/", op="key", key="0" * 10)
    assert sixth.status == 429 and 500 < int(sixth.headers["Retry-After"]) <= 600


def test_the_page_that_takes_keys_does_not_tell_which_classes_exist(room: Class, lab_server: LabServer) -> None:
    answers = []
    for slug in (room.slug, "nosuch"):
        guest = Guest(lab_server)
        pages = [guest.get(f"/classes/{slug}/"), guest.post(f"/return/{slug}/", op="key", key="0" * 10)]
        answers.append(
            [(each.status, re.sub(r'nonce="[^"]+"|value="[^"]+"', "", each.text).replace(slug, "")) for each in pages]
        )
    assert answers[0] == answers[1]


def test_a_claimed_name_gives_nothing_until_staff_say_so(
    room: Class, guest: Guest, staff: Visitor, lab_server: LabServer
) -> None:
    guest.join(room.link_key, "Ada")
    run = guest.new_run(brokers="1")
    other = Guest(lab_server)
    waiting = other.post(f"/return/{room.slug}/", op="claim", name="ada")
    assert "waiting to be admitted" in waiting.text
    assert other.get(f"/r/{run}/main").url.count("/sign-in/") == 1
    page = staff.get(f"/classes/{room.slug}/").text
    assert "says to be Ada (p2)" in page and "last seen" in page
    with guest.socket(run) as socket:
        socket.of_kind("welcome")
        staff.post(f"/classes/{room.slug}/people/3", op="was")
        assert "p2" in other.get(f"/classes/{room.slug}/").text
        assert other.get(f"/r/{run}/main").url.endswith(f"/r/{run}/main")
        # Who had the place before is out, and the old socket has ended.
        assert socket.closed()[0] == 4403
    assert "/return/" in guest.get(f"/classes/{room.slug}/").url
    assert guest.get(f"/r/{run}/main").url.count("/sign-in/") == 1


def test_asking_for_a_name_does_not_tell_whether_it_exists(room: Class, guest: Guest, lab_server: LabServer) -> None:
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
    assert "p2" in again.get(f"/classes/{room.slug}/").text


# Staff's acts


def test_kicked_is_out_at_once_and_stays_out_but_keeps_the_lab(
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
    assert "p2" in guest.get(f"/classes/{room.slug}/").text


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


def test_leaving_makes_the_cookie_void_everywhere(room: Class, guest: Guest) -> None:
    guest.join(room.link_key, "Ada")
    stolen = guest.cookie(f"-class-{room.slug}")
    guest.post(f"/classes/{room.slug}/leave")
    assert not guest.has_cookie(f"-class-{room.slug}")
    guest.cookies.set_cookie(stolen)
    assert "/return/" in guest.get(f"/classes/{room.slug}/").url and "/sign-in/" in guest.get("/runs/").url


# Guests and their cookies


def test_forged_and_old_cookies_are_nobodys(
    room: Class, guest: Guest, lab_server: LabServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest.join(room.link_key, "Ada")
    real = guest.cookie(f"-class-{room.slug}")
    assert real.value
    for value in ("", "x", real.value[:-1] + "x", real.value.replace(":", "::"), "W10:1:1", "\x7f" * 4_000):
        forger = Guest(lab_server)
        forger._add_cookie(real.name, value)
        assert "/sign-in/" in forger.get("/runs/").url
    elsewhere = Guest(lab_server)
    elsewhere._add_cookie(real.name.replace(room.slug, "otherrm"), real.value)
    assert "/sign-in/" in elsewhere.get("/runs/").url
    monkeypatch.setattr("lab.web.guests.MAX_AGE_S", -1)
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
    assert "p2" in guest.get(f"/classes/{room.slug}/").text and "p2" in guest.get(f"/classes/{other.slug}/").text
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


@pytest.mark.parametrize("address", ["leave", "erase", "key", "elsewhere"])
def test_what_participants_do_for_themselves_is_404_to_strangers(
    room: Class, lab_server: LabServer, address: str
) -> None:
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


LIVE_ADDRESSES: set[str] = set()
"""Those of the live class, which has tests of its own."""


@pytest.mark.parametrize("name", ["stranger", "guest of another class"])
def test_the_presence_of_others_is_not_told(room: Class, guest: Guest, lab_server: LabServer, name: str) -> None:
    guest.join(room.link_key, "Ada")
    other = Visitor(lab_server).sign_in_as("door-stranger") if name == "stranger" else Guest(lab_server)
    assert other.get(f"/api/classes/{room.slug}/presence").json == {"presence": ""}


# Privacy (acceptance 24, what concerns the door)


def test_erasing_a_person_takes_name_keys_and_cookies_at_once(
    room: Class, guest: Guest, staff: Visitor, lab_server: LabServer
) -> None:
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


def test_one_may_erase_oneself(room: Class, guest: Guest) -> None:
    guest.join(room.link_key, "Ada")
    assert guest.post(f"/classes/{room.slug}/erase").status == 400
    assert guest.post(f"/classes/{room.slug}/erase", confirm="yes").url.endswith("/join/")
    assert participant(room, 2).presence == Presence.ERASED


def test_a_deleted_class_leaves_no_name(room: Class, guest: Guest, staff: Visitor) -> None:
    guest.join(room.link_key, "Ada")
    assert staff.post(f"/classes/{room.slug}/delete").status == 400
    assert staff.post(f"/classes/{room.slug}/delete", confirm="yes").url.endswith("/classes/")
    assert not Participant.objects.exists() and not User.objects.filter(username__startswith="guest-").exists()


def test_guests_end_30_days_after_their_class_and_accounts_stay(room: Class, guest: Guest, staff: Visitor) -> None:
    guest.join(room.link_key, "Ada")
    run = guest.new_run(brokers="1")
    staff.server.call(lambda host: host.close_run(run))
    staff.post(f"/classes/{room.slug}/end", confirm="yes")
    ended = Class.objects.get(pk=room.pk).ended_at
    assert ended is not None
    assert erase_expired_guests(ended + timedelta(days=29)) == 0
    assert guest.get(f"/r/{run}/main").status == 200
    staff.server.call(lambda host: host.close_run(run))
    assert erase_expired_guests(ended + timedelta(days=30)) == 1
    assert not Run.objects.filter(slug=run).exists() and not (settings.RUNS / run).exists()
    assert "/sign-in/" in guest.get("/runs/").url
    assert participant(room, 1).user is not None


def test_a_guest_may_keep_the_work_with_an_account(room: Class, guest: Guest) -> None:
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
    assert guest.get(f"/r/{run}/main").status == 200 and not guest.has_cookie(f"-class-{room.slug}")
    account.delete()
