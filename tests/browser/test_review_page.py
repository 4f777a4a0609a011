"""Reviews and a learner's own data in a real browser: keyboard, focus, widths, accessibility."""

import re

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from lab.learning import append
from lab.learning.events import LessonFinished, PredictionSettled
from lab.learning.log import delete_history, wall_ms
from lab.web.sign_in import local_user
from tests.support.axe import violations
from tests.support.lab_page import PHONE, TABLET, WIDE, be, nothing_sticks_out
from tests.support.lab_server import LabServer, Visitor

DAY_MS = 86_400_000
LESSONS = (
    "001-high-watermark-two-fetches",
    "006-the-lost-record",
    "016-all-or-nothing",
    "019-retention-deletes-segments",
)
LOOKS = ("theme=dark&language=en", "theme=light&language=zh-CN")


@pytest.fixture
def learner(page: Page, visitor: Visitor, complaints: list[str]) -> Page:
    """Four lessons were finished ten days ago."""
    user_id = local_user().pk
    delete_history(user_id)
    for slug in LESSONS:
        then_ms = wall_ms() - 10 * DAY_MS
        for right in (True, False):
            settled = PredictionSettled(
                lesson=slug, step="one", choice="a", choices=4, p=0.9, outcome="a" if right else "b", right=right,
                brier=0.01 if right else 1.75, misconception="" if right else "acked-is-safe",
            )  # fmt: skip
            append(user_id, settled, then_ms)
        append(user_id, LessonFinished(lesson=slug), then_ms)
    page.set_viewport_size(WIDE)
    be(page, visitor)
    return page


def test_page_without_a_question_shows_its_buttons_below_the_text(
    page: Page, lab_server: LabServer, complaints: list[str]
) -> None:
    delete_history(local_user().pk)
    page.set_viewport_size(WIDE)
    page.goto(f"{lab_server.address}/sign-in/?token={settings.SIGN_IN_TOKEN}&next=/review/")
    boxes = [page.locator(f".review .empty {part}").bounding_box() for part in ("h1", ".row")]
    heading, buttons = [box["x"] + box["width"] / 2 for box in boxes if box]
    assert abs(heading - buttons) < 2


def test_question_is_answered_with_the_keyboard_alone(learner: Page, lab_server: LabServer) -> None:
    learner.goto(f"{lab_server.address}/review/?language=en")
    answers = learner.get_by_role("group", name=re.compile("Your answer|.*\\?")).first
    expect(answers).to_be_visible()
    learner.get_by_role("radio").first.focus()
    learner.keyboard.press("Space")
    learner.keyboard.press("Tab")
    learner.keyboard.press("Space")
    learner.keyboard.press("ArrowRight")
    learner.keyboard.press("Tab")
    expect(learner.get_by_role("button", name="Answer", exact=True)).to_be_focused()
    learner.keyboard.press("Enter")
    expect(learner).to_have_url(re.compile("/review/verdict/$"))
    # The heading has the focus, so that a screen reader begins with the outcome.
    expect(learner.get_by_role("heading", name=re.compile(r"^(Right|Not right)\.$"))).to_be_focused()
    learner.get_by_role("link", name=re.compile("Next question")).press("Enter")
    expect(learner.get_by_role("button", name="Answer", exact=True)).to_be_visible()


def test_nothing_is_sent_without_a_confidence(learner: Page, lab_server: LabServer) -> None:
    learner.goto(f"{lab_server.address}/review/?language=en")
    learner.locator("input[name=choice]").first.check()
    learner.get_by_role("button", name="Answer", exact=True).click()
    expect(learner).to_have_url(re.compile("/review/"))
    expect(learner.locator("input[name=p]:invalid").first).to_be_attached()


def test_table_of_the_calibration_curve_has_the_same_figures(learner: Page, lab_server: LabServer) -> None:
    learner.goto(f"{lab_server.address}/learning/?language=en")
    point = learner.locator(".calibration circle title")
    assert point.evaluate_all("(all) => all.map((one) => one.textContent)") == ["90 % sure: 50 % right, 8 answers"]
    expect(learner.get_by_role("row", name=re.compile("^90 %"))).to_have_text(re.compile(r"90 %\s*8\s*4\s*50 %"))


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_and_every_width_fits(learner: Page, lab_server: LabServer, look: str) -> None:
    for address in ("/review/", "/learning/"):
        learner.goto(f"{lab_server.address}{address}?{look}")
        for size in (TABLET, PHONE, WIDE):
            learner.set_viewport_size(size)
            nothing_sticks_out(learner)
        assert violations(learner) == []
    learner.goto(f"{lab_server.address}/review/")
    learner.locator("input[name=choice]").first.check()
    learner.locator("input[name=p]").last.check(force=True)
    learner.locator(".question .btn.pri").click()
    expect(learner).to_have_url(re.compile("/review/verdict/$"))
    for size in (TABLET, PHONE, WIDE):
        learner.set_viewport_size(size)
        nothing_sticks_out(learner)
    assert violations(learner) == []
