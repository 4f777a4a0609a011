"""The watchers of a branch: which updates they get, and how often."""

import asyncio
from collections.abc import Iterator
from itertools import islice

from lab.runtime.sharing.load import load
from lab.runtime.streaming.watcher import Watcher

COUNT_S = 1.0
"""Minimum interval at which the number of watchers is sent."""
FOLLOWERS_AT_ONCE = 16
"""Watchers who only look that are notified in one iteration of the event loop. To send to hundreds takes tens of
milliseconds, in which nothing else would be answered: not the page that leads, nor an act in a class.
"""

BEAT_OVER = 0.001
"""The part of a beat before its end that counts as the next one."""


class Audience:
    """Use it from the event loop on which it was made."""

    def __init__(self) -> None:
        self.watchers: set[Watcher] = set()
        self._loop = asyncio.get_running_loop()
        self._beat: asyncio.TimerHandle | None = None
        self._rest: asyncio.Handle | None = None
        self._count: asyncio.TimerHandle | None = None
        self._told_count = 0
        self._waking: int | None = None

    @property
    def has_own_page(self) -> bool:
        """Whether a user who may act on the branch has its page open."""
        return any(watcher.is_own for watcher in self.watchers)

    def add(self, watcher: Watcher) -> None:
        self.watchers.add(watcher)
        if self._waking is not None:
            watcher.waking_changed(self._waking)
        self._count_soon()

    def remove(self, watcher: Watcher) -> None:
        self.watchers.discard(watcher)
        self._count_soon()

    def wakes(self, before: int | None) -> None:
        """The engine waits to be built after `before` others; 0: it is being built; None: it no longer waits."""
        if before != self._waking:
            self._waking = before
            for watcher in self.watchers:
                watcher.waking_changed(before)

    def time_moved(self) -> None:
        """Events or the clock have changed: notifies users who may act at once, others with the next beat."""
        is_followed = False
        for watcher in self.watchers:
            if watcher.is_own:
                watcher.time_moved()
            else:
                is_followed = True
        if is_followed:
            self._notify_followers_soon()

    def _notify_followers_soon(self) -> None:
        if self._beat is None:
            # One beat for all watchers, who share the frames.
            beat_s = load.beat_s
            # A loop may count whole milliseconds, and is called at just the beat: that beat is over.
            beats = int(self._loop.time() / beat_s + BEAT_OVER)
            self._beat = self._loop.call_at((beats + 1) * beat_s, self.notify_followers)

    def notify_followers(self) -> None:
        """There may be something new for the pages that only look."""
        self._beat = None
        if self._rest is None:
            self._notify_some(iter([watcher for watcher in self.watchers if not watcher.is_own]))
        else:
            # The server is behind: the last of them have not been notified since the beat before.
            self._notify_followers_soon()

    def _notify_some(self, followers: Iterator[Watcher]) -> None:
        """Some followers now, and the others in the next iterations of the loop."""
        self._rest = None
        some = list(islice(followers, FOLLOWERS_AT_ONCE))
        for watcher in some:
            watcher.time_moved()
        if len(some) == FOLLOWERS_AT_ONCE:
            self._rest = self._loop.call_soon(self._notify_some, followers)

    def close(self) -> None:
        """The branch is closed for good."""
        for timer in (self._beat, self._rest, self._count):
            if timer is not None:
                timer.cancel()
        for watcher in self.watchers:
            watcher.close()

    def _count_soon(self) -> None:
        if self._count is None:
            self._count = self._loop.call_later(COUNT_S, self._tell_count)

    def _tell_count(self) -> None:
        self._count = None
        if self._told_count == len(self.watchers):
            return
        self._told_count = len(self.watchers)
        for watcher in self.watchers:
            if watcher.is_own:
                watcher.count_changed()
