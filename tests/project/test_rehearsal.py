"""A rehearsed class: who is in it, what its figures say, and that a learner does a lesson with its own solution."""

import asyncio
import random
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from devtools.rehearsal.abuse import Guesses
from devtools.rehearsal.door import join, start_class
from devtools.rehearsal.faults import Fault
from devtools.rehearsal.figures import Figures
from devtools.rehearsal.guesses import CONNECTIONS, Guessed
from devtools.rehearsal.learners import Learner, Manner, first_of
from devtools.rehearsal.manners import people_of
from devtools.rehearsal.narrow import NarrowPage, narrowed
from devtools.rehearsal.patience import patience
from devtools.rehearsal.people import Arrivals, Board, Leader, clock_ms
from devtools.rehearsal.spells import Spells, acts_ratio, worst_observer
from devtools.rehearsal.visitor import Visitor
from devtools.tour.lab_process import LabProcess
from lab.actions.classes.lessons.start import lesson_of


def test_names_say_who_gets_stuck_and_who_leaves() -> None:
    people = list(people_of(learners=10, active=3, stuck=4, leaving=2, class_s=300))
    assert [person.name.partition(" ")[2].partition(" ")[2] for person in people] == [
        "", "", "", "", "leaves", "leaves", "idle", "struggles", "idle", "struggles",
    ]  # fmt: skip
    assert [person.manner.plays_on for person in people] == [True] * 3 + [False] * 7
    assert len({person.manner.pause_s for person in people[:4]}) == 2, "at different speeds"
    assert all(person.manner.leaves_s and sum(person.manner.leaves_s) < 300 for person in people[4:6])
    assert [person.name for person in people_of(1, 15, 0, 0, 60)] == ["Learner 1"]


def behind(*late: float) -> Spells:
    return Spells(behind=[{"p2": 2.0, "p3": ms} for ms in late])


def test_a_disturbance_is_compared_with_the_later_of_the_quiet_spells() -> None:
    assert worst_observer(behind(30, 33), behind(10, 20), behind(25, 30)) == pytest.approx(1.1)
    assert worst_observer(behind(0.2, 0.9), behind(0.1, 0.1), behind(0.1, 0.1)) == 1, "nobody notices that"
    assert acts_ratio(Spells(acts=[60.0]), Spells(acts=[40.0]), Spells(acts=[50.0])) == pytest.approx(1.2)


def test_acts_of_all_kinds_count_for_the_statement() -> None:
    found = Figures(acts=[10.0] * 10, votes=[20.0] * 10, steps=[400.0]).as_json()
    assert (found["acts"], found["acts_p99_ms"], found["steps_p99_ms"]) == (21, 400, 400)


def test_fault_that_did_not_hold_is_said_so() -> None:
    line = Fault("a flood", "closed never", False).line()
    assert line == "fault: a flood: closed never: DID NOT HOLD"
    assert Figures(faults=[line]).lines()[-1] == "faults that held       0  of 1"
    assert Fault("a flood", "3 sent", None).line() == "fault: a flood: 3 sent: NOT MEASURED"


def test_codes_count_as_looked_up_in_the_same_minute_only_if_the_server_saw_them_within_60_s() -> None:
    early, late = [(0.0, 0.5), (1.0, 1.1)], [(59.0, 59.9), (59.8, 60.2), (61.0, 61.0)]
    guessed = Guessed(looked_up=early + late, refused_ms=[2.0] * 145, guessing_s=1.0)
    assert guessed.looked_up_in_window() == 4, "from the second one on: the first may have been before them"
    assert guessed.a_minute == 9_000
    assert Guessed().looked_up_in_window() == 0


class Door(BaseHTTPRequestHandler):
    """Gives each browser a cookie of its own and refuses every code."""

    protocol_version = "HTTP/1.1"
    browsers: list[str]
    has_enough: threading.Event

    def do_GET(self) -> None:
        self._answer(200, b'<input name="csrfmiddlewaretoken" value="t">')

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.browsers.append(self.headers["Cookie"])
        if len(self.browsers) >= 100:
            self.has_enough.set()
        self._answer(429, b"")

    def _answer(self, status: int, text: bytes) -> None:
        self.send_response(status)
        self.send_header("Set-Cookie", f"door={id(self)}; Path=/")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        pass


