"""The learning logs of this installation: append, read, delete. Thread-safe, for one process.

A learner is named by an opaque id, which is made from the user's number with a key of this installation.
"""

import hmac
import threading
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from django.conf import settings

from broker_core.refusals import KafkaException
from lab.learning.events import (
    AnyEvent,
    PredictionGiven,
    PredictionSettled,
    ReviewAnswered,
    Skipped,
    Stored,
    TransferAnswered,
    UnreadableEvent,
    decode,
    encode,
)
from lab.learning.fold import LearnerState
from lab.learning.journal import LearningJournal, remove_folder
from lab.learning.key import stored_key
from lab.learning.scoring import is_stop
from lab.learning.summarize import summarize
from lab.learning.summary import Summary
from lab.texts.refusal import Refusal

__all__ = ["append", "close_all", "delete_history", "history_of", "learner_id", "state_of", "summary_of", "wall_ms"]

KEY_FILE = "key"
ID_LENGTH = 16


class _Learner:
    """One learner's open log and its folded state."""

    def __init__(self, folder: Path, learner: str) -> None:
        self.lock = threading.RLock()
        self.journal = LearningJournal(folder, learner)
        self.state = LearnerState()
        for seq, at_ms, record in self.journal.read(1):
            try:
                self.state.fold(seq, at_ms, decode(record))
            except UnreadableEvent as error:
                self.state.skip(Skipped(seq, str(error)))


Listener = Callable[[int, AnyEvent], None]
_listeners: list[Listener] = []
_learners: dict[Path, _Learner] = {}
_opening = threading.Lock()


def append(user_id: int, event: AnyEvent, at_ms: int | None = None) -> int:
    """Writes an event of a user; returns its seq. It survives a kill of the process when this returns.

    `at_ms`: the wall time, now if left out. Raises ValueError for a probability that is not one of the stops, and
    Refusal when the event cannot be written.
    """
    _check(event)
    learner = _learner(user_id)
    with learner.lock:
        now_ms = wall_ms() if at_ms is None else at_ms
        try:
            seq = learner.journal.append(encode(event), now_ms)
        except KafkaException as error:
            raise Refusal("refusal.learning_not_saved", 507, problem=error.what or error.message) from error
        learner.state.fold(seq, now_ms, event)
    for listener in list(_listeners):
        listener(user_id, event)
    return seq


def on_append(listener: Listener) -> None:
    """Calls `listener` with each user and event that is written from now on, in the thread that wrote it. It must
    return at once.
    """
    _listeners.append(listener)


def forget_listener(listener: Listener) -> None:
    """Removes a listener that `on_append` added."""
    _listeners.remove(listener)


def summary_of(user_id: int, at_ms: int | None = None) -> Summary:
    """Everything that is shown of a user, at an instant of wall time (now if left out)."""
    learner = _learner(user_id)
    with learner.lock:
        return summarize(learner.state, learner_id(user_id), wall_ms() if at_ms is None else at_ms)


def history_of(user_id: int) -> list[Stored]:
    """A user's events, oldest first. Records of another version are left out; `Summary.skipped` lists them."""
    found = []
    for seq, at_ms, record in _learner(user_id).journal.read(1):
        try:
            found.append(Stored(seq, at_ms, decode(record)))
        except UnreadableEvent:
            continue
    return found


class state_of:
    """`with state_of(user_id) as state`: the folded state of a user, locked. An `append` inside is seen by `state`."""

    def __init__(self, user_id: int) -> None:
        self._learner = _learner(user_id)

    def __enter__(self) -> LearnerState:
        self._learner.lock.acquire()
        return self._learner.state

    def __exit__(self, *_: object) -> None:
        self._learner.lock.release()


def delete_history(user_id: int) -> None:
    """Deletes a user's events, and with them progress, answers and cards. Runs are separate and remain."""
    folder = _folder(user_id)
    with _opening:
        learner = _learners.pop(folder, None)
        if learner is not None:
            with learner.lock:
                learner.journal.close()
        remove_folder(folder)


def close_all() -> None:
    """Closes the logs at the end of the process, so that they open quickly next time."""
    with _opening:
        for learner in _learners.values():
            with learner.lock:
                learner.journal.close()
        _learners.clear()


def learner_id(user_id: int) -> str:
    """The opaque id of a user in this installation."""
    return hmac.new(stored_key(_root() / KEY_FILE), str(user_id).encode(), sha256).hexdigest()[:ID_LENGTH]


def wall_ms() -> int:
    return time.time_ns() // 1_000_000


def _learner(user_id: int) -> _Learner:
    folder = _folder(user_id)
    learner = _learners.get(folder)
    if learner is None:
        with _opening:
            learner = _learners.get(folder)
            if learner is None:
                learner = _learners[folder] = _Learner(folder, folder.name)
    return learner


def _folder(user_id: int) -> Path:
    return _root() / learner_id(user_id)


def _root() -> Path:
    return Path(settings.DATA) / "learning"


def _check(event: AnyEvent) -> None:
    if not isinstance(event, PredictionGiven | PredictionSettled | ReviewAnswered | TransferAnswered):
        return
    # A transfer question may be asked without a confidence: then p is 0.
    is_left_out = isinstance(event, TransferAnswered) and event.p == 0
    if not is_left_out and not is_stop(event.p, event.choices):
        raise ValueError(f"p = {event.p} with {event.choices} choices is not one of the stops")
