"""Frames, the ring of the last events, and what one socket gets of it."""

import json
import random
from functools import cache

import msgspec
import pytest

from broker_core.events.codec import encode_with_patch
from lab.protocol.event_schema import schema_hash
from lab.protocol.frames import (
    MAX_FRAME_BYTES,
    Clock,
    DeltaFrame,
    Do,
    Hello,
    InvalidFrame,
    check_hello,
    encode,
    encode_deltas,
    parse,
)
from lab.runtime.streaming.feed import (
    FIRST_UNACKED_BYTES,
    MAX_MISSED_EVENTS,
    MAX_UNACKED_BYTES,
    MAX_UNACKED_FRAMES,
    Feed,
    SnapshotNeeded,
    Window,
)
from lab.runtime.streaming.ring import Ring
from lab.runtime.streaming.shared import (
    MAX_EVENTS_PER_FRAME,
    MAX_KEPT_BYTES,
    MAX_KEPT_FRAMES,
    Deltas,
    SharedFrames,
)


@cache
def event(seq: int, size: int = 60) -> bytes:
    return json.dumps([seq, 0, "b1", 0, ["X", "x" * size], []]).encode()


def filled(ring: Ring, count: int, size: int = 60) -> Ring:
    ring.extend([event(ring.last_seq + number, size) for number in range(1, count + 1)])
    return ring


def seqs(found: object) -> list[int]:
    assert isinstance(found, Deltas)
    return [row[0] for row in json.loads(found.frame)["ev"]]


# Frames


def test_frame_of_the_page_is_read() -> None:
    assert parse('{"k":"do","id":"u1","line":"broker kill 1","more":1}') == Do("u1", "broker kill 1")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "Invalid frame"),
        ("hello", "Invalid frame"),
        ("[1]", "Invalid frame"),
        ('{"k":"fly"}', "fly"),
        ('{"k":"do","id":7,"line":"x"}', "id"),
        ('{"k":"time","id":"a","op":"fly"}', "fly"),
        ('{"k":"ack","seq":"1"}', "seq"),
        ('"' + "x" * MAX_FRAME_BYTES + '"', "bytes"),
        (None, "binary"),
    ],
)
def test_invalid_frame_is_refused_with_what_was_expected(text: str | None, says: str) -> None:
    with pytest.raises(InvalidFrame) as refused:
        parse(text)
    assert says in str(refused.value.what)


def test_refused_frame_keeps_its_id() -> None:
    with pytest.raises(InvalidFrame) as refused:
        parse('{"k":"time","id":"u9","op":"fly"}')
    assert refused.value.frame == "u9"


def test_page_of_another_version_is_asked_to_reload() -> None:
    check_hello(Hello(1, schema_hash()))
    for hello in (Hello(2, schema_hash()), Hello(1, "0123")):
        with pytest.raises(InvalidFrame) as refused:
            check_hello(hello)
        assert refused.value.id == "refusal.lab_updated"


def test_event_travels_with_seq_in_front_and_patch_behind() -> None:
    wire = encode_with_patch(7, b'[12,"b1",3,["LogDeleted","orders-0@b1",[]]]', [["/replicas/orders-0@b1"]])
    assert json.loads(wire) == [7, 12, "b1", 3, ["LogDeleted", "orders-0@b1", []], [["/replicas/orders-0@b1"]]]


# The ring


def test_deltas_have_the_documented_form() -> None:
    clock = Clock(at_us=7, mode="play", rate=1.0, horizon_us=9, next_us=None, core="live")
    for given in (None, clock):
        frame = encode_deltas([b"[1,2]", b"[2,3]"], 5, None if given is None else encode(given))
        read = msgspec.json.decode(frame, type=DeltaFrame)
        assert (list(map(bytes, read.ev)), read.sent_ms, read.clock) == ([b"[1,2]", b"[2,3]"], 5, given)
        assert encode(read) == frame


def test_ring_keeps_the_last_events() -> None:
    ring = filled(Ring(100, capacity=50), 500)
    assert ring.last_seq == 600
    assert 50 <= ring.last_seq - ring.first_seq + 1 <= 63
    assert ring.follows(600) and ring.follows(550) and not ring.follows(500) and not ring.follows(601)
    assert json.loads(ring.after(599, 10, 10_000)[0])[0] == 600


def test_event_larger_than_a_frame_is_sent_alone() -> None:
    ring = filled(Ring(0), 2, size=20_000)
    assert len(ring.after(0, 10, 10_000)) == 1


