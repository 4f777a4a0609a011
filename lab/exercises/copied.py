"""Runs work in a copy of the process, so that a rehearsal continues unaffected."""

import os
import traceback
from collections.abc import Callable
from contextlib import suppress


def in_a_copy(work: Callable[[], str]) -> str:
    """What `work` returns, done in a copy of this process, which ends with it: what it changes is changed there alone.

    A run cannot be saved while a console command is under way; the operating system copies all of it as it is. Give it
    what computes in memory: no thread, connection or lock is of use in the copy.

    Raises RuntimeError with the traceback of what `work` raised.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            try:
                said = "=" + work()
            except BaseException:
                said = "!" + traceback.format_exc()
            with suppress(OSError), os.fdopen(writing, "w", encoding="utf-8", errors="replace") as answer:
                answer.write(said)
        finally:
            # Nothing that belongs to the process itself, such as its exit handlers, may run twice.
            os._exit(0)
    os.close(writing)
    try:
        with os.fdopen(reading, encoding="utf-8") as answer:
            said = answer.read()
    finally:
        os.waitpid(child, 0)
    if not said.startswith("="):
        raise RuntimeError(said[1:] or "the copy of the process ended without an answer")
    return said[1:]
