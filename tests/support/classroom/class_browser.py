"""Learners of a class, for tests of the class's pages."""

from playwright.sync_api import Page, expect


def join(page: Page, link: str, name: str) -> None:
    """Joins by the link, and opens the participant's lab."""
    page.goto(link)
    page.get_by_role("textbox", name="Name").fill(name)
    page.get_by_role("button", name="Join").click()
    page.get_by_role("link", name="Open my lab").click()
    open_class_panel(page)


def open_class_panel(page: Page) -> None:
    """It is open already while a poll is. The tabs come after the picture."""
    expect(page.locator(".hw-node.broker.up")).to_have_count(3)
    tab = page.get_by_role("tab", name="Class", include_hidden=True)
    expect(tab).to_be_attached()
    if not tab.is_visible():
        page.keyboard.press("a")
    tab.click()
