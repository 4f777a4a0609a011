"""What the recording of a class has: consent, passages off the record, the stage; and what a page is given of it."""

import json
from typing import Any

import pytest

from broker_core.events import Event
from lab.classroom.acts import At, facts, ops
from lab.classroom.audience import Viewer
from lab.classroom.events import CLASS
from lab.classroom.events.help import Asked, NoteSent
from lab.classroom.events.lead import LabsSeen, StageShown
from lab.classroom.events.poll import PollMade, Voted
from lab.classroom.events.room import Joined
from lab.classroom.events.seen import InkDrawn, Pointed, ViewChanged
from lab.classroom.recorded.class_map import ClassMap, Row
from lab.classroom.recorded.description import describe
from lab.classroom.recorded.filtering import RecordFilter
from lab.classroom.recorded.playback import SEGMENT_EVENTS, Playback
from tests.support.classroom.memory_class import ADA, TEACHER, US, WATCHER, MemoryClass, NoWords

STAFF, LEARNER, ONLOOKER = Viewer(TEACHER, "instructor"), Viewer(ADA, "learner"), Viewer(WATCHER, "observer")


def recorded(room: MemoryClass) -> Playback:
    playback = Playback(NoWords())
    playback.take(room.log)
    return playback


def kinds(playback: Playback, kind: type[Event]) -> list[Any]:
    return [event for *_, event in playback.events() if isinstance(event, kind)]


def lead(room: MemoryClass) -> None:
    room.do(TEACHER, ops.TakeLead("lead/main"))
    room.fact(facts.MoveLab("lead/main", 10, 1 * US, "play", US))


def point(room: MemoryClass, down: bool = True) -> None:
    room.fact(facts.Point(1, "record:orders-0:4", 500, 500, down), TEACHER)


class Page:
    """Applies segments as a page does."""

    def __init__(self) -> None:
        self.held: dict[str, Any] = {}

    def apply(self, patch: list[Any]) -> None:
        for path, *value in patch:
            self.held.pop(path, None)
            if value:
                self.held[path] = value[0]


def segment(playback: Playback, number: int, viewer: Viewer) -> dict[str, Any]:
    found = playback.segment(number, viewer)
    assert found is not None
    shown = {"first_seq": found.first_seq, "last_seq": found.last_seq}
    return shown | {name: [json.loads(bytes(one)) for one in getattr(found, name)] for name in ("patch", "events")}


def test_participant_who_opted_out_is_in_no_event() -> None:
    room = MemoryClass(0)
    room.fact(facts.SetPerson("p9", "learner", "in", "not_recorded", "run-p9/main"))
    room.do("p9", ops.Ask("Why?", "en", At("run-p9/main"), False), texts=(7,))
    room.do(ADA, ops.BackQuestion(1))
    room.do(ADA, ops.Ask("And me?", "en", At("run-p3/main"), False), texts=(8,))
    room.do("p9", ops.BackQuestion(2))
    room.fact(facts.SeeLabs((("p9", 4, 5), (ADA, 6, 7))))
    room.do(TEACHER, ops.MakePoll("choice", "?", "en", ("a", "b"), False, False), texts=(1, 2, 3))
    room.do(TEACHER, ops.OpenPoll(1))
    room.do("p9", ops.CastVote(1, "0"))
    room.do(ADA, ops.CastVote(1, "1"))
    room.kick("p9")
    playback = recorded(room)
    assert not any(b'"p9"' in CLASS.encode(one) for one in playback.events())
    assert [one.text for one in kinds(playback, Asked)] == [8]
    assert [one.voter for one in kinds(playback, Voted)] == [ADA]
    assert [one.moved for one in kinds(playback, LabsSeen)] == [((ADA, 6, 7),)]
    assert "p9" not in {one["p"] for one in playback.people(STAFF)}


def test_events_are_numbered_without_gaps_and_filtering_again_changes_nothing() -> None:
    room = MemoryClass()
    room.fact(facts.SetPerson("p9", "learner", "in", "not_recorded", "run-p9/main"))
    lead(room)
    room.do(TEACHER, ops.AskStage(ADA))
    room.do(ADA, ops.AnswerStage(True, True, False))
    room.do(TEACHER, ops.ClearStage())
    room.do(TEACHER, ops.SetRecording(False))
    room.do(TEACHER, ops.Draw("record:orders-0:4", ((1, 2),)))
    room.do(TEACHER, ops.SetRecording(True))
    once = list(recorded(room).events())
    assert [seq for seq, *_ in once] == list(range(1, len(once) + 1))
    again = RecordFilter()
    assert [kept for one in once for kept in again.take(one)] == once
    assert not any(act for _, _, _, act, _ in once)


