"""Acceptance statement 16: "Pause all" stops the labs of a class, whatever they do, and resuming restores each."""

import asyncio
import socket
import struct
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone

from broker_core.texts import Text
from lab.actions.classes.give_labs import give_own_lab
from lab.actions.classes.join_class import join_class
from lab.actions.classes.live_class import LiveClass, class_folder, close_classes, live_classes
from lab.classroom.events.lead import LabsSeen
from lab.classroom.events.pace import AllPaused, TimerEnded
from lab.classroom.journal import ClassJournal
from lab.exercises.loader import exercises
from lab.models import Class, Run
from lab.runtime.host import Host
from lab.runtime.lab import Lab
from lab.runtime.live_run import LiveRun
from lab.runtime.pacer import Mode
from tests.support.classroom.class_pages import Classroom, page_of
from tests.support.classroom.lesson_room import remove_class
from tests.support.lab_server import PATIENCE_S, LabServer, Visitor

LESSON = next(iter(exercises().values()))
WAYS: tuple[tuple[Mode, float], ...] = (
    ("play", 1.0), ("play", 8.0), ("play", 0.25), ("event_paced", 2.0), ("pause", 4.0),
)  # fmt: skip
"""Mode and rate of the time of labs, in turn."""


@pytest.fixture
def room(lab_server: LabServer, visitor: Visitor) -> Iterator[Class]:
    assert visitor.post("/classes/new", title="Replication", chapter=LESSON.slug).status == 200
    made = Class.objects.get()
    yield made
    remove_class(lab_server, made)


class Labs:
    """The labs of learners, each of which goes on in its way."""

    def __init__(self, server: LabServer, room: Class, count: int) -> None:
        self._server = server
        self._people = [join_class(room, None, "", "number", "en", timezone.now()).participant for _ in range(count)]
        self._open: list[Lab] = []
        server.call(self._begin)

    async def _begin(self, host: Host) -> None:
        for number, participant in enumerate(self._people):
            await give_own_lab(host, participant, lambda _: None)
            run = await Run.objects.aget(learners=participant)
            lab = await host.lab(run.slug, "main")
            await lab.act(lambda live, number=number: self._go(live, *WAYS[number % len(WAYS)]))  # type: ignore[misc]
            lab.time_changed()
            self._open.append(lab)

    @staticmethod
    def _go(live: LiveRun, mode: Mode, rate: float) -> None:
        live.pacer.set_rate(rate)
        live.pacer.set_mode(mode)

    def __len__(self) -> int:
        return len(self._open)

    def names(self) -> list[str]:
        return [one.source for one in self._people]

    def until(self, holds: Callable[[Lab], bool]) -> None:
        """Waits until it holds for each lab."""

        async def wait(_: Host) -> None:
            while not all(map(holds, self._open)):
                await asyncio.sleep(0.01)

        self._server.call(wait)

    def places(self) -> list[tuple[int, int]]:
        """The newest event of each lab, and its time."""
        return [(lab.ring.last_seq, lab.clock().at_us) for lab in self._open]

    def ways(self) -> list[tuple[Mode, float]]:
        return [(lab.pacer.mode, lab.pacer.rate) for lab in self._open]

    def until_later(self, places: list[tuple[int, int]]) -> None:
        """Waits until those that play have gone on."""
        before = dict(zip(map(id, self._open), places, strict=True))
        self.until(lambda lab: lab.pacer.mode == "pause" or lab.ring.last_seq > before[id(lab)][0])


