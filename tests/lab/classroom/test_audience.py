"""Visibility: every kind of event for every role; every section; names and splits."""

from typing import Any, get_args

import msgspec
import pytest
from msgspec import inspect

from lab.classroom import board as board_module
from lab.classroom.acts import At, ops
from lab.classroom.audience import Viewer, sees_event, sees_section
from lab.classroom.board import Board, Published, entry_of, now_of, sections_of
from lab.classroom.events import CLASS, SEES, lead
from lab.classroom.folds import fold
from lab.classroom.lanes import Outbox
from lab.classroom.state import STAFF, Role, State
from lab.classroom.views import PARTS, paths
from tests.support.classroom.memory_class import ADA, BOB, SCREEN, TEACHER, WATCHER, MemoryClass, NoWords

ROLES = get_args(Role)
#: kinds that learners, observers and the projector may see of others
FOR_ALL = {
    "AllPaused", "AllResumed", "Answered", "AudioArrived", "AudioLost", "ClassEnded", "ClassOpened", "ClassResumed",
    "DiscussionBegan", "DoorClosed", "DoorOpened", "Held", "InkCleared", "InkDrawn", "LeadEnded",
    "LeadTaken", "LessonBegan", "MicrophoneSet", "MistakesShown",
    "PaceSet", "PollClosed", "PollEnded", "PollOpened", "RecordingSet", "Released",
    "Revealed", "SettlingBegan", "SettlingEnded", "SplitShown",
    "StageCleared", "StageShown", "StateGiven", "TimerEnded", "TimerSet", "ViewChanged",
}  # fmt: skip
FOR_NOBODY = {"LabMoved", "LabsSeen", "Pointed", "VoiceHeard", "Voted"}
FOR_STAFF = {
    "ChapterAdded",
    "ChapterMoved",
    "PollMade",
    "QuestionHidden",
    "SplitOpened",
    "StuckBegan",
    "StuckEnded",
    "StuckSeen",
}


def example(kind: type, p: str) -> Any:
    """An event of a kind, about `p`."""
    values: dict[str, Any] = {}
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    for field in info.fields:
        match field.type:
            case inspect.StrType():
                values[field.name] = p if field.name in ("p", "voter") else "x"
            case inspect.BoolType():
                values[field.name] = True
            case inspect.IntType():
                values[field.name] = 1
            case _:
                values[field.name] = ()
    return kind(**values)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", CLASS.kinds)
def test_kind_is_seen_by_its_audience_only(name: str, role: str) -> None:
    event = example(CLASS.kinds[name], "p7")
    if "p" not in event.__struct_fields__:
        about, by_them = False, True
    else:
        about = by_them = True
    is_person = role != "projector"
    expected = {
        "mine": name not in FOR_NOBODY
        and (name in FOR_ALL or role in STAFF or (name not in FOR_STAFF and about and is_person)),
        "others": name not in FOR_NOBODY and (name in FOR_ALL or role in STAFF),
        "did": name not in FOR_NOBODY
        and (name in FOR_ALL or role in STAFF or (name not in FOR_STAFF and by_them and is_person)),
    }
    viewer = Viewer("p7", role)
    assert sees_event(viewer, (1, 1, "room", "", event)) == expected["mine"]
    assert sees_event(viewer, (1, 1, "p8", "", example(CLASS.kinds[name], "p8"))) == expected["others"]
    assert sees_event(viewer, (1, 1, "p7", "", example(CLASS.kinds[name], "p8"))) == expected["did"]


def test_every_kind_states_its_audience() -> None:
    assert set(SEES) == set(CLASS.kinds.values())


@pytest.mark.parametrize("role", ROLES)
def test_sections(role: str) -> None:
    viewer = Viewer("p7", role)
    seen = {name for name in (*PARTS, "class", "lead", "stage", "door") if sees_section(viewer, f"{name}/1")}
    hidden = set() if role in STAFF else {"people", "notes", "chapters"}
    assert seen == {*PARTS, "class", "lead", "stage", "door"} - hidden
    assert sees_section(viewer, "mine/p7") == (role != "projector")
    assert not sees_section(viewer, "mine/p8")
    assert not sees_section(viewer, "mine/p71")


