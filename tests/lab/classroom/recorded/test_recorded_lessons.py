"""Lessons recorded without a class: they cannot be joined, and people with the link can watch the recording."""

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from lab.actions.classes.live_class import close_classes
from lab.actions.classes.people import expired_guests
from lab.models import Class, Participant, Run
from tests.support.classroom.guest import Guest
from tests.support.lab_server import LabServer, Visitor


@pytest.fixture(scope="module")
def author(lab_server: LabServer) -> Iterator[Visitor]:
    visitor = Visitor(lab_server).sign_in_as("author of lessons")
    User.objects.filter(username="author of lessons").update(is_staff=True)
    yield visitor
    lab_server.call(lambda _: close_classes())
    Run.objects.filter(owner__username="author of lessons").update(classroom=None, participant=None)
    Class.objects.filter(owner__username="author of lessons").delete()
    User.objects.filter(username__in=("author of lessons", "reader of lessons")).delete()
    User.objects.filter(username__startswith="guest-").delete()


@pytest.fixture(scope="module")
def lesson(author: Visitor, lab_server: LabServer) -> Class:
    """A lesson that was recorded: a chapter was set, a sentence captioned."""
    begun = author.post("/classes/record", title="Walkthrough", chapter="", origin="")
    assert begun.status == 200 and begun.url.endswith("/board/") and "hw-recorder" in begun.text
    made = Class.objects.get(slug=begun.url.split("/")[-3])
    assert (made.door_is_open, made.code) == (False, None)
    for op in ("open", "stay"):
        assert author.post(f"/classes/{made.slug}/door", op=op).status == 409
    guest = Guest(lab_server)
    assert guest.join(made.link_key, "Ada").status == 404
    assert guest.get(f"/watch/{made.link_key}/").status == 404, "it is not finished"
    recording = f"/api/classes/{made.slug}/recording"
    assert author.post_json(f"{recording}/chapters", {"title": "A topic"}).status == 200
    said = {"from_us": 0, "to_us": 10**6, "text": "A topic is created."}
    assert author.post_json(f"{recording}/captions/en/cues", said).status == 200
    finished = author.post(f"/classes/{made.slug}/end", confirm="yes")
    assert f"/watch/{made.link_key}/" in finished.text and "door-title" not in finished.text
    made.refresh_from_db()
    return made


def test_the_lab_is_shown_from_the_first_instant(author: Visitor, lesson: Class) -> None:
    recording = f"/api/classes/{lesson.slug}/recording"
    manifest, rows = author.get(f"{recording}/manifest.json").json, author.get(f"{recording}/map.json").json
    assert [one["title"] for one in manifest["chapters"] if one["by"] == "staff"] == ["A topic"]
    assert len(manifest["labs"]) == 1 and rows[0][0] < 1_000_000 and manifest["captions"]
    assert "Walkthrough" in author.get("/classes/").text


def test_visitor_with_the_link_watches_and_takes_over(lesson: Class, lab_server: LabServer) -> None:
    guest = Guest(lab_server)
    offer = guest.get(f"/watch/{lesson.link_key}/")
    assert offer.status == 200 and "Walkthrough" in offer.text
    assert guest.get(f"/classes/{lesson.slug}/replay/").status != 200, "before they watch, they know nothing of it"
    watched = guest.post(f"/watch/{lesson.link_key}/")
    assert watched.status == 200 and f"/classes/{lesson.slug}/replay/" in watched.url
    assert guest.get(f"/watch/{lesson.link_key}/").url == watched.url, "once"
    recording = f"/api/classes/{lesson.slug}/recording"
    last_seq = guest.get(f"{recording}/manifest.json").json["labs"][0]["last_seq"]
    assert guest.post_json(f"{recording}/take-over", {"lab": 0, "seq": last_seq}).status == 200
    assert guest.put(f"{recording}/captions/en/file", b"WEBVTT", "text/vtt").status == 403
    assert guest.get(f"/classes/{lesson.slug}/").status == 200
    assert guest.get(f"{recording}/notes").json == []
    reader = Visitor(lab_server).sign_in_as("reader of lessons")
    user = User.objects.get(username="reader of lessons")
    user.set_password("correct horse battery")
    user.save()
    reader.sign_in_as("reader of lessons")
    assert reader.post(f"/watch/{lesson.link_key}/").status == 200
    assert Participant.objects.get(classroom=lesson, user=user).is_guest is False


def test_guests_are_kept_equally_long_whenever_they_watch(lesson: Class) -> None:
    ended = lesson.ended_at
    assert ended is not None
    late = lesson.participants.filter(is_guest=True).order_by("-number").first()
    assert late is not None
    late.joined_at = ended + timedelta(days=40)
    late.save()
    assert late not in expired_guests(ended + timedelta(days=60))
    assert late in expired_guests(ended + timedelta(days=71))


def test_a_recording_has_a_limit_of_guests(
    lesson: Class, lab_server: LabServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lab.actions.classes.recorded.lessons.MAX_WATCHING", 0)
    before = lesson.participants.count()
    assert Guest(lab_server).post(f"/watch/{lesson.link_key}/").status == 409
    assert lesson.participants.count() == before


def test_new_link_invalidates_the_previous_one_and_an_invalid_form_keeps_its_title(
    author: Visitor, lesson: Class, lab_server: LabServer
) -> None:
    before = lesson.link_key
    assert author.post(f"/classes/{lesson.slug}/door", op="renew").status == 200
    assert Guest(lab_server).get(f"/watch/{before}/").status == 404
    refused = author.post("/classes/record", title="Kept", chapter="", origin="nowhere/at/all")
    assert refused.status == 400
    form = re.search(r'id="record-lesson".*?</form>', refused.text, re.S)
    assert form and 'value="Kept"' in form[0] and 'role="alert"' in form[0]
    assert author.post("/classes/record", title="", chapter="", origin="").status == 400
    assert Class.objects.filter(owner=lesson.owner, ended_at__isnull=True).count() == 0
