"""What the class mixes up: on the board as it happens, on the projector once staff show it, and in the summary; and
from the start with the next lesson.
"""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from lab.actions.classes import people
from lab.actions.classes.live_class import live_classes
from lab.classroom.acts import Given, facts
from lab.classroom.events import ROOM
from lab.course.loader import course
from lab.runtime.host import Host
from tests.support.axe import violations
from tests.support.classroom.class_browser import join, open_class_panel
from tests.support.classroom.door import class_of, clean_door, start_class
from tests.support.lab_page import PHONE, TABLET, WIDE, nothing_sticks_out
from tests.support.lab_server import LabServer

LESSON = "001-high-watermark-two-fetches"
PER_REPLICA, MESSAGE = "one-per-copy", "ack-message"
SAYS = {
    "en": "Each copy of a record moves the high watermark by one.",
    "zh-CN": "每多一份副本，高水位就前进一格。",
}


MESSAGES_STAY = "const later = setTimeout; window.setTimeout = (done, ms) => (ms === 4000 ? 0 : later(done, ms));"
"""Several pages say the same at once, and are looked at one after the other."""


@pytest.fixture
def staff(page: Page, lab_server: LabServer, complaints: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """The instructor, on the board of a class of a lesson."""
    with clean_door(lab_server, monkeypatch):
        start_class(page, lab_server, "Storage systems", LESSON)
        yield page


def makes_mistake(lab_server: LabServer, staff: Page, p: str, what: str, step: int = 3) -> None:
    """As the lab of a learner in the class of `staff` reports it."""
    room = class_of(staff)

    async def tell(_: Host) -> None:
        live = await live_classes().of(room)
        await live.room.do(Given(ROOM, facts.MakeMistake(p, LESSON, step, what, "choice")))

    lab_server.call(tell)


def instructor_ends_the_class_and_sees_the_summary(staff: Page, learner: Page) -> None:
    staff.locator("hw-class-end summary").click()
    staff.get_by_role("button", name="End the class for everyone").click()
    expect(learner.locator(".class-panel")).to_contain_text("The class has ended.")
    # What would be refused from now on is not offered.
    for control in ("New poll", "Add a chapter", "Close the door", "Open the door", "Pause all labs"):
        expect(staff.get_by_text(control)).to_have_count(0)
    staff.locator("hw-class-bar").get_by_role("link", name="Summary").click()
    mixed = staff.get_by_role("region", name="What the class mixes up")
    expect(mixed.locator("li").first).to_contain_text(f"{SAYS['en']} steps 3, 4")
    expect(mixed.locator("li").first.locator(".mono")).to_have_text("2")


def test_mistakes_are_counted_live_and_shown_without_names(
    staff: Page, newcomer: Callable[[], Page], lab_server: LabServer
) -> None:
    link = staff.locator(".address a").get_attribute("href") or ""
    learners = [newcomer(), newcomer()]
    for page, name in zip(learners, ("Ada", "Noah"), strict=True):
        join(page, link, name)
    staff.get_by_role("link", name="Open the board").click()
    expect(staff.locator("hw-mistakes")).to_contain_text("No wrong answers so far.")
    makes_mistake(lab_server, staff, "p2", MESSAGE)
    makes_mistake(lab_server, staff, "p2", PER_REPLICA)
    rows = staff.locator("hw-mistakes li")
    expect(rows).to_have_count(2)
    makes_mistake(lab_server, staff, "p3", PER_REPLICA, 4)
    expect(rows.first).to_contain_text(SAYS["en"])
    expect(rows.first).to_contain_text("steps 3, 4")
    expect(rows.first.get_by_title("2 learners")).to_be_visible()
    expect(rows.first.locator("progress")).to_have_attribute("max", "2")
    makes_mistake(lab_server, staff, "p2", "`acks=1` waits for the ISR")
    expect(staff.get_by_role("progressbar", name="acks=1 waits for the ISR", exact=True)).to_have_count(1)
    screen = staff.context.new_page()
    screen.goto(staff.url.replace("/board/", "/projector/"))
    expect(screen.locator("hw-projector")).to_contain_text("2 learners here")
    assert screen.locator(".mistakes").count() == 0
    staff.get_by_role("button", name="Show on the projector").click()
    # Staff have opened it; what a single learner mixes up is on the board alone all the same.
    expect(screen.locator(".mistakes li")).to_have_count(1)
    expect(screen.locator(".mistakes")).to_contain_text(SAYS["en"])
    assert not any(name in screen.content() for name in ("Ada", "Noah"))
    assert violations(screen) == []
    for language, theme in (("zh-CN", "light"), ("en", "dark")):
        for page in (staff, screen):
            page.goto(f"{page.url.split('?')[0]}?language={language}&theme={theme}")
            expect(page.locator(".mistakes").first).to_contain_text(SAYS[language])
        assert violations(staff, within="hw-mistakes") == []
        for size in (TABLET, PHONE, WIDE):
            staff.set_viewport_size(size)
            nothing_sticks_out(staff)
    staff.get_by_role("button", name="Show on the projector").click()
    expect(screen.locator(".mistakes")).to_have_count(0)
    instructor_ends_the_class_and_sees_the_summary(staff, learners[0])


def staff_can_begin_it_in_their_lab(desk: Page, name: str, slug: str) -> None:
    desk.get_by_role("button", name=f"Next lesson: {name}").click()
    dialog = desk.get_by_role("dialog", name="Begin a lesson")
    expect(dialog.get_by_label("Lesson of the course")).to_have_value(slug)
    assert violations(desk, within="hw-class-panel") == []
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)


