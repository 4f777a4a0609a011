"""How far an import is. The functions that read an archive report it, and can be ended by the callback."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")

Stage: TypeAlias = Literal["unpack", "check", "execute", "finish"]
"""In this order. `unpack`: bytes of the files; `check` and `execute`: events; `finish`: events of which the views are
stored that a page seeks by.
"""
Report: TypeAlias = Callable[[Stage, int, int], None]
"""Called with a stage, how much of it is done, and of how much, at least every 1,000 events and every MiB. It may raise
to end the import.
"""


def no_report(stage: Stage, done: int, of: int) -> None:
    """For callers that show no progress."""


class Share(NamedTuple):
    """One recording of several: the events of those before it, and of all."""

    before: int
    of: int


def shares_of(items: Sequence[T], events: Sequence[int]) -> Iterator[tuple[T, Share]]:
    """Each recording with its share, from the events of each."""
    of, before = sum(events), 0
    for item, count in zip(items, events, strict=True):
        yield item, Share(before, of)
        before += count
