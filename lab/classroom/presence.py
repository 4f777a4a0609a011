"""Tracks open sockets, in the event loop's thread. Presence counts sockets, so a late close does not remove a
participant who has reconnected.
"""

from collections.abc import Iterator
from dataclasses import dataclass

AWAY_AFTER_US = 10_000_000
BACK_AFTER_START_US = 75_000_000
"""After a start of the server, pages wait up to ten seconds between two tries, and browsers run the timers of a hidden
page once a minute.
"""


@dataclass(slots=True)
class _Page:
    """`replayed_us`: the instant of class time shown by a page that replays the class; None for any other page."""

    is_hidden: bool = False
    replayed_us: int | None = None


class Sockets:
    """The open sockets of each participant, and what their pages show."""

    def __init__(self) -> None:
        self._pages: dict[str, dict[object, _Page]] = {}
        self._gone_us: dict[str, int] = {}
        self._expected: set[str] = set()

    def opened(self, p: str, socket: object) -> None:
        self._pages.setdefault(p, {})[socket] = _Page()
        self._gone_us.pop(p, None)
        self._expected.discard(p)

    def closed(self, p: str, socket: object, now_us: int) -> None:
        pages = self._pages.get(p, {})
        pages.pop(socket, None)
        if not pages:
            self._pages.pop(p, None)
            self._gone_us[p] = now_us

    def expect(self, p: str, now_us: int) -> None:
        """Expects a participant who was present before the server started; they are away if they do not come back."""
        if p not in self._pages:
            self._gone_us.setdefault(p, now_us)
            self._expected.add(p)

    def set_hidden(self, p: str, socket: object, hidden: bool) -> None:
        if socket in self._pages.get(p, {}):
            self._pages[p][socket].is_hidden = hidden

    def set_replayed(self, p: str, socket: object, at_us: int) -> None:
        if socket in self._pages.get(p, {}):
            self._pages[p][socket].replayed_us = at_us

    def is_hidden(self, p: str) -> bool:
        """Whether all pages of a participant are hidden."""
        pages = self._pages.get(p)
        return pages is not None and all(page.is_hidden for page in pages.values())

    def replayed_us(self, p: str) -> int | None:
        """The instant up to which a participant has replayed the class, if they have nothing else in front; None for
        all others.
        """
        pages = self._pages.get(p, {}).values()
        in_front = [page for page in pages if not page.is_hidden] or pages
        shown = [page.replayed_us for page in in_front if page.replayed_us is not None]
        return max(shown) if shown and len(shown) == len(in_front) else None

    def is_here(self, p: str) -> bool:
        return p in self._pages

    def here(self) -> list[str]:
        return list(self._pages)

    def take_away(self, now_us: int) -> Iterator[tuple[str, int]]:
        """Participants without a socket for ten seconds, each reported once, with the instant of the disconnect. Those
        who were present before the server started have longer to come back.
        """
        for p, gone_us in list(self._gone_us.items()):
            if now_us - gone_us >= (BACK_AFTER_START_US if p in self._expected else AWAY_AFTER_US):
                del self._gone_us[p]
                self._expected.discard(p)
                yield p, gone_us
