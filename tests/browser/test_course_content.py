"""Each lesson as it is read: its page, and its panel with all steps and the debrief. No text is cut at any width, in
either language and theme, and axe finds nothing.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from playwright.sync_api import Page

from lab.exercises.lesson import Exercise
from lab.exercises.loader import exercises
from lab.exercises.solution import Rehearsal, lesson_run
from tests.support.axe import violations
from tests.support.lab_page import MODULES, PHONE, TABLET, WIDE, nothing_sticks_out, open_run
from tests.support.lab_server import Visitor

SEED = 1
LANGUAGES = ("en", "zh-CN")
THEMES = ("dark", "light")
#: Elements whose text is not seen as a whole. Those for screen readers only, and folded steps, are allowed.
CUT = """(within) => {
  const found = [];
  const box = document.querySelector(within).getBoundingClientRect();
  for (const one of document.querySelectorAll(`${within} *`)) {
    const style = getComputedStyle(one), { right, width } = one.getBoundingClientRect();
    if (width <= 1 || !one.textContent.trim() || one.closest("svg, .step.done:not(.full)")) continue;
    const hides = ["hidden", "clip"].includes(style.overflowX) && one.scrollWidth > one.clientWidth + 1
      || ["hidden", "clip"].includes(style.overflowY) && one.scrollHeight > one.clientHeight + 1;
    if (hides || right > box.right + 1) found.push(one.outerHTML.slice(0, 160));
  }
  return found;
}"""
SHOW = """async (frame) => {
  const { exercise, panels, sideTab } = await moduleOf("/ui/store/state.js");
  exercise.value = frame;
  sideTab.value = "exercise";
  panels.value = { side: true, inspector: false };
}"""
#: Colours change by transitions.
THEME = """async (name) => {
  document.documentElement.dataset.theme = name;
  await new Promise((resolve) => requestAnimationFrame(resolve));
  const running = document.getAnimations().filter((one) => one instanceof CSSTransition);
  await Promise.allSettled(running.map((one) => one.finished));
}"""
#: The lines of an element's text as they are broken, by the places of its characters.
LINES = """(element) => {
  const lines = [], range = document.createRange();
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let top = null;
  while (walker.nextNode())
    for (let at = 0; at < walker.currentNode.length; at++) {
      range.setStart(walker.currentNode, at);
      range.setEnd(walker.currentNode, at + 1);
      const rect = range.getBoundingClientRect();
      if (top === null || rect.top > top + 4) lines.push("");
      top = rect.top;
      lines[lines.length - 1] += walker.currentNode.data[at];
    }
  return lines;
}"""


@cache
def finished(slug: str) -> dict[str, dict[str, Any]]:
    """The frames of a lesson at its end, by language."""
    exercise: Exercise = exercises()[slug]
    rehearsal = Rehearsal(exercise, lesson_run(exercise, SEED))
    rehearsal.play()
    return {language: rehearsal.session.frame(language) for language in LANGUAGES}


@pytest.fixture
def lessons(rounds: Callable[[int], int]) -> list[str]:
    """All lessons under `make soak`, otherwise the same few, spread over the chapters."""
    known = list(exercises())
    return known[:: len(known) // rounds(len(known))]


def is_whole_and_accessible(page: Page, within: str) -> None:
    for size in (TABLET, PHONE, WIDE):
        page.set_viewport_size(size)
        nothing_sticks_out(page)
        assert page.evaluate(CUT, within) == [], size
    for name in THEMES:
        page.evaluate(THEME, name)
        assert violations(page, within=within) == [], name


def test_pages_of_lessons_are_complete(page: Page, visitor: Visitor, lessons: list[str], complaints: list[str]) -> None:
    open_run(page, visitor, visitor.new_run())
    origin = page.evaluate("location.origin")
    for language in LANGUAGES:
        for slug in lessons:
            page.goto(f"{origin}/course/{slug}/?language={language}")
            is_whole_and_accessible(page, "main")


def test_debriefs_are_complete(page: Page, visitor: Visitor, lessons: list[str], complaints: list[str]) -> None:
    run = visitor.new_run()
    for language in LANGUAGES:
        open_run(page, visitor, run)
        page.goto(f"{page.url.partition('?')[0]}?language={language}")
        page.locator("hw-side").wait_for()
        page.evaluate(MODULES)
        for slug in lessons:
            frame = finished(slug)[language]
            # The chain of causes is that of another run.
            page.evaluate(SHOW, {**frame, "debrief": {**frame["debrief"], "chain": 0}})
            page.locator(".debrief").wait_for()
            is_whole_and_accessible(page, "hw-exercise")


def test_debrief_begins_below_an_open_console_on_a_phone(page: Page, visitor: Visitor, complaints: list[str]) -> None:
    page.emulate_media(reduced_motion="reduce")
    open_run(page, visitor, visitor.new_run())
    page.set_viewport_size(PHONE)
    nothing_sticks_out(page)
    page.evaluate(MODULES)
    page.evaluate("moduleOf('/ui/store/state.js').then(({ consoleOpen }) => (consoleOpen.value = true))")
    page.locator("#console-line").wait_for()
    frame = finished(next(iter(exercises())))["en"]
    page.evaluate(SHOW, {**frame, "debrief": {**frame["debrief"], "chain": 0}})
    page.locator(".debrief").wait_for()
    page.wait_for_function(
        """() => {
          const [title, dock, bars] = [".debrief h3", ".dock", ".insp"]
            .map((one) => document.querySelector(one).getBoundingClientRect());
          return title.top >= dock.bottom && title.bottom <= bars.top;
        }"""
    )


def test_text_that_is_cut_is_found(page: Page, visitor: Visitor) -> None:
    open_run(page, visitor, visitor.new_run())
    page.goto(f"{page.evaluate('location.origin')}/course/{next(iter(exercises()))}/")
    assert page.evaluate(CUT, "main") == []
    page.evaluate("Object.assign(document.querySelector('main h1').style, { overflow: 'hidden', height: '4px' })")
    assert len(page.evaluate(CUT, "main")) == 1
    page.evaluate("document.querySelector('main h1').style.height = ''")
    page.evaluate("document.querySelector('main h1').style.marginRight = '-2000px'")
    assert page.evaluate(CUT, "main")


def test_long_names_break_between_their_words(page: Page, visitor: Visitor, complaints: list[str]) -> None:
    open_run(page, visitor, visitor.new_run())
    page.evaluate(MODULES)
    slug = next(iter(exercises()))
    frame = finished(slug)["en"]
    text = "The broker answers FindCoordinator with the error `COORDINATOR_LOAD_IN_PROGRESS_OF_A_GROUP`."
    page.evaluate(SHOW, {**frame, "debrief": {**frame["debrief"], "text": text, "chain": 0}})
    page.locator(".debrief code").wait_for()
    lines = page.locator(".debrief code").evaluate(LINES)
    assert "".join(lines) == "COORDINATOR_LOAD_IN_PROGRESS_OF_A_GROUP"
    assert len(lines) == 1 or all(line.endswith("_") for line in lines[:-1]), lines