def what_she_does_in_the_lesson_ends_following(ada: Page, title: str) -> None:
    """Acceptance statement 11: it is about her own lab."""
    ada.get_by_role("tab", name="Lesson").click()
    expect(ada.locator("hw-exercise h2")).to_have_text(title)
    ada.locator("hw-exercise button.hint").click()
    expect(ada.locator("hw-exercise .hint.shown")).to_be_visible()
    expect(ada.locator("hw-unavailable")).to_be_empty()


def test_pages_of_labs_go_on_with_the_class_to_the_next_lesson(
    staff: Page, newcomer: Callable[[], Page], lab_server: LabServer
) -> None:
    ada, olga, following = newcomer(), newcomer(), course().after(course().lesson(LESSON))
    assert following is not None
    name = f"{following.number} {following.exercise.title.en}"
    link = staff.locator(".address a").get_attribute("href") or ""
    join(ada, link, "Ada")
    join(olga, link, "Olga")
    people.give_role(class_of(staff).participants.get(number=3), "observer", class_of(staff).participants.get(number=1))
    before = ada.url.split("?")[0]
    staff.get_by_role("link", name="Open the board").click()
    staff.get_by_role("button", name="Lead the class").click()
    # The presenter's lab is open in a tab of theirs, and on an observer's page.
    desk = staff.context.new_page()
    for page in (desk, olga, ada):
        page.add_init_script(MESSAGES_STAY)
    desk.goto(staff.url.replace("/board/", "/watch/"))
    olga.goto(staff.url.replace("/board/", "/watch/"))
    for page in (desk, olga):
        open_class_panel(page)
        expect(page.locator(".class-panel")).to_be_visible()
    shown = desk.url.split("?")[0]
    staff.bring_to_front()
    expect(ada.locator("hw-unavailable")).to_contain_text("You are following Instructor.")
    makes_mistake(lab_server, staff, "p2", MESSAGE)
    expect(staff.locator("hw-mistakes li")).to_have_count(1)
    ada.locator("#class-question").fill("Why")
    staff_can_begin_it_in_their_lab(desk, name, following.slug)
    for page in (ada, olga):
        expect(page.locator("hw-class-lesson")).to_have_count(0)
    staff.get_by_role("button", name=f"Next lesson: {name}").click()
    dialog = staff.get_by_role("dialog", name="Begin a lesson")
    expect(dialog).to_contain_text("Everyone gets a new lab at the lesson's start.")
    expect(dialog.get_by_label("Lesson of the course")).to_have_value(following.slug)
    assert violations(staff, within=".begin-lesson") == []
    dialog.get_by_role("button", name="Begin the lesson").click()
    expect(dialog).to_have_count(0)
    expect(staff.locator("hw-class-lesson .lesson-name").first).to_have_text(name)
    expect(staff.locator("hw-mistakes")).to_contain_text("No wrong answers so far.")
    for page, earlier in ((desk, shown), (olga, shown), (ada, before)):
        expect(page).not_to_have_url(re.compile(re.escape(earlier)))
        expect(page.locator(".messages")).to_contain_text(f"The class continues with {name}")
    assert desk.url.split("?")[0] == olga.url.split("?")[0]
    # She follows the presenter's new lab, and has her own.
    expect(ada.locator("hw-unavailable")).to_contain_text("You are following Instructor.")
    what_she_does_in_the_lesson_ends_following(ada, following.exercise.title.en)
    for size in (PHONE, WIDE):
        staff.set_viewport_size(size)
        nothing_sticks_out(staff)
    # What she did before is hers; the page says that the class is elsewhere.
    ada.goto(before)
    open_class_panel(ada)
    expect(ada.locator(".class-panel")).to_contain_text("The class has moved on to another lesson.")
    expect(ada.locator("#class-question")).to_have_value("Why")
    ada.get_by_role("link", name="Open my lab").click()
    expect(ada.locator("hw-exercise h2")).to_have_text(following.exercise.title.en)
