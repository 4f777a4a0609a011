"""A class on phones: what waits for an answer comes in sight, and what is pressed is large enough for a finger."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from lab.models import Run
from tests.support.classroom.class_browser import join
from tests.support.lab_page import PHONE, nothing_sticks_out

SMALL = """() => [...document.querySelectorAll("a, button, input, select, summary, textarea")].flatMap((one) => {
  const control = one.matches("label input:is([type=checkbox], [type=radio])") ? one.closest("label") : one;
  const { width, height } = control.getBoundingClientRect();
  const isShown = width > 1 && getComputedStyle(one).visibility !== "hidden";
  // Links within a sentence, figures within a formula, and a whole card that is one.
  const isText = control.matches("p > a, .message a, .address a, .formula .val, .class-card a");
  const isSmall = isShown && !isText && Math.min(width, height) < 24;
  return isSmall ? [`${width} x ${height}: ${control.outerHTML.slice(0, 99)}`] : [];
})"""
"""Controls with less than 24 x 24 px (WCAG 2.5.8)."""

OVERLAPS = """() => [...document.querySelectorAll(".top :is(a, button, .tag)")]
  .map((one) => ({ said: one.textContent.trim(), box: one.getBoundingClientRect() }))
  .filter(({ box }) => box.width > 0)
  .sort((one, other) => one.box.left - other.box.left)
  .flatMap(({ said, box }, i, all) => i && all[i - 1].box.right > box.left + 0.5 ? [[all[i - 1].said, said]] : [])"""
"""Controls of the bar that lie on the one before."""


@pytest.fixture
def phone(staff: Page, newcomer: Callable[[], Page]) -> Page:
    """Ada in her lab, on a phone; the instructor is on the board."""
    page = newcomer()
    page.set_viewport_size(PHONE)
    join(page, staff.locator(".address a").get_attribute("href") or "", "Ada Okafor")
    staff.get_by_role("link", name="Open the board").click()
    expect(staff.locator(".tile")).to_have_count(1)
    return page


def open_poll(staff: Page) -> None:
    staff.get_by_text("New poll").click()
    form = staff.locator(".make-poll form")
    form.get_by_label("Question").fill("Where does the log of broker 3 end?")
    form.get_by_label("Choice 1", exact=True).fill("where it did")
    form.get_by_label("Choice 2", exact=True).fill("at its high watermark")
    form.get_by_role("button", name="Prepare the poll").click()
    staff.get_by_role("button", name="Open the poll").click()


def test_poll_comes_in_sight(staff: Page, phone: Page) -> None:
    """Also below the console, which opens with that of the presenter."""
    for console in (False, True):
        if console:
            phone.keyboard.press("c")
            expect(phone.locator("#console-line")).to_be_visible()
        phone.evaluate("scrollTo(0, document.body.scrollHeight)")
        open_poll(staff)
        expect(phone.locator(".class-panel").get_by_text("where it did")).to_be_in_viewport()
        staff.get_by_role("button", name="Close the poll").click()
        staff.get_by_role("button", name="End the poll").click()


def test_what_is_pressed_is_large_enough(staff: Page, phone: Page) -> None:
    open_poll(staff)
    panel = phone.locator(".class-panel")
    expect(panel.get_by_role("button", name="Answer", exact=True)).to_be_visible()
    panel.get_by_label("Ask a question").fill("Why?")
    panel.get_by_role("button", name="Send").click()
    panel.get_by_role("button", name="Raise hand").click()
    expect(staff.locator(".ask-list li")).to_have_count(2)
    staff.set_viewport_size(PHONE)
    for page in (phone, staff):
        nothing_sticks_out(page)
        assert page.evaluate(SMALL) == []
    for tab in ("Heat map", "Participants"):
        staff.get_by_role("button", name=tab).click()
        expect(staff.locator(".heat th button")).not_to_have_count(0)
        assert staff.evaluate(SMALL) == []
    staff.locator(".heat th button", has_text="Ada").click()
    expect(staff.locator("hw-person dialog")).to_be_visible()
    assert staff.evaluate(SMALL) == []
    server, _, door = staff.url.removesuffix("board/").partition("/classes/")
    for path in (f"classes/{door}", f"classes/{door}summary/", "classes/", "runs/", "course/011-acks/", ""):
        staff.goto(f"{server}/{path}")
        staff.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        assert staff.evaluate(SMALL) == []


def test_bar_of_who_presents_has_room_for_its_controls(staff: Page, phone: Page) -> None:
    staff.get_by_role("button", name="Lead the class").click()
    page = staff.context.new_page()
    page.set_viewport_size(PHONE)
    page.goto(staff.url.split("/classes/")[0] + f"/r/{Run.objects.get(learners__number=1).slug}/main")
    expect(page.get_by_role("button", name="Draw")).to_be_visible()
    expect(page.locator(".hw-strips")).to_be_visible()
    assert page.evaluate(OVERLAPS) == []
    nothing_sticks_out(page)


CUT = """(what) => [...document.querySelectorAll(what)]
  .filter((one) => one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1)
  .map((one) => one.textContent.trim())"""
"""Texts that do not fit into their element."""

RENAME = """async (name) => {
  const { src } = document.querySelector("script[src$='/ui/pages/lab/main.js']");
  const { lead } = await import(src.replace("/ui/pages/lab/main.js", "/ui/store/follow.js"));
  lead.value = { ...lead.value, name };
}"""


def test_who_follows_sees_whom_and_the_whole_sentence(staff: Page, phone: Page) -> None:
    staff.get_by_role("button", name="Lead the class").click()
    sentence = phone.locator("hw-unavailable .unavailable")
    expect(sentence).to_contain_text("You are following Instructor.")
    phone.evaluate(RENAME, "Adaeze Okafor-Montgomery")
    expect(sentence).to_contain_text("You are following Adaeze Okafor-Montgomery.")
    for language in ("en", "zh-CN"):
        assert phone.evaluate(CUT, ".unavailable, .unavailable p, .unavailable .btn") == []
        assert phone.evaluate(OVERLAPS) == []
        nothing_sticks_out(phone)
        for shown in (sentence, phone.locator(".top .avatar"), phone.locator(".top [data-preference=theme]")):
            expect(shown).to_be_in_viewport(ratio=1)
        if language == "en":
            phone.locator("[data-preference=language]").last.click()
            expect(phone.locator("html")).to_have_attribute("lang", "zh-CN")
            expect(sentence).to_contain_text("Instructor")
            phone.evaluate(RENAME, "Adaeze Okafor-Montgomery")
            expect(sentence).to_contain_text("Adaeze")