@pytest.mark.soak
def test_pause_all_stops_every_lab_and_resuming_restores_its_mode_and_rate(
    lab_server: LabServer, visitor: Visitor, room: Class, rounds: Callable[[int], int]
) -> None:
    """Acceptance statement 16: 40 labs in `make soak`. The class bench measures that it takes less than a second."""
    labs = Labs(lab_server, room, max(len(WAYS), rounds(40)))
    wanted = [WAYS[number % len(WAYS)] for number in range(len(labs))]
    with page_of(lab_server, room.slug, visitor) as teacher:
        teacher.until("snap")
        for p in labs.names():
            while not teacher.held.get(f"/people/{p}", {}).get("lab"):
                teacher.read()
        assert labs.ways() == wanted
        labs.until_later(labs.places())
        assert teacher.act("pause_all")["k"] == "done"
        labs.until(lambda lab: lab.pacer.stopped_by is not None)
        stopped = labs.places()
        assert {mode for mode, _ in labs.ways()} == {"pause"}
        # A timer of the class runs while all labs stand; the class looks at them once a second.
        assert teacher.act("set_timer", seconds=2)["k"] == "done"
        while teacher.held.get("/timer") is not None or not any(
            event[4][0] == "TimerEnded" for frame in teacher.frames for event in frame.get("ev", ())
        ):
            teacher.read()
        assert labs.places() == stopped, "nothing has happened in them"
        assert teacher.act("resume_all")["k"] == "done"
        labs.until(lambda lab: lab.pacer.stopped_by is None)
        assert labs.ways() == wanted
        labs.until_later(stopped)
    lab_server.call(lambda _: close_classes())
    log = ClassJournal(class_folder(room.slug)).after(0)
    paused_us = next(at_us for _, at_us, _, _, event in log if isinstance(event, AllPaused))
    ended_us = next(at_us for _, at_us, _, _, event in log if isinstance(event, TimerEnded))
    ends = dict(zip(labs.names(), (seq for seq, _ in stopped), strict=True))
    seen = [event for _, at_us, _, _, event in log if isinstance(event, LabsSeen) and paused_us < at_us <= ended_us]
    assert all(seq <= ends.get(p, seq) for event in seen for p, seq, _ in event.moved), "none has a later class time"


@pytest.fixture
def classroom(lab_server: LabServer) -> Iterator[Classroom]:
    made = Classroom(lab_server, chapter=LESSON.slug)
    yield made
    made.close()


API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 7, -1)
"""A request of an application: version 0, correlation 7, no client id."""
COMMAND = {"k": "do", "line": "broker kill 1"}
STEP = {"k": "time", "op": "step_event"}
START = {"k": "exercise", "op": "start", "exercise": LESSON.slug}
RESET = {"k": "exercise", "op": "reset"}
EMPTY = {"k": "do", "line": " "}
SILENCE_S = 0.2
"""An answer takes some milliseconds."""


async def until(host: Host, run: str, holds: Callable[[Lab], object]) -> None:
    """Waits until something holds for the open lab of a run."""
    lab = host.open_lab(run, "main")
    assert lab is not None
    while not holds(lab):
        await asyncio.sleep(0.01)


def is_fed(lab: Lab) -> bool:
    """Whether something of an application has arrived."""
    return lab._gateway is not None and lab._gateway.has_waiting


def is_held(why: Text | None) -> bool:
    return why is not None and why.id == "class_act.stop.held"


def refusal_of(frame: dict[str, Any]) -> str:
    assert frame["k"] == "no", frame
    return str(frame["what"])