def board_of(room_: MemoryClass) -> Board:
    """The board of a class, as the writer's thread would have filled it."""
    state = State()
    board = Board(state)
    for envelope in room_.log:
        changed = tuple(fold(state, envelope))
        entry = entry_of(state, envelope, CLASS.encode(envelope), changed)
        board.take(Published([entry], *sections_of(state, NoWords(), set(changed)), now_of(state)))
    board.take(Published([], *sections_of(state, NoWords(), set(paths(state))), now_of(state)))
    return board


def everything_for(board: Board, p: str) -> str:
    viewer = board.viewer(p)
    assert viewer is not None
    return (board.frame(viewer, 0) + board.snap(viewer)).decode()


@pytest.fixture
def busy() -> MemoryClass:
    """A class in which Ada (p3) was asked, looked at, helped, on stage without her name, and asked without it."""
    room_ = MemoryClass()
    at = At(f"run-{ADA}/main", 4, 40, "record:orders-0@b1:4", "disk")
    room_.do(ADA, ops.RaiseHand(at))
    room_.do(ADA, ops.Ask("why?", "en", at, named=False), id="secret-act", texts=(1,))
    room_.do(TEACHER, ops.Look(ADA))
    room_.do(TEACHER, ops.SendNote(ADA, "hi", "en"), texts=(2,))
    room_.do(TEACHER, ops.AskStage(ADA))
    room_.do(ADA, ops.AnswerStage(accepted=True, named=False))
    room_.do(ADA, ops.ClearStage(), id="cleared-it")
    return room_


@pytest.mark.parametrize("p", [BOB, WATCHER, SCREEN])
def test_no_frame_identifies_a_learner_or_their_acts(busy: MemoryClass, p: str) -> None:
    sent = everything_for(board_of(busy), p)
    assert f'"{ADA}"' not in sent
    assert f"name of {ADA}" not in sent
    assert "secret-act" not in sent
    assert "cleared-it" not in sent
    assert "text 2" not in sent, "a note is for one"
    assert "text 1" in sent, "a question is for all"
    stage = [event for event in msgspec.json.decode(sent.split('{"k":"snap"')[0])["ev"] if event[4][0] == "StageShown"]
    assert stage[0][2] == ""


def test_staff_and_the_learner_see_their_acts(busy: MemoryClass) -> None:
    board = board_of(busy)
    assert f"name of {ADA}" in everything_for(board, TEACHER)
    own = everything_for(board, ADA)
    assert "text 2" in own
    assert '["LookBegan","p3","p1"]' in own


def test_no_split_before_it_is_shown_and_no_right_answer_before_it_is_revealed() -> None:
    room_ = MemoryClass(8)
    room_.do(TEACHER, ops.MakePoll("choice", "which?", "en", ("a", "b"), False, True, "1"), texts=(1, 2, 3))
    room_.do(TEACHER, ops.OpenPoll(1))
    for number, p in enumerate([ADA, BOB, "p7", "p8", "p9", "p10"]):
        room_.do(p, ops.CastVote(1, "01"[number % 2], 80))
    sent = everything_for(board_of(room_), BOB)
    assert '"Voted"' not in sent
    assert '"splits"' not in sent
    assert '"right"' not in sent.replace('"right":0,', "")
    assert '"PollMade"' not in sent
    room_.do(TEACHER, ops.ClosePoll(1))
    assert '"splits"' not in everything_for(board_of(room_), BOB)
    room_.do(TEACHER, ops.ShowSplit(1))
    shown = everything_for(board_of(room_), BOB)
    assert '"answers":{"0":3,"1":3}' in shown
    assert '"right":-1' in shown
    room_.do(TEACHER, ops.Reveal(1, "1"))
    assert '"outcome":"1"' in everything_for(board_of(room_), BOB)
    assert '"right":3' in everything_for(board_of(room_), BOB)


