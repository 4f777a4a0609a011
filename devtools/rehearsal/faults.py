"""Breaks a class on purpose, and says what held: what the server promises of faults and abuse (docs/CLASSES.md)."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import NamedTuple

from devtools.rehearsal.abuse import ACTS_A_S, IN_A_SPELL, Flood, Guesses, read
from devtools.rehearsal.figures import percentile
from devtools.rehearsal.learners import Learner
from devtools.rehearsal.narrow import NarrowPage, narrowed
from devtools.rehearsal.patience import patience
from devtools.rehearsal.people import CLASS_HELLO, LOST, clock_ms
from devtools.rehearsal.spells import AGAIN, FREE, TURNS, Disturbance, Spells, acts_ratio
from devtools.rehearsal.taught import Taught, until
from devtools.rehearsal.visitor import Refused, Visitor
from lab.protocol.frames import CLOSE_RIGHT_ENDED, CLOSE_TOO_MUCH

LEAST_ACTS = TURNS * IN_A_SPELL * 200
LEAST_ACTS_A_S = 0.9 * ACTS_A_S
LEAST_CODES = 9_000
"""In a minute: fewer measure this machine, not the server."""
CODES_LOOKED_UP = 60
"""In any 60 s, of one address (lab/classroom/limits.py)."""
OTHERS = 1.2
"""The p99 of the others may grow by this factor."""
STALLED = 1.1
BACK_MS = 10_000.0
CLOSED_MS = 1_000.0
BEHIND_MS = 2_000.0
NARROW_S, SETTLE_S = 12.0, 4.0
"""How long the page at 200 kbit/s is measured, and how long the server may adapt to its link before."""
TIMER_S = 600
MARKS_S = 0.5
MARKS_SHOWN_S = 10.0
"""How long after the restart the last mark may take to the page."""
INVALID = ("{" * 100, "[]", '{"k":"act"}', '{"k":"act","id":"x","do":{"op":"nosuch"}}', "\x00")
TOO_LARGE = 1_100_000
CLOSE_TOO_LARGE = 1009
"""The code of RFC 6455 for a message that is too big."""
KILLED_SOCKETS = 3


class Fault(NamedTuple):
    """A fault, what followed, and whether that is what is promised; None if the fault was weaker than its name says."""

    name: str
    found: str
    held: bool | None

    def line(self) -> str:
        verdict = {True: "held", False: "DID NOT HOLD", None: "NOT MEASURED"}[self.held]
        return f"fault: {self.name}: {self.found}: {verdict}"


class Faults:
    """The faults of one class. `disturbances` are run in turns with quiet spells, and judged by `compared`."""

    def __init__(self, taught: Taught) -> None:
        self._taught, self._figures = taught, taught.figures
        self._flood = Flood(taught)
        self._guesses = Guesses(taught.server)

    @contextlib.asynccontextmanager
    async def disturbances(self) -> AsyncIterator[dict[str, Disturbance]]:
        """The faults that may delay others. They can be run as long as the block lasts. Raises Refused."""
        await self._flood.join()
        async with self._guesses.there():
            yield {"flood": self._flood.run, "codes": self._guesses.run}

    def compared(self, spells: dict[str, Spells]) -> None:
        """Notes what the disturbances did to the others."""
        figures, free = self._figures, (spells[FREE], spells[AGAIN])
        for kind in ("flood", "codes"):
            figures.others[kind] = acts_ratio(spells[kind], *free), spells[kind].acts_p99
        quiet = f"p99 of the others' acts %.0f ms, {max(one.acts_p99 for one in free):.0f} ms without it"
        self._note_flood(quiet)
        if "stall" in spells:
            found = f"events to the observer whom it delays most {figures.stalled_worst:.2f} times as late (p99)"
            self._note("a page that does not read", found, figures.stalled_worst <= STALLED)
        self._note_guesses(quiet)

    def _note_flood(self, quiet: str) -> None:
        flood, (ratio, p99) = self._flood, self._figures.others["flood"]
        self._figures.flood_per_s = flood.acts_a_s
        closed = ", ".join(f"{count} times with {code}" for code, count in sorted(flood.codes.items())) or "never"
        found = (
            f"{flood.sent} sent at {flood.acts_a_s:.0f}/s on {flood.accepted} sockets, {flood.refused} more refused; "
            f"closed {closed}; {quiet % p99}"
        )
        held = ratio <= OTHERS and CLOSE_TOO_MUCH in flood.codes
        is_flood = flood.sent >= LEAST_ACTS and flood.acts_a_s >= LEAST_ACTS_A_S
        self._note("1,000 acts a second, each learner until closed", found, held if is_flood or not held else None)

    def _note_guesses(self, quiet: str) -> None:
        figures, guessed, (ratio, p99) = self._figures, self._guesses.found, self._figures.others["codes"]
        figures.codes_looked_up, figures.codes_per_minute = guessed.looked_up_in_window(), guessed.a_minute
        figures.codes_ms = percentile(guessed.refused_ms, 0.5)
        found = (
            f"{guessed.a_minute:,.0f} a minute sent from one address; at most {figures.codes_looked_up:.0f} looked up "
            f"in 60 s, {len(guessed.refused_ms)} refused, in {figures.codes_ms:.1f} ms (median); {quiet % p99}"
        )
        held = figures.codes_looked_up <= CODES_LOOKED_UP and ratio <= OTHERS
        is_flood = guessed.a_minute >= LEAST_CODES
        self._note("10,000 wrong codes a minute", found, held if is_flood or not held else None)

    async def run(self) -> None:
        """The other faults, one after the other. Sockets that are lost by them are not counted as lost."""
        lost = self._figures.lost
        await self._send_invalid()
        await self._lose_sockets()
        await self._remove()
        if self._taught.observers:
            await self.narrow(self._taught.observers[-1].visitor)
        else:
            self._skip("a page at 200 kbit/s", "there is no observer")
        if self._taught.own is not None:
            await self._kill_server()
        else:
            self._skip("the server killed (SIGKILL)", "it ran before the rehearsal")
        self._figures.lost = lost

    def _note(self, name: str, found: str, held: bool | None) -> None:
        fault = Fault(name, found, held)
        self._figures.faults.append(fault.line())
        self._figures.faults_held += held is True
        self._taught.say(fault.line())

    def _skip(self, name: str, why: str) -> None:
        self._taught.say(f"fault: {name}: is not tried: {why}")

    # One learner against the others

    async def _send_invalid(self) -> None:
        """Frames that cannot be read, and one that is too large, from a learner's second page."""
        learner, codes = self._taught.at_work()[0], []
        # Invalid frames last: after them the server refuses further pages of the learner for a while.
        for frames in (("x" * TOO_LARGE,), INVALID * 5):
            socket = learner.visitor.socket(f"/ws/classes/{learner.slug}/")
            async with patience("the end of a socket that sends invalid frames"), socket as connection:
                await connection.send(CLASS_HELLO)
                with contextlib.suppress(*LOST):
                    for frame in frames:
                        await connection.send(frame)
                    await read(connection)
                codes.append(connection.close_code)
        before = self._figures.lost
        is_there = await learner.act("mark")
        held = codes == [CLOSE_TOO_LARGE, CLOSE_TOO_MUCH] and is_there and self._figures.lost == before
        self._note("invalid frames and one of 1.1 MB", f"closed with {codes[1]} and {codes[0]}", held)

    # What is lost, and comes back

    async def _lose_sockets(self) -> None:
        astray = self._figures.astray
        # Not the learner who has just sent invalid frames, whom the server holds off.
        learners = self._taught.at_work()[1 : 1 + KILLED_SOCKETS]
        if not learners:
            self._skip("killed sockets", "there is no second learner")
            return

        async def lose(learner: Learner) -> float:
            async def go() -> None:
                learner.lose_network()

            return await learner.return_from(go)

        took = await asyncio.gather(*(lose(one) for one in learners))
        same = len(learners) - (self._figures.astray - astray)
        found = f"back after {max(took):.0f} ms, {same} of {len(learners)} as the same participant, lab where it was"
        self._note(
            f"sockets of learners killed ({len(learners)})", found, same == len(learners) and max(took) <= BACK_MS
        )

    async def _remove(self) -> None:
        """An observer is removed from the class: their sockets of the class and of the leading lab end."""
        removed = next((one for one in reversed(self._taught.observers) if one.shows_lab), None)
        if removed is None:
            self._skip("an observer removed", "no observer shows the leading lab (--following)")
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
            self._skip("a page at 200 kbit/s", "frames are not deflated (--room)")
            return
        async with narrowed(taught.server) as address:
            page = NarrowPage(visitor.at(address), taught.board.slug, "lab", self._figures, taught.arrivals)
            lab = taught.board.sections["/lead"]["lab"]
            tasks = [asyncio.create_task(page.stay()), asyncio.create_task(page.follow(lab, leader))]
            try:
                await until("a page behind a slow network", lambda: page.ready.is_set() and page.frames_of_lab > 1)
                await asyncio.sleep(SETTLE_S)
                page.latest_ms = page.frames_of_lab = page.snaps = page.bytes_of_lab = 0
                for number in range(int(NARROW_S)):
                    page.set_ms[TIMER_S + number] = clock_ms()
                    await taught.board.act("set_timer", seconds=TIMER_S + number)
                    await asyncio.sleep(1)
                page.look(leader)
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
        # An answer may come before the picture that has its mark.
        with contextlib.suppress(Refused):
            expected = [marks + done for (_, marks, _), done in zip(before, marked, strict=True)]
            await until(
                "answered marks on their pages",
                lambda: all(_marks(one) >= marks for one, marks in zip(learners, expected, strict=True)),
                MARKS_SHOWN_S,
            )
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
        said = (
            f"class back after {figures.back:.0f} ms, all {pages} pages after {figures.pages_back:.0f} ms; "
            f"of {sum(marked)} answered acts {lost} lost, {doubled} doubled; "
            f"{stand} of {len(learners)} labs where they stood"
        )
        held = not figures.acts_lost and stand == len(learners) and figures.pages_back <= BACK_MS
        self._note("the server killed (SIGKILL)", said, held)

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
