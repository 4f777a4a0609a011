"""A run in memory that is driven by console lines within limits, and its results."""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from broker_core.events import Envelope
from broker_core.partitions import broker_id_of, broker_node
from broker_core.refusals import ShellError
from broker_core.sim.disk import SimulatedDisk
from broker_core.texts import Text, text
from broker_core.view.tree import View
from broker_core.zk.memory_store import MemoryStore
from lab.runtime.headless.booted import RunConfig, booted_run
from lab.trials.aftermath import complaints, missing_brokers, repair_commands

SETTLE_US = 1_000_000
"""Simulated time between the registration of the last broker and the first line."""
EVENTS_AT_ONCE = 5_000
"""Between two checks of the limits."""
LOOK_US = 1_000_000
"""Simulated time between two checks of a condition."""


class Limits(msgspec.Struct, frozen=True):
    """The limits of one trial: events, and simulated microseconds."""

    events: int = 150_000
    time_us: int = 600_000_000


class Ended(Exception):
    """The trial cannot continue: a line was rejected, or a limit was reached. `why` is the reason."""

    def __init__(self, why: Text) -> None:
        # Rendered only where it is shown: processes of Spark do not have the lab's texts.
        super().__init__(why.code)
        self.why = why


class Typed(msgspec.Struct, frozen=True, array_like=True):
    """A line and the instant at which it was typed."""

    at_us: int
    line: str


class Trial:
    """See the module. `watchers` see each event once, in order; `typed` re-executes the trial."""

    def __init__(
        self,
        config: RunConfig,
        watchers: Sequence[Callable[[Envelope], None]] = (),
        limits: Limits = Limits(),  # noqa: B008  (it is immutable)
    ) -> None:
        self.config = config
        self.limits = limits
        self.watchers = list(watchers)
        self.typed: list[Typed] = []
        self.disk = SimulatedDisk()
        self.run = booted_run(config, MemoryStore(), self.disk)
        self.advance(SETTLE_US)

    @property
    def now_us(self) -> int:
        """Simulated time."""
        return self.run.now_us

    @property
    def view(self) -> View:
        """The view now, after the watchers have seen all events."""
        self._look()
        return self.run.view

    def type_all(self, lines: Iterable[str]) -> None:
        """Types lines, each after the end of the one before. Raises Ended."""
        for line in lines:
            self.type(line)

    def type(self, line: str) -> None:
        """Types a line and waits for its end, unless it ends with `&`. Raises Ended."""
        self.typed.append(Typed(self.run.now_us, line))
        try:
            number = self.run.submit(line, "judge")
        except ShellError as error:
            raise Ended(text("verdict.line_refused", line=line, problem=error.what)) from None
        if line.rstrip().endswith("&"):
            return
        while not self.run.finish(number, max_events=EVENTS_AT_ONCE):
            self._check_limits()
            if self.run.next_due_us is None:
                break
        self._check_limits()

    def advance(self, time_us: int) -> None:
        """Lets time pass. Raises Ended."""
        until_us = self.run.now_us + time_us
        while self.run.now_us < until_us:
            self.run.advance(until_us, max_events=EVENTS_AT_ONCE)
            self._check_limits()

    def advance_until(self, condition: Callable[[View], bool], limit_us: int, look_us: int = LOOK_US) -> bool:
        """Advances time until a condition holds, checked every `look_us`. Returns whether it does. Raises Ended."""
        until_us = self.run.now_us + limit_us
        while not condition(self.view):
            if self.run.now_us >= until_us:
                return False
            self.advance(min(look_us, until_us - self.run.now_us))
        return True

    def _check_limits(self) -> None:
        self._look()
        if self.run.seq > self.limits.events:
            raise Ended(text("verdict.too_many_events", events=self.limits.events))
        if self.run.now_us > self.limits.time_us:
            raise Ended(text("verdict.too_long", seconds=self.limits.time_us // 1_000_000))

    def _look(self) -> None:
        for envelope, _, _ in self.run.take():
            for watcher in self.watchers:
                watcher(envelope)

    # the end

    def release_holds(self) -> None:
        """Releases the fetches that lines of this trial hold. Raises Ended."""
        for typed in list(self.typed):
            if typed.line.startswith("hold fetch") and not _is_released(self.typed, typed.line):
                self.type(typed.line.replace("hold", "release", 1).rstrip(" &"))

    def heal(self, limit_us: int) -> bool:
        """Reverts every fault, and waits until all replicas are in sync. Returns whether they are. Raises Ended."""
        self.release_holds()
        until_us = self.run.now_us + limit_us
        restarted = False
        while complaints(self.view):
            if self.run.now_us >= until_us:
                return False
            for line in repair_commands(self.view):
                self.type(f"{line} &")
            self.advance(8 * LOOK_US)
            if not restarted and self.run.now_us > until_us - limit_us // 2:
                # before KIP-380 a controller does not notice a broker that restarts at once
                restarted = True
                for broker_id in missing_brokers(self.view):
                    self.type(f"broker kill {broker_id} &")
        return True


def _is_released(typed: Sequence[Typed], hold: str) -> bool:
    """Whether the last line about these fetches releases them."""
    what = hold.split()[1:4]
    lines = [each.line.split() for each in typed]
    last = next(words for words in reversed(lines) if words[1:4] == what and words[0] in ("hold", "release"))
    return last[0] == "release"


def led_by(view: View, partition: str) -> str | None:
    """The node of a partition's leader, None without one."""
    leader = view["partitions"][partition]["leader"] if partition in view["partitions"] else -1
    return None if leader < 0 else broker_node(leader)


def leader_id(view: View, partition: str) -> int | None:
    """The id of a partition's leader, None without one."""
    node = led_by(view, partition)
    return None if node is None else broker_id_of(node)