def test_position_of_the_leading_lab_is_sent_to_staff_only(busy: MemoryClass, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is written ten times a second: a frame of it for each of hundreds of pages would fill the server."""
    monkeypatch.setattr(board_module, "MAX_UNSEEN", 50)
    state, board = busy.state, board_of(busy)
    pages = {p: Outbox(board, viewer, -1) for p in (TEACHER, BOB) if (viewer := board.viewer(p)) is not None}
    assert all(page._next() for page in pages.values())
    sent: dict[str, list[dict[str, Any]]] = {p: [] for p in pages}
    for moved in range(1, 121):
        event = lead.LabMoved(lab="run-p1/main", seq=moved, at_us=moved, mode="play", rate_us=1)
        envelope = (state.last_seq + 1, state.last_us, "room", "", event)
        changed = tuple(fold(state, envelope))
        entry = entry_of(state, envelope, CLASS.encode(envelope), changed)
        board.take(Published([entry], *sections_of(state, NoWords(), set(changed)), now_of(state)))
        for p, page in pages.items():
            page.notify()
            sent[p] += [msgspec.json.decode(frame) for frame in iter(page._next, None)]
            page.acknowledge(state.last_seq)
    assert [(frame["ev"], frame["patch"]) for frame in sent[BOB]] == [([], [])] * 2, "told before it falls out of it"
    assert len(sent[TEACHER]) == 120
    assert sent[TEACHER][-1]["patch"] == [
        ["/lead_lab", {"lab": "run-p1/main", "seq": 120, "at_us": 120, "mode": "play", "rate_us": 1}]
    ]


def test_vote_is_sent_to_staff_and_its_voter_but_not_to_hundreds_of_pages() -> None:
    room_ = MemoryClass()
    room_.do(TEACHER, ops.MakePoll("choice", "which?", "en", ("a", "b"), False, True, "1"), texts=(1, 2, 3))
    room_.do(TEACHER, ops.OpenPoll(1))
    board, state = board_of(room_), room_.state
    pages = {p: Outbox(board, viewer, -1) for p in (TEACHER, ADA, BOB) if (viewer := board.viewer(p)) is not None}
    assert all(page._next() for page in pages.values())

    def vote() -> dict[str, list[dict[str, Any]]]:
        assert len(room_.do(ADA, ops.CastVote(1, "0", 80))) == 1
        envelope = room_.log[-1]
        entry = entry_of(state, envelope, CLASS.encode(envelope), ("polls/1", f"mine/{ADA}"))
        changed = {"polls/1", f"mine/{ADA}"}
        board.take(Published([entry], *sections_of(state, NoWords(), changed), now_of(state)))
        for page in pages.values():
            page.notify()
        return {p: [msgspec.json.decode(frame) for frame in iter(page._next, None)] for p, page in pages.items()}

    sent = vote()
    assert sent[BOB] == []
    assert sent[TEACHER][0]["patch"][0][1]["votes"] == 1
    assert [path for path, _ in sent[ADA][0]["patch"]] == ["/polls/1", "/mine"]
    assert vote()[BOB] == []


def test_two_rounds_of_40_voters_count_each_once_and_show_no_split_before_it_is_shown() -> None:
    """Acceptance statement 19, over every frame that a learner gets: those that follow, and those of a reload."""
    room_ = MemoryClass(40)
    learners = [p for p, person in room_.state.people.items() if person.role == "learner"]
    assert len(learners) == 40
    poll = ops.MakePoll("choice", "which?", "en", ("a", "b"), False, True, "1")
    room_.do(TEACHER, poll, texts=(1, 2, 3))
    for turn in (0, 1):
        room_.do(TEACHER, ops.OpenPoll(1))
        for number, p in enumerate(learners):
            room_.do(p, ops.CastVote(1, "0", 10), id=f"first-{turn}")
            room_.do(p, ops.CastVote(1, str(int(number < 15 + 20 * turn)), 50), id=f"second-{turn}")
        room_.do(TEACHER, ops.ClosePoll(1))
        board = board_of(room_)
        sent = "".join(everything_for(board, p) for p in learners)
        assert '"splits"' not in sent and '"Voted"' not in sent
        assert '"right"' not in sent.replace('"right":0,', "")
    room_.do(TEACHER, ops.ShowSplit(1))
    shown = everything_for(board_of(room_), learners[0])
    assert '"count":40,"answers":{"0":25,"1":15}' in shown, "of each, the last vote of the first round"
    assert '"count":40,"answers":{"0":5,"1":35}' in shown
