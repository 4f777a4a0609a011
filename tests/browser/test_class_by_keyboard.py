"""A class is taught, and another one attended, with a keyboard and a screen reader alone."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from lab.classroom.codes import shown_code
from lab.models import Class
from tests.support.classroom.class_pages import Page as ClassPage
from tests.support.classroom.class_pages import page_of
from tests.support.classroom.door import class_of, clean_door
from tests.support.classroom.guest import Guest
from tests.support.classroom.screen_reader import ScreenReader
from tests.support.lab_page import WIDE
from tests.support.lab_server import LabServer, Visitor


@pytest.fixture
def at_the_door(lab_server: LabServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with clean_door(lab_server, monkeypatch):
        yield


def test_a_class_of_three_is_taught(
    page: Page, lab_server: LabServer, at_the_door: None, complaints: list[str]
) -> None:
    """Acceptance statement 25: with a keyboard and a screen reader alone."""
    reader = ScreenReader(page)
    page.set_viewport_size(WIDE)
    page.goto(f"{lab_server.address}/sign-in/?token={settings.SIGN_IN_TOKEN}&next=/classes/")
    reader.fill("Name", "Storage systems")
    reader.press("button", "Start class")
    expect(page.locator(".big-code")).to_be_visible()
    room = class_of(page)
    reader.press("link", "Open the board")
    expect(page.locator(".nobody")).to_be_visible()
    reader.listen()
    with ExitStack() as stack:
        learners: list[ClassPage] = []
        for name in ("Ada", "Noah", "Mei"):
            guest = Guest(lab_server)
            guest.join(room.link_key, name)
            learners.append(stack.enter_context(page_of(lab_server, room.slug, guest)))
            learners[-1].until("snap")
        ada, noah, mei = learners
        expect(page.locator(".tile")).to_have_count(3)
        reader.press("button", "Lead the class")
        mei.until_held("/lead name", "Instructor")
        assert ada.act("raise_hand", at=at(ada))["k"] == "done"
        assert noah.act("ask", text="Why does the high watermark wait?", lang="en", at=at(noah))["k"] == "done"
        reader.hears("Ada raised a hand.")
        reader.hears("asks: Why does the high watermark wait?")
        reader.press("button", "Lower the hand")
        ada.until_held("/mine hand_us", 0)
        reader.press("button", "Answered aloud")
        reader.press("button", "❚❚ Pause all labs")
        mei.until_held("/paused", True)
        # The tiles: arrows go from one to the next, a letter to a name.
        reader.go_to("button", "Ada")
        page.keyboard.press("n")
        assert reader.focused()[1].startswith("Noah")
        page.keyboard.press("Enter")
        reader.press("button", "Look at this lab")
        noah.until_held("/mine looked_by", ["p1"])
        reader.press("button", "Stop looking")
        page.keyboard.press("Escape")
        poll_is_given(reader, [ada, noah, mei])
        reader.press("button", "▶ Resume all labs")
        mei.until_held("/paused", False)


def at(learner: ClassPage) -> dict[str, object]:
    """An instant of the lab of a learner, who may be given it only after the page was opened."""
    while not learner.held["/mine"]["lab"]:
        learner.read()
    return {"lab": learner.held["/mine"]["lab"], "seq": 1, "at_us": 0}


def poll_is_given(reader: ScreenReader, learners: list[ClassPage]) -> None:
    ada, noah, mei = learners
    reader.press("DisclosureTriangle", "New poll")
    reader.fill("Question", "Where does the log end?")
    reader.fill("Choice 1", "at 45")
    reader.fill("Choice 2", "at 46")
    reader.press("checkbox", "anonymous", " ")
    reader.press("button", "Prepare the poll")
    reader.press("button", "Open the poll")
    for learner, answer in ((ada, "0"), (noah, "1"), (mei, "1")):
        learner.until_held("/polls/1 phase", "open")
        assert learner.act("vote", poll=1, answer=answer, sure=60)["k"] == "done"
    reader.press("button", "Close the poll")
    reader.press("button", "Show the split")
    mei.until_held("/polls/1 shown", True)


def test_a_class_is_attended(
    page: Page, visitor: Visitor, lab_server: LabServer, at_the_door: None, complaints: list[str]
) -> None:
    """Acceptance statement 25: with a keyboard and a screen reader alone."""
    visitor.post("/classes/new", title="Storage systems")
    room = Class.objects.latest("pk")
    assert room.code is not None
    reader = ScreenReader(page)
    page.set_viewport_size(WIDE)
    page.goto(f"{lab_server.address}/join/")
    with page_of(lab_server, room.slug, visitor) as teacher:
        teacher.until("snap")
        reader.fill("Class code", shown_code(room.code))
        page.keyboard.press("Enter")
        expect(page.get_by_role("textbox", name="Name")).to_be_visible()
        reader.fill("Name", "Ada")
        reader.press("button", "Join")
        expect(page.get_by_role("link", name="Open my lab")).to_be_visible()
        reader.press("link", "Open my lab")
        expect(page.locator(".nodes .state.up")).to_have_count(3)
        reader.listen()
        assert teacher.act("take_lead", lab=teacher.held["/mine"]["lab"])["k"] == "done"
        reader.hears("Following Instructor")
        page.keyboard.press("f")
        page.keyboard.press("j")
        reader.hears("Your hand is up; position in the queue: 1")
        teacher.act("look", p="p2")
        reader.hears("Instructor is looking at your lab")
        teacher.act("pause_all")
        reader.hears("All labs are paused")
        teacher.act("resume_all")
        reader.hears("Labs are no longer paused for the class.")
        teacher.act("set_timer", seconds=600)
        reader.hears("Timer: 10 min left.")
        poll_is_answered(reader, teacher)
        reader.fill("Ask a question", "Why does the high watermark wait?")
        reader.press("button", "Send")
        teacher.until_held("/questions/1 text", "Why does the high watermark wait?")


def poll_is_answered(reader: ScreenReader, teacher: ClassPage) -> None:
    """The panel of the class opens by itself; the question is heard."""
    asked = {"text": "Where does the log end?", "lang": "en", "choices": ["at 45", "at 46"], "right": "1"}
    assert teacher.act("make_poll", form="choice", anonymous=False, **asked)["k"] == "done"  # type: ignore[arg-type]
    assert teacher.act("open_poll", poll=1)["k"] == "done"
    reader.hears("A poll is open: Where does the log end?")
    reader.go_to("radio", "at 45")
    reader.page.keyboard.press("ArrowDown")
    assert reader.focused()[1] == "at 46"
    reader.press("button", "Answer")
    teacher.until_held("/polls/1 votes", 1)
    assert teacher.act("close_poll", poll=1)["k"] == "done"
    reader.hears("The poll is closed.")
    assert teacher.act("reveal", poll=1, outcome="1")["k"] == "done"
    reader.hears("The poll is settled: at 46")
    expect(reader.page.locator(".class-panel")).to_contain_text("Came true: at 46")
    assert reader.heard("at 46") == ["The poll is settled: at 46"], "said once"
