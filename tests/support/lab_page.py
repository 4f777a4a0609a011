"""What tests of the lab's page share: a page of a new run, what one does by hand and key, what it shows."""

import re
from collections.abc import Iterator

import pytest
from django.conf import settings
from playwright.sync_api import Locator, Page, expect

from devtools.tour.lab_page import newest_event
from tests.support.lab_server import LabServer

# A page may be slow where all processors are busy; what must come fast says so where it is expected.
expect.set_options(timeout=120_000)

WIDE, TABLET, PHONE = {"width": 1440, "height": 900}, {"width": 1024, "height": 768}, {"width": 390, "height": 844}


@pytest.fixture
def complaints(page: Page) -> Iterator[list[str]]:
    """What the browser complains of: errors of scripts, refused styles and scripts, answers with an error."""
    heard: list[str] = []
    page.on("pageerror", lambda error: heard.append(f"{error.message}\n{error.stack}"))
    page.on("console", lambda said: heard.append(f"{said.text} {said.location}") if said.type == "error" else None)
    yield heard
    assert heard == []


@pytest.fixture
def lab(page: Page, lab_server: LabServer, complaints: list[str]) -> Page:
    """The page of a new run of three brokers, time playing."""
    page.set_viewport_size(WIDE)
    page.goto(f"{lab_server.address}/sign-in/?token={settings.SIGN_IN_TOKEN}")
    page.get_by_role("button", name="Start the cluster").click()
    expect(page.locator(".nodes .state.up")).to_have_count(3)
    return page


@pytest.fixture
def with_topic(lab: Page) -> Page:
    """The same with a topic `orders` of three partitions."""
    lab.get_by_role("button", name="Create orders").click()
    lab.get_by_role("dialog").get_by_role("button", name="Create topic").click()
    expect(lab.locator(".nodes").get_by_text("orders", exact=True)).to_be_visible()
    expect(partition(lab, "orders-0")).to_contain_text("leader")
    return lab


def partition(page: Page, name: str) -> Locator:
    return page.locator(".hw-partition", has_text=name)


def press(page: Page, *keys: str) -> None:
    """Keys of the page itself: no field has the focus."""
    page.evaluate("document.activeElement.blur()")
    for key in keys:
        page.keyboard.press(key)


def pause(page: Page) -> None:
    """Time stands still, and the page has drawn all that happened before that."""
    press(page, "Space")
    expect(page.locator(".tp .tag")).to_contain_text("PAUSED")
    shows_event(page, newest_event(page))


def number(page: Page) -> int:
    """The event that is shown."""
    return int(re.sub(r"\D", "", page.locator(".number").inner_text()))


def shows_event(page: Page, seq: int) -> None:
    """The page comes to show that event."""
    grouped = f"{seq:,}".replace(",", r"\D")
    expect(page.locator(".number")).to_have_text(re.compile(rf"(?<!\d){grouped}(?!\d)"))


def nothing_sticks_out(page: Page) -> None:
    """The page is as wide as the window at most, once it has followed the window's size."""
    assert page.viewport_size
    page.wait_for_function(
        "(width) => innerWidth === width && document.documentElement.scrollWidth <= width",
        arg=page.viewport_size["width"],
    )


def console(page: Page, line: str) -> Locator:
    """Sends a line in the console; what it printed is below."""
    if not page.locator("#console-line").is_visible():
        press(page, "c")
    page.locator("#console-line").fill(line)
    page.keyboard.press("Enter")
    entry = page.locator("hw-console li", has=page.get_by_text(line, exact=True)).last
    expect(entry).to_be_visible()
    return entry
