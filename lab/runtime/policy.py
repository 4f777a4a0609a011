"""How long unused labs of a run stay awake, and whether applications may connect."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LabPolicy:
    """The policy of a run. `pause_s`: how long a lab plays without a page of a user who may act on it; `sleep_s`: how
    long it then keeps its engine. `has_ports`: its brokers listen on TCP ports whenever the engine runs, otherwise on
    request. `is_shared`: one of many on this machine, so that it waits for its turn to wake, and does less while the
    server is overloaded.
    """

    pause_s: float
    sleep_s: float
    has_ports: bool
    is_shared: bool = False


ALONE = LabPolicy(pause_s=60.0, sleep_s=600.0, has_ports=True)
IN_CLASS = LabPolicy(pause_s=60.0, sleep_s=120.0, has_ports=False, is_shared=True)
"""Forty labs of a class share one machine."""
AFTER_CLASS = LabPolicy(pause_s=5.0, sleep_s=30.0, has_ports=False, is_shared=True)
"""When a class has ended all leave: dozens of labs without a page would play on beside the next class."""
AT_ONCE_S = 1.0
"""In place of both times while the server is behind."""