# What a socket gets


def test_new_page_gets_a_snapshot_and_then_every_event() -> None:
    ring = filled(Ring(0), 10)
    feed = Feed(None, SharedFrames())
    assert isinstance(feed.next(ring, 0), SnapshotNeeded)
    assert feed.snapped(10, 1000, 0.0) == 0
    assert feed.next(ring, 0) is None
    filled(ring, 2)
    assert seqs(feed.next(ring, 0)) == [11, 12]


def test_reconnecting_page_gets_missed_events() -> None:
    ring = filled(Ring(0), 3_000)
    feed = Feed(200, SharedFrames())
    got: list[int] = []
    while (found := feed.next(ring, 0)) is not None:
        got += seqs(found)
        assert isinstance(found, Deltas)
        feed.sent(found, 0.0)
        feed.window.acknowledged(found.last_seq, 0.0)
    assert got == list(range(201, 3_001))


@pytest.mark.parametrize("have", [5, 4_000])
def test_page_beyond_the_ring_gets_a_snapshot(have: int) -> None:
    ring = filled(Ring(0, capacity=100), 3_000)
    feed = Feed(have, SharedFrames())
    assert isinstance(feed.next(ring, 0), SnapshotNeeded)
    assert feed.snapped(3_000, 1, 0.0) == max(0, 3_000 - have)


def test_frames_are_bounded() -> None:
    ring = filled(Ring(0), 3_000, size=10)
    found = Feed(0, SharedFrames()).next(ring, 0)
    assert len(seqs(found)) == MAX_EVENTS_PER_FRAME
    ring = filled(Ring(0), 300, size=1_000)
    found = Feed(0, SharedFrames()).next(ring, 0)
    assert isinstance(found, Deltas) and len(found.frame) <= FIRST_UNACKED_BYTES + 2_000


def test_page_that_keeps_up_gets_larger_frames() -> None:
    ring = filled(Ring(0), 2_000, size=1_000)
    feed = Feed(0, SharedFrames())
    sizes = []
    for n in range(4):
        found = feed.next(ring, 0)
        assert isinstance(found, Deltas)
        feed.sent(found, n)
        feed.window.acknowledged(found.last_seq, n + 0.1)
        sizes.append(round(len(found.frame) / FIRST_UNACKED_BYTES))
    assert sizes == [1, 2, 4, 4]


@pytest.mark.parametrize(("size", "frames"), [(10, MAX_KEPT_FRAMES), (110_000, 9), (2 * MAX_KEPT_BYTES, 1)])
def test_frames_kept_for_other_pages_are_bounded(size: int, frames: int) -> None:
    ring, shared = filled(Ring(0), 60, size=size), SharedFrames()
    made = [shared.deltas(ring, position, 0, None, 1) for position in range(60)]
    kept = 0
    # The newest first: asking for one that is not kept makes another one.
    while kept < 60 and shared.deltas(ring, 59 - kept, 0, None, 1) is made[59 - kept]:
        kept += 1
    assert kept == frames
    shared.forget()
    assert shared.deltas(ring, 59, 0, None, 1) is not made[59]


def test_eight_unacknowledged_frames_close_the_window() -> None:
    ring = filled(Ring(0), 1)
    feed = Feed(0, SharedFrames())
    for _ in range(MAX_UNACKED_FRAMES):
        found = feed.next(ring, 0)
        assert isinstance(found, Deltas)
        feed.sent(found, 0.0)
        filled(ring, 1)
    assert feed.next(ring, 0) is None
    feed.window.acknowledged(1, 0.0)
    assert seqs(feed.next(ring, 0)) == [9]


def in_flight(feed: Feed, ring: Ring, now_s: float) -> int:
    """Sends until the window is closed, and returns the number of bytes sent."""
    sent = 0
    while (found := feed.next(ring, 0)) is not None:
        assert isinstance(found, Deltas)
        feed.sent(found, now_s)
        sent += len(found.frame)
    return sent


def acknowledge(feed: Feed, now_s: float) -> None:
    assert feed.position is not None
    feed.window.acknowledged(feed.position, now_s)


