"""Chapter 3, store: segments, lookups, batches."""

from random import Random

from broker_core.events.log import OffsetIndexEntryAdded, SegmentRolled
from broker_core.log import SegmentSizes, look_up_offset
from broker_core.records.record_batch import HEADER_BYTES
from broker_core.texts import text
from lab.reviews.question import Question, around, drawn
from lab.reviews.registry import chapter
from lab.reviews.scenario import Scenario, laid

review = chapter(3)


def _named(offset: int) -> str:
    return f"{offset:020d}.log"


@review("017-segments-roll")
def second_segment(rng: Random) -> Question:
    """The name of the second segment, by segment.bytes and the size of the batches."""
    segment_bytes = rng.randrange(200, 700, 10)
    value = "v" * rng.randint(1, 40)
    scenario = Scenario(rng, brokers=1)
    scenario.do(laid("parts", [1], config=f"--config segment.bytes={segment_bytes}"), "producer open p1 --acks all")
    while not (rolled := [event for _, event in scenario.events(SegmentRolled)]):
        scenario.do(f"producer send p1 parts-0 k:{value}")
    base = rolled[0].segment
    size = scenario.batch_sizes("parts-0", 1)[0]
    choices, right = drawn(
        rng,
        _named(base),
        [
            (_named(base - 1), "name-is-last-offset"),
            (_named(1), "numbered"),
            (_named(base * size), "name-is-position"),
        ],
        [_named(base + 1)],
    )
    return Question(
        ask=text("review_store.segments.ask", segment=segment_bytes, batch=size),
        choices=choices,
        right=right,
        reason=text(
            "review_store.segments.reason",
            n=base,
            bytes=base * size,
            more=(base + 1) * size,
            segment=segment_bytes,
        ),
    )


@review("002-finding-an-offset")
def start_of_the_scan(rng: Random) -> Question:
    """The byte at which the scan for an offset begins, or how many batches it reads."""
    interval = rng.randrange(150, 400, 10)
    records = rng.randint(9, 14)
    value = "v" * rng.randint(1, 30)
    scenario = Scenario(rng, brokers=1)
    scenario.do(laid("archive", [1], config=f"--config index.interval.bytes={interval}"), "producer open p1 --acks all")
    scenario.do(f"producer send p1 archive-0 {' '.join(f'k:{value}' for _ in range(records))}")
    wanted = rng.randint(2, records - 1)
    base, sizes = next(iter(scenario.replica("archive-0", 1)["segments"].items()))
    facts = [SegmentSizes(int(base), *sizes[:3])]

    def read(base_offset: int, suffix: str, position: int, length: int) -> bytes:
        path = f"broker-1/archive-0/{base_offset:020d}.{suffix}"
        return scenario.disk.open(path, create=False).read(position, length)

    found = look_up_offset(facts, read, wanted)
    assert found.search is not None
    entries = [(event.offset, event.position) for _, event in scenario.events(OffsetIndexEntryAdded)]
    above = next((position for _, position in entries if position > found.search.value), entries[-1][1])
    batch = found.scanned[-1]
    asks_byte = rng.random() < 0.5
    answer = found.search.value if asks_byte else len(found.scanned)
    wrong = (
        [(batch.position, "index-dense"), (0, "index-dense"), (above, "nearest")]
        if asks_byte
        else [(1, "index-dense"), (wanted + 1, "index-dense")]
    )
    choices, right = drawn(rng, answer, wrong, [] if asks_byte else around(answer, 1))
    if len(choices) < 3:
        choices, right = drawn(rng, answer, wrong, [answer + batch.size, answer + 2 * batch.size])
    return Question(
        ask=text("review_store.scan.ask_byte" if asks_byte else "review_store.scan.ask_batches", offset=wanted),
        given=(
            *(f"index: offset {offset} position {position}" for offset, position in entries),
            f"log: 1 record a batch, {batch.size} bytes a batch",
        ),
        choices=choices,
        right=right,
        reason=text("review_store.scan.reason", offset=wanted, position=found.search.value, n=len(found.scanned)),
    )


@review("018-a-batch-byte-by-byte")
def size_of_a_batch(rng: Random) -> Question:
    """The size of one batch of several equal records, when that of a batch of one is known."""
    records = rng.randint(2, 8)
    key, value = "k" * rng.randint(1, 12), "v" * rng.randint(1, 40)
    scenario = Scenario(rng, brokers=1)
    scenario.do(
        laid("bytes", [1]),
        "producer open alone --acks all",
        f"producer send alone bytes-0 {key}:{value}",
        "producer open together --acks all --linger 200",
    )
    for _ in range(records):
        scenario.begin(f"producer send together bytes-0 {key}:{value}", 0)
    scenario.play(1000)
    alone, together = scenario.batch_sizes("bytes-0", 1)
    choices, right = drawn(
        rng,
        together,
        [
            (records * alone, "no-header"),
            (together - HEADER_BYTES, "no-header"),
            (alone + HEADER_BYTES * (records - 1), "header-only-once"),
        ],
        around(together),
    )
    return Question(
        ask=text("review_store.batch.ask", n=records, alone=alone),
        choices=choices,
        right=right,
        reason=text("review_store.batch.reason", n=records, record=alone - HEADER_BYTES, bytes=together),
    )