def test_off_the_record_neither_pointer_nor_ink_nor_texts_are_kept_and_the_last_view_is_shown_after_it() -> None:
    room = MemoryClass()
    lead(room)
    point(room)
    room.after(10)
    room.do(TEACHER, ops.SetRecording(False))
    point(room)
    assert sum(isinstance(one[4], Pointed) for one in room.log) == 1
    room.do(TEACHER, ops.Draw("record:orders-0:4", ((1, 2),)))
    room.do(ADA, ops.Ask("In private?", "en", At("run-p3/main"), True), texts=(5,))
    room.do(TEACHER, ops.AddChapter("secret", "en"), texts=(6,))
    room.do(TEACHER, ops.MakePoll("choice", "?", "en", ("a", "b"), False, False), texts=(7, 8, 9))
    room.do(TEACHER, ops.OpenPoll(1))
    room.do(TEACHER, ops.ClosePoll(1))
    for n in (1, 2):
        room.fact(facts.ChangeView(1, f'{{"screen":"{n}"}}'))
    room.after(5)
    room.do(TEACHER, ops.SetRecording(True))
    room.after(1)
    room.do(TEACHER, ops.Draw("record:orders-0:5", ((3, 4),)))
    playback = recorded(room)
    assert playback.off_record == [(10 * US, 15 * US)]
    assert [one.anchor for one in kinds(playback, InkDrawn)] == ["record:orders-0:5"]
    assert kinds(playback, Asked) == kinds(playback, PollMade) == playback.chapters() == []
    assert [(one[1], one[4].view) for one in playback.events() if isinstance(one[4], ViewChanged)] == [
        (15 * US, '{"screen":"2"}')
    ]


def test_a_passage_that_is_still_off_the_record_lasts_until_now() -> None:
    room = MemoryClass()
    room.after(3)
    room.do(TEACHER, ops.SetRecording(False))
    room.after(4)
    room.do(TEACHER, ops.SetPace(1))
    assert recorded(room).off_record == [(3 * US, 7 * US)]


@pytest.mark.parametrize("leave", [True, False])
def test_stage_is_recorded_only_with_consent(leave: bool) -> None:
    room = MemoryClass()
    lead(room)
    room.fact(facts.SeeLabs(((ADA, 40, 4 * US),)))
    room.after(10)
    room.do(TEACHER, ops.AskStage(ADA))
    room.do(ADA, ops.AnswerStage(True, True, leave))
    room.after(10)
    room.fact(facts.SeeLabs(((ADA, 50, 9 * US),)))
    room.do(TEACHER, ops.ClearStage())
    playback = recorded(room)
    assert [one.lab for one in kinds(playback, StageShown)] == (["run-p3/main"] if leave else [""])
    assert [lab.address for lab in playback.map.labs] == ["lead/main", *(["run-p3/main"] if leave else [])]
    shown = [(row.class_us, row.lab, row.seq, row.at_us, row.rate_us) for row in playback.map.rows[2:]]
    back = (20 * US, 0, 10, 21 * US, US)
    if leave:
        half = US // 2
        assert shown == [(10 * US, 1, 40, 4 * US, half), (20 * US, 1, 50, 9 * US, 0), back]
        assert playback.map.last_seqs == [10, 50]
    else:
        assert shown == [(10 * US, -1, 0, 0, 0), back]


def test_recording_does_not_reveal_a_declined_stage() -> None:
    room = MemoryClass()
    room.do(TEACHER, ops.AskStage(ADA))
    room.do(ADA, ops.AnswerStage(False))
    assert not any(type(event).__name__.startswith("Stage") for *_, event in recorded(room).events())


def test_names_are_those_that_participants_consented_to() -> None:
    room = MemoryClass(0)
    room.fact(facts.SetPerson("p9", "learner", "in", "nickname", "run-p9/main"))
    names = {one["p"]: one["name"] for one in recorded(room).people(STAFF)}
    assert (names["p9"], names[ADA], names[TEACHER]) == ("name of p9", "", "name of p1")
    assert {one["p"] for one in recorded(room).people(LEARNER)} == {TEACHER, "p2", ADA}


def test_notes_are_never_recorded() -> None:
    room = MemoryClass()
    room.do(TEACHER, ops.SendNote(ADA, "Well done", "en"), texts=(3,))
    assert kinds(recorded(room), NoteSent) == []


def test_new_staff_are_recorded_from_then_on() -> None:
    room = MemoryClass(0)
    room.fact(facts.SetPerson("p9", "learner", "in", "not_recorded", "run-p9/main"))
    room.fact(facts.SetPerson("p9", "co-instructor", "in", "not_recorded"))
    room.do("p9", ops.TakeLead("other/main"))
    playback = recorded(room)
    assert [one.role for one in kinds(playback, Joined) if one.p == "p9"] == ["co-instructor"]
    assert playback.state.lead is not None and playback.state.lead.p == "p9"