def test_unacknowledged_256_kb_close_the_window_of_a_fast_page() -> None:
    ring = filled(Ring(0), 60, size=40_000)
    feed = Feed(0, SharedFrames())
    for _ in range(3):
        sent = in_flight(feed, ring, 0.0)
        acknowledge(feed, 0.1)
    assert FIRST_UNACKED_BYTES < sent < 2 * MAX_UNACKED_BYTES
    filled(ring, 30, size=40_000)
    assert MAX_UNACKED_BYTES <= in_flight(feed, ring, 0.2) < 2 * MAX_UNACKED_BYTES


@pytest.mark.parametrize(
    ("delay_s", "frames", "closes_at"),
    [
        (0.3, 2, FIRST_UNACKED_BYTES),  # neither slow nor fast
        (0.1, 1, FIRST_UNACKED_BYTES),  # fast, but less than half of the window was used
        (0.1, 2, 2 * FIRST_UNACKED_BYTES),
        (0.8, 2, FIRST_UNACKED_BYTES // 2),
    ],
)
def test_window_changes_by_the_delay_of_an_acknowledgement(delay_s: float, frames: int, closes_at: int) -> None:
    window = Window()
    for seq in range(frames):
        window.sent(seq, FIRST_UNACKED_BYTES // 4, 0.0)
    window.acknowledged(frames, delay_s)
    window.sent(frames + 1, closes_at - 1, delay_s)
    assert window.is_open
    window.sent(frames + 2, 1, delay_s)
    assert not window.is_open


def test_window_follows_a_slow_link_and_opens_again() -> None:
    ring = filled(Ring(0), 100, size=40_000)
    feed = Feed(0, SharedFrames())
    for now_s in range(0, 12, 2):
        sent = in_flight(feed, ring, float(now_s))
        acknowledge(feed, now_s + 2.0)
    assert sent < 2 * 40_000, "one event at a time"
    for _ in range(6):
        filled(ring, 20, size=40_000)
        sent = in_flight(feed, ring, 20.0)
        acknowledge(feed, 20.1)
    assert sent >= MAX_UNACKED_BYTES


def blocked_feed(ring: Ring) -> Feed:
    """A feed whose window is closed by eight small frames."""
    feed = Feed(ring.last_seq, SharedFrames())
    for _ in range(MAX_UNACKED_FRAMES):
        filled(ring, 1)
        found = feed.next(ring, 0)
        assert isinstance(found, Deltas)
        feed.sent(found, 0.0)
    return feed


def test_short_gap_of_a_closed_window_is_filled_with_events() -> None:
    ring = Ring(0)
    feed = blocked_feed(ring)
    filled(ring, MAX_MISSED_EVENTS - 1)
    assert feed.next(ring, 0) is None
    feed.window.acknowledged(8, 0.0)
    assert seqs(feed.next(ring, 0))[0] == 9


def test_long_gap_of_a_closed_window_is_filled_with_a_snapshot() -> None:
    ring = Ring(0)
    feed = blocked_feed(ring)
    filled(ring, MAX_MISSED_EVENTS)
    assert feed.next(ring, 0) is None
    feed.window.acknowledged(8, 0.0)
    assert isinstance(feed.next(ring, 0), SnapshotNeeded)
    assert feed.snapped(ring.last_seq, 5_000, 0.0) == MAX_MISSED_EVENTS
    filled(ring, 1)
    assert seqs(feed.next(ring, 0)) == [ring.last_seq]


def test_page_reaches_the_newest_state_whatever_it_acknowledges() -> None:
    """A page that answers at random moments, a lab that makes events in bursts: nothing is lost, nothing doubled."""
    for seed in range(50):
        random_numbers = random.Random(seed)
        ring = Ring(0, capacity=400)
        feed = Feed(None, SharedFrames())
        at = -1
        for _ in range(200):
            filled(ring, random_numbers.choice((0, 1, 5, 700)))
            if random_numbers.random() < 0.5 and at >= 0:
                feed.window.acknowledged(at, 0.0)
            found = feed.next(ring, 0)
            if isinstance(found, SnapshotNeeded):
                at = ring.last_seq
                feed.snapped(at, 10_000, 0.0)
            elif found is not None:
                assert seqs(found)[0] == at + 1
                at = found.last_seq
                feed.sent(found, 0.0)
        feed.window.acknowledged(at, 0.0)
        while (found := feed.next(ring, 0)) is not None:
            if isinstance(found, SnapshotNeeded):
                at = ring.last_seq
                feed.snapped(at, 10_000, 0.0)
            else:
                at = found.last_seq
                feed.sent(found, 0.0)
            feed.window.acknowledged(at, 0.0)
        assert at == ring.last_seq, f"seed {seed}"
