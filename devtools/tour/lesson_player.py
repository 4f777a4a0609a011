"""Plays a lesson in a browser to its debrief: starts it from its page and shows the solution of each step."""

import re
import time
from typing import NamedTuple

from playwright.sync_api import Page
from playwright.sync_api import TimeoutError as TooLong

STEP_MS = 150_000
"""How long a step may take: minutes of simulated time are played in seconds."""
OPEN_MS = 60_000
MAX_TOLD = 300


class Played(NamedTuple):
    """How it went. `problem`: empty where the debrief was reached without an error in the console."""

    slug: str
    seconds: float
    steps: int
    problem: str


def play_lesson(page: Page, origin: str, slug: str) -> Played:
    """Plays the lesson on a page that has signed in."""
    errors: list[str] = []

    def note(error: object) -> None:
        errors.append(str(error))

    began_s, steps = time.monotonic(), 0
    page.on("pageerror", note)
    try:
        page.goto(f"{origin}/course/{slug}/")
        page.get_by_role("button", name=re.compile("^Start")).first.click()
        page.locator(".step.now").wait_for(timeout=OPEN_MS)
        while not page.locator(".debrief").count():
            _show(page)
            steps += 1
    except TooLong:
        now = page.locator(".step.now")
        where = now.inner_text() if now.count() else page.url
        errors.insert(0, f"step {steps + 1} was not done by its solution: {' '.join(where.split())[:MAX_TOLD]}")
    finally:
        page.remove_listener("pageerror", note)
    return Played(slug, time.monotonic() - began_s, steps, errors[0] if errors else "")


def _show(page: Page) -> None:
    """Shows the step in progress. Raises TooLong while it is still in progress after that."""
    number = page.locator(".step.now .n").inner_text()
    page.locator(".step.now .help button").first.click()
    page.locator(".step.now .help[role=status], .debrief").first.wait_for(timeout=OPEN_MS)
    page.locator(".help[role=status]").wait_for(state="detached", timeout=STEP_MS)
    page.locator(f".debrief, .step.now .n:not(:text-is('{number}'))").first.wait_for(timeout=OPEN_MS)
