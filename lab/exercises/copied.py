"""Runs work in a copy of the process, so that a rehearsal continues unaffected."""

import os
import traceback
from collections.abc import Callable
from contextlib import suppress


def in_a_copy(work: Callable[[], str]) -> str:
    """Returns the result of `work`, run in a copy of this process that ends with it: its changes are not visible here.

    A run cannot be saved while a console command is in progress; the operating system copies the whole process. `work`
    must compute in memory only: threads, connections and locks do not work in the copy.

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
            # Nothing that belongs to the original process, such as its exit handlers, may run twice.
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
