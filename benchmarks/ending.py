"""How a bench ends: also when it is terminated, the processes that it started itself are ended before it."""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable

from devtools.processes import process_tree

END_TIMEOUT_S = 60.0
"""Time for a lab to save its state."""
POLL_S = 0.05


def run(main: Callable[[], int | None]) -> None:
    """Runs a bench and ends this process with its exit code. SIGTERM ends it as an exception does: what it has opened
    is closed. Then its remaining processes are terminated.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("the bench was terminated (SIGTERM)"))
    try:
        code = main()
    finally:
        # A second SIGTERM must not interrupt this.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        end_children()
    sys.exit(code)


def end_children() -> None:
    """Terminates the processes that this one has started; those that do not end in time are killed."""
    _signal_children(signal.SIGTERM)
    deadline_s = time.monotonic() + END_TIMEOUT_S
    while _children():
        if time.monotonic() > deadline_s:
            _signal_children(signal.SIGKILL)
        time.sleep(POLL_S)


def _signal_children(number: signal.Signals) -> None:
    for child in _children():
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)


def _children() -> list[int]:
    """The running processes that this one has started, as far as the system lists them."""
    own = os.getpid()
    return [each.pid for each in process_tree(own) if each.parent == own and each.state != "Z"]
