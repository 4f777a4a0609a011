"""The standard input of a process that the lab has started: a pipe whose other end the lab keeps open, so that it is
closed when the lab ends for any reason, for example because it was killed.
"""

import os
import threading
from collections.abc import Callable, Iterator


def chunks() -> Iterator[bytes]:
    """What comes on standard input, until it is closed."""
    # Not from `sys.stdin`, whose lock a waiting thread holds: the process could not end without being aborted.
    while data := os.read(0, 1 << 16):
        yield data


def end_with_stdin(end: Callable[[], object]) -> None:
    """Calls `end`, which ends this process, when standard input is closed. Returns at once: a thread waits for it."""

    def wait() -> None:
        for _ in chunks():
            pass
        end()

    threading.Thread(target=wait, daemon=True, name="standard input").start()
