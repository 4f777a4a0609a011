"""`kill -9` of a class at any instant: no answered act is lost, none is done twice, and what pages
were shown is what is replayed (acceptance statement 20).
"""

import asyncio
import json
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lab.classroom.events import CLASS
from lab.classroom.events.poll import Voted
from lab.classroom.events.tape import Marked
from lab.classroom.folds import fold
from lab.classroom.journal import ClassJournal
from lab.classroom.room import Room
from lab.classroom.state import State
from lab.classroom.writer import KEYS
from tests.support.classroom.memory_class import NoWords
from tests.support.paths import ROOT


class Killed:
    """A class that is killed and started again, and the state of its clients."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.unanswered: dict[str, None] = {}
        self.answered: dict[str, int] = {}
        self.seen: list[Any] = []
        """Events that a page got, as `[seq, at_us, who, act, [kind, ...]]`."""

    def run(self, seed: int, answers: int) -> None:
        """Starts the class, lets it answer about `answers` acts, kills it."""
        module = "tests.support.classroom.scripted_class"
        process = subprocess.Popen(
            [sys.executable, "-m", module, str(self.folder), str(seed)],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write("\n".join(self.unanswered))
            process.stdin.close()
            for line in process.stdout:
                answers -= self._heard(line)
                if answers <= 0:
                    break
        finally:
            process.send_signal(signal.SIGKILL)
        for line in process.stdout:
            self._heard(line)
        process.stdout.close()
        assert process.wait() == -signal.SIGKILL, "it ran until it was killed"

    def _heard(self, line: str) -> bool:
        """A line of the process, which may be torn by the kill."""
        if not line.endswith("\n"):
            return False
        if line.startswith("saw "):
            self.seen.append(json.loads(line.removeprefix("saw ")))
            return False
        word, sent, *rest = line.split()
        if word == "sent":
            self.unanswered[sent] = None
            return False
        self.unanswered.pop(sent, None)
        if word != "no":
            self.answered[sent] = int(rest[0])
        return True


@pytest.mark.soak
def test_no_answered_act_is_lost_or_duplicated(tmp_path: Path, rounds: Callable[[int], int]) -> None:
    """Acceptance statement 20: 100 kills in `make soak`."""
    draw = random.Random(7)
    killed = Killed(tmp_path / "class")
    for seed in range(rounds(100)):
        killed.run(seed, draw.randrange(1, 300))
    log = {one[0]: one for one in ClassJournal(killed.folder).after(0)}
    assert sorted(log) == list(range(1, len(log) + 1))
    assert all(log[seq][1] <= log[seq + 1][1] for seq in range(1, len(log))), "class time never goes back"
    marks = Counter((who, act) for _, _, who, act, event in log.values() if isinstance(event, Marked))
    assert max(marks.values()) == 1, "an act that was sent again is done once"
    for sent, seq in killed.answered.items():
        who, op, id = json.loads(sent)
        if op == "mark":
            assert log[seq][2:4] == (who, id)
        elif op == "poll":
            assert log[seq][3] == id
    _check_votes(killed, log.values())
    told = {seq: [seq, *json.loads(CLASS.encode(one))] for seq, one in log.items()}
    assert len({event[0] for event in killed.seen}) > len(killed.answered) / 2, "the page was shown what happened"
    assert all(event == told[event[0]] for event in killed.seen), "it is in the log as pages were shown it"
    state = State()
    for one in log.values():
        fold(state, one)
    reopened = ClassJournal(killed.folder).state()
    assert msgspec.json.encode(reopened) == msgspec.json.encode(state)
    asyncio.run(_reopen(killed.folder))
    keys = {int(path.stem) for path in (killed.folder / KEYS).iterdir()}
    assert keys <= {number for number, poll in state.polls.items() if poll.phase != "ended"}, "statement 19"


async def _reopen(folder: Path) -> None:
    room = await Room.open(folder, NoWords())
    await room.close()


def _check_votes(killed: Killed, log: object) -> None:
    answered: Counter[int] = Counter()
    voters: dict[int, set[str]] = {}
    for sent in killed.answered:
        who, op, _ = json.loads(sent)
        if op.startswith("vote"):
            voters.setdefault(int(op[5:]), set()).add(who)
    for poll, people in voters.items():
        answered[poll] = len(people)
    written: dict[int, set[str]] = {}
    for _, _, who, act, event in log:  # type: ignore[attr-defined]
        if isinstance(event, Voted):
            assert (who, act) == ("", "")
            written.setdefault(event.poll, set()).add(event.voter)
    for poll, count in answered.items():
        assert len(written[poll]) >= count, "each answered vote is there, once a person over all starts"
        assert len(written[poll]) <= 14
