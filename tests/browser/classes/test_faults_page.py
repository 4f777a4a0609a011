"""What the pages of a class show when a clock, the network or an engine fails, and when the server was updated."""

import re
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from playwright.sync_api import Page, expect

from broker_core.run import Run
from lab.classroom import frames as class_frames
from lab.protocol import frames as lab_frames
from tests.support.classroom.class_browser import join, open_class_panel
from tests.support.lab_page import WIDE, Line, console, press

OTHER_CLOCK = """
  const wall = Date.now, RealDate = Date;
  const shifted = () => wall() + 3 * 3600_000;
  globalThis.Date = class extends RealDate {
    constructor(...given) { given.length ? super(...given) : super(shifted()); }
    static now() { return shifted(); }
  };
  const steady = performance.now.bind(performance);
  performance.now = () => steady() * 1.0002;
"""
"""A clock that is three hours ahead, and 200 ppm fast."""
CLASS_US = """() => {
  const { src } = document.querySelector("script[src*='/ui/pages/']");
  return import(src.replace(/\\/ui\\/pages\\/.*/, "/ui/classroom/store.js")).then(({ joined }) => joined().clock.us);
}"""


def link_of(door: Page) -> str:
    return door.locator(".address a").get_attribute("href") or ""


def to_board(staff: Page, learners: int) -> None:
    staff.get_by_role("link", name="Open the board").click()
    expect(staff.locator(".tile")).to_have_count(learners)


def desk_of(staff: Page) -> Page:
    """The instructor's lab, in a second tab."""
    desk = staff.context.new_page()
    desk.set_viewport_size(WIDE)
    desk.goto(staff.url.split("/classes/")[0] + (staff.locator("hw-class-bar a.btn").get_attribute("href") or ""))
    open_class_panel(desk)
    return desk


def following(page: Page) -> None:
    expect(page.locator("hw-unavailable")).to_contain_text("You are following Instructor.")


def test_page_whose_clock_is_wrong_shows_the_time_of_the_class(staff: Page, newcomer: Callable[[], Page]) -> None:
    ada = newcomer()
    ada.add_init_script(OTHER_CLOCK)
    join(ada, link_of(staff), "Ada")
    to_board(staff, 1)
    assert ada.evaluate("Date.now()") - staff.evaluate("Date.now()") > 2 * 3600_000
    staff.get_by_text("Timer").click()
    staff.get_by_role("button", name="5 min").click()
    timer = re.compile(r"^4:5\d$")
    for page in (staff.locator("hw-class-bar"), ada.locator(".class-panel")):
        expect(page.get_by_role("timer")).to_have_text(timer)
    # The two instants lie between those of the other page before and after.
    before, at, after = staff.evaluate(CLASS_US), ada.evaluate(CLASS_US), staff.evaluate(CLASS_US)
    assert before - 100_000 <= at <= after + 100_000


def test_the_class_goes_on_while_the_instructor_is_offline(
    staff: Page, newcomer: Callable[[], Page], complaints: list[str]
) -> None:
    ada, noah = newcomer(), newcomer()
    join(ada, link_of(staff), "Ada")
    join(noah, link_of(staff), "Noah")
    line = Line(staff, "/ws/classes/")
    to_board(staff, 2)
    staff.get_by_role("button", name="Lead the class").click()
    for page in (ada, noah):
        following(page)
    line.go_down()
    expect(staff.locator("hw-class-top [role=alert]")).to_be_visible()
    for page in (ada, noah):
        expect(page.locator(".class-panel")).to_contain_text("Instructor is away")
    # They may go on alone; who follows keeps the picture.
    ada.locator("hw-unavailable").get_by_role("button", name="Return to my lab").click()
    expect(ada.locator("hw-unavailable")).to_be_empty()
    console(ada, "kafka-topics.sh --create --topic alone --partitions 1 --replication-factor 1")
    press(ada, "Space")
    expect(ada.locator("hw-console li").last).to_contain_text("Created topic alone")
    following(noah)
    expect(noah.locator(".hw-node.broker.up")).to_have_count(3)
    line.come_back()
    for page in (ada, noah):
        expect(page.locator(".class-panel")).not_to_contain_text("Instructor is away")
    expect(staff.get_by_role("button", name="You lead · 1 follow")).to_be_visible()
    following(noah)


