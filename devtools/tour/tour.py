"""The walk: a browser, the stops with their results, and screenshots."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from playwright.sync_api import Browser, BrowserContext, Error, Page

from devtools.tour.contexts import WarmContexts
from devtools.tour.lab_process import LabProcess
from devtools.tour.photographer import Photographer

T = TypeVar("T")

WAIT_S = 120.0
"""How long a stop waits for what it expects: long, for machines that have other things to do."""
LOOK_MS = 100
MAX_SENTENCE_LENGTH = 400
WINDOW: dict[str, Any] = {"viewport": {"width": 1440, "height": 900}, "locale": "en-US"}
#: What a browser logs for an error response; a stop that provokes one does not report it as a defect of the page.
ANSWERED_WITH_ERROR = "Failed to load resource"


class Tour:
    """One walk through the lab at `address` (which signs in), with its data in `data`.

    Args:
        shots: takes the pictures.
        say: takes a line for each stop.
        process: the lab's process, where the walk may kill it and start it again.
        contexts: the browser contexts that the walk uses, where several walks share them.
        options: how its contexts differ from others, as `Browser.new_context` takes it.
    """

    def __init__(
        self,
        browser: Browser,
        address: str,
        data: Path,
        *,
        shots: Photographer,
        say: Callable[[str], None] = print,
        process: LabProcess | None = None,
        contexts: WarmContexts | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.browser = browser
        self.address = address
        self.data = data
        self.process = process
        self.failures: list[str] = []
        self.stops = 0
        self.runs: list[str] = []
        """Slugs of the runs that it made."""
        self._say = say
        self._shots = shots
        self._chapter = ""
        self._warm = contexts or WarmContexts(browser)
        self._options = {**WINDOW, **(options or {})}
        self._contexts: list[BrowserContext] = []
        self._complaints: list[str] = []

    @property
    def origin(self) -> str:
        return self.address.partition("/sign-in/")[0]

    # Stops

    @contextlib.contextmanager
    def chapter(self, title: str) -> Iterator[None]:
        """An independent part of the walk: a failure ends it, and the next one begins."""
        self._chapter = title
        try:
            try:
                yield
            except (AssertionError, Error) as error:
                self._fail("what comes before the next stop", error)
            with self.stop("no error in the browser's log, nothing refused by the content security policy"):
                assert not self._complaints, "It holds one."
        except _StopFailed:
            pass
        finally:
            self._complaints.clear()
            self.close_pages()

    @contextlib.contextmanager
    def stop(self, name: str) -> Iterator[None]:
        """One stop: prints its result."""
        self.stops += 1
        began_s = time.monotonic()
        try:
            yield
        except (AssertionError, Error) as error:
            self._fail(name, error)
        self._say(f"ok   {self._chapter}: {name} ({time.monotonic() - began_s:.1f} s)")

    def _fail(self, name: str, error: Exception) -> NoReturn:
        failure = f"{self._chapter}: {name}: {_sentence(error)}"
        if self._complaints:
            failure += f" The browser said: {self._complaints[0]}"
        self._say(f"FAIL {failure}")
        self.failures.append(failure)
        for number, page in enumerate(self._pages(), 1):
            self._shots.failed(page, f"failed-{len(self.failures)}-{number}")
        raise _StopFailed(failure) from error

    # The browser

    def visitor(self) -> BrowserContext:
        """A browser of its own, as another person's: no cookies yet."""
        return self._prepare(self.browser.new_context(**self._options))

    def page(self, context: BrowserContext | None = None) -> Page:
        """A page that has signed in, at the list of runs."""
        page = (context or self._prepare(self._warm.take(self._options))).new_page()
        page.on("pageerror", lambda error: self._complaints.append(error.message))
        page.on("console", lambda message: self._complaints.append(message.text) if message.type == "error" else None)
        page.goto(self.address)
        return page

    def forgive(self, what: str) -> None:
        """Takes back complaints that a stop has provoked on purpose."""
        self._complaints = [said for said in self._complaints if what not in said]

    def close_pages(self) -> None:
        for context in self._contexts:
            if self._warm.owns(context):
                self._warm.give_back(context)
            else:
                context.close()
        self._contexts.clear()

    def pictures(self, name: str, page: Page, prepare: Callable[[Page], None] = lambda page: None) -> None:
        """Takes the page in each language, theme and width; `prepare` opens what is not part of the address."""
        self._shots.take(name, page, prepare)

    def _prepare(self, context: BrowserContext) -> BrowserContext:
        context.set_default_timeout(WAIT_S * 1000)
        context.grant_permissions(["clipboard-read", "clipboard-write"], origin=self.origin)
        self._contexts.append(context)
        return context

    def _pages(self) -> Sequence[Page]:
        return [page for context in self._contexts for page in context.pages if not page.is_closed()]


def until(page: Page, look: Callable[[], T], said: str | Callable[[], str], seconds: float = WAIT_S) -> T:
    """Looks again and again until what it sees is true; returns that. Raises AssertionError with what was expected."""
    deadline_s = time.monotonic() + seconds
    while True:
        seen = look()
        if seen:
            return seen
        if time.monotonic() > deadline_s:
            raise AssertionError(f"{said if isinstance(said, str) else said()} was expected within {seconds:g} s.")
        page.wait_for_timeout(LOOK_MS)


class _StopFailed(Exception):
    """A stop has failed and has been reported."""


def _sentence(error: Exception) -> str:
    """The error, on one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:3] + lines[3:][-2:])[:MAX_SENTENCE_LENGTH] or type(error).__name__
