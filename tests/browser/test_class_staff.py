"""What staff see of a learner's lab, and the pages of a class in the hand: looks, instants, and phones."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.classroom.class_browser import join, newcomer, open_class_panel
from tests.support.classroom.door import clean_door, open_classes
from tests.support.lab_page import PHONE, WIDE, nothing_sticks_out
from tests.support.lab_server import LabServer

NAME = "Adaeze Okafor-Montgomery"


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
    """A learner with a question, in their lab, while the instructor is on the board."""
    page = newcomer(browser)
    join(page, staff.locator(".address a").get_attribute("href") or "", NAME)
    page.get_by_label("Ask a question").fill("Why?")
    page.get_by_role("button", name="Send").click()
    staff.get_by_role("link", name="Open the board").click()
    expect(staff.locator(".ask-list a.at")).to_be_visible()
    yield page
    page.context.close()


def fork(page: Page) -> None:
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("b")
    page.locator("dialog .btn.pri").click()
    expect(page).to_have_url(re.compile("/main-2"))
    expect(page.locator(".hw-node.broker.up")).to_have_count(3)


def test_a_look_fits_a_phone_and_outlives_a_fork(staff: Page, ada: Page) -> None:
    staff.locator(".ask-list a.at").click()
    looking = staff.locator("hw-looking")
    expect(looking.locator(".tag")).to_have_attribute("title", f"{NAME}'s lab")
    staff.set_viewport_size(PHONE)
    nothing_sticks_out(staff)
    expect(looking.get_by_role("button", name="Stop looking")).to_be_in_viewport(ratio=1)
    # The heading is there for a screen reader; a lab with one branch has no list of branches.
    expect(staff.get_by_role("heading", level=1)).to_have_count(1)
    expect(staff.locator("hw-branches summary")).to_be_hidden()
    fork(ada)
    newest = looking.get_by_role("link", name="Go to branch")
    expect(newest).to_have_attribute("href", ada.evaluate("location.pathname"))
    nothing_sticks_out(staff)
    expect(looking.get_by_role("button", name="Stop looking")).to_be_in_viewport(ratio=1)
    ada.set_viewport_size(PHONE)
    expect(ada.locator("hw-branches summary")).to_be_in_viewport(ratio=1)
    nothing_sticks_out(ada)
    newest.click()
    expect(looking.locator(".tag")).to_have_attribute("title", f"{NAME}'s lab")
    expect(newest).to_have_count(0)


@pytest.mark.parametrize("button", ["left", "middle"])
def test_an_instant_opens_in_another_tab(staff: Page, ada: Page, button: str) -> None:
    board = staff.url
    with staff.context.expect_page() as opened:
        if button == "middle":
            staff.locator(".ask-list a.at").click(button="middle")
        else:
            staff.locator(".ask-list a.at").click(modifiers=["ControlOrMeta"])
    expect(opened.value).to_have_url(re.compile(r"/r/\w+/main\?t=\d"))
    expect(opened.value.locator("hw-looking")).to_contain_text(NAME)
    assert staff.url == board
    opened.value.close()


def test_an_instant_of_a_lab_that_was_left_is_text(staff: Page, ada: Page) -> None:
    staff.evaluate(
        """async () => {
          const { src } = document.querySelector("script[src$='/ui/pages/classroom/board.js']");
          const { tree } = await import(src.replace("/pages/classroom/board.js", "/classroom/store.js"));
          const people = Object.entries(tree.value.people)
            .map(([p, person]) => [p, { ...person, lab: "another/main" }]);
          tree.value = { ...tree.value, people: Object.fromEntries(people) };
        }"""
    )
    expect(staff.locator(".ask-list")).to_contain_text(re.compile(r"\d s in an earlier lab"))
    expect(staff.locator(".ask-list a.at")).to_have_count(0)


def test_the_board_on_a_phone_has_no_gap_and_tab_follows_what_is_shown(staff: Page, ada: Page) -> None:
    staff.set_viewport_size({"width": PHONE["width"], "height": 1600})
    nothing_sticks_out(staff)
    hands, wall = staff.locator("hw-hands").bounding_box(), staff.locator(".board-wall").bounding_box()
    assert hands and wall
    assert wall["y"] - hands["y"] - hands["height"] < 30
    shown = ["hw-class-bar", "hw-poll-panel", "hw-hands", "hw-wall-bar", "hw-microphone"]
    order = f"[...document.querySelectorAll('{', '.join(shown)}')].map((one) => one.localName)"
    assert staff.evaluate(order) == shown
    staff.set_viewport_size(WIDE)
    staff.wait_for_function("document.querySelector('.board-dock > hw-class-bar')")
    assert staff.evaluate(order) == ["hw-wall-bar", "hw-poll-panel", "hw-hands", "hw-class-bar", "hw-microphone"]


# Answers to anonymous polls, which only the tab of their author has


@pytest.fixture
def voter(staff: Page, browser: Browser) -> Iterator[Page]:
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


def test_the_next_participant_in_a_tab_does_not_see_the_answer(staff: Page, voter: Page) -> None:
    link = staff.evaluate(
        "async (url) => new DOMParser().parseFromString(await (await fetch(url)).text(), 'text/html')"
        ".querySelector('.address a').href",
        staff.url.replace("board/", ""),
    )
    open_number_poll(staff)
    answer(voter, "45")
    expect(voter.locator(".class-panel")).to_contain_text("Your answer: 45")
    kept = voter.evaluate("JSON.stringify({ ...sessionStorage })")
    assert "highwater.vote." in kept
    voter.context.clear_cookies()
    join(voter, link, "Mei")
    expect(voter.locator("[name=answer]")).to_be_visible()
    expect(voter.locator(".class-panel")).not_to_contain_text("Your answer:")
    # Nor if the tab still has it: it is another participant's.
    voter.evaluate(
        "(kept) => Object.entries(JSON.parse(kept)).forEach(([key, value]) => sessionStorage.setItem(key, value))", kept
    )
    voter.reload()
    open_class_panel(voter)
    expect(voter.locator("[name=answer]")).to_be_visible()
    expect(voter.locator(".class-panel")).not_to_contain_text("Your answer:")


def test_answers_are_removed_when_a_participant_leaves(staff: Page, voter: Page) -> None:
    open_number_poll(staff)
    answer(voter, "45")
    expect(voter.locator(".class-panel")).to_contain_text("Your answer: 45")
    voter.goto(staff.url.replace("board/", ""))
    assert "highwater.vote." in voter.evaluate("Object.keys(sessionStorage).join()")
    with voter.expect_navigation():
        voter.locator("form[action$='/leave'] button").click()
    assert "highwater.vote." not in voter.evaluate("Object.keys(sessionStorage).join()")


def test_a_refused_answer_leaves_the_one_before(staff: Page, voter: Page) -> None:
    open_number_poll(staff)
    sure = voter.locator("[name=sure]")
    expect(sure).to_have_attribute("aria-valuetext", "50 %")
    sure.fill("80")
    answer(voter, "45")
    expect(voter.locator(".class-panel")).to_contain_text("Your answer: 45")
    voter.reload()
    open_class_panel(voter)
    expect(voter.locator(".class-panel")).to_contain_text("Your answer: 45")
    expect(sure).to_have_value("80")
    expect(sure).to_have_attribute("aria-valuetext", "80 %")
    answer(voter, "at the end")
    expect(voter.locator("hw-class-refusal")).not_to_be_empty()
    expect(voter.locator(".class-panel")).to_contain_text("Your answer: 45")
