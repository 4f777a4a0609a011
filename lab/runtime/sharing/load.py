"""Load shedding: an overloaded server reduces its work for classes step by step until the load falls.

It is overloaded while its event loop is late. Events of a class, answers, a learner's own commands and sound are never
reduced.
"""

import logging
from collections.abc import Callable

logger = logging.getLogger(__name__)

LATE_S = 0.05
"""The loop is late from this on."""
LATE_FOR_S = 3.0
"""How long it must be late before the next step is added."""
CALM_FOR_S = 30.0
"""How long it must be in time before the last step is removed."""

TILES_SLOWER, POINTER_SLOWER, FOLLOWERS_SLOWER, LABS_SLEEP, RATE_LIMITED, WAKES_ONE, LOOKERS_SLOWEST, OBSERVERS_WAIT = (
    range(1, 9)
)
STEPS = (
    "thumbnails of labs every 2 s",
    "pointers every 250 ms",
    "views of followed labs every 250 ms",
    "labs without pages sleep at once",
    "learners' labs at most in real time",
    "labs wake one at a time",
    "views of followed labs every 1 s",
    "new observers wait",
)
"""The reduction that each step adds, for the log of the server."""


class Load:
    """The current `step` of STEPS, 0 for none. Use it from the event loop; any thread may read `step`."""

    def __init__(self) -> None:
        self.step = 0
        self._late_since_s: float | None = None
        self._calm_since_s: float | None = None
        self._listeners: list[Callable[[int], None]] = []

    def on_change(self, listener: Callable[[int], None]) -> Callable[[], None]:
        """Calls a listener now and with each new step; returns a function that removes it."""
        self._listeners.append(listener)
        listener(self.step)
        return lambda: self._listeners.remove(listener)

    def measured(self, late_s: float, now_s: float) -> None:
        """The loop came so late at an instant of the monotonic clock."""
        if late_s >= LATE_S:
            self._calm_since_s = None
            if self._late_since_s is None:
                self._late_since_s = now_s
            elif now_s - self._late_since_s >= LATE_FOR_S and self.step < len(STEPS):
                self._late_since_s = now_s
                self._change(self.step + 1)
            return
        self._late_since_s = None
        if self._calm_since_s is None:
            self._calm_since_s = now_s
        elif now_s - self._calm_since_s >= CALM_FOR_S and self.step:
            self._calm_since_s = now_s
            self._change(self.step - 1)

    def reset(self) -> None:
        """Nothing is left out: the classes have ended."""
        self._late_since_s = self._calm_since_s = None
        if self.step:
            self._change(0)

    def _change(self, step: int) -> None:
        if step > self.step:
            logger.warning("The server is behind. It leaves out for classes from now on: %s.", STEPS[step - 1])
        elif self.step:
            logger.warning("The server is calm. It does again what it left out: %s.", STEPS[self.step - 1])
        self.step = step
        for listener in list(self._listeners):
            listener(step)

    @property
    def tiles_s(self) -> float:
        """Between two pictures of a wall."""
        return 2.0 if self.step >= TILES_SLOWER else 0.5

    @property
    def pointer_hz(self) -> int:
        return 4 if self.step >= POINTER_SLOWER else 10

    @property
    def beat_s(self) -> float:
        """Interval between two frames of a lab for watchers who cannot act."""
        if self.step >= LOOKERS_SLOWEST:
            return 1.0
        return 0.25 if self.step >= FOLLOWERS_SLOWER else 0.1

    @property
    def sleeps_at_once(self) -> bool:
        """Whether a class's lab stops its engine as soon as no page of its owner shows it."""
        return self.step >= LABS_SLEEP

    @property
    def max_rate(self) -> float:
        """Simulated seconds a second, of learners' labs."""
        return 1.0 if self.step >= RATE_LIMITED else float("inf")

    @property
    def wakes_at_once(self) -> int:
        """Engines of classes that are built at the same time."""
        return 1 if self.step >= WAKES_ONE else 2

    @property
    def accepts_observers(self) -> bool:
        return self.step < OBSERVERS_WAIT


load = Load()
"""The load of this process."""
