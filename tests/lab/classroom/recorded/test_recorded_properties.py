"""Whatever happens in a class, its recording can be replayed, and contains nothing of people who are left out."""

import json
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from lab.classroom.acts import Given as Act
from lab.classroom.acts import facts, ops
from lab.classroom.audience import Viewer
from lab.classroom.events import CLASS
from lab.classroom.recorded.filtering import RecordFilter
from lab.classroom.recorded.playback import Playback
from lab.texts.refusal import Refusal
from tests.support.classroom.any_acts import STEPS, people
from tests.support.classroom.memory_class import US, MemoryClass, NoWords

LEFT_OUT = ("p9", "p10")
ABSENT = [f'"{p}"'.encode() for p in LEFT_OUT]
more = st.one_of(
    st.builds(lambda who, on: Act(who, ops.SetRecording(on)), people, st.booleans()),
    st.builds(lambda p, standing: Act("room", facts.SetPerson(p, "learner", standing, "not_recorded", f"run-{p}/main")),
              st.sampled_from(LEFT_OUT), st.sampled_from(["in", "waiting", "left", "kicked"])),
    st.builds(lambda p, act: Act(p, act, "", (1,)), st.sampled_from(LEFT_OUT), st.sampled_from([
        ops.LowerHand(), ops.BackQuestion(1), ops.CastVote(1, "0", 50), ops.MarkNow(),
        ops.AnswerStage(True, True, True), ops.Detach()])),
    st.builds(lambda who, p, op: Act(who, op(p)), people, st.sampled_from(LEFT_OUT),
              st.sampled_from([ops.AskStage, ops.Look, ops.EndLook, ops.EndHelp])),
    st.builds(lambda moved: Act("room", facts.SeeLabs(moved)),
              st.just((("p9", 3, 4), ("p3", 5, 6)))),
)  # fmt: skip
steps = st.tuples(STEPS, st.lists(st.tuples(st.integers(0, 59), st.tuples(st.sampled_from([0, 1, 20]), more))))


@settings(max_examples=60, deadline=None)
@given(steps)
def test_any_recording_is_dense_stable_and_replayed(
    drawn: tuple[list[tuple[int, Act]], list[tuple[int, tuple[int, Act]]]],
) -> None:
    acts, inserted = list(drawn[0]), drawn[1]
    for place, step in inserted:
        acts.insert(place, step)
    room = MemoryClass(4)
    for p in LEFT_OUT:
        room.fact(facts.SetPerson(p, "learner", "in", "not_recorded", f"run-{p}/main"))
    for seconds, act in acts:
        room.after(seconds)
        try:
            room.give(act)
        except Refusal:
            continue
    playback = Playback(NoWords())
    playback.take(room.log)
    events = list(playback.events())
    assert [seq for seq, *_ in events] == list(range(1, len(events) + 1))
    assert not any(name in CLASS.encode(one) for one in events for name in ABSENT)
    again = RecordFilter()
    assert [kept for one in events for kept in again.take(one)] == events
    off = [(from_us, to_us) for from_us, to_us in playback.off_record if from_us < to_us]
    assert all(before[1] <= after[0] for before, after in pairwise(off))
    assert [row.class_us for row in playback.map.rows] == sorted(row.class_us for row in playback.map.rows)
    for viewer in (Viewer("p1", "instructor"), Viewer("p3", "learner"), Viewer("p5", "observer")):
        found = playback.segment(0, viewer)
        assert found is not None and found.last_seq == len(events)
        shown = b"".join(bytes(one) for one in [*found.patch, *found.events])
        assert not any(name in shown for name in ABSENT)
        for one in found.events:
            seq, at_us, who, _, event, patches = json.loads(bytes(one))
            assert 1 <= seq <= len(events) and 0 <= at_us <= room.now_us + US and (event or patches)
            assert viewer.audience == "staff" or who in ("", "room", "p1", "p2", viewer.p) or _was_staff(room, who)


def _was_staff(room: MemoryClass, who: str) -> bool:
    return any(getattr(event, "p", "") == who and "instructor" in getattr(event, "role", "") for *_, event in room.log)
