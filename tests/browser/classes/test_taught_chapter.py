"""A chapter is taught in four browsers: an instructor and three learners, from the door to the summaries."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.support.classroom.class_browser import open_class_panel
from tests.support.classroom.door import clean_door, start_class
from tests.support.lab_server import LabServer

CHAPTER = "meet-the-cluster"
FIRST, SECOND = "The path of a record", "Ask with Kafka's own commands"
QUESTION = "Who sends the record to the followers?"
RIGHT, WRONG = "nobody: they fetch it", "the leader"
ASKED = "Why does the fetch wait?"


@pytest.fixture
def staff(page: Page, lab_server: LabServer, complaints: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    with clean_door(lab_server, monkeypatch):
        start_class(page, lab_server, "Meet the cluster", CHAPTER)
        yield page


def comes_in_by_the_code(page: Page, origin: str, code: str, name: str) -> None:
    """Code, name, join: then the lab of the lesson is there, and nothing of the class has to be looked for."""
    page.goto(f"{origin}/join/")
    page.get_by_label("Class code").fill(code.lower())
    page.keyboard.press("Enter")
    page.get_by_role("textbox", name="Name").fill(name)
    page.get_by_role("button", name="Join").click()
    page.get_by_role("link", name="Open my lab").click()
    expect(page.locator(".hw-node.broker.up")).to_have_count(3)
    in_lesson(page, FIRST)


def in_lesson(page: Page, title: str) -> None:
    lesson = page.get_by_role("tab", name="Lesson", exact=True)
    expect(lesson).to_be_attached()
    lesson.click()
    expect(page.locator("hw-exercise h2")).to_have_text(title)


def on_step(page: Page, number: str) -> None:
    expect(page.locator(".step.now .n")).to_have_text(number)


def each_works_on_the_lesson_in_their_own_way(staff: Page, ada: Page, noah: Page, mei: Page) -> None:
    """Ada by hand and with a right prediction, Noah with a hint and a wrong one; Mei does nothing."""
    staff.get_by_role("button", name="Heat map").click()
    expect(staff.locator(".heat tbody tr")).to_have_count(3)
    noah.keyboard.press("h")
    expect(noah.locator("hw-exercise .hint.shown")).to_be_visible()
    for page in (ada, noah):
        page.locator(".step.now .code-line").click()
        expect(page.locator(".hw-node.consumer")).to_have_count(1)
        step_on(page, "2")
    expect(staff.locator(".heat tbody tr", has_text="Ada").locator("td.cell").first).to_contain_text("✓")
    expect(staff.locator(".heat tbody tr", has_text="Noah").locator("td.cell").first).to_contain_text("h")
    for page, choice in ((ada, "to the leader"), (noah, "one for each replica")):
        page.get_by_role("radio").filter(has_text=choice).click()
        page.get_by_role("radio", name="70 %").click()
        page.get_by_role("button", name="Lock in").click()
        for line in page.locator(".step.now .code-line").all():
            line.click()
        step_on(page, "3")
    expect(staff.locator(".heat tbody tr", has_text="Ada")).to_contain_text("1 of 1")
    expect(staff.locator(".heat tbody tr", has_text="Noah")).to_contain_text("0 of 1")
    # What a learner has done is nobody's but theirs and the staff's.
    assert not any(name in mei.content() for name in ("Ada", "Noah"))
    on_step(mei, "1")
    staff.get_by_role("button", name="Labs", exact=True).click()
    tile = staff.locator(".tile", has_text="Ada")
    expect(tile.locator(".tile-picture .slot").first).to_be_visible()


def step_on(page: Page, number: str) -> None:
    """Presses Enter until the step is in progress."""
    now = page.locator(".step.now .n")
    for _ in range(60):
        if now.inner_text() == number:
            return
        before = page.locator(".number").inner_text()
        page.keyboard.press("Enter")
        expect(page.locator(".number")).not_to_have_text(before)
    raise AssertionError(f"step {number} was not reached")


def a_hand_and_a_question_reach_the_board(staff: Page, noah: Page, mei: Page) -> None:
    open_class_panel(noah)
    mei.keyboard.press("j")
    expect(staff.locator(".tile.hand")).to_contain_text("Mei")
    noah.keyboard.press("q")
    noah.keyboard.type(ASKED)
    noah.get_by_role("button", name="Send").click()
    asked = staff.locator(".ask-list li", has_text=ASKED)
    expect(asked).to_contain_text("Noah")
    open_class_panel(mei)
    expect(mei.locator(".ask-list")).to_contain_text(ASKED)
    expect(mei.locator(".ask-list")).not_to_contain_text("Noah")
    staff.locator(".ask-list li", has_text="raised").get_by_role("button", name="Lower the hand").click()
    expect(mei.get_by_role("button", name="Raise hand")).to_be_visible()


def the_class_follows_and_is_given_a_state(staff: Page, desk: Page, ada: Page, noah: Page, mei: Page) -> None:
    """Ada stops following with a press; the others see the screen that the instructor opens in her lab."""
    staff.get_by_role("button", name="Lead the class").click()
    sentence = "You are following Instructor."
    for page in (ada, noah, mei):
        expect(page.locator("hw-unavailable")).to_contain_text(sentence)
    expect(staff.get_by_role("button", name="You lead · 3 follow")).to_be_visible()
    ada.keyboard.press("f")
    expect(ada.locator("hw-unavailable")).to_be_empty()
    expect(staff.get_by_role("button", name="You lead · 2 follow")).to_be_visible()
    desk.locator(".cv-h .seg button", has_text="ZooKeeper").click()
    for page in (noah, mei):
        expect(page.locator("hw-zookeeper .zk-tree, hw-zookeeper [data-path]").first).to_be_visible()
    assert ada.locator("hw-zookeeper [data-path]").count() == 0
    on_step_of_own_lab(ada, "3")
    staff.get_by_role("button", name="Share this state with all").click()
    expect(mei.locator(".state-list")).to_contain_text("State 1, at")
    staff.get_by_role("button", name="You lead").click()
    for page in (noah, mei):
        expect(page.locator("hw-unavailable")).to_be_empty()


def on_step_of_own_lab(page: Page, number: str) -> None:
    page.get_by_role("tab", name="Lesson", exact=True).click()
    on_step(page, number)


def a_poll_in_two_rounds(staff: Page, learners: dict[str, Page]) -> None:
    """The first answers are hidden from the others; all are right in the second round."""
    staff.get_by_text("New poll").click()
    maker = staff.locator(".make-poll form")
    maker.get_by_label("Question").fill(QUESTION)
    maker.get_by_label("Choice 1", exact=True).fill(RIGHT)
    maker.get_by_label("Choice 2", exact=True).fill(WRONG)
    maker.get_by_label("Right answer").select_option(label="1")
    maker.get_by_label("anonymous").uncheck()
    maker.get_by_role("button", name="Prepare the poll").click()
    staff.get_by_role("button", name="Open the poll").click()
    for number, (page, choice) in enumerate(zip(learners.values(), (RIGHT, WRONG, WRONG), strict=True), 1):
        page.get_by_role("radio", name=choice).check()
        page.get_by_role("button", name="Answer", exact=True).click()
        expect(page.locator(".class-panel")).to_contain_text(f"Your answer: {choice}")
        expect(staff.locator("hw-poll-panel")).to_contain_text(f"{number} of 3 answered")
    assert staff.locator("hw-poll-panel .split").count() == 0, "while it is open, counts alone"
    staff.get_by_role("button", name="Close the poll").click()
    expect(staff.locator("hw-poll-panel")).to_contain_text("3 answers. The split is shown from 5 answers on.")
    staff.get_by_role("button", name="Pair up, discuss").click()
    for page in learners.values():
        expect(page.locator(".class-panel .advice")).to_contain_text("Find someone who chose a different answer")
        assert page.locator(".class-panel .split").count() == 0
    staff.get_by_role("button", name="Ask again").click()
    for page in learners.values():
        page.get_by_role("radio", name=RIGHT).check()
        page.locator(".class-panel .card form button.pri").click()
        expect(page.locator(".class-panel")).to_contain_text(f"Your answer: {RIGHT}")
    expect(staff.locator("hw-poll-panel")).to_contain_text("3 of 3 answered")
    staff.get_by_role("button", name="Close the poll").click()
    staff.get_by_role("button", name="Reveal").click()
    for page in learners.values():
        expect(page.locator(".class-panel")).to_contain_text(f"Came true: {RIGHT}")
    staff.get_by_role("button", name="End the poll").click()


def all_labs_are_paused_and_go_on(staff: Page, learners: dict[str, Page]) -> None:
    staff.get_by_role("button", name="Pause all labs").click()
    for page in learners.values():
        expect(page.locator("hw-unavailable")).to_contain_text("The instructor has paused all labs.")
        expect(page.locator(".tbtn .play")).to_have_attribute("aria-disabled", "true")
    staff.get_by_role("button", name="Resume all labs").click()
    for page in learners.values():
        expect(page.locator(".tbtn .play")).not_to_have_attribute("aria-disabled", "true")


def the_chapter_goes_on(staff: Page, learners: dict[str, Page]) -> None:
    """Everyone is in a lab of the next lesson, at its first step."""
    earlier = {name: page.url.split("?")[0] for name, page in learners.items()}
    staff.get_by_role("button", name="Next lesson: 1.2").click()
    staff.get_by_role("dialog").get_by_role("button", name="Begin the lesson").click()
    for name, page in learners.items():
        expect(page).not_to_have_url(re.compile(re.escape(earlier[name])))
        expect(page.locator(".messages")).to_contain_text("The class continues with 1.2")
        in_lesson(page, SECOND)
        on_step(page, "1")
    expect(staff.locator("hw-class-lesson .lesson-name").first).to_contain_text("1.2")


def the_class_ends(staff: Page, learners: dict[str, Page]) -> None:
    for page in learners.values():
        open_class_panel(page)
    staff.locator("hw-class-end summary").click()
    staff.get_by_role("button", name="End the class for everyone").click()
    for page in learners.values():
        expect(page.locator(".class-panel")).to_contain_text("The class has ended. You keep your lab.")


def each_side_has_its_summary(staff: Page, ada: Page, noah: Page, mei: Page) -> None:
    staff.locator("hw-class-bar").get_by_role("link", name="Summary").click()
    first = staff.get_by_role("region", name=re.compile(f"Learners and steps: .*{FIRST}")).first
    rows = first.locator("tbody tr")
    expect(rows).to_have_count(3)
    signs = {name: rows.filter(has_text=name).locator("td.sign").all_inner_texts() for name in ("Ada", "Noah", "Mei")}
    assert [signs[name][0] for name in ("Ada", "Noah", "Mei")] == ["✓", "h", "·"]
    assert [signs[name][1] for name in ("Ada", "Noah")] == ["✓", "✓"]
    expect(rows.filter(has_text="Ada")).to_contain_text("1/1")
    expect(rows.filter(has_text="Noah")).to_contain_text("0/1")
    polls = staff.get_by_role("region", name="Polls")
    expect(polls).to_contain_text(QUESTION)
    expect(polls).to_contain_text("Round 1 · votes: 3 · 33 % right")
    expect(polls).to_contain_text("Round 2 · votes: 3 · 100 % right")
    expect(staff.get_by_role("region", name="Questions that were not answered")).to_contain_text(ASKED)
    # A learner's is about them alone.
    for page, right in ((ada, "1 of 1 predictions came true"), (noah, "0 of 1 predictions came true")):
        page.locator(".class-panel").get_by_role("link", name="Summary").click()
        expect(page.get_by_role("region", name="Your steps")).to_contain_text(right)
        votes = page.get_by_role("region", name="Your answers")
        expect(votes).to_contain_text(RIGHT)
        expect(votes.locator(".tag.ok").first).to_have_text("right")
        assert page.get_by_role("region", name="Questions that were not answered").count() == 0
    assert not any(name in ada.locator("main").inner_text() for name in ("Noah", "Mei"))
    mei.locator(".class-panel").get_by_role("link", name="Summary").click()
    expect(mei.get_by_role("region", name="Your steps")).to_contain_text("0 of 4 steps done")


def test_a_chapter_is_taught_from_the_door_to_the_summaries(
    staff: Page, newcomer: Callable[[], Page], complaints: list[str]
) -> None:
    code = staff.locator(".big-code").inner_text()
    origin = staff.url.split("/classes/")[0]
    learners = {name: newcomer() for name in ("Ada", "Noah", "Mei")}
    ada, noah, mei = learners.values()
    for name, page in learners.items():
        comes_in_by_the_code(page, origin, code, name)
    desk = staff.context.new_page()
    desk.set_viewport_size({"width": 1440, "height": 900})
    staff.get_by_role("link", name="Open the board").click()
    expect(staff.locator(".tile")).to_have_count(3)
    expect(staff.locator("hw-class-top")).to_contain_text("3 here")
    desk.goto(f"{origin}{staff.locator('hw-class-bar a.btn').first.get_attribute('href')}")
    expect(desk.locator(".hw-node.broker.up")).to_have_count(3)
    each_works_on_the_lesson_in_their_own_way(staff, ada, noah, mei)
    a_hand_and_a_question_reach_the_board(staff, noah, mei)
    the_class_follows_and_is_given_a_state(staff, desk, ada, noah, mei)
    open_class_panel(ada)
    a_poll_in_two_rounds(staff, learners)
    all_labs_are_paused_and_go_on(staff, learners)
    the_chapter_goes_on(staff, learners)
    the_class_ends(staff, learners)
    each_side_has_its_summary(staff, ada, noah, mei)
    assert complaints == []
