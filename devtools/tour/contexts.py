"""Browser contexts that are emptied and used again, so that pages load their modules from a warm cache."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Frame, Page


class WarmContexts:
    """Hands out contexts without pages, cookies, permissions or stored values.

    A context with routes of its own must not come from here: routes cannot all be removed.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._idle: dict[str, list[BrowserContext]] = {}
        self._options: dict[BrowserContext, str] = {}
        self._visited: dict[BrowserContext, set[str]] = {}

    def take(self, options: Mapping[str, Any]) -> BrowserContext:
        """An idle context that was made with these options, or a new one."""
        key = repr(sorted(options.items()))
        if self._idle.get(key):
            return self._idle[key].pop()
        context = self._browser.new_context(**options)
        visited = self._visited[context] = set()
        self._options[context] = key

        def note(frame: Frame) -> None:
            address = urlsplit(frame.url)
            visited.add(f"{address.scheme}://{address.netloc}")

        def follow(page: Page) -> None:
            page.on("framenavigated", note)

        context.on("page", follow)
        return context

    def give_back(self, context: BrowserContext) -> None:
        """Empties a context for the next use; its cache stays."""
        for page in context.pages:
            page.close()
        context.clear_cookies()
        context.clear_permissions()
        empty = context.new_page()
        session = context.new_cdp_session(empty)
        for origin in self._visited[context]:
            session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "local_storage,indexeddb"})
        empty.close()
        self._visited[context].clear()
        self._idle.setdefault(self._options[context], []).append(context)

    def owns(self, context: BrowserContext) -> bool:
        return context in self._options

    def close(self) -> None:
        """Closes the contexts that are idle."""
        for contexts in self._idle.values():
            for context in contexts:
                context.close()
        self._idle.clear()
