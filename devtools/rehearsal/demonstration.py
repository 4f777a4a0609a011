"""The class that newcomers replay: a record that was acknowledged with acks=1 is cut away after a failover.

An instructor leads, points, draws and asks; five learners vote, one asks, one comes on stage. It takes about a minute.
What is said is captioned in both languages, and its sound is a tone at the begin of each caption.
"""

import asyncio
import contextlib
import hashlib
import io
import itertools
import json
import math
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from devtools.rehearsal.figures import Figures
from devtools.rehearsal.people import Arrivals, Participant
from devtools.rehearsal.visitor import ClientConnection, Visitor
from lab.classroom.audio.wave import RATE, wave

TITLE = "A record is acknowledged, then cut"
TOPIC, PARTITION = "ledger", "ledger-0"
ANSWER_S = 60.0
US = 1_000_000
SHOWN_US = 5 * US
"""Time for which a caption is shown, unless the next one starts earlier."""
TONE_US, TONE_HZ, LOUDNESS = US // 10, 800, 40
PIECE_US, OVERLAP_US, LEAD_IN_US = 60 * US, 2 * US, US // 10
SLICE_BYTES = 250_000
_LINK = re.compile(r"/join/([A-Za-z0-9_-]{20,})/")
_LEARNERS = ("Ada", "Noah", "Mei", "Ines", "Omar")
"""The split of a poll is shown from five answers on."""