def test_engine_of_the_lab_that_leads_fails_and_starts_again_with_the_next_act(
    staff: Page, newcomer: Callable[[], Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = newcomer()
    join(ada, link_of(staff), "Ada")
    to_board(staff, 1)
    desk = desk_of(staff)
    staff.get_by_role("button", name="Lead the class").click()
    following(ada)
    create = "kafka-topics.sh --create --topic {} --partitions 1 --replication-factor 3"
    console(desk, create.format("before"))
    press(desk, "Space")
    expect(ada.locator(".hw-partition-name", has_text="before-0")).to_be_visible()
    with monkeypatch.context() as planted:

        def fail(*_: object, **__: object) -> int:
            raise RuntimeError("planted")

        planted.setattr(Run, "submit", fail)
        desk.locator("#console-line").fill(create.format("never"))
        desk.keyboard.press("Enter")
        for page in (desk, ada):
            expect(page.locator(".messages")).to_contain_text("The lab stopped: the engine failed")
    # The last picture stays, also for those who follow.
    for page in (desk, ada):
        expect(page.locator(".hw-partition-name", has_text="before-0")).to_be_visible()
        expect(page.locator(".hw-node.broker.up")).to_have_count(3)
    following(ada)
    console(desk, create.format("again"))
    press(desk, "Space")
    expect(desk.locator("hw-console li").last).to_contain_text("Created topic again")
    expect(ada.locator("hw-console li").last).to_contain_text("Created topic again")


def test_pages_of_a_class_ask_to_be_loaded_again_after_an_update_of_the_server(
    staff: Page, newcomer: Callable[[], Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, screen = newcomer(), newcomer()
    labs, rooms = Line(ada, "/ws/runs/"), Line(ada, "/ws/classes/")
    join(ada, link_of(staff), "Ada")
    screen.context.add_cookies(staff.context.cookies())  # type: ignore[arg-type]
    boards, screens = Line(staff, "/ws/classes/"), Line(screen, "/ws/classes/")
    screen.goto(f"{staff.url}projector/")
    to_board(staff, 1)
    expect(screen.locator("hw-projector")).to_contain_text("1 learner")
    ada.get_by_label("Ask a question").fill("Why does")
    with monkeypatch.context() as updated:
        updated.setattr(class_frames, "CLASS", SimpleNamespace(hash="newer"))
        updated.setattr(lab_frames, "schema_hash", lambda: "newer")
        for line in (rooms, labs, boards):
            line.go_down()
            line.come_back()
        for place in (ada.locator(".class-panel"), ada.locator("hw-connection"), staff.locator("hw-class-top")):
            expect(place.get_by_role("link", name="The lab was updated. Reload the page")).to_be_visible()
        assert ada.locator(".message.bad").count() == 0
        # What was there is still shown.
        expect(ada.locator(".hw-node.broker.up")).to_have_count(3)
        expect(staff.locator(".tile")).to_have_count(1)
    ada.locator(".class-panel").get_by_role("link").click()
    open_class_panel(ada)
    expect(ada.locator("#class-question")).to_have_value("Why does")
    staff.locator("hw-class-top").get_by_role("link", name="The lab was updated.").click()
    expect(staff.locator(".tile")).to_have_count(1)
    # Nobody is at the big screen: it is loaded again by itself.
    with monkeypatch.context() as updated, screen.expect_event("load"):
        updated.setattr(class_frames, "CLASS", SimpleNamespace(hash="newer"))
        screens.go_down()
        screens.come_back()
    expect(screen.locator("hw-projector")).to_contain_text("1 learner")


def test_pages_that_have_to_wait_say_why(staff: Page, newcomer: Callable[[], Page]) -> None:
    ada, why = newcomer(), "This page sent too many messages."
    join(ada, link_of(staff), "Ada")
    to_board(staff, 1)
    lines = [Line(staff, "/ws/classes/"), Line(ada, "/ws/")]
    for page in (staff, ada):
        page.reload()
    expect(staff.locator(".tile")).to_have_count(1)
    open_class_panel(ada)
    for line in lines:
        line.go_down(code=4429, reason=why)
    expect(staff.locator("hw-class-top [role=alert]")).to_have_text(why)
    expect(ada.locator(".class-panel [role=alert]")).to_have_text(why)
    ada.reload()
    # Both of the page's connections are closed before they are accepted.
    expect(ada.locator("hw-connection [role=alert]")).to_contain_text(f"{why} Connection lost.")
