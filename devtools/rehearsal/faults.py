"""Breaks a class on purpose, and says what held: what the server promises of faults and abuse (docs/CLASSES.md)."""

import asyncio
import contextlib
import http
import http.client
import itertools
import json
import random
import threading
import time
import urllib.parse
from collections import Counter
from typing import NamedTuple

from devtools.rehearsal.door import join
from devtools.rehearsal.figures import percentile
from devtools.rehearsal.learners import Learner
from devtools.rehearsal.narrow import NarrowPage, narrowed
from devtools.rehearsal.patience import patience
from devtools.rehearsal.people import CLASS_HELLO, LOST, clock_ms
from devtools.rehearsal.spells import AGAIN, FREE, Disturbance, Spells, acts_ratio
from devtools.rehearsal.taught import Taught, until
from devtools.rehearsal.visitor import ClientConnection, Visitor, token_in
from lab.classroom.codes import CODES, shown_code
from lab.protocol.frames import CLOSE_RIGHT_ENDED, CLOSE_TOO_MUCH

FLOOD = 10
FLOOD_S = 0.01
"""So many acts each time: a thousand a second."""
CODES_A_S = 167
"""10,000 a minute."""
CODES_LOOKED_UP = 300
"""In a minute, of the whole server (lab/classroom/limits.py)."""
OTHERS = 1.2
"""The p99 of the others may grow by so much."""
STALLED = 1.1
BACK_MS = 10_000.0
CLOSED_MS = 1_000.0
BEHIND_MS = 2_000.0
NARROW_S, SETTLE_S = 12.0, 4.0
MARKS_S = 0.5
RUBBISH = ("{" * 100, "[]", '{"k":"act"}', '{"k":"act","id":"x","do":{"op":"nosuch"}}', "\x00")
TOO_LARGE = 1_100_000
KILLED_SOCKETS = 3


class Fault(NamedTuple):
    """A fault, what followed, and whether that is what is promised."""

    name: str
    found: str
    held: bool

    def line(self) -> str:
        return f"fault: {self.name}: {self.found}: {'held' if self.held else 'DID NOT HOLD'}"