@pytest.mark.parametrize("viewer", [STAFF, LEARNER, ONLOOKER], ids=lambda one: one.role)
def test_segments_give_a_page_the_same_state_as_the_live_class(viewer: Viewer) -> None:
    room = MemoryClass()
    lead(room)
    for n in range(SEGMENT_EVENTS):
        room.after(0.1)
        point(room)
        if n % 50 == 0:
            room.do(ADA, ops.RaiseHand(At("run-p3/main", n)))
            room.do(TEACHER, ops.SetPace(n % 3 + 1))
        if n % 50 == 25:
            room.do(ADA, ops.LowerHand())
    playback = recorded(room)
    assert len(playback.begins_us) == 2
    page, first = Page(), segment(playback, 0, viewer)
    page.apply(first["patch"])
    seqs = []
    for seq, _, who, _, _, patch in first["events"]:
        page.apply(patch)
        seqs.append(seq)
        assert viewer.audience == "staff" or who in ("", "room", TEACHER, "p2", viewer.p)
    second = segment(playback, 1, viewer)
    assert (first["last_seq"], second["first_seq"]) == (SEGMENT_EVENTS, SEGMENT_EVENTS + 1)
    then = Page()
    then.apply(second["patch"])
    assert page.held == then.held
    assert seqs == sorted(seqs) and ("/people/p3" in page.held) == (viewer is STAFF)
    shown = {event[4][0] for event in first["events"] if event[4]}
    assert "Pointed" in shown and ("HandRaised" in shown) == (viewer is not ONLOOKER)
    assert playback.segment(2, viewer) is None and playback.segment(-1, viewer) is None


@pytest.mark.parametrize(("mode", "shown_us"), [("play", 1_500_000), ("pause", 3_000_000)])
def test_an_event_between_two_reports_of_a_lab_is_found_where_the_page_shows_it(mode: str, shown_us: int) -> None:
    found = ClassMap()
    found.rows = [Row(1_000_000, 0, 1, 0, mode, 1_000_000), Row(3_000_000, 0, 9, 2_000_000, mode, 1_000_000)]
    assert found.first_shown(0, 5, 500_000) == shown_us
    assert found.first_shown(0, 1, 0) is None and found.first_shown(0, 10, 2_100_000) is None


def test_idle_passages_have_no_events_and_a_paused_lab() -> None:
    room = MemoryClass()
    room.do(TEACHER, ops.TakeLead("lead/main"))
    room.fact(facts.MoveLab("lead/main", 10, US, "pause", 0))
    room.after(8)
    room.fact(facts.GoAway(ADA, 8 * US))
    room.after(2)
    room.do(TEACHER, ops.SetPace(1))
    room.fact(facts.MoveLab("lead/main", 10, US, "play", US))
    room.after(20)
    room.do(TEACHER, ops.SetPace(2))
    assert recorded(room).quiet == [(0, 10 * US)]


def test_a_class_that_goes_on_lasts_until_now_and_is_quiet_since_its_last_event() -> None:
    room = MemoryClass()
    room.do(TEACHER, ops.TakeLead("lead/main"))
    room.fact(facts.MoveLab("lead/main", 10, US, "pause", 0))
    room.after(5)
    room.fact(facts.GoAway(ADA, 5 * US))
    playback = recorded(room)
    now = describe(playback, LEARNER, [""], 60 * US)
    assert (now["length_us"], now["quiet"]) == (60 * US, [(0, 60 * US)])
    assert describe(playback, LEARNER, [""], 1 * US)["length_us"] == 5 * US, "no event is after its end"
    after = describe(playback, LEARNER, [""])
    assert (after["length_us"], after["quiet"]) == (5 * US, [])
    room.do(TEACHER, ops.SetRecording(False))
    off = describe(recorded(room), LEARNER, [""], 60 * US)
    assert off["off_record"] == [(5 * US, 60 * US)]


@pytest.mark.parametrize("why", ["the lab plays", "a microphone is on"])
def test_a_class_in_which_something_goes_on_is_not_quiet(why: str) -> None:
    room = MemoryClass()
    room.do(TEACHER, ops.TakeLead("lead/main"))
    if why == "the lab plays":
        room.fact(facts.MoveLab("lead/main", 10, US, "play", US))
    else:
        room.do(TEACHER, ops.SetMicrophone(True))
    assert describe(recorded(room), LEARNER, [""], 60 * US)["quiet"] == []
