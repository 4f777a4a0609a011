"""How a leader that writes the ISR itself notifies the controller (`ReplicaManager.maybePropagateIsrChanges`).

Changes are collected into one child of /isr_change_notification, so that a burst of changes does not become a burst of
requests. Before 0.9 there was no notification.
"""

from typing import Protocol

from broker_core.eras import Era
from broker_core.sim.handlers import TimerHandler
from broker_core.sim.kernel import Kernel

PERIOD_US = 2_500_000
PROPAGATION_BLACKOUT_US = 5_000_000
PROPAGATION_INTERVAL_US = 60_000_000
TIMER = "isr_propagation"


class IsrChangesHost(Protocol):
    """What the notifier needs of its broker."""

    kernel: Kernel
    name: str
    era: Era

    def notify_isr_changes(self, partitions: tuple[str, ...]) -> bool:
        """Writes a notification; says whether that was possible."""


class IsrChanges:
    """The partitions of which the controller does not know yet, looked at every 2.5 s since the broker's start."""

    def __init__(self, host: IsrChangesHost) -> None:
        self.host = host
        self.partitions: dict[str, None] = {}
        self._started_us = 0
        self._last_change_us = 0
        self._last_reported_us = 0
        self._is_waiting = False

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """What it does when each of its timers is due."""
        return {TIMER: self._on_timer}

    def start(self) -> None:
        """The broker is up."""
        self._started_us = self._last_reported_us = self.host.kernel.now_us

    def note(self, partition: str) -> None:
        """The ISR of a partition was changed."""
        if self.host.era.isr.notifies_controller:
            self.partitions[partition] = None
            self._last_change_us = self.host.kernel.now_us
            self._wait()

    def _wait(self) -> None:
        if not self._is_waiting:
            self._is_waiting = True
            now_us = self.host.kernel.now_us
            due_us = now_us + PERIOD_US - (now_us - self._started_us) % PERIOD_US
            self.host.kernel.timer(self.host.name, due_us, TIMER)

    def _on_timer(self, _: None) -> None:
        """Propagates changes that are 5 s old, or all when nothing was propagated for a minute."""
        self._is_waiting = False
        now_us = self.host.kernel.now_us
        is_due = (
            now_us - self._last_change_us > PROPAGATION_BLACKOUT_US
            or now_us - self._last_reported_us > PROPAGATION_INTERVAL_US
        )
        if is_due and self.host.notify_isr_changes(tuple(self.partitions)):
            self.partitions.clear()
            self._last_reported_us = now_us
        if self.partitions:
            self._wait()
