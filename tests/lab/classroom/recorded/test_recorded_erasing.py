"""Erasing one of 40 people of a class, while it is live and after it has been sealed."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from lab.actions.classes.door import open_door
from lab.actions.classes.live_class import close_classes
from lab.models import Class, Participant
from tests.support.classroom.class_pages import Classroom, Page, page_of
from tests.support.classroom.guest import Guest
from tests.support.lab_server import LabServer

LEARNERS = 40
NAME, ASKED, NOTED = "Wilhelmina Harker", "why-did-the-castle-epoch-change", "castle-note-to-the-staff"


class Full:
    """A class of learners who have joined by its link; the instructor leads."""

    def __init__(self, server: LabServer, learners: int) -> None:
        self.room, self.server = Classroom(server), server
        User.objects.filter(username="user 1").update(is_staff=True)
        open_door(self.room.model, timezone.now())
        self.guests = [Guest(server) for _ in range(learners - 2)]
        for number, guest in enumerate(self.guests):
            guest.join(self.room.model.link_key, NAME if number == 7 else f"Learner {number}", "nickname")
        self.erased = Participant.objects.get(nickname=NAME)
        self.lead = self.room.give_lab("p1", brokers="1")

    def teach(self, teacher: Page, *, ends: bool) -> None:
        teacher.until("snap")
        assert teacher.act("take_lead", lab=f"{self.lead}/main")["k"] == "done"
        while not teacher.held.get("/lead_lab"):
            teacher.read()
        at = {"lab": f"{self.lead}/main", "seq": 1, "at_us": 0}
        with ExitStack() as stack:
            for number, guest in enumerate(self.guests):
                page = stack.enter_context(page_of(self.server, self.room.slug, guest))
                page.until("snap")
                text = ASKED if number == 7 else f"question-of-learner-{number}"
                assert page.act("ask", text=text, lang="en", named=True, at=at)["k"] == "done"
                if number == 7:
                    assert page.act("send_note", p="p1", text=NOTED, lang="en")["k"] == "done"
        if ends:
            assert teacher.act("end_class")["k"] == "done"

    def erase(self) -> None:
        address = f"/classes/{self.room.slug}/people/{self.erased.number}"
        assert self.room.visitors["p1"].post(address, op="erase", confirm="yes").status == 200

    def replay(self) -> tuple[list[Any], dict[str, Any]]:
        """The events of the recording, with what they change, and its description."""
        base = f"/api/classes/{self.room.slug}/recording"
        found = [self.room.visitors["p1"].get(f"{base}/{path}").json for path in ("segments/0.json", "manifest.json")]
        return found[0]["events"], found[1]

    def files_with(self, *words: str) -> set[str]:
        """The files of the server that have one of these words, byte by byte: also those of the database."""
        encoded = [word.encode(code) for word in words for code in ("utf-8", "utf-16-le")]
        files = self.room.files()
        assert any(path.name.startswith("lab.sqlite3") for path in files)
        return {str(path) for path, data in files.items() if any(word in data for word in encoded)}

    def close(self) -> None:
        self.server.call(lambda _: close_classes())
        Class.objects.filter(pk=self.room.model.pk).delete()
        User.objects.filter(username__startswith="guest-").delete()
        self.room.close()


@pytest.fixture
def full(lab_server: LabServer, request: pytest.FixtureRequest) -> Iterator[Full]:
    """A class of 40, or of as many as the test says."""
    made = Full(lab_server, getattr(request, "param", LEARNERS))
    yield made
    made.close()


def test_erasing_one_of_40_removes_them_from_all_files_and_leaves_the_rest_of_the_replay(full: Full) -> None:
    """Acceptance statement 24: when the answer comes, name and texts are in no file; nothing else has changed."""
    with full.room.page("p1") as teacher:
        full.teach(teacher, ends=True)
    before, described = full.replay()
    assert full.files_with(NAME, ASKED) and full.files_with(NOTED)
    assert NAME in json.dumps([before, described])
    full.erase()
    assert full.files_with(NAME, ASKED, NOTED) == set()
    after, redescribed = full.replay()
    assert [one[:5] for one in after] == [one[:5] for one in before], "the events are the same"
    texts = {"text": "", "lang": "", "name": ""}
    for shown, was in zip(after, before, strict=True):
        for (path, *value), (same_path, *other) in zip(shown[5], was[5], strict=True):
            assert path == same_path
            if NAME in json.dumps(other) or ASKED in json.dumps(other):
                other = [one | {name: "" for name in texts if name in one} for one in other]
                value = [one | {name: "" for name in texts if name in one} for one in value]
            assert value == other, path
    assert redescribed["last_seq"] == described["last_seq"]


@pytest.mark.parametrize("full", [12], indirect=True)
def test_person_who_is_erased_in_class_is_in_no_file_and_in_no_later_frame(full: Full) -> None:
    """Acceptance statement 24, in the live class."""
    with full.room.page("p1") as teacher:
        full.teach(teacher, ends=False)
        while not all(word in json.dumps(teacher.held) for word in (NAME, ASKED, NOTED)):
            teacher.read()
        full.erase()
        while any(word in json.dumps(teacher.held) for word in (NAME, ASKED, NOTED)):
            teacher.read()
        assert full.files_with(NAME, ASKED, NOTED) == set()
        with full.room.page("p2") as other:
            other.until("snap")
            assert NAME not in json.dumps(other.frames) and ASKED not in json.dumps(other.frames)
            assert "question-of-learner-8" in json.dumps(other.held)
