"""Learners of a class in contexts of their own, for tests of the class's pages."""

from playwright.sync_api import Browser, Page, expect

from tests.support.lab_page import WIDE
from tests.support.lab_server import PATIENCE_S


def newcomer(browser: Browser) -> Page:
    context = browser.new_context(viewport=WIDE)
    context.set_default_timeout(PATIENCE_S * 1000)
    return context.new_page()


def join(page: Page, link: str, name: str) -> None:
    """Joins by the link, and opens the participant's lab."""
    page.goto(link)
    page.get_by_role("textbox", name="Name").fill(name)
    page.get_by_role("button", name="Join").click()
    page.get_by_role("link", name="Open my lab").click()
    open_class_panel(page)


def open_class_panel(page: Page) -> None:
    """It is open already while a poll is."""
    expect(page.locator(".hw-node.broker.up")).to_have_count(3)
    tab = page.get_by_role("tab", name="Class")
    if not tab.is_visible():
        page.keyboard.press("a")
    tab.click()
