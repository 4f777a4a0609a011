"""A class that is taught: its board, a learner's page and the big screen, from the door to the summary."""

import re

from playwright.sync_api import Page

from devtools.tour.lab_page import LabPage
from devtools.tour.tour import Tour, until

TITLE = "live class"
LESSON = "001-high-watermark-two-fetches"
NAMES = ("Ada Okafor", "Tomás Ruiz", "陈宇", "Priya Nair")
#: What each types, pressed Enter after it: how far they are in the lesson.
LINES = ("producer open p1 --acks all", "producer send p1 orders-0 k:v")
STEPS = (14, 10, 8, 0)


def walk(tour: Tour) -> None:
    board = tour.page()
    with tour.stop("a class of a lesson opens with its code"):
        board.goto(f"{tour.origin}/classes/")
        form = board.locator("#new-class")
        form.locator("[name=title]").fill("Storage systems, autumn")
        form.locator("[name=chapter]").select_option(LESSON)
        form.locator("button.pri").click()
        code = board.locator(".big-code").inner_text()
    door = board.url

    with tour.stop("four learners join with the code, and have the lesson's lab"):
        learners = [_joined(tour, code, name) for name in NAMES]
        board.locator("a[href$='/board/']").first.click()
        until(board, lambda: board.locator(".tile").count() == len(NAMES), "a tile for each of them")

    with tour.stop("the wall shows how far each of them is"):
        for page, steps in zip(learners, STEPS, strict=True):
            _work(LabPage(tour, page), steps)
        until(board, lambda: board.locator(".tile .steps i.done").count() >= 2, "two steps that are done")

    with tour.stop("a hand, a question, and a poll that is answered"):
        _ask(board, learners)

    with tour.stop("their pages follow the instructor's"):
        board.locator("hw-class-bar button", has_text="Lead the class").click()
        until(
            learners[1], learners[1].locator("hw-following button[aria-pressed=true]").is_visible, "a page that follows"
        )

    tour.pictures("class-board", board, _shows_wall)
    tour.pictures("class-learner", learners[1], _shows_class)
    tour.pictures("class-projector", _screen(board, door), _shows_screen)

    with tour.stop("the class ends, and each side has its summary"):
        board.locator("hw-class-end summary").click()
        board.locator("hw-class-end button").click()
        board.locator("hw-class-bar a.pri").click()
        until(board, lambda: board.locator("tbody tr").count() >= len(NAMES), "a row for each learner")
        tour.pictures("class-summary", board)
        learners[0].goto(f"{door}summary/")
        until(learners[0], learners[0].locator(".own-signs").first.is_visible, "the learner's own steps")

    with tour.stop("the class is deleted"):
        board.goto(door)
        board.locator(".danger-zone summary").click()
        board.locator(".danger-zone form[action$='/delete'] [name=confirm]").check()
        board.locator(".danger-zone form[action$='/delete'] button").click()
        board.wait_for_url(f"{tour.origin}/classes/")


def _joined(tour: Tour, code: str, name: str) -> Page:
    page = tour.visitor().new_page()
    page.goto(f"{tour.origin}/join/")
    page.locator("[name=code]").fill(code)
    page.keyboard.press("Enter")
    page.locator("#name").fill(name)
    page.locator("button.pri").click()
    page.locator("a[href^='/r/']").first.click()
    page.locator(".hw-partition").first.wait_for()
    return page


def _work(lab: LabPage, steps: int) -> None:
    """Sends a record, and steps on by that many messages."""
    page = lab.page
    if steps:
        for line in LINES:
            lab.send(line)
        lab.close_console()
    for _ in range(steps):
        before = page.locator(".number").inner_text()
        lab.press("Enter")
        until(page, lambda seen=before: page.locator(".number").inner_text() != seen, "the next event")  # type: ignore[misc]


def _ask(board: Page, learners: list[Page]) -> None:
    for page in learners:
        page.get_by_role("tab", name="Class", exact=True).click()
        page.locator(".class-panel").wait_for()
    learners[3].locator(".class-panel .button-row button").first.click()
    learners[0].locator("#class-question").fill("Why does the high watermark wait for a second fetch?")
    learners[0].locator(".class-panel form.note button").click()
    until(board, lambda: board.locator(".ask-list li").count() == 2, "a hand and a question")
    board.locator(".make-poll summary").first.click()
    form = board.locator(".make-poll form")
    form.locator("[name=text]").fill("Who tells the followers where the high watermark is?")
    for field, choice in zip(
        form.locator("[name=choice]").all(), ("the next fetch response", "ZooKeeper"), strict=True
    ):
        field.fill(choice)
    form.locator("[name=anonymous]").uncheck()
    form.locator("button.pri").click()
    board.locator("hw-poll-panel .button-row button").first.click()
    for page, place in zip(learners[:3], (0, 1, 0), strict=True):
        page.locator(".class-panel [name=answer]").nth(place).check()
        page.locator(".class-panel .card form button.pri").click()
    until(board, lambda: "3 of 4" in board.locator("hw-poll-panel").inner_text(), "three answers")


def _screen(board: Page, door: str) -> Page:
    screen = board.context.new_page()
    screen.goto(f"{door}projector/")
    _shows_screen(screen)
    return screen


def _shows_wall(page: Page) -> None:
    until(page, lambda: page.locator(".tile .tile-picture .slot").count() > len(NAMES), "the pictures of the labs")


def _shows_class(page: Page) -> None:
    """The panel of the class; it opens by itself while a poll is open."""
    page.locator(".hw-partition").first.wait_for()
    panel = page.locator(".class-panel [name=answer]").first
    until(page, panel.is_visible, "the poll")


def _shows_screen(page: Page) -> None:
    until(page, lambda: bool(re.search(r"\b4\b", page.locator("hw-projector").inner_text())), "four learners")
