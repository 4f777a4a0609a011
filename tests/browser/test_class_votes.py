"""The answer to an anonymous poll, which only the tab of its author has."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.classroom.class_browser import join, newcomer, open_class_panel
from tests.support.classroom.door import clean_door, open_classes
from tests.support.lab_server import LabServer


@pytest.fixture
def staff(page: Page, lab_server: LabServer, complaints: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """The instructor, on the door page of a new class."""
    with clean_door(lab_server, monkeypatch):
        open_classes(page, lab_server)
        form = page.locator("#new-class")
        form.get_by_label("Name").fill("Storage systems")
        form.get_by_role("button", name="Start class").click()
        expect(page.locator(".big-code")).to_be_visible()
        yield page


@pytest.fixture
def ada(staff: Page, browser: Browser) -> Iterator[Page]:
    """A learner, in their lab, while the instructor is on the board."""
    page = newcomer(browser)
    join(page, link_of(staff), "Ada")
    staff.get_by_role("link", name="Open the board").click()
    expect(staff.locator(".tile")).to_have_count(1)
    yield page
    page.context.close()


def link_of(door: Page) -> str:
    return door.locator(".address a").get_attribute("href") or ""


def open_number_poll(staff: Page) -> None:
    """An anonymous poll that asks for a number, and how sure learners are."""
    staff.get_by_text("New poll").click()
    maker = staff.locator(".make-poll form")
    maker.locator("[name=form]").select_option("number")
    maker.get_by_label("Question").fill("Where does the log end?")
    maker.locator("[name=sure]").check()
    maker.get_by_role("button", name="Prepare the poll").click()
    staff.get_by_role("button", name="Open the poll").click()


def answer(page: Page, text: str) -> None:
    page.locator("[name=answer]").fill(text)
    page.locator(".class-panel .card form button").click()


def test_the_next_participant_in_a_tab_does_not_see_the_answer(staff: Page, ada: Page) -> None:
    link = staff.evaluate(
        "async (url) => new DOMParser().parseFromString(await (await fetch(url)).text(), 'text/html')"
        ".querySelector('.address a').href",
        staff.url.replace("board/", ""),
    )
    open_number_poll(staff)
    answer(ada, "45")
    expect(ada.locator(".class-panel")).to_contain_text("Your answer: 45")
    kept = ada.evaluate("JSON.stringify({ ...sessionStorage })")
    assert "highwater.vote." in kept
    ada.context.clear_cookies()
    join(ada, link, "Mei")
    expect(ada.locator("[name=answer]")).to_be_visible()
    expect(ada.locator(".class-panel")).not_to_contain_text("Your answer:")
    # Nor if the tab still has it: it is another participant's.
    ada.evaluate(
        "(kept) => Object.entries(JSON.parse(kept)).forEach(([key, value]) => sessionStorage.setItem(key, value))", kept
    )
    ada.reload()
    open_class_panel(ada)
    expect(ada.locator("[name=answer]")).to_be_visible()
    expect(ada.locator(".class-panel")).not_to_contain_text("Your answer:")


def test_answers_are_removed_when_a_participant_leaves(staff: Page, ada: Page) -> None:
    open_number_poll(staff)
    answer(ada, "45")
    expect(ada.locator(".class-panel")).to_contain_text("Your answer: 45")
    ada.goto(staff.url.replace("board/", ""))
    assert "highwater.vote." in ada.evaluate("Object.keys(sessionStorage).join()")
    with ada.expect_navigation():
        ada.locator("form[action$='/leave'] button").click()
    assert "highwater.vote." not in ada.evaluate("Object.keys(sessionStorage).join()")


def test_a_refused_answer_leaves_the_one_before(staff: Page, ada: Page) -> None:
    open_number_poll(staff)
    sure = ada.locator("[name=sure]")
    expect(sure).to_have_attribute("aria-valuetext", "50 %")
    sure.fill("80")
    answer(ada, "45")
    expect(ada.locator(".class-panel")).to_contain_text("Your answer: 45")
    ada.reload()
    open_class_panel(ada)
    expect(ada.locator(".class-panel")).to_contain_text("Your answer: 45")
    expect(sure).to_have_value("80")
    expect(sure).to_have_attribute("aria-valuetext", "80 %")
    answer(ada, "at the end")
    expect(ada.locator("hw-class-refusal")).not_to_be_empty()
    expect(ada.locator(".class-panel")).to_contain_text("Your answer: 45")
