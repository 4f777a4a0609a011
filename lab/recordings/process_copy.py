"""Saves something large in a copy of this process (`fork`): the copy has the state of that instant, at the cost of
copying page tables, and the process continues.

The copy has no thread but the one that made it, and closes all descriptors that it inherited at once: a socket or a
port must not stay open because of a copy. It reads and writes files, and ends without any clean-up of Python.
"""

import gc
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn, TypeVar

T = TypeVar("T")

SAVED = 0
FAILED = 1
DISCARDED = 3
MAX_S = 300.0
"""A copy that takes longer is ended: it waits for something that only another thread could do."""
_MAX_DESCRIPTORS = 1 << 20
_NICENESS = 10


class ProcessCopy:
    """One copy. Between the two steps it asks whether to continue; `attend` answers and must be called."""

    def __init__(self, first: Callable[[], T | None], second: Callable[[T], None], *, is_awaited: bool = False) -> None:
        """Makes it. In the copy `first` runs, then, if the answer is yes, `second` with what `first` returned. If that
        is None, the copy ends. `is_awaited`: a user waits for the second step, which otherwise runs with low
        priority.
        """
        self._question, ask = os.pipe()
        answer, self._answer = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _work(ask, answer, first, second, 0 if is_awaited else _NICENESS)
        os.close(ask)
        os.close(answer)

    def attend(self, may_continue: Callable[[], bool]) -> bool:
        """Waits for the copy; returns whether it did both steps. Raises OSError if it failed."""
        try:
            if self._has_asked():
                os.write(self._answer, b"1" if may_continue() else b"0")
            if not self._has_ended():
                os.kill(self._pid, signal.SIGKILL)
        finally:
            os.close(self._question)
            os.close(self._answer)
            code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        if code not in (SAVED, DISCARDED):
            raise OSError(f"a checkpoint was not saved: the process that saves it ended with {code}")
        return code == SAVED

    def _has_asked(self) -> bool:
        return self._is_readable() and bool(os.read(self._question, 1))

    def _has_ended(self) -> bool:
        """The copy has its end of the pipe open as long as it lives."""
        return self._is_readable()

    def _is_readable(self) -> bool:
        # Not `select`, which knows the first 1,024 descriptors only.
        poll = select.poll()
        poll.register(self._question, select.POLLIN)
        return bool(poll.poll(MAX_S * 1_000))


def _work(ask: int, answer: int, first: Callable[[], T | None], second: Callable[[T], None], niceness: int) -> NoReturn:
    code = FAILED
    try:
        gc.disable()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _close_all_but(sys.stderr.fileno() if sys.stderr is not None else 2, ask, answer)
        result = first()
        if result is not None and _may_continue(ask, answer):
            os.nice(niceness)
            second(result)
            code = SAVED
        else:
            code = DISCARDED
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _may_continue(ask: int, answer: int) -> bool:
    os.write(ask, b"?")
    return os.read(answer, 1) == b"1"


def _close_all_but(*kept: int) -> None:
    start = 0
    for descriptor in sorted(kept):
        os.closerange(start, descriptor)
        start = descriptor + 1
    os.closerange(start, _MAX_DESCRIPTORS)
