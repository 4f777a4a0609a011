"""The backend. SQLite has one writer at a time, and a thread that finds it busy tries again after a pause: among many
threads one may find it busy each time, until it gives up ("database is locked"). So transactions of this process wait
for each other in line; other processes are waited for as SQLite does.
"""

import threading
from collections import deque
from typing import Any

from django.db.backends.sqlite3 import base
from django.db.utils import OperationalError

PATIENCE_S = 60.0
"""A transaction takes milliseconds: a thread that waits longer waits for one that does not end."""


class Turns:
    """A lock that is given in order of arrival."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_taken = False
        self._waiting: deque[threading.Lock] = deque()

    def take(self, timeout_s: float) -> bool:
        """Whether it was given in time."""
        with self._lock:
            if not self._is_taken:
                self._is_taken = True
                return True
            mine = threading.Lock()
            mine.acquire()
            self._waiting.append(mine)
        if mine.acquire(timeout=timeout_s):
            return True
        with self._lock:
            if mine not in self._waiting:
                return True
            self._waiting.remove(mine)
            return False

    def give(self) -> None:
        """Passes it to the next one."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_taken = False


_turns = Turns()


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection whose transactions wait for their turn."""

    _has_turn = False

    def _start_transaction_under_autocommit(self) -> None:
        if not self._has_turn and not _turns.take(PATIENCE_S):
            raise OperationalError(f"database is locked: a transaction of this process has run for {PATIENCE_S:.0f} s")
        self._has_turn = True
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]  # not in the stubs
        except BaseException:
            self._end_turn()
            raise

    def _commit(self) -> None:
        try:
            super()._commit()  # type: ignore[misc]  # not in the stubs
        finally:
            self._end_turn()

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]  # not in the stubs
        finally:
            self._end_turn()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]  # not in the stubs
        finally:
            self._end_turn(is_closed=True)

    def _end_turn(self, *, is_closed: bool = False) -> None:
        """Unless the transaction continues, such as after a COMMIT that failed."""
        connection: Any = self.connection
        if self._has_turn and (is_closed or connection is None or not connection.in_transaction):
            self._has_turn = False
            _turns.give()
