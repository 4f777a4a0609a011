"""Accounts: signing in and out, passwords, the operator's command, and the token of the start."""

import io
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import RequestFactory, override_settings

from lab.classroom.limits import KeyTries
from lab.models import Class
from lab.rights import LOCAL_USER
from lab.templatetags.highwater import initials
from lab.texts.refusal import Refusal
from lab.web import account_pages
from lab.web.network import TlsError, apply_room, is_loopback, room_of
from lab.web.sign_in import sign_in
from tests.support.classroom.guest import Guest
from tests.support.classroom.lesson_room import remove_class
from tests.support.lab_server import Answer, LabServer, Visitor
from tests.support.paths import DATA

PASSWORD = "seven-herons-fly"


@pytest.fixture
def account(database, monkeypatch: pytest.MonkeyPatch) -> Iterator[User]:
    monkeypatch.setattr(account_pages, "password_tries", KeyTries())
    user = User.objects.create_user("accounts-lin", password=PASSWORD, is_staff=True)
    yield user
    user.delete()


def sign_in_with(browser: Guest, password: str, name: str = "accounts-lin", following: str = "/classes/"):
    return browser.post("/sign-in/", user=name, password=password, next=following)


def test_an_account_signs_in_with_its_password(lab_server: LabServer, account: User) -> None:
    browser = Guest(lab_server)
    answer = sign_in_with(browser, PASSWORD)
    assert answer.status == 200 and answer.url.endswith("/classes/") and 'id="new-class"' in answer.text


def avatar_of(answer: Answer) -> tuple[str, str]:
    """Its label, and what it shows."""
    found = re.search(
        r'<a class="avatar" href="/account/"[^>]*><span [^>]*>(.*?)</span><span class="sr">(.*?)</', answer.text
    )
    return (found[2], found[1]) if found else ("", "")


def test_pages_show_who_is_signed_in(lab_server: LabServer, account: User, visitor: Visitor) -> None:
    assert avatar_of(sign_in_with(Guest(lab_server), PASSWORD)) == ("Account: accounts-lin", "AL")
    # The user of a lab without accounts has no name.
    label, shown = avatar_of(visitor.get("/classes/"))
    assert label == "Account" and "#person" in shown
    made = visitor.post("/classes/new", title="Replication")
    assert avatar_of(visitor.get(f"{urlsplit(made.url).path}projector/")) == ("", "")
    classroom = Class.objects.get()
    assert avatar_of(Guest(lab_server).join(classroom.link_key, "Ada <b>")) == ("Account: Ada &lt;b&gt;", "A&lt;")
    remove_class(lab_server, classroom)


@pytest.mark.parametrize(
    ("name", "shown"),
    [("Chen Yu 陈宇", "CY"), ("陈宇", "陈"), ("陈 宇", "陈"), ("ada", "A"), ("lin.wang", "LW"), ("_", "_")],
)
def test_initials_of_a_name(name: str, shown: str) -> None:
    assert initials(name) == shown