class Faults:
    """The faults of one class. `disturbances` are run in turns with quiet spells, and judged by `compared`."""

    def __init__(self, taught: Taught) -> None:
        self._taught, self._figures = taught, taught.figures
        self._codes = Counter[int]()
        self._flooder = Visitor(taught.server)
        self._guesses = Guesses(taught.server)

    async def join(self) -> None:
        """Somebody joins who does nothing but flood the class."""
        await join(self._flooder, self._taught.given, "Floods")

    def disturbances(self) -> dict[str, Disturbance]:
        """Those that may delay others."""
        return {"flood": self._flood, "codes": self._guess}

    def compared(self, spells: dict[str, Spells]) -> None:
        """Notes what the disturbances did to the others."""
        figures, free = self._figures, (spells[FREE], spells[AGAIN])
        for kind in ("flood", "codes"):
            figures.others[kind] = acts_ratio(spells[kind], *free), spells[kind].acts_p99
        quiet = f"p99 of the others' acts %.0f ms, {max(one.acts_p99 for one in free):.0f} ms without it"
        ratio, p99 = figures.others["flood"]
        closed = ", ".join(f"{count} times with {code}" for code, count in sorted(self._codes.items())) or "never"
        held = ratio <= OTHERS and CLOSE_TOO_MUCH in self._codes
        self._note("1,000 acts a second of one learner", f"closed {closed}; {quiet % p99}", held)
        if "stall" in spells:
            found = f"events to the observer whom it delays most {figures.stalled_worst:.2f} times as late (p99)"
            self._note("a page that does not read", found, figures.stalled_worst <= STALLED)
        ratio, p99 = figures.others["codes"]
        guesses = self._guesses
        figures.codes_looked_up, figures.codes_ms = guesses.looked_up, percentile(guesses.refused_ms, 0.5)
        found = (
            f"{guesses.looked_up} looked up, {len(guesses.refused_ms)} refused, in {figures.codes_ms:.1f} ms (median)"
        )
        is_cheap = guesses.looked_up <= CODES_LOOKED_UP
        self._note("10,000 wrong codes a minute", f"{found}; {quiet % p99}", is_cheap and ratio <= OTHERS)

    async def run(self) -> None:
        """The other faults, one after the other. Sockets that are lost by them are not counted as lost."""
        lost = self._figures.lost
        await self._rubbish()
        await self._lose_sockets()
        await self._remove()
        if self._taught.observers:
            await self.narrow(self._taught.observers[-1].visitor)
        if self._taught.own is not None:
            await self._kill_server()
        else:
            self._taught.say("The server is not killed: it ran before the rehearsal.")
        self._figures.lost = lost

    def _note(self, name: str, found: str, held: bool) -> None:
        fault = Fault(name, found, held)
        self._figures.faults.append(fault.line())
        self._figures.faults_held += held
        self._taught.say(fault.line())

    def _learner(self) -> Learner:
        return self._taught.at_work()[0]

    # One learner against the others

    async def _flood(self, over: asyncio.Event) -> None:
        numbers, slug = itertools.count(1), self._taught.given.slug
        while not over.is_set():
            with contextlib.suppress(*LOST):
                async with self._flooder.socket(f"/ws/classes/{slug}/") as connection:
                    await connection.send(CLASS_HELLO)
                    reading = asyncio.create_task(_read(connection))
                    try:
                        while not over.is_set() and not reading.done():
                            for _ in range(FLOOD):
                                await connection.send(_act(f"flood-{next(numbers)}", "mark"))
                            await asyncio.sleep(FLOOD_S)
                    finally:
                        reading.cancel()
                        if connection.close_code is not None:
                            self._codes[connection.close_code] += 1
            await asyncio.sleep(FLOOD_S)

    async def _guess(self, over: asyncio.Event) -> None:
        stop = threading.Event()
        guessing = asyncio.create_task(asyncio.to_thread(self._guesses.run, stop))
        await over.wait()
        stop.set()
        await guessing

    async def _rubbish(self) -> None:
        """Invalid frames, and one that is too large, from a learner's second page."""
        learner, codes = self._learner(), []
        # The rubbish last: after it, the server refuses further pages of the learner for a while.
        for frames in (("x" * TOO_LARGE,), RUBBISH * 5):
            socket = learner.visitor.socket(f"/ws/classes/{learner.slug}/")
            async with patience("the end of a socket that sends rubbish"), socket as connection:
                await connection.send(CLASS_HELLO)
                with contextlib.suppress(*LOST):
                    for frame in frames:
                        await connection.send(frame)
                    await _read(connection)
                codes.append(connection.close_code)
        before = self._figures.lost
        is_there = await learner.act("mark")
        held = codes[0] is not None and codes[1] == CLOSE_TOO_MUCH and is_there and self._figures.lost == before
        self._note("invalid frames and one of 1.1 MB", f"closed with {codes[1]} and {codes[0]}", held)

    # What is lost, and comes back

    async def _lose_sockets(self) -> None:
        astray = self._figures.astray
        # Not the one who has just sent rubbish, whom the server holds off.
        learners = self._taught.at_work()[1 : 1 + KILLED_SOCKETS]

        async def lose(learner: Learner) -> float:
            async def go() -> None:
                learner.lose_network()

            return await learner.return_from(go)

        took = await asyncio.gather(*(lose(one) for one in learners))
        same = len(learners) - (self._figures.astray - astray)
        found = f"back after {max(took):.0f} ms, {same} of {len(learners)} as the same participant, lab where it was"
        self._note("the sockets of three learners killed", found, same == len(learners) and max(took) <= BACK_MS)

    async def _remove(self) -> None:
        """An observer is removed from the class: their sockets of the class and of the leading lab end."""
        removed = next((one for one in reversed(self._taught.observers) if one.shows_lab), None)
        if removed is None:
            return
        began_ms = clock_ms()
        await self._taught.board.act("kick", p=removed.p)
        await until("sockets that end", lambda: removed.code == CLOSE_RIGHT_ENDED and not removed.shows_lab)
        self._figures.kicked = clock_ms() - began_ms
        self._taught.observers.remove(removed)
        found = f"class and leading lab closed after {self._figures.kicked:.0f} ms, with {removed.code}"
        self._note("an observer removed", found, self._figures.kicked <= CLOSED_MS)

    async def narrow(self, visitor: Visitor) -> None:
        """A page at 200 kbit/s follows the leading lab. `visitor`: whose page it is. Only where frames are deflated: as
        they are, they are made for loopback.
        """
        taught, leader = self._taught, self._taught.leader
        if not self._figures.deflated or leader is None:
            return
        async with narrowed(taught.server) as address:
            page = NarrowPage(visitor.at(address), taught.board.slug, "lab", self._figures, taught.arrivals)
            lab = taught.board.sections["/lead"]["lab"]
            tasks = [asyncio.create_task(page.stay()), asyncio.create_task(page.follow(lab, leader))]
            try:
                await until("a page behind a slow network", lambda: page.ready.is_set() and page.frames_of_lab > 1)
                await asyncio.sleep(SETTLE_S)
                page.latest_ms = page.frames_of_lab = page.snaps = page.bytes_of_lab = 0
                for _ in range(int(NARROW_S)):
                    await taught.board.act("set_timer", seconds=600)
                    await asyncio.sleep(1)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        self._figures.narrow = page.latest_ms
        found = (
            f"{page.latest_ms:.0f} ms behind at most; of the lab {page.frames_of_lab / NARROW_S:.1f} frames/s, "
            f"{page.snaps} of them whole pictures, {page.bytes_of_lab / NARROW_S / 1000:.1f} KB/s before deflate"
        )
        self._note("a page at 200 kbit/s", found, page.frames_of_lab > 0 and page.latest_ms <= BEHIND_MS)

    # The server

    async def _kill_server(self) -> None:
        """SIGKILL in the middle of acts: what was answered is there, once; pages and labs come back."""
        taught = self._taught
        learners = [one for one in taught.at_work() if one.page is not None]
        before = [(one.sections["/mine"]["lab"], _marks(one), one.page.seq if one.page else 0) for one in learners]
        is_over = asyncio.Event()
        marking = [asyncio.create_task(_mark(one, is_over)) for one in learners]
        await asyncio.sleep(2 * MARKS_S)
        pages = await self._restart()
        is_over.set()
        marked = await asyncio.gather(*marking)
        missing = [
            marks + done - _marks(one) for one, (_, marks, _), done in zip(learners, before, marked, strict=True)
        ]
        lost, doubled = sum(max(0, one) for one in missing), sum(max(0, -one) for one in missing)
        stand = 0
        for one, (lab, _, seq) in zip(learners, before, strict=True):
            found = await one.read_lab()
            stand += one.sections["/mine"]["lab"] == lab and found["seq"] >= seq
        figures = self._figures
        figures.acts_lost = lost + doubled
        told = (
            f"class back after {figures.back:.0f} ms, all {pages} pages after {figures.pages_back:.0f} ms; "
            f"of {sum(marked)} answered acts {lost} lost, {doubled} doubled; "
            f"{stand} of {len(learners)} labs where they stood"
        )
        held = not figures.acts_lost and stand == len(learners) and figures.pages_back <= BACK_MS
        self._note("the server killed (SIGKILL)", told, held)

    async def _restart(self) -> int:
        """Kills the server and starts it again; returns how many pages came back."""
        taught, own, figures = self._taught, self._taught.own, self._figures
        assert own is not None
        pages = [one for one in [taught.board, *taught.learners, *taught.observers] if one.is_here.is_set()]
        there = [one for one in pages if not one.code]
        began_ms = clock_ms()
        await asyncio.to_thread(own.kill)
        for one in there:
            one.ready.clear()
        await asyncio.to_thread(own.start)
        async with patience("the class after the server was killed"):
            await taught.board.ready.wait()
            figures.back = clock_ms() - began_ms
            await asyncio.gather(*(one.ready.wait() for one in there))
        figures.pages_back = clock_ms() - began_ms
        return len(there)