def test_codes_are_guessed_by_several_browsers_in_a_process_of_its_own() -> None:
    Door.browsers, Door.has_enough = [], threading.Event()

    async def guess(address: str) -> Guessed:
        guesses = Guesses(address)
        async with patience("guessed codes"), guesses.there():
            over = asyncio.Event()
            guessing = asyncio.create_task(guesses.run(over))
            await asyncio.to_thread(Door.has_enough.wait, 60)
            over.set()
            await guessing
        return guesses.found

    with ThreadingHTTPServer(("127.0.0.1", 0), Door) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            found = asyncio.run(guess(f"http://127.0.0.1:{server.server_port}"))
        finally:
            server.shutdown()
    assert (len(found.refused_ms), found.looked_up) == (len(Door.browsers), [])
    assert len(Door.browsers) >= 100 and 1 < len(set(Door.browsers)) <= CONNECTIONS
    assert found.a_minute > 0


def observed(page: NarrowPage, leader: Leader) -> float:
    page.latest_ms = 0
    page.look(leader)
    return page.latest_ms


def test_page_that_receives_nothing_more_is_behind() -> None:
    figures, arrivals = Figures(), Arrivals()
    visitor = Visitor("http://127.0.0.1:1")
    leader = Leader(Board(visitor, "c", "board", figures, arrivals), figures, None)
    page = NarrowPage(visitor.at("http://127.0.0.1:2"), "c", "lab", figures, arrivals)
    page.set_ms, page.sections["/timer"] = {600: clock_ms() - 9_000}, {"seconds": 600}
    assert observed(page, leader) == 0
    page.set_ms[601] = clock_ms() - 5_000
    assert 5_000 <= observed(page, leader) < 9_000, "the class"
    leader.trace.append((1, time.time() * 1_000 - 9_000))
    assert observed(page, leader) >= 9_000, "the leading lab"


def test_reached_step_is_as_late_on_the_board_as_after_the_page() -> None:
    arrivals = Arrivals()
    assert arrivals.reached("p2", 1) is None
    late_ms = arrivals.reached("p2", 1)
    assert late_ms is not None and 0 <= late_ms < 1_000
    assert arrivals.reached("p2", 1) is None, "it was reached again"


async def fetched_through(link: bytes) -> float:
    """How long it takes to get some bytes over the link of 200 kbit/s, in seconds."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(link)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server, narrowed(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}") as address:
        began_s = time.monotonic()
        reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
        writer.write(b"\n")
        assert await reader.read() == link
        writer.close()
        return time.monotonic() - began_s


def test_narrow_link_passes_25_kb_a_second() -> None:
    assert 0.5 <= asyncio.run(fetched_through(bytes(12_500))) < 5


class Lesson:
    """One learner, who does a lesson without a rest."""

    def __init__(self, process: LabProcess, slug: str) -> None:
        self._process, self._slug = process, slug
        self.figures = Figures()

    async def signs(self) -> dict[str, str]:
        """The signs of the learner's steps on the board, when the learner has done the lesson."""
        address = await asyncio.to_thread(self._process.start)
        server, arrivals = address.partition("/sign-in")[0], Arrivals()
        teacher, guest = Visitor(server), Visitor(server)
        await teacher.get(address)
        given = await start_class(teacher, "Rehearsed", self._slug)
        await join(guest, given, "Ada")
        board = Board(teacher, given.slug, "board", self.figures, arrivals)
        ada = Learner(guest, given.slug, "lab", self.figures, arrivals)
        ada.manner, ada.chance = Manner(0.05, later_s=60), random.Random(1)
        lesson = lesson_of(self._slug)
        assert lesson is not None

        async def learn() -> dict[str, Any]:
            async with patience("a lesson that is done"):
                await board.ready.wait()
                await ada.has_done_lesson.wait()
                while len(signs := board.person(ada.p).get("signs", {})) < len(lesson.steps):
                    await asyncio.sleep(0.01)
                return signs

        learning = asyncio.create_task(learn())
        await first_of(board.stay(), ada.stay(), ada.work(lesson), asyncio.wait_for(asyncio.shield(learning), None))
        return await learning


@pytest.mark.parametrize("slug", ["replicate", "001-high-watermark-two-fetches"])
def test_learner_does_a_lesson_with_the_lines_of_its_solution(tmp_path: Path, slug: str) -> None:
    process = LabProcess(tmp_path)
    try:
        lesson = Lesson(process, slug)
        signs = asyncio.run(lesson.signs())
    finally:
        process.stop()
    assert set(signs.values()) <= {"done", "hinted"}, "no step was skipped"
    assert len(lesson.figures.steps) >= 1 and len(lesson.figures.reached) == len(signs)