@pytest.mark.parametrize("following", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_signing_in_leads_to_no_other_site(lab_server: LabServer, account: User, following: str) -> None:
    assert sign_in_with(Guest(lab_server), PASSWORD, following=following).url == lab_server.address + "/"


def test_unknown_names_and_wrong_passwords_get_the_same_answer_and_five_tries_in_ten_minutes(
    lab_server: LabServer, account: User
) -> None:
    browser = Guest(lab_server)
    wrong = [sign_in_with(browser, "wrong", name) for name in ("accounts-lin", "nobody")]
    assert [each.status for each in wrong] == [403, 403]
    said = [re.sub(r'nonce="[^"]+"|value="[^"]*"', "", each.text) for each in wrong]
    assert said[0] == said[1] and "Name or password is wrong" in said[0]
    for _ in range(4):
        assert sign_in_with(browser, "wrong").status == 403
    assert sign_in_with(browser, PASSWORD).status == 429


def test_the_local_user_and_guests_have_no_password(lab_server: LabServer, account: User) -> None:
    for password in ("", "!", "None"):
        assert sign_in_with(Guest(lab_server), password, LOCAL_USER).status == 403


def test_a_new_password_ends_all_other_sessions_and_their_sockets(lab_server: LabServer, account: User) -> None:
    here, there = Guest(lab_server), Guest(lab_server)
    sign_in_with(here, PASSWORD)
    sign_in_with(there, PASSWORD)
    run = here.new_run(brokers="1")
    with there.socket(run) as socket:
        socket.of_kind("welcome")
        answer = here.post("/account/", old=PASSWORD, new="nine-otters-swim")
        assert answer.status == 200 and "was changed" in answer.text
        assert socket.closed()[0] == 4403
    assert "/sign-in/" in there.get("/runs/").url
    assert here.get("/runs/").url.endswith("/runs/")
    assert sign_in_with(Guest(lab_server), PASSWORD).status == 403


@pytest.mark.parametrize("new", ["short", "1234567890123", "password1234", "accounts-lin", "x" * 300])
def test_weak_passwords_are_refused(lab_server: LabServer, account: User, new: str) -> None:
    browser = Guest(lab_server)
    sign_in_with(browser, PASSWORD)
    answer = browser.post("/account/", old=PASSWORD, new=new)
    assert answer.status == 400 and "too easy" in answer.text
    assert User.objects.get(pk=account.pk).check_password(PASSWORD)


def test_signing_out_ends_the_session_and_its_sockets(lab_server: LabServer, account: User) -> None:
    browser = Guest(lab_server)
    sign_in_with(browser, PASSWORD)
    run = browser.new_run(brokers="1")
    with browser.socket(run) as socket:
        socket.of_kind("welcome")
        browser.post("/sign-out")
        assert socket.closed()[0] == 4403
    assert "/sign-in/" in browser.get("/runs/").url


# manage.py createinstructor


def make_instructor(name: str, password: str, *options: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("sys.stdin", io.StringIO(password + "\n"))
    out = io.StringIO()
    call_command("createinstructor", name, "--password-stdin", *options, stdout=out)
    return out.getvalue()


def test_the_operator_makes_instructors(database, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "/sign-in/" in make_instructor("accounts-mei", PASSWORD, monkeypatch=monkeypatch)
    made = User.objects.get(username="accounts-mei")
    assert made.is_staff and not made.is_superuser and made.check_password(PASSWORD)
    for name, password, why in (
        ("accounts-mei", PASSWORD, "--reset"),
        ("accounts-new", "1234", "too short"),
        (LOCAL_USER, PASSWORD, "another name"),
        ("no space", PASSWORD, "valid username"),
    ):
        with pytest.raises(CommandError, match=why):
            make_instructor(name, password, monkeypatch=monkeypatch)
    make_instructor("accounts-mei", "nine-otters-swim", "--reset", monkeypatch=monkeypatch)
    made.refresh_from_db()
    assert made.check_password("nine-otters-swim")
    made.delete()


# The token, and where it serves


@pytest.mark.parametrize(
    ("serves_room", "is_secure", "address", "is_refused"),
    [(True, False, "10.0.0.7", True), (True, False, "", True), (True, True, "10.0.0.7", False),
     (True, False, "127.0.0.1", False), (True, False, "::1", False), (False, False, "127.0.0.1", False)],
)  # fmt: skip
def test_token_is_not_accepted_remotely_over_plain_http(
    database, serves_room: bool, is_secure: bool, address: str, is_refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = RequestFactory().get("/sign-in/", secure=is_secure, REMOTE_ADDR=address)
    signed_in: list[str] = []
    monkeypatch.setattr("lab.web.sign_in.login", lambda request, user, backend: signed_in.append(user.username))
    with override_settings(SERVES_ROOM=serves_room, SIGN_IN_TOKEN="the-token"):
        if is_refused:
            with pytest.raises(Refusal) as refused:
                sign_in(request, "the-token")
            assert refused.value.status == 403
        else:
            sign_in(request, "the-token")
    assert bool(signed_in) is not is_refused


def test_serving_a_room_changes_hosts_and_cookies_and_loopback_does_not() -> None:
    with override_settings(ALLOWED_HOSTS=["localhost"], SERVES_ROOM=False, SESSION_COOKIE_SECURE=False):
        from django.conf import settings

        apply_room(room_of("127.0.0.1"))
        assert settings.ALLOWED_HOSTS == ["localhost"] and not settings.SERVES_ROOM
        apply_room(room_of("192.0.2.7", ["lab.example"], *map(str, CERTIFICATE)))
        assert settings.ALLOWED_HOSTS == ["localhost", "lab.example", "192.0.2.7"]
        assert settings.SERVES_ROOM and settings.SESSION_COOKIE_SECURE and settings.CSRF_COOKIE_SECURE
        settings.CSRF_COOKIE_SECURE = False


CERTIFICATE = (DATA / "tls" / "cert.pem", DATA / "tls" / "key.pem")


def test_addresses_of_a_room() -> None:
    room = room_of("0.0.0.0", ["lab.example"])
    assert room.address(8000) == "http://lab.example:8000" and room.own_address(8000) == "http://127.0.0.1:8000"
    assert room_of("::1").address(80) == "http://[::1]:80" and is_loopback("::1") and not is_loopback("10.0.0.1")
    assert room_of("192.0.2.7").own_address(1) == "http://192.0.2.7:1"


@pytest.mark.parametrize(
    "pair", [("", "key.pem"), ("cert.pem", ""), ("nosuch.pem", "key.pem"), ("key.pem", "cert.pem")]
)
def test_a_certificate_that_cannot_be_used_is_refused(pair: tuple[str, str]) -> None:
    with pytest.raises(TlsError):
        room_of("0.0.0.0", (), *(str(DATA / "tls" / name) if name else "" for name in pair))
