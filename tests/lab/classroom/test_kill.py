"""`kill -9` of a class at any instant: no answered act is lost, none is done twice, and what pages
were shown is what is replayed (acceptance statement 20). Of `manage.py lab`, with its pages and labs.
"""

import asyncio
import hashlib
import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from devtools.rehearsal.door import join, start_class
from devtools.rehearsal.figures import Figures
from devtools.rehearsal.learners import Learner
from devtools.rehearsal.patience import patience
from devtools.rehearsal.people import Arrivals, Board
from devtools.rehearsal.taught import until
from devtools.rehearsal.visitor import Visitor
from devtools.tour.lab_process import LabProcess
from lab.classroom.audio.wave import RATE, wave
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

FEWEST = 10
"""Kills, also without `make soak`."""
BACK_S = 10.0
"""From the first answer of the server that was started again. The class bench measures from the kill on."""
US = 1_000_000
LINES = ("producer open mine --acks 1", "producer send mine orders-0 a:1 b:2")


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
    """Acceptance statement 20: 100 kills in `make soak`, ten otherwise."""
    draw = random.Random(7)
    killed = Killed(tmp_path / "class")
    for seed in range(max(FEWEST, rounds(100))):
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


class TaughtClass:
    """A class of `manage.py lab`: the instructor's board, and three learners who have a page of it and one of their
    lab.
    """

    def __init__(self, process: LabProcess) -> None:
        self.process = process
        self.figures, self.arrivals = Figures(), Arrivals()
        self.learners: list[Learner] = []
        self._pieces = 0

    @asynccontextmanager
    async def begun(self) -> AsyncIterator[None]:
        """All are there, and their pages are read, until the end of the block."""
        address = await asyncio.to_thread(self.process.start)
        server = address.partition("/sign-in")[0]
        teacher = Visitor(server)
        await teacher.get(address)
        given = await start_class(teacher, "Killed", "022-leo-and-hw")
        self.token = await teacher.token(f"/classes/{given.slug}/")
        self.board = Board(teacher, given.slug, "board", self.figures, self.arrivals)
        reading = [asyncio.create_task(self.board.stay())]
        try:
            for number in range(3):
                visitor = Visitor(server)
                await join(visitor, given, f"Learner {number}")
                learner = Learner(visitor, given.slug, "lab", self.figures, self.arrivals)
                self.learners.append(learner)
                reading.append(asyncio.create_task(learner.stay()))
            await self.are_back()
            yield
        finally:
            for task in reading:
                task.cancel()
            await asyncio.gather(*reading, return_exceptions=True)

    async def are_back(self) -> None:
        """All pages show the class."""
        async with patience("the pages of a class"):
            await asyncio.gather(*(page.ready.wait() for page in (self.board, *self.learners)))

    async def kill(self) -> None:
        """Kills the server while learners act, and starts it again."""
        for page in (self.board, *self.learners):
            page.ready.clear()
        await asyncio.to_thread(self.process.kill)
        for page in (self.board, *self.learners):
            page.ready.clear()
        await asyncio.to_thread(self.process.start)

    async def upload(self, slices: int) -> None:
        """The sound of a second, up to that slice of two; the second one ends the piece."""
        halves = [wave(bytes(RATE))[: RATE // 2], wave(bytes(RATE))[RATE // 2 :]]
        data, at = halves[slices - 1], f"/api/classes/{self.board.slug}/recording/audio/0"
        query = f"?at_us=0&digest={hashlib.sha256(data).hexdigest()}"
        await self.board.visitor.send("PUT", f"{at}/{slices - 1}{query}", data, "audio/wav", self.token)
        if slices == 2:
            end = json.dumps({"slices": 2, "length_us": US}).encode()
            await self.board.visitor.send("POST", f"{at}/end", end, "application/json", self.token)


async def mark_until(learner: Learner, over: asyncio.Event) -> int:
    """Marks instants, each after the answer to the last one; returns how many were answered."""
    answered = 0
    while not over.is_set():
        assert await learner.act("mark")
        answered += 1
        await asyncio.sleep(0.05)
    return answered


async def kill_in_class(taught: TaughtClass) -> None:
    async with taught.begun():
        board, learners = taught.board, taught.learners
        assert await board.act("set_microphone", on=True)
        for learner in learners:
            await learner.type_lines(*LINES)
            assert await learner.act("raise_hand", at={"lab": await learner.own_lab(), "seq": 1})
        await taught.upload(1)
        stood = [await learner.read_lab() for learner in learners]
        people = [(learner.p, learner.sections["/mine"]["lab"]) for learner in learners]
        over = asyncio.Event()
        marking = [asyncio.create_task(mark_until(learner, over)) for learner in learners]
        await until("marks", lambda: all(learner.sections["/mine"]["marks"] for learner in learners))
        await taught.kill()
        began_s = time.monotonic()
        await taught.are_back()
        assert time.monotonic() - began_s <= BACK_S, "the class and all of its pages are back"
        over.set()
        answered = await asyncio.gather(*marking)
        await taught.upload(2)
        await until("the sound", lambda: board.sections["/audio"]["arrived_us"] > 0)
        assert board.sections["/audio"]["lost_us"] == 0, "the piece has both slices"
        assert [len(learner.sections["/mine"]["marks"]) for learner in learners] == answered, "each act is done once"
        assert all(learner.sections["/mine"]["hand_us"] for learner in learners)
        assert [(learner.p, learner.sections["/mine"]["lab"]) for learner in learners] == people
        stand = [await learner.read_lab() for learner in learners]
        assert [(one["seq"], one["state"]) for one in stand] == [(one["seq"], one["state"]) for one in stood]
        assert all("mine" in json.dumps(one["state"]) for one in stand), "what learners did in their labs is there"


def test_lab_that_is_killed_in_class_has_pages_labs_and_sound_again(tmp_path: Path) -> None:
    """Acceptance statement 20: `manage.py lab` with its sockets, labs and a piece of sound that is half uploaded."""
    process = LabProcess(tmp_path)
    try:
        asyncio.run(kill_in_class(TaughtClass(process)))
    finally:
        process.stop()
