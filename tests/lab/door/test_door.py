"""The door over HTTP: code, name, limits, admission."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from lab.actions.classes import door
from lab.classroom.codes import shown_code, shown_digits
from lab.classroom.notices import Notice, forget_listener, on_notice
from lab.models import Class, Participant
from tests.support.classroom.guest import Guest, key_on, participant
from tests.support.lab_server import LabServer, Visitor

NOTHING_SHOWN = "class with an open door"

# Coming in


@pytest.mark.parametrize("form", ["word", "digits", "address"])
def test_code_and_name_suffice_to_join(room: Class, guest: Guest, form: str) -> None:
    """Acceptance statement 1: the part of a learner."""
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


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", ["can see your lab", "may act in your lab", "you can undo it"]),
        ("zh-CN", ["能看到你的实验", "在你的实验中操作", "可以撤销"]),
    ],
)
def test_door_says_that_staff_may_act_in_a_lab(room: Class, guest: Guest, language: str, told: list[str]) -> None:
    """Help needs no leave of the learner: it is a rule of the class, told before they join."""
    named = guest.get(f"/join/{room.link_key}/", **{"Accept-Language": language})
    assert all(sentence in named.text for sentence in told), named.text
    assert not Participant.objects.filter(classroom=room, number=2).exists()


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


def test_unknown_code_and_closed_door_get_the_same_answer(room: Class, lab_server: LabServer) -> None:
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


def test_door_closes_after_15_minutes_unless_kept_open(room: Class) -> None:
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


def test_new_code_invalidates_the_previous_code_and_link(room: Class, staff: Visitor, guest: Guest) -> None:
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
    # Also for the right one, so that the pause cannot be distinguished from a wrong code; the link has no limits.
    room.refresh_from_db()
    assert room.code is not None
    assert guest.post("/join/", code=shown_code(room.code)).status == 429
    assert guest.get(f"/join/{room.link_key}/").status == 200


def test_staff_are_warned_once_about_guessed_codes(room: Class, staff: Visitor, lab_server: LabServer) -> None:
    notices: list[Notice] = []
    on_notice(notices.append)
    try:
        assert "guessing" not in staff.get(f"/classes/{room.slug}/").text
        for _ in range(11):
            browser = Guest(lab_server)
            for _ in range(5):
                browser.post("/join/", code="ZOOM-100")
        assert [one.kind for one in notices if one.class_id == room.pk] == ["under_attack"]
        assert "guessing" in staff.get(f"/classes/{room.slug}/").text
    finally:
        forget_listener(notices.append)


# Admission


def test_participants_wait_until_admitted(room: Class, staff: Visitor, guest: Guest, lab_server: LabServer) -> None:
    staff.post(f"/classes/{room.slug}/door", op="admits")
    waiting = guest.join(room.link_key, "Ada")
    assert "waiting to be admitted" in waiting.text
    # Not admitted yet: neither pages nor labs nor sockets.
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
