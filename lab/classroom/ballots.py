"""The ballot box of an anonymous poll.

A vote carries a code instead of its voter: a MAC of the participant under a key that is destroyed when the poll ends. A
later vote of the same person can be matched, but not attributed. Votes are released shuffled, five at a time or when
the round closes, so that their time does not identify the voter.
"""

import hmac
import secrets
from hashlib import sha256
from pathlib import Path
from random import SystemRandom
from typing import Generic, TypeVar

from lab.classroom.events.poll import Voted

BATCH = 5
KEY_BYTES = 32
CODE_DIGITS = 20

W = TypeVar("W")


class BallotBox(Generic[W]):
    """Votes of one poll that are not written yet, each with its waiter (`W`)."""

    def __init__(self, path: Path) -> None:
        """`path`: the key file, created if it does not exist. The key is neither in the log nor in the database."""
        self._path = path
        self._votes: dict[str, tuple[Voted, list[W]]] = {}
        try:
            self._key = path.read_bytes()
        except FileNotFoundError:
            self._key = b""
        if len(self._key) != KEY_BYTES:
            # No key yet, or one truncated by a crash before the first vote.
            self._key = secrets.token_bytes(KEY_BYTES)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self._key)

    def __len__(self) -> int:
        return len(self._votes)

    def put(self, vote: Voted, waits: W) -> None:
        """Adds a vote whose `voter` is a participant. A later vote of the same person replaces it."""
        code = hmac.new(self._key, vote.voter.encode(), sha256).hexdigest()[:CODE_DIGITS]
        waiting = self._votes.pop(code, (vote, []))[1]
        hidden = Voted(poll=vote.poll, round=vote.round, voter=code, answer=vote.answer, sure=vote.sure)
        self._votes[code] = hidden, [*waiting, waits]

    def take(self, *, closes: bool) -> tuple[list[Voted], list[W]]:
        """The votes to write now, shuffled: all of them if there are at least five or the round closes."""
        if not self._votes or (not closes and len(self._votes) < BATCH):
            return [], []
        taken = list(self._votes.values())
        self._votes.clear()
        SystemRandom().shuffle(taken)
        return [vote for vote, _ in taken], [waits for _, all_waits in taken for waits in all_waits]

    def destroy(self) -> list[W]:
        """Destroys the key and the unwritten votes; returns their waiters."""
        self._path.unlink(missing_ok=True)
        self._key = b""
        waiting = [waits for _, all_waits in self._votes.values() for waits in all_waits]
        self._votes.clear()
        return waiting
