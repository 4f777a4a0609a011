"""The labs of a class: steps, hints and failed commands reach the board, all labs pause, help names its instant."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone

from lab.actions.classes.live_labs import CommandWatch
from lab.actions.classes.start_class import end_class
from lab.exercises.loader import exercises
from lab.exercises.observer import ExerciseObserver
from lab.learning import log as learning
from lab.learning.events import LessonReset, PredictionSettled, StepChecked
from lab.models import Branch, Participant, Run
from lab.protocol.frames import encode
from lab.runtime.host import Host
from lab.runtime.policy import AFTER_CLASS, IN_CLASS, LabPolicy
from tests.support.classroom.class_pages import Classroom
from tests.support.lab_server import LabServer

LESSON = next(iter(exercises().values()))


@pytest.fixture
def classroom(lab_server: LabServer) -> Iterator[Classroom]:
    made = Classroom(lab_server, chapter=LESSON.slug)
    yield made
    made.close()


@pytest.fixture
def lab(classroom: Classroom) -> str:
    """The address of the lab of p2."""
    return f"{classroom.give_lab('p2')}/main"


def mode_of(frame: dict[str, Any]) -> str:
    """The mode of time in a frame; empty if it has none."""
    return str((frame.get("clock") or frame).get("mode", ""))


async def followed(host: Host, lab: str) -> None:
    """Waits until the class follows the commands of a lab."""
    opened = host.open_lab(*lab.split("/"))
    assert opened is not None
    while not any(isinstance(one, CommandWatch) for one in opened.observers.values()):
        await asyncio.sleep(0.05)


def test_steps_and_failed_commands_reach_the_board(classroom: Classroom, lab: str) -> None:
    user_id = Participant.objects.get(number=2).user_id
    assert user_id is not None
    run, branch = lab.split("/")
    where = {"lesson": LESSON.slug, "run": run, "branch": branch, "seq": 5}
    first, second = [step.id for step in LESSON.steps][:2]
    with classroom.page("p1") as teacher, classroom.visitors["p2"].socket(run) as ada:
        teacher.until("snap")
        assert teacher.held["/class"]["steps"] == len(LESSON.steps)
        assert teacher.held["/people/p2"]["lab"] == lab
        learning.append(user_id, StepChecked(step=first, **where))  # type: ignore[arg-type]
        teacher.until_held("/people/p2 step", 2)
        settled = PredictionSettled(
            step=second, choice="a", choices=2, p=0.5, outcome="a", right=True, brier=0.0, **where,  # type: ignore[arg-type]
        )  # fmt: skip
        learning.append(user_id, settled)
        teacher.until_held("/people/p2 right", 1)
        teacher.until_held("/people/p2 step", 3)
        learning.append(user_id, LessonReset(**where))  # type: ignore[arg-type]
        teacher.until_held("/people/p2 step", 1)
        ada.ask({"k": "time", "op": "play"})
        classroom.server.call(lambda host: followed(host, lab))
        ada.run("kafka-topics.sh --bootstrap-server 1 --delete --topic none", exit_code=1)
        teacher.until_held("/people/p2 refused", 1)
        assert ada.ask({"k": "do", "line": "no such command"})["k"] == "no"
        teacher.until_held("/people/p2 refused", 2)
        elsewhere = {**where, "branch": "other"}
        learning.append(user_id, StepChecked(step=first, **elsewhere))  # type: ignore[arg-type]
        teacher.act("pause_all")
        assert teacher.held["/people/p2"]["step"] == 1, "what is done elsewhere is not the class's"


def test_fork_by_a_learner_is_their_lab_from_then_on(classroom: Classroom, lab: str) -> None:
    run, branch = lab.split("/")
    with classroom.page("p1") as teacher:
        teacher.until("snap")
        teacher.until_held("/people/p2 lab", lab)
        forked = classroom.visitors["p2"].post_json(f"/api/runs/{run}/{branch}/fork", {"seq": 1}).json
        teacher.until_held("/people/p2 lab", f"{run}/{forked['branch']}")


def test_pause_all_stops_time_and_restores_it(classroom: Classroom, lab: str) -> None:
    """Acceptance statement 16, as the page of a learner shows it."""
    run = lab.split("/")[0]
    with classroom.page("p1") as teacher, classroom.visitors["p2"].socket(run) as ada:
        teacher.until("snap")
        assert ada.ask({"k": "time", "op": "play"})["k"] == "done"
        ada.until(
            lambda frame: (
                (frame["k"] == "d" and frame.get("clock", {}).get("mode") == "play") or frame.get("mode") == "play"
            )
        )
        teacher.act("pause_all")
        ada.until(lambda frame: mode_of(frame) == "pause")
        refused = ada.ask({"k": "time", "op": "play"})
        assert refused["k"] == "no"
        assert "paused" in refused["what"]
        teacher.act("resume_all")
        ada.until(lambda frame: mode_of(frame) == "play")


def test_labs_of_a_class_that_has_ended_play_less_long_without_a_page(classroom: Classroom, lab: str) -> None:
    async def policy(host: Host) -> LabPolicy:
        opened = host.open_lab(*lab.split("/"))
        assert opened is not None
        return opened.policy

    with classroom.page("p1") as teacher, classroom.visitors["p2"].socket(lab.split("/")[0]) as ada:
        teacher.until("snap")
        teacher.until_held("/people/p2 lab", lab)
        ada.of_kind("welcome")
        assert classroom.server.call(policy) == IN_CLASS
        end_class(classroom.model, timezone.now())
        teacher.until_held("/class ended", "act")
        assert classroom.server.call(policy) == AFTER_CLASS
        assert AFTER_CLASS.pause_s < IN_CLASS.pause_s and AFTER_CLASS.sleep_s < IN_CLASS.sleep_s


def test_pause_all_does_not_change_a_paused_lab(classroom: Classroom, lab: str) -> None:
    """Acceptance statement 16."""

    async def until_stopped(host: Host) -> None:
        opened = host.open_lab(*lab.split("/"))
        assert opened is not None
        while opened.pacer.stopped_by is None:
            await asyncio.sleep(0.01)

    with classroom.page("p1") as teacher, classroom.visitors["p2"].socket(lab.split("/")[0]) as ada:
        teacher.until("snap")
        assert ada.ask({"k": "time", "op": "pause"})["k"] == "done"
        seq = ada.ask({"k": "time", "op": "now"})["seq"]
        assert teacher.act("pause_all")["k"] == "done"
        teacher.until_held("/paused", True)
        # The class stops its labs after it has told its pages.
        classroom.server.call(until_stopped)
        refused = ada.ask({"k": "time", "op": "play"})
        assert refused["k"] == "no" and "paused" in refused["what"]
        assert teacher.act("resume_all")["k"] == "done"
        teacher.until_held("/paused", False)
        assert ada.ask({"k": "time", "op": "now"})["seq"] == seq
        assert ada.ask({"k": "time", "op": "play"})["k"] == "done"


def test_pace_of_the_class_reaches_the_lesson_of_a_learner(classroom: Classroom, lab: str) -> None:
    async def until_pace(host: Host, step: int) -> None:
        opened = host.open_lab(*lab.split("/"))
        assert opened is not None
        while not any(
            isinstance(one, ExerciseObserver) and one.shown.state["pace"] == step for one in opened.observers.values()
        ):
            await asyncio.sleep(0.05)

    run = lab.split("/")[0]
    with classroom.page("p1") as teacher, classroom.visitors["p2"].socket(run) as ada:
        teacher.until("snap")
        assert teacher.act("set_pace", step=1)["k"] == "done"
        assert ada.ask({"k": "exercise", "op": "start", "exercise": LESSON.slug})["k"] == "done"
        classroom.server.call(lambda host: until_pace(host, 1))
        teacher.act("set_pace", step=2)
        classroom.server.call(lambda host: until_pace(host, 2))
        assert ada.ask({"k": "exercise", "op": "hint"})["k"] == "done"
        teacher.until_held("/people/p2 hints", 1)
    user_id = Participant.objects.get(number=2).user_id
    assert user_id is not None
    written = [stored.event for stored in learning.history_of(user_id)]
    assert {event.classroom for event in written if event.lesson == LESSON.slug} == {classroom.slug}


def test_state_of_the_leading_lab_is_shared_and_taken_over_as_a_run(classroom: Classroom, lab: str) -> None:
    """Acceptance statement 15: what is given; the class bench has the times."""
    leading = classroom.give_lab("p1", name="The instructor's")
    with classroom.visitors["p1"].socket(leading) as socket:
        socket.run("kafka-topics.sh --create --topic given --partitions 1 --replication-factor 3")
        socket.ask({"k": "time", "op": "pause"})
    with classroom.page("p1") as teacher, classroom.page("p2") as ada:
        teacher.until("snap")
        ada.until("snap")
        assert teacher.act("give_state")["what"] == "No participant leads the class."
        assert teacher.act("take_lead", lab=f"{leading}/main")["k"] == "done"
        assert ada.act("give_state")["k"] == "no"
        assert ada.act("take_state", handout=1)["what"] == "State 1 was not shared in this class."
        assert teacher.act("give_state")["k"] == "done"
        ada.until_held("/handouts/1 lab", f"{leading}/main")
        assert ada.act("take_state", handout=1)["k"] == "done"
        assert ada.act("take_state", handout=1)["k"] == "done"
        (own,) = Run.objects.filter(participant__number=2, classroom=classroom.model).exclude(slug=lab.split("/")[0])
        ada.until_held("/mine taken", {"1": f"{own.slug}/main"})
    assert own.origin.rpartition("/")[0] == f"{leading}/main"
    commands = classroom.visitors["p2"].get(f"/api/runs/{own.slug}/main/commands").json
    assert commands[-1]["line"].startswith("kafka-topics.sh --create --topic given")
    # what they had stays
    assert Participant.objects.filter(number=2, run__slug=lab.split("/")[0]).exists()


def test_poll_is_settled_by_the_lab_that_leads(classroom: Classroom) -> None:
    leading = classroom.give_lab("p1", name="The instructor's")
    asked: dict[str, Any] = {
        "form": "choice", "text": "What is first?", "lang": "en", "choices": ["an election", "a smaller ISR"],
        "holds": ["leader given-0 elected", "isr given-0 shrinks"],
    }  # fmt: skip
    with (
        classroom.visitors["p1"].socket(leading) as socket,
        classroom.page("p1") as teacher,
        classroom.page("p2") as ada,
    ):
        teacher.until("snap")
        ada.until("snap")
        socket.run("kafka-topics.sh --create --topic given --replica-assignment 1:2:3")
        socket.ask({"k": "time", "op": "pause"})
        wrong = teacher.act("make_poll", **asked | {"holds": ["the moon rises", ""]})
        assert wrong["what"] == "A poll cannot be settled by the moon rises."
        assert teacher.act("make_poll", form="prediction", text="", lang="en", step=1)["status"] == 404
        assert teacher.act("make_poll", form="prediction", text="", lang="en", step=3)["k"] == "done"
        assert len(teacher.held["/polls/1"]["choices"]) == 3
        assert teacher.held["/polls/1"]["text"].startswith("Predict.")
        assert teacher.act("make_poll", **asked)["k"] == "done"
        teacher.act("open_poll", poll=2)
        teacher.act("close_poll", poll=2)
        assert teacher.act("settle_poll", poll=2)["what"] == "This is not possible now: no participant leads the class."
        assert teacher.act("take_lead", lab=f"{leading}/main")["k"] == "done"
        assert ada.act("settle_poll", poll=2)["status"] == 403
        for line in ("hold fetch 3 1", "producer open p1", "producer send p1 given-0 a:1"):
            assert socket.ask({"k": "do", "line": line})["k"] == "done"
        socket.ask({"k": "time", "op": "rate", "value": 100})
        assert teacher.act("settle_poll", poll=2)["k"] == "done"
        # The lab continues by itself, and is paused where the answer came true.
        while "outcome" not in ada.held.get("/polls/2", {}):
            ada.read()
        shown = ada.held["/polls/2"]
        kinds = [event[4][0] for frame in ada.frames if frame["k"] == "e" for event in frame["ev"]]
        assert [kind for kind in kinds if kind in ("SettlingBegan", "Revealed")] == ["SettlingBegan", "Revealed"]
        assert (shown["outcome"], shown["by"], shown["lab"]) == ("1", "lab", f"{leading}/main")
        seq = shown["seq"]
        chain = classroom.visitors["p1"].get(f"/api/runs/{leading}/main/chain?seq={seq}").json
        assert "ISR" in str(chain[0])
        assert socket.ask({"k": "time", "op": "now"})["seq"] < seq + 20, "it was paused there"
        assert teacher.act("reveal", poll=2, outcome="0")["k"] == "done"
        ada.until_held("/polls/2 by", "staff")


def test_sleeping_lab_that_leads_again_is_shown_at_its_place(classroom: Classroom) -> None:
    leading = classroom.give_lab("p1", name="The instructor's")
    with classroom.visitors["p1"].socket(leading) as socket, classroom.page("p1") as teacher:
        socket.ask({"k": "time", "op": "pause"})
        teacher.until("snap")
        assert teacher.act("take_lead", lab=f"{leading}/main")["k"] == "done"
        teacher.until_held("/lead_lab lab", f"{leading}/main")
        assert teacher.act("end_lead")["k"] == "done"
        strangers = classroom.visitors["p5"].new_run()
        assert teacher.act("take_lead", lab=f"{strangers}/main")["status"] == 404, "a class shows no lab of others"
        assert classroom.visitors["p1"].get(f"/r/{strangers}/main").status == 404
        while teacher.held.get("/lead_lab") is not None:
            teacher.read()
        assert teacher.act("take_lead", lab=f"{leading}/main")["k"] == "done"
        teacher.until_held("/lead_lab lab", f"{leading}/main")


def test_help_names_the_newest_event_and_gives_rights_to_the_lab(classroom: Classroom, lab: str) -> None:
    """Acceptance statement 14: 20 commands of a helper, and the lab as it was, byte for byte."""
    run = lab.split("/")[0]
    with classroom.page("p1") as teacher, classroom.page("p2") as ada:
        teacher.until("snap")
        with classroom.visitors["p1"].socket(run, hello={}) as before:
            assert before.closed()[0] == 4403
        assert teacher.act("begin_help", p="p2")["k"] == "done"
        ada.until_held("/mine looked_by", ["p1"])
        help = ada.held["/mine"]["help"]
        assert help["lab"] == lab
        assert help["seq"] > 0
        with classroom.visitors["p1"].socket(run) as helping:
            assert helping.of_kind("welcome")["run"] == run
            for number in range(20):
                line = f"kafka-topics.sh --create --topic helped-{number} --partitions 1 --replication-factor 1"
                assert helping.ask({"k": "do", "line": line})["k"] == "done"
            teacher.act("end_help", p="p2")
            teacher.act("end_look", p="p2")
            assert helping.closed()[0] == 4403
        assert ada.act("choose_help", kept=False)["k"] == "done"
        ada.until_held("/mine lab", f"{run}/main-2")
        undone = Branch.objects.get(run__slug=run, name="main-2")
        assert (undone.parent.name if undone.parent else "", undone.parent_seq) == ("main", help["seq"])
        assert Branch.objects.filter(run__slug=run).count() == 2, "both futures stay"

    async def views(host: Host) -> list[bytes]:
        """Of the branch as it was when help began, and of the one that the learner has now."""
        helped, own = await host.lab(run, "main"), await host.lab(run, "main-2")
        assert helped.recording.last_seq > help["seq"], "what the helper did is still there"
        at = (helped, help["seq"]), (own, own.recording.last_seq)
        return [await lab.read(lambda _, lab=lab, seq=seq: encode(lab.recording.view_at(seq))) for lab, seq in at]  # type: ignore[misc]

    before_help, undone_view = classroom.server.call(views)
    assert undone_view == before_help, "byte for byte"


def test_learner_sees_how_many_labs_wake_first(classroom: Classroom, lab: str) -> None:
    run = lab.split("/")[0]
    served = asyncio.Event()

    async def keep_busy(host: Host) -> None:
        """Two other labs wake until they are served."""
        host.set_policy(run, IN_CLASS)
        if (opened := host.open_lab(*lab.split("/"))) is not None:
            await opened.sleep()

        async def wake() -> None:
            async with host._turns.wakes.turn():
                await served.wait()

        busy.extend(asyncio.create_task(wake()) for _ in range(2))

    busy: list[asyncio.Task[None]] = []
    classroom.server.call(keep_busy)
    with classroom.visitors["p2"].socket(run) as ada:
        ada.send({"k": "do", "id": "late", "line": "kafka-topics.sh --list"})
        assert ada.until(lambda frame: frame["k"] == "waking")["before"] == 2
        with classroom.visitors["p2"].socket(run) as other:
            assert other.until(lambda frame: frame["k"] == "waking")["before"] == 2, "a page that comes is told, too"
            classroom.server.call(lambda _: served.set())
            for page in (ada, other):
                assert page.until(lambda frame: frame["k"] == "waking" and not frame["before"])["before"] in (0, None)
                page.until(lambda frame: frame["k"] == "waking" and frame["before"] is None)
        assert ada.until(lambda frame: frame.get("id") == "late")["k"] == "done"
