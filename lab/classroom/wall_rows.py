"""Which rows of the wall a page of the staff gets now: those that have changed, and those on its screen first.

A row that changes is sent with the next picture while the class is small or the tile is on the screen; all others are
sent with every tenth.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Generic, Protocol, TypeVar

SMALL_CLASS = 60
"""With at most this many learners all tiles count as on the screen."""
OTHERS_EVERY = 10
NO_ROW = b"null"


class Looking(Protocol):
    """A page that shows the wall. `sight`: the participants whose tiles are on its screen."""

    sight: frozenset[str]


P = TypeVar("P", bound=Looking)


class WallRows(Generic[P]):
    """The rows of one class, encoded, by participant; and those that pages wait for."""

    def __init__(self) -> None:
        self._rows: dict[str, bytes] = {}
        self._waiting: dict[P, dict[str, bytes]] = {}
        self._turn = 0

    def due(self, changed: Mapping[str, bytes], pages: Collection[P]) -> Iterator[tuple[P, dict[str, bytes]]]:
        """What each page gets of this picture, of which these rows are others than before; NO_ROW for a learner who is
        gone. A new page gets all.
        """
        self._rows |= changed
        for p in [p for p, row in self._rows.items() if row == NO_ROW]:
            del self._rows[p]
        self._waiting = {page: {**self._waiting.get(page, self._rows), **changed} for page in pages}
        self._turn += 1
        has_all = len(self._rows) <= SMALL_CLASS or self._turn % OTHERS_EVERY == 0
        for page, waiting in self._waiting.items():
            rows = {p: row for p, row in waiting.items() if has_all or p in page.sight}
            for p in rows:
                del waiting[p]
            if rows:
                yield page, rows