def test_nothing_makes_an_event_in_a_lab_that_the_class_has_paused(
    lab_server: LabServer, classroom: Classroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Acceptance statement 16: neither its learner nor a helper, a lesson, an application or ZooKeeper."""
    polled, poll = [], LiveRun.poll_external_changes

    def noted(live: LiveRun) -> None:
        polled.append(live.pacer.stopped_by)
        poll(live)

    monkeypatch.setattr(LiveRun, "poll_external_changes", noted)
    run, ada_, teacher_ = classroom.give_lab("p2"), classroom.visitors["p2"], classroom.visitors["p1"]
    with classroom.page("p1") as teacher, ada_.socket(run) as ada:
        host, _, port = ada.of_kind("welcome")["bootstrap"].split(",")[0].partition(":")
        teacher.until("snap")
        teacher.until_held("/people/p2 lab", f"{run}/main")
        assert ada.ask(START)["k"] == "done"
        ada.ask({"k": "time", "op": "pause"})
        assert teacher.act("begin_help", p="p2")["k"] == "done"
        with teacher_.socket(run) as helper, socket.create_connection((host, int(port)), PATIENCE_S) as application:
            assert teacher.act("pause_all")["k"] == "done"
            lab_server.call(lambda host: until(host, run, lambda lab: lab.pacer.stopped_by))
            seq = ada.ask({"k": "time", "op": "now"})["seq"]
            application.sendall(API_VERSIONS)
            lab_server.call(lambda host: until(host, run, is_fed))
            for page, frame in ((ada, COMMAND), (helper, COMMAND), (ada, START), (ada, RESET), (ada, STEP)):
                assert "the instructor has paused all labs" in refusal_of(page.ask(frame)), frame
            assert "the instructor has paused all labs" not in refusal_of(ada.ask(EMPTY)), "it never is a command"
            assert ada.ask({"k": "time", "op": "rate", "value": 20})["k"] == "done", "it applies later"
            assert ada.ask({"k": "time", "op": "now"})["seq"] == seq
            # The past may be looked at, also in a branch of its own, which is paused as the others.
            fork = f"/api/runs/{run}/main/fork"
            assert ada_.post_json(fork, {"seq": seq, "line": "broker kill 1"}).status == 409
            made = ada_.post_json(fork, {"seq": seq}).json["branch"]
            with ada_.socket(run, made) as forked:
                assert "the instructor has paused all labs" in refusal_of(forked.ask(COMMAND))
            application.settimeout(SILENCE_S)
            with pytest.raises(TimeoutError):
                application.recv(1)
            application.settimeout(PATIENCE_S)
            assert polled and all(why is None for why in polled)
            assert teacher.act("resume_all")["k"] == "done"
            lab_server.call(lambda host: until(host, run, lambda lab: lab.pacer.stopped_by is None))
            ada.ask({"k": "time", "op": "play"})
            size, correlation = struct.unpack(">ii", application.recv(8, socket.MSG_WAITALL))
            assert size > 4 and correlation == 7, "what it asked has waited"
            ada.run("kafka-topics.sh --list")
        assert teacher.act("pause_all")["k"] == "done"
        assert teacher.held["/people/p2"]["refused"] == 1, "what the class prevents does not count against a learner"
        assert teacher.act("resume_all")["k"] == "done"
        # A hold stops labs in the same way.
        assert teacher.act("take_lead", lab=classroom.lab_to_lead())["k"] == "done"
        assert teacher.act("hold", seconds=60)["k"] == "done"
        lab_server.call(lambda host: until(host, run, lambda lab: is_held(lab.pacer.stopped_by)))
        for frame in (COMMAND, START, RESET, STEP):
            assert "the instructor has asked everyone to look" in refusal_of(ada.ask(frame)), frame


def new_runs(classroom: Classroom, p: str, count: int) -> list[str]:
    """Runs of a participant; the last one is their lab."""
    return [classroom.give_lab(p) for _ in range(count)]


def way_of(lab_server: LabServer, run: str) -> tuple[Mode, float]:
    """Mode and rate of the time of a run's lab."""

    def read(host: Host) -> tuple[Mode, float]:
        lab = host.open_lab(run, "main")
        assert lab is not None
        return lab.pacer.mode, lab.pacer.rate

    mode, rate = lab_server.call(read)
    return mode, rate


def until_stops(lab_server: LabServer, run: str, *, are: bool) -> None:
    lab_server.call(lambda host: until(host, run, lambda lab: lab.is_stopped == are))


def test_pause_all_stops_labs_that_a_learner_has_left(lab_server: LabServer, classroom: Classroom) -> None:
    """Acceptance statement 16: those of earlier lessons, of before a reset and from the recording play on by
    themselves. The labs of staff, and runs outside of the class, are not stopped.
    """
    ada, bob = classroom.visitors["p2"], classroom.visitors["p3"]
    left, own = new_runs(classroom, "p2", 2)
    (desk,), (outside, _) = new_runs(classroom, "p1", 1), new_runs(classroom, "p3", 2)
    Run.objects.filter(slug=outside).update(classroom=None, participant=None)
    with ada.socket(left) as first, classroom.visitors["p1"].socket(desk) as at_desk, bob.socket(outside) as private:
        for page, rate in ((first, 8), (at_desk, 1), (private, 1)):
            assert page.ask({"k": "time", "op": "rate", "value": rate})["k"] == "done"
            assert page.ask({"k": "time", "op": "play"})["k"] == "done"
        with classroom.page("p1") as teacher:
            teacher.until("snap")
            teacher.until_held("/people/p2 lab", f"{own}/main")
            assert teacher.act("pause_all")["k"] == "done"
            until_stops(lab_server, left, are=True)
            seq = first.ask({"k": "time", "op": "now"})["seq"]
            assert "the instructor has paused all labs" in refusal_of(first.ask(COMMAND))
            assert first.ask({"k": "time", "op": "now"})["seq"] == seq
            assert way_of(lab_server, desk) == way_of(lab_server, outside) == ("play", 1)
            # One that is made meanwhile, as from an instant of the recording.
            (later,) = new_runs(classroom, "p3", 1)
            with bob.socket(later) as late:
                assert "the instructor has paused all labs" in refusal_of(late.ask(COMMAND))
            assert teacher.act("resume_all")["k"] == "done"
            for run in (left, later):
                until_stops(lab_server, run, are=False)
            assert way_of(lab_server, left) == ("play", 8)
            # A hold is for what is shown.
            assert teacher.act("take_lead", lab=classroom.lab_to_lead())["k"] == "done"
            assert teacher.act("hold", seconds=60)["k"] == "done"
            until_stops(lab_server, own, are=True)
            assert way_of(lab_server, left) == ("play", 8)


@pytest.mark.parametrize("way", ["page", "socket", "address"])
def test_labs_of_a_paused_class_are_stopped_after_a_restart_of_the_server(
    lab_server: LabServer, classroom: Classroom, way: str
) -> None:
    """Acceptance statement 16, before anybody has opened the page of the class."""
    run, ada_ = classroom.give_lab("p2"), classroom.visitors["p2"]
    with classroom.page("p1") as teacher:
        teacher.until("snap")
        assert teacher.act("pause_all")["k"] == "done"
    classroom.restart()
    lab_server.call(lambda host: host.close_run(run))
    if way == "page":
        assert ada_.get(f"/r/{run}/main").status == 200
    elif way == "address":
        assert ada_.post_json(f"/api/runs/{run}/main/fork", {"seq": 1, "line": "broker kill 1"}).status == 409
    else:
        with ada_.socket(run) as ada:
            assert "the instructor has paused all labs" in refusal_of(ada.ask(COMMAND))
    until_stops(lab_server, run, are=True)


def test_a_class_that_is_closed_stops_no_lab_any_more(lab_server: LabServer, classroom: Classroom) -> None:
    """Acts that were given before are still written while its log is closed."""
    (run,), ada_ = new_runs(classroom, "p2", 1), classroom.visitors["p2"]
    with ada_.socket(run), classroom.page("p1") as teacher:
        teacher.until("snap")
        teacher.until_held("/people/p2 lab", f"{run}/main")
        assert teacher.act("pause_all")["k"] == "done"
        until_stops(lab_server, run, are=True)

        async def close(_: Host) -> None:
            live = live_classes().opened(classroom.slug)
            assert live is not None
            await live_classes().close_class(classroom.slug)
            now = live.room.board.now
            live.labs.apply(now._replace(roles={**now.roles, "p3": "observer"}))

        lab_server.call(close)
        until_stops(lab_server, run, are=False)

    async def open_again(host: Host) -> bool:
        await host.close_run(run)
        return (await host.lab(run, "main")).is_stopped

    assert not lab_server.call(open_again)


def test_a_class_that_is_being_deleted_is_not_opened_for_a_lab(lab_server: LabServer, classroom: Classroom) -> None:
    (run,) = new_runs(classroom, "p2", 1)
    with classroom.page("p1") as teacher:
        teacher.until("snap")

    async def delete(_: Host) -> None:
        row = await Run.objects.select_related("classroom", "participant").aget(slug=run)
        opening: list[asyncio.Task[LiveClass | None]] = []

        async def delete_row() -> None:
            opening.append(asyncio.create_task(live_classes().of_run(row)))
            await Class.objects.filter(pk=classroom.model.pk).aexists()
            await Class.objects.filter(pk=classroom.model.pk).adelete()

        await live_classes().close_class(classroom.slug, then=delete_row)
        assert await opening[0] is None
        assert live_classes().opened(classroom.slug) is None

    lab_server.call(delete)


def test_a_class_that_cannot_be_opened_leaves_its_labs_usable(lab_server: LabServer, classroom: Classroom) -> None:
    (run,), ada_ = new_runs(classroom, "p2", 1), classroom.visitors["p2"]
    with classroom.page("p1") as teacher:
        teacher.until("snap")
    classroom.restart()
    folder = class_folder(classroom.slug)
    (folder / "class-0").rename(folder / "moved")
    (folder / "class-0").write_text("not a folder")
    assert ada_.get(f"/r/{run}/main").status == 200
    with ada_.socket(run) as ada:
        ada.run("kafka-topics.sh --list")
    (folder / "class-0").unlink()
    (folder / "moved").rename(folder / "class-0")
    with classroom.page("p1") as teacher:
        assert teacher.until("snap")["upto"] > 0
