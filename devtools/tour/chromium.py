"""Chromium for the tour, the player of lessons and the benches."""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

from tools.ensure_chromium import ensure_chromium

#: With these it runs as root and in small containers. It opens nothing but the lab.
OPTIONS = ("--no-sandbox", "--disable-dev-shm-usage")


@contextmanager
def chromium(*options: str, headless: bool = True) -> Iterator[Browser]:
    """A browser, closed at the end of the block. `options`: further ones of its command line. Raises NoChromium."""
    with sync_playwright() as playwright:
        path, _ = ensure_chromium()
        browser = playwright.chromium.launch(executable_path=path, args=[*OPTIONS, *options], headless=headless)
        yield browser
        browser.close()