class Lab:
    """A page of a lab: gives commands and moves time."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._ids = itertools.count(1)
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self.last_seq = self.last_us = 0

    async def read(self) -> None:
        """Acknowledges frames until it is cancelled."""
        async for text in self._connection:
            frame = json.loads(text)
            waiting = self._waiting.pop(frame.get("id") or "", None)
            if waiting is not None and not waiting.done():
                waiting.set_result(None)
            if frame["k"] in ("d", "snap"):
                self.last_seq = frame["seq"] if frame["k"] == "snap" else frame["ev"][-1][0]
                self.last_us = frame["at_us"] if frame["k"] == "snap" else frame["ev"][-1][1]
                await self._connection.send(json.dumps({"k": "ack", "seq": self.last_seq}))

    async def ask(self, k: str, **fields: Any) -> None:
        """A frame that is answered."""
        id = f"d{next(self._ids)}"
        answered = self._waiting[id] = asyncio.get_running_loop().create_future()
        await self._connection.send(json.dumps({"k": k, "id": id, **fields}))
        await asyncio.wait_for(answered, ANSWER_S)


class Instructor(Participant):
    """The page of the instructor: knows the time of the class."""

    _told: asyncio.Future[int] | None = None

    async def class_us(self) -> int:
        """The time of the class."""
        self._told = asyncio.get_running_loop().create_future()
        await self.send({"k": "time", "ms": 0})
        return await asyncio.wait_for(self._told, ANSWER_S)

    async def _take(self, frame: dict[str, Any]) -> None:
        if frame["k"] == "time" and self._told is not None and not self._told.done():
            self._told.set_result(frame["class_us"])
        await super()._take(frame)


class Narrator:
    """Types captions in both languages, and makes their sound: a tone at the start of each."""

    def __init__(self, board: Instructor, token: str) -> None:
        self._board, self._token = board, token
        self._recording = f"/api/classes/{board.slug}/recording"
        self._began_us: list[int] = []

    async def tell(self, english: str, chinese: str) -> None:
        """Says it now."""
        # Captions have whole milliseconds.
        now_us = await self._board.class_us() // 1_000 * 1_000
        self._began_us.append(now_us)
        for language, text in (("en", english), ("zh-CN", chinese)):
            cue = {"from_us": now_us, "to_us": now_us + SHOWN_US, "text": text}
            await self._send("POST", f"captions/{language}/cues", json.dumps(cue).encode(), "application/json")

    async def sound(self) -> None:
        """Sends the sound of everything that was said, in pieces of a minute."""
        end_us = await self._board.class_us()
        for at_us in range(self._began_us[0] - LEAD_IN_US, end_us, PIECE_US):
            length_us = min(PIECE_US + OVERLAP_US, end_us - at_us)
            await self._piece(at_us, wave(_tones([us - at_us for us in self._began_us], length_us)), length_us)
        spans = [[us, us + TONE_US] for us in self._began_us]
        await self._send("POST", "audio/voice", json.dumps({"spans": spans}).encode(), "application/json")

    async def _piece(self, at_us: int, data: bytes, length_us: int) -> None:
        slices = [data[at : at + SLICE_BYTES] for at in range(0, len(data), SLICE_BYTES)]
        for index, one in enumerate(slices):
            query = f"?at_us={at_us}&digest={hashlib.sha256(one).hexdigest()}"
            await self._send("PUT", f"audio/{at_us // 1_000}/{index}{query}", one, "audio/wav")
        body = json.dumps({"slices": len(slices), "length_us": length_us}).encode()
        await self._send("POST", f"audio/{at_us // 1_000}/end", body, "application/json")

    async def _send(self, method: str, path: str, data: bytes, kind: str) -> None:
        await self._board.visitor.send(method, f"{self._recording}/{path}", data, kind, self._token)


def _tones(begins_us: list[int], length_us: int) -> bytes:
    """Samples of `length_us` of silence with a tone at each of these instants."""
    samples = bytearray(b"\x80" * (length_us * RATE // US))
    for begin_us in begins_us:
        begin = begin_us * RATE // US
        for at in range(max(0, begin), min(len(samples), begin + TONE_US * RATE // US)):
            samples[at] = 128 + round(LOUDNESS * math.sin(2 * math.pi * TONE_HZ * (at - begin) / RATE))
    return bytes(samples)


class Demonstration:
    """Teaches the class on a server."""

    def __init__(self, address: str, say: Callable[[str], None]) -> None:
        """`address`: the one that signs the instructor in."""
        self._sign_in, self._server = address, re.sub(r"/sign-in/.*", "", address)
        self._say = say
        self._figures, self._arrivals = Figures(), Arrivals()
        self._staying: list[asyncio.Task[None]] = []

    async def run(self) -> bytes:
        """Returns the recording as a file."""
        instructor = Visitor(self._server)
        await instructor.get(self._sign_in)
        languages = {"language-en": "on", "language-zh-CN": "on"}
        home = await instructor.post("/classes/", "/classes/new", title=TITLE, **languages)
        slug, link = home.url.rstrip("/").rpartition("/")[2], _LINK.search(home.text)
        assert link is not None, "the page of the class shows no link"
        lab = re.search(r'href="/r/([a-z0-9]+/[a-z0-9-]+)"', home.text)
        assert lab is not None, "the instructor has a lab"
        board = Instructor(instructor, slug, "board", self._figures, self._arrivals)
        await self._enter(board)
        narrator = Narrator(board, await instructor.token(f"/classes/{slug}/"))
        learners = [await self._join(slug, link[1], name) for name in _LEARNERS]
        try:
            async with instructor.socket(f"/ws/runs/{lab[1]}/") as connection:
                await connection.send(json.dumps({"k": "hello", "v": 1, "schema": "", "have": 0, "boot": ""}))
                led = Lab(connection)
                self._stay(led.read())
                await board.act("set_microphone", on=True)
                await _Story(board, led, lab[1], learners, narrator, self._say).tell()
                await narrator.sound()
                await board.act("set_microphone", on=False)
            await instructor.post(f"/classes/{slug}/", f"/classes/{slug}/end", confirm="yes")
            return await instructor.file(f"/api/classes/{slug}/recording/export")
        finally:
            for task in self._staying:
                task.cancel()
            await asyncio.gather(*self._staying, return_exceptions=True)

    async def _join(self, slug: str, link: str, name: str) -> Participant:
        visitor = Visitor(self._server)
        await visitor.post(f"/join/{link}/", f"/join/{link}/", name=name, consent="nickname")
        # The lab of a learner is made when they open the class's page.
        await visitor.get(f"/classes/{slug}/")
        person = Participant(visitor, slug, "lab", self._figures, self._arrivals)
        await self._enter(person)
        return person

    async def _enter(self, person: Participant) -> None:
        self._stay(person.stay())
        await person.ready.wait()

    def _stay(self, staying: Any) -> None:
        self._staying.append(asyncio.ensure_future(staying))


class _Story:
    """What happens, in order."""

    def __init__(
        self,
        board: Participant,
        lab: Lab,
        address: str,
        learners: list[Participant],
        narrator: Narrator,
        say: Callable[[str], None],
    ) -> None:
        self._board, self._lab, self._address, self._learners, self._say = board, lab, address, learners, say
        self._told = narrator.tell
        self._term = 0

    async def tell(self) -> None:
        """From the first chapter to the last."""
        await self._board.act("take_lead", lab=self._address)
        self._term = 1
        await self._healthy()
        await self._acknowledged()
        await self._crash()
        await self._cut()
        await self._stage()

    async def _healthy(self) -> None:
        await self._chapter("Three replicas in sync")
        await self._told(
            "Three brokers, and each partition has three replicas. All of them are in sync.",
            "三个 broker，每个分区有三个副本，全部处于同步状态。",
        )
        await self._play(2)
        # The cluster of an open lab has a producer that sends all the time.
        await self._line("producer close p1", 1)
        await self._line(f"kafka-topics.sh --create --topic {TOPIC} --replica-assignment 1:2:3")
        await self._look(PARTITION)
        await self._told("A producer sends three records with acks=1.", "生产者以 acks=1 发送三条记录。")
        await self._line("producer open p2 --acks 1", 1)
        for record in ("anna:10", "bill:5", "cora:7"):
            await self._line(f"producer send p2 {PARTITION} {record}", 1.5)
        await self._told("Each of them is on the leader and on both followers.", "每条记录都在首领和两个跟随者上。")
        await self._point(f"record:{PARTITION}@b1:2", f"record:{PARTITION}@b2:2", f"record:{PARTITION}@b3:2")

    async def _acknowledged(self) -> None:
        await self._chapter("Acknowledged by the leader alone")
        await self._told(
            "Now the fetches of the followers are held: they copy nothing more.",
            "现在扣住跟随者的拉取请求，它们不再复制。",
        )
        for follower in (2, 3):
            await self._line(f"hold fetch {follower} 1", 0.5)
        await self._line(f"producer send p2 {PARTITION} dora:12", 2)
        await self._time("pause")
        await self._told(
            "dora:12 is acknowledged, and it is on broker 1 alone.", "dora:12 已被确认，但只在 broker 1 上。"
        )
        await self._point(f"record:{PARTITION}@b1:3")
        await self._board.act("draw", anchor=f"record:{PARTITION}@b1:3", points=_ring())
        await asyncio.sleep(2)
        question = {
            "form": "choice",
            "text": "Broker 1 crashes now. Where does its log end when it is back?",
            "lang": "en",
        }
        choices = ["it keeps offset 3", "it is cut to offset 3", "it is empty"]
        await self._board.act("make_poll", **question, choices=choices, right="1")
        await self._board.act("open_poll", poll=1)
        await self._told(
            "Broker 1 crashes now. Where does its log end when it is back?",
            "broker 1 现在崩溃。它恢复后日志在哪里结束？",
        )
        for learner, answer, sure in zip(self._learners, "01101", (90, 60, 70, 80, 50), strict=True):
            await asyncio.sleep(1)
            await learner.act("vote", poll=1, answer=answer, sure=sure)
        await asyncio.sleep(1)
        await self._board.act("close_poll", poll=1)

    async def _crash(self) -> None:
        await self._chapter("Broker 1 crashes")
        await self._board.act("clear_ink")
        await self._line("broker kill 1", 0.2)
        await self._told("Broker 1 is killed, and broker 2 becomes the leader.", "broker 1 被终止，broker 2 成为首领。")
        await self._play(4)
        await asyncio.sleep(8)
        await self._point(f"replica:{PARTITION}@b2", f"replica:{PARTITION}@b3")
        await self._told(
            "A new record, emil:3, takes the offset that dora:12 had.", "新记录 emil:3 占用了 dora:12 原来的位移。"
        )
        await self._line("producer open p3 --acks all", 0.5)
        await self._line(f"producer send p3 {PARTITION} emil:3", 2)
        at = {"lab": self._own_lab(0), "seq": 1, "at_us": 0}
        await self._learners[0].act("ask", text="Why was dora:12 acknowledged at all?", lang="en", at=at, named=True)
        await asyncio.sleep(3)
        await self._board.act("answer", question=1, how="aloud")

    async def _cut(self) -> None:
        await self._chapter("Cut to where the epochs agree")
        for follower in (2, 3):
            await self._line(f"release fetch {follower} 1", 0.5)
        await self._told(
            "Broker 1 returns and asks the leader where its epoch ended.", "broker 1 恢复，询问首领它的纪元在哪里结束。"
        )
        await self._line("broker start 1", 8)
        await self._time("pause")
        await self._told(
            "From offset 3 on its log is cut. dora:12 was acknowledged, and it is lost.",
            "从位移 3 起它的日志被截断。dora:12 已被确认，却丢失了。",
        )
        await self._board.act("draw", anchor=f"record:{PARTITION}@b1:3", points=_ring())
        await self._point(f"record:{PARTITION}@b1:3")
        for op in ("show_split", "end_poll"):
            await self._board.act(op, poll=1)
            await asyncio.sleep(2)
        await self._board.act("clear_ink")

    async def _stage(self) -> None:
        await self._chapter("Noah tries acks=all")
        await self._told("Noah tries the same with acks=all.", "Noah 用 acks=all 再试一次。")
        noah = self._learners[1]
        await self._board.act("ask_stage", p="p3")
        await noah.act("answer_stage", accepted=True, named=True, recorded=True)
        async with noah.visitor.socket(f"/ws/runs/{self._own_lab(1)}/") as connection:
            await connection.send(json.dumps({"k": "hello", "v": 1, "schema": "", "have": 0, "boot": ""}))
            lab = Lab(connection)
            reading = asyncio.ensure_future(lab.read())
            await lab.ask("time", op="play", value=2)
            for line in (
                "producer close p1",
                f"kafka-topics.sh --create --topic {TOPIC} --replica-assignment 1:2:3",
                "producer open p2 --acks all",
                f"producer send p2 {PARTITION} dora:12",
            ):
                await lab.ask("do", line=line)
                await asyncio.sleep(2)
            await lab.ask("time", op="pause")
            reading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reading
        await asyncio.sleep(2)
        await self._board.act("clear_stage")
        await asyncio.sleep(1)

    def _own_lab(self, learner: int) -> str:
        return str((self._learners[learner].sections.get("/mine") or {}).get("lab", ""))

    async def _chapter(self, text: str) -> None:
        self._say(text)
        await self._board.act("add_chapter", text=text, lang="en")

    async def _line(self, line: str, wait_s: float = 2.0) -> None:
        await self._lab.ask("do", line=line)
        await asyncio.sleep(wait_s)

    async def _play(self, rate: float) -> None:
        await self._lab.ask("time", op="play", value=rate)

    async def _time(self, op: str) -> None:
        await self._lab.ask("time", op=op)

    async def _look(self, partition: str) -> None:
        view = {
            "branch": self._address,
            "seq": None,
            "at_us": None,
            "mode": "play",
            "rate": 1,
            "screen": "picture",
            "partition": partition,
            "selection": "",
            "ranges": {partition: [0, 8]},
        }
        await self._board.send({"k": "view", "term": self._term, "view": view})

    async def _point(self, *anchors: str) -> None:
        """At one thing after the other, about a second each."""
        for anchor in anchors:
            for step in range(6):
                at = {"u": 200 + 100 * step, "v": 500 + 20 * step}
                await self._board.send({"k": "point", "anchor": anchor, **at, "down": True})
                await asyncio.sleep(0.2)
        await self._board.send({"k": "point", "anchor": anchors[-1], "u": 700, "v": 600, "down": False})


def store_deflated(data: bytes, target: Path) -> int:
    """Stores a zip with its files packed: exports are not, since most of a recording is voice. Returns its size."""
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(target, "w") as packed:
        for entry in source.infolist():
            again = zipfile.ZipInfo(entry.filename, entry.date_time)
            packed.writestr(again, source.read(entry), zipfile.ZIP_DEFLATED, 9)
    return target.stat().st_size


def _ring() -> list[tuple[int, int]]:
    """A stroke around a thing, in thousandths of its box."""
    sides = [(500, -200), (950, -100), (1150, 300), (1100, 800), (700, 1150), (200, 1100), (-150, 700), (-100, 100)]
    return [*sides, sides[0]]
