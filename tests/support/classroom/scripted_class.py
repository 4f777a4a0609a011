"""`python -m tests.support.classroom.scripted_class FOLDER`: a class that receives acts until it is killed.

It opens the class in the folder, prints the answers of the acts of before that it sends again (`again ID SEQ`), then
those of new acts (`done ID SEQ`), and each event that a page of the instructor gets (`saw EVENT`). Votes of an
anonymous poll are answered late, as in a class.
"""

import asyncio
import json
import random
import sys
from pathlib import Path

from lab.classroom.acts import At, Given, facts, ops
from lab.classroom.journal import FORMAT, Header
from lab.classroom.room import Room
from lab.texts.refusal import Refusal
from tests.support.classroom.memory_class import ROLES, TEACHER, NoWords
from tests.support.classroom.open_rooms import Chair

LEARNERS = [f"p{number}" for number in range(10, 22)]


async def serve(folder: Path, unanswered: list[str], seed: int) -> None:
    """Acts of all people at once, each after the answer to their last one."""
    room = await Room.open(folder, NoWords(), Header(FORMAT, "killed", wall_ms=1))
    await room.do(Given("room", facts.OpenClass("a-lesson", 4, 8)))
    for p in [*ROLES, *LEARNERS]:
        role = ROLES.get(p, "learner")
        await room.do(Given("room", facts.SetPerson(p, role, lab=f"run-{p}/main")))  # type: ignore[arg-type]
    draw = random.Random(seed)
    page = Chair(room, TEACHER)
    await asyncio.gather(
        _watch(page),
        *(_send(room, sent, "again") for sent in unanswered),
        _teach(room, draw),
        *(_learn(room, p, draw) for p in LEARNERS),
    )


async def _watch(page: Chair) -> None:
    """Reads all frames, as a page does."""
    while True:
        frame = json.loads(await page.outbox.next())
        if "upto" in frame:
            page.outbox.acknowledge(frame["upto"])
        for event in frame.get("ev", ()):
            print("saw", json.dumps(event, separators=(",", ":")), flush=True)


async def _send(room: Room, sent: str, word: str) -> None:
    who, op, id = json.loads(sent)
    try:
        seq = await room.do(Given(who, _act(who, op), id, (1, 2, 3)))
    except Refusal as refusal:
        print(f"no {sent} {refusal.status}", flush=True)
    else:
        print(f"{word} {sent} {seq}", flush=True)


def _act(who: str, op: str) -> ops.AnyAct:
    name, _, rest = op.partition(":")
    match name:
        case "hand":
            return ops.RaiseHand(At(f"run-{who}/main"))
        case "lower":
            return ops.LowerHand()
        case "mark":
            return ops.MarkNow()
        case "pace":
            return ops.SetPace(int(rest))
        case "poll":
            return ops.MakePoll("choice", "?", "en", ("a", "b"), True, False)
        case "open":
            return ops.OpenPoll(int(rest))
        case "close":
            return ops.ClosePoll(int(rest))
        case "vote":
            return ops.CastVote(int(rest), "0")
    raise ValueError(op)


async def _do(room: Room, who: str, op: str, number: int, draw: random.Random) -> None:
    sent = json.dumps([who, op, f"{number}-{draw.getrandbits(60):x}"], separators=(",", ":"))
    print(f"sent {sent}", flush=True)
    await _send(room, sent, "done")


async def _learn(room: Room, p: str, draw: random.Random) -> None:
    number = 0
    while True:
        number += 1
        op = draw.choice(["hand", "lower", "mark"])
        await _do(room, p, op, number, draw)
        poll = room_poll.get("open", 0)
        if poll and draw.random() < 0.3:
            await _do(room, p, f"vote:{poll}", number, draw)


room_poll: dict[str, int] = {}


async def _teach(room: Room, draw: random.Random) -> None:
    poll = await room.read(lambda state: len(state.polls))
    if poll:
        await _do(room, TEACHER, f"close:{poll}", 0, draw)
    for number in range(1_000_000):
        await _do(room, TEACHER, f"pace:{number % 4}", number, draw)
        if number % 10 == 0:
            poll += 1
            await _do(room, TEACHER, "poll", number, draw)
            await _do(room, TEACHER, f"open:{poll}", number, draw)
            room_poll["open"] = poll
        if number % 10 == 8:
            room_poll["open"] = 0
            await _do(room, TEACHER, f"close:{poll}", number, draw)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), sys.stdin.read().splitlines(), int(sys.argv[2])))
