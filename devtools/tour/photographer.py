"""Pictures of a page in both themes, both languages and three widths."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page

from devtools.tour.contexts import WarmContexts

LANGUAGES = {"en": "en", "zh": "zh-CN"}
THEMES = ("dark", "light")
SIZES = {1440: 900, 1024: 768, 390: 844}

#: All parts of a lab page are there, and show an event. Other pages are ready when they are loaded.
READY = """() => !document.querySelector("#lab") || (document.querySelector(".hw-node") && /[1-9]/.test(
  document.querySelector("hw-transport .number")?.textContent) && document.querySelector("hw-inspector [role=tab]"))"""
#: Waits until fonts are loaded and everything requested in this frame is drawn.
SETTLED = """() => document.fonts.ready.then(() => new Promise((done) =>
  setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 150)))"""


class Photographer:
    """Puts pictures into a folder: `<name>-<theme>-<language>-<width>.png`."""

    def __init__(
        self,
        browser: Browser,
        folder: Path,
        *,
        languages: tuple[str, ...] = tuple(LANGUAGES),
        themes: tuple[str, ...] = THEMES,
        widths: tuple[int, ...] = tuple(SIZES),
        contexts: WarmContexts | None = None,
    ) -> None:
        self.folder = folder
        self.taken: list[Path] = []
        self._contexts = contexts or WarmContexts(browser)
        self._languages = languages
        self._themes = themes
        self._widths = widths
        folder.mkdir(parents=True, exist_ok=True)

    def take(self, name: str, page: Page, prepare: Callable[[Page], None]) -> None:
        """Opens the page's address as another tab of the same person would, in each language and width.

        Raises AssertionError when something sticks out at the side.
        """
        for language in self._languages:
            with self.context_like(page, language) as context:
                for width in self._widths:
                    tab = context.new_page()
                    tab.set_viewport_size({"width": width, "height": SIZES[width]})
                    tab.goto(page.url)
                    tab.wait_for_function(READY)
                    prepare(tab)
                    for theme in self._themes:
                        self._shoot(tab, f"{name}-{theme}-{language}-{width}", theme)
                    tab.close()

    @contextmanager
    def context_like(self, page: Page, language: str) -> Iterator[BrowserContext]:
        """A context in which the same person is signed in as on a page."""
        context = self._contexts.take({"locale": LANGUAGES[language]})
        origin = "/".join(page.url.split("/")[:3])
        context.add_cookies(page.context.cookies())  # type: ignore[arg-type]
        context.add_cookies([{"name": "language", "value": LANGUAGES[language], "url": origin}])
        try:
            yield context
        finally:
            self._contexts.give_back(context)

    def failed(self, page: Page, name: str) -> None:
        """What there was to see when a stop failed."""
        page.screenshot(path=self.folder / f"{name}.png")

    def _shoot(self, page: Page, name: str, theme: str) -> None:
        if page.locator("html").get_attribute("data-theme") != theme:
            page.locator("[data-preference=theme]").click()
        page.evaluate(SETTLED)
        path = self.folder / f"{name}.png"
        page.screenshot(path=path)
        self.taken.append(path)
        check_width(page, name)


def check_width(page: Page, name: str) -> None:
    """Raises AssertionError when something sticks out at the side of a page."""
    wide, window = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= window, f"At {window} px the page is {wide} px wide: something sticks out at the side ({name})."