def _marks(learner: Learner) -> int:
    """The instants that the class knows to be marked by a learner."""
    return len(learner.sections["/mine"]["marks"])


async def _mark(learner: Learner, over: asyncio.Event) -> int:
    """Marks instants until the event; returns how many were answered."""
    done = 0
    while not over.is_set():
        done += await learner.act("mark")
        await asyncio.sleep(MARKS_S)
    return done


async def _read(connection: ClientConnection) -> None:
    with contextlib.suppress(*LOST):
        async for _ in connection:
            pass


def _act(id: str, op: str) -> str:
    return json.dumps({"k": "act", "id": id, "do": {"op": op}})


class Guesses:
    """Somebody who guesses class codes, with a new browser each time, over one connection. Used in a thread."""

    def __init__(self, server: str) -> None:
        self._address = urllib.parse.urlsplit(server)
        self._chance = random.Random(7)
        self.looked_up = 0
        self.refused_ms: list[float] = []

    def run(self, stop: threading.Event) -> None:
        """Guesses until it is stopped."""
        connection = http.client.HTTPConnection(self._address.hostname or "", self._address.port)
        try:
            connection.request("GET", "/join/")
            page = connection.getresponse()
            cookies = [cookie.partition(";")[0] for cookie in page.msg.get_all("Set-Cookie", [])]
            # Without the cookie that the door counts: a new browser.
            csrf = next(cookie for cookie in cookies if "csrf" in cookie.lower())
            token = token_in(page.read().decode())
            while not stop.is_set():
                began_s = time.monotonic()
                self._guess(connection, csrf, token)
                stop.wait(max(0.0, 1 / CODES_A_S - (time.monotonic() - began_s)))
        finally:
            connection.close()

    def _guess(self, connection: http.client.HTTPConnection, csrf: str, token: str) -> None:
        code = shown_code(self._chance.randrange(CODES))
        body = urllib.parse.urlencode({"code": code, "csrfmiddlewaretoken": token})
        origin = f"http://{self._address.netloc}"
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": csrf, "Origin": origin}
        began_ms = clock_ms()
        connection.request("POST", "/join/", body, headers)
        answer = connection.getresponse()
        answer.read()
        if answer.status == http.HTTPStatus.TOO_MANY_REQUESTS:
            self.refused_ms.append(clock_ms() - began_ms)
        else:
            self.looked_up += 1
