"""The list of exercises, and the solutions of those on storage, typed into the console of the page."""

import re

from playwright.sync_api import Locator, Page

from devtools.tour.lab_page import LabPage
from devtools.tour.tour import Tour, until
from lab.exercises.lesson import Exercise, Step
from lab.exercises.loader import exercises
from lab.exercises.solution import sections_of

TITLE = "solutions"
SLUGS = ("002-finding-an-offset", "003-what-a-power-loss-takes")
FAST = 20.0
STEP_S = 300.0


def walk(tour: Tour) -> None:
    lab = LabPage.of_new_run(tour, "Tour: exercises on storage")
    with tour.stop("the list: all exercises, the next one marked"):
        panel = lab.lesson_panel()
        cards = panel.locator(".ex-card")
        until(lab.page, lambda: cards.count() == len(exercises()), "a card for each exercise")
        lab.sees(panel.locator(".ex-card.next"), "the next one")
    for slug in SLUGS:
        _solve(tour, lab, exercises()[slug])


def _solve(tour: Tour, lab: LabPage, exercise: Exercise) -> None:
    panel = lab.lesson_panel()
    with tour.stop(f"{exercise.slug}: start"):
        panel.get_by_role("button", name=f"Start: {exercise.title.en}").click()
        lab.sees(panel.locator(".step.now"), "the first step")
        lab.until(lambda seen: seen.is_paused, "a paused run")
        if exercise.rate >= 1:
            lab.speed(FAST)
    for place, (step, section) in enumerate(zip(exercise.steps, sections_of(exercise), strict=True), 1):
        with tour.stop(f"{exercise.slug}: {step.id}"):
            if step.prediction and lab.shown.is_paused:
                tour.pictures(exercise.slug, lab.page, open_panel)
            for line in section.lines:
                _do(lab, panel, step, place, line)
            _until_done(lab, panel, place)
    with tour.stop(f"{exercise.slug}: the debrief, and a tick in the list"):
        lab.sees(panel.locator(".debrief"), "the debrief")
        panel.get_by_role("button", name="Leave").click()
        lab.sees(panel.get_by_role("button", name=f"Repeat the lesson: {exercise.title.en}"), "the list with its tick")
        if lab.shown.is_paused:
            tour.pictures("exercises", lab.page, open_panel)


def _do(lab: LabPage, panel: Locator, step: Step, place: int, line: str) -> None:
    """A line of a solution, entered as a user would."""
    match line.split():
        case ["play"]:
            lab.play()
        case ["pause"]:
            lab.pause()
        case ["step", "rpc"]:
            pass  # Locking in steps by itself.
        case ["step", "rpc", "until", "done"]:
            lab.steps_until(lambda _: _is_done(panel, place), f"step {place} with its tick")
        case ["predict", *words]:
            assert step.prediction is not None
            panel.locator(f'.opt[data-value="{" ".join(words)}"]').click()
            panel.get_by_role("radio", name="70 %").click()
            panel.get_by_role("button", name=re.compile("^Lock in")).click()
            lab.sees(panel.locator(".verdict"), "that the answer is locked in")
        case _:
            lab.send(line)
            lab.until(lambda seen: bool(seen.console) and seen.console[-1].line == line, f"`{line}` in the console")
            if not lab.shown.is_paused:
                lab.until(lambda seen: not seen.console[-1].running, f"the end of `{line}`", STEP_S)


def _is_done(panel: Locator, place: int) -> bool:
    return panel.locator(".step.done").count() >= place


def _until_done(lab: LabPage, panel: Locator, place: int) -> None:
    until(lab.page, lambda: _is_done(panel, place), f"step {place} with its tick", STEP_S)


def open_panel(page: Page) -> None:
    """Shows the exercises: narrow windows begin without the panel, and without an exercise it shows what one can do."""
    page.locator(".hw-node").first.wait_for()
    shown = page.locator("hw-exercise")
    if not shown.is_visible():
        page.evaluate("document.activeElement?.blur()")  # A console that was open has the focus.
        page.keyboard.press("e")
    shown.wait_for()
