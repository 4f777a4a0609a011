"""One socket's side of a lab: selects the next frame. A slow page delays only itself."""

import asyncio
from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import msgspec

from lab.class_rights import Right
from lab.protocol.event_schema import schema_hash
from lab.protocol.frames import Clock, Core, No, Waking, Watchers, Welcome, encode
from lab.recordings.recording import Recording
from lab.runtime.live_run import Snapshot
from lab.runtime.pacer import wall_ms
from lab.runtime.streaming.feed import Feed, SnapshotNeeded
from lab.runtime.streaming.ring import Ring
from lab.runtime.streaming.shared import SharedFrames
from lab.texts.refusal import Refusal


@dataclass(frozen=True)
class Visitor:
    """The user. `rights`: to the run. `names`: of the sources of commands, by source. `language`: that of their pages,
    `en` or `zh-CN`.
    """

    user_id: int
    user: str
    run_name: str
    rights: frozenset[Right]
    language: str
    names: Mapping[str, str] = field(default_factory=dict)


MAX_WAITING_ANSWERS = 64
"""Maximum number of answers that wait for a page which does not read."""


class TooManyWaiting(Exception):
    """The page does not read the responses to its requests."""


class BranchClosed(Exception):
    """The branch has been closed."""


class WatchedLab(Protocol):
    """What a watcher needs of its lab."""

    recording: Recording
    ring: Ring
    boot: str
    shared: SharedFrames

    @property
    def core(self) -> Core: ...

    @property
    def zookeeper(self) -> str: ...

    @property
    def bootstrap(self) -> str: ...

    @property
    def watchers(self) -> Collection[object]: ...

    def clock(self) -> Clock: ...

    async def snapshot(self) -> Snapshot: ...


class Watcher:
    """A user who watches a branch. Use it from the event loop.

    A user who may act on the branch gets everything immediately; others get it when `time_moved` is called, which the
    lab does ten times a second for all of them at once, so that they share the frames.
    """

    def __init__(self, lab: WatchedLab, visitor: Visitor, *, have: int, boot: str) -> None:
        """`have` and `boot`: the last seq that the page holds, and of which start of the server."""
        self.lab = lab
        self._visitor = visitor
        self._feed = Feed(have if have and boot == lab.boot else None, lab.shared)
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._mail: deque[bytes] = deque()
        self._welcome_due = True
        self._has_news = True
        self._count_due = False
        self._waking: Waking | None = None
        self._is_closed = False
        self._sent_clock: Clock | None = None

    @property
    def user_id(self) -> int:
        return self._visitor.user_id

    @property
    def is_own(self) -> bool:
        """Whether its user may act on the branch; other watchers do not keep it awake."""
        return "act" in self._visitor.rights

    @property
    def language(self) -> str:
        return self._visitor.language

    def rights_changed(self, rights: frozenset[Right], names: Mapping[str, str]) -> None:
        """The rights of the user have changed."""
        self._visitor = replace(self._visitor, rights=rights, names=names)
        self._welcome_due = True
        self._wake.set()

    def acknowledged(self, seq: int) -> None:
        """The page has everything up to `seq`."""
        self._feed.window.acknowledged(seq, self._loop.time())
        if self._feed.is_dirty:
            self._has_news = True
            self._wake.set()

    def send(self, frame: msgspec.Struct | dict[str, Any]) -> None:
        """A frame for this socket alone. Of a page that does not read them, the connection is closed."""
        self._mail.append(encode(frame))
        self._wake.set()

    def count_changed(self) -> None:
        """Another number of pages watches."""
        self._count_due = True
        self._wake.set()

    def waking_changed(self, before: int | None) -> None:
        """The engine is to be built after `before` others; see `Waking`."""
        self._waking = Waking(before)
        self._wake.set()

    def time_moved(self) -> None:
        """There may be events, and the clock shows another time."""
        self._has_news = True
        self._wake.set()

    def core_changed(self) -> None:
        """The engine was started or stopped."""
        self._welcome_due = True
        self.time_moved()

    def close(self) -> None:
        """The branch is closed for good."""
        self._is_closed = True
        self._wake.set()

    def failed(self, why: Refusal) -> None:
        """The engine stopped by itself."""
        self.send(No(None, **why.as_json(self.language)))

    async def next_frame(self) -> str:
        """The next frame to send; waits until there is one. Raises BranchClosed if there are no more, and
        TooManyWaiting if the page leaves too many unread.
        """
        while True:
            if self._is_closed:
                raise BranchClosed
            if len(self._mail) > MAX_WAITING_ANSWERS:
                raise TooManyWaiting
            frame = await self._next()
            if frame is not None:
                return frame
            self._wake.clear()
            await self._wake.wait()

    async def _next(self) -> str | None:
        lab = self.lab
        if self._welcome_due:
            self._welcome_due = False
            return encode(self._welcome()).decode()
        if self._waking:
            waking, self._waking = self._waking, None
            return encode(waking).decode()
        if self._mail:
            return self._mail.popleft().decode()
        if self._count_due:
            self._count_due = False
            return encode(Watchers(len(lab.watchers))).decode()
        if not self._has_news and not self.is_own:
            return None
        clock = lab.clock()
        encoded = None if clock == self._sent_clock else lab.shared.clock(clock)
        found = self._feed.next(lab.ring, wall_ms(), encoded)
        if isinstance(found, SnapshotNeeded):
            snapshot = await lab.snapshot()
            skipped = self._feed.snapped(snapshot.seq, len(snapshot.state), self._loop.time())
            return lab.shared.snap(snapshot, skipped)
        if found is not None:
            self._feed.sent(found, self._loop.time())
            if found.has_clock:
                self._sent_clock = clock
                # Nothing is left to send until time moves.
                self._has_news = False
            return found.text
        self._has_news = False
        if encoded is None:
            return None
        self._sent_clock = clock
        return encoded.decode()

    def _welcome(self) -> Welcome:
        lab = self.lab
        folder = lab.recording.folder
        return Welcome(
            run=folder.run,
            branch=folder.branch,
            boot=lab.boot,
            schema=schema_hash(),
            core=lab.core,
            name=self._visitor.run_name,
            zookeeper=lab.zookeeper,
            bootstrap=lab.bootstrap,
            user=self._visitor.user,
            rights=sorted(self._visitor.rights),
            names=dict(self._visitor.names),
        )
