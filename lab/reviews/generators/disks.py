"""Chapter 3, store: what is lost, deleted and compacted, and what is copied."""

from collections.abc import Iterable
from random import Random

from broker_core.events.client import RecordsConsumed
from broker_core.events.log import SegmentsDeleted
from broker_core.texts import Text, text
from lab.reviews.question import Choice, Question, around, drawn, value
from lab.reviews.registry import chapter
from lab.reviews.scenario import Scenario, laid, numbered_records
from lab.runtime.zero_copy import CHUNK_BYTES, copied_bytes

review = chapter(3)


@review("003-what-a-power-loss-takes")
def what_is_left(rng: Random) -> Question:
    """Where a log ends after a kill or a power loss, by what was flushed."""
    records, more = rng.randint(2, 6), rng.randint(1, 4)
    is_power_loss = rng.random() < 0.75
    flush = rng.choice((0, 1, 2))
    config = "--config flush.messages=1" if flush == 2 else ""
    scenario = Scenario(rng)
    scenario.do(laid("payments", [2, 1, 3], config=config), "producer open p1 --acks all")
    given = [f"producer send p1 payments-0 {numbered_records(0, records)}"]
    if flush:
        given.append("kafka-configs.sh --alter --topic payments --add-config flush.messages=1")
    given.append(f"producer send p1 payments-0 {numbered_records(records, more)}")
    scenario.do(given[0])
    if flush == 1:
        scenario.do(
            "kafka-configs.sh --alter --entity-type topics --entity-name payments --add-config flush.messages=1"
        )
        scenario.do("sleep 1s")
    elif flush == 2:
        given = ["flush.messages=1", given[0], given[2]]
    scenario.do(given[-1], "sleep 1s", f"broker {'powerloss' if is_power_loss else 'kill'} 1")
    replica = scenario.replica("payments-0", 1)
    end = max((int(row[0]) + 1 for row in replica["tail"].values()), default=int(replica["flushed"]))
    choices, right = drawn(
        rng,
        end,
        [(records + more, "ack-is-on-disk"), (0, "kill-loses-all"), (records, "hw-is-on-disk")],
        around(end),
    )
    ask = "review_store.power.ask_power" if is_power_loss else "review_store.power.ask_kill"
    return Question(
        ask=text(ask),
        given=tuple(given),
        choices=choices,
        right=right,
        reason=text("review_store.power.reason_power" if is_power_loss else "review_store.power.reason_kill", end=end),
    )


@review("019-retention-deletes-segments")
def new_log_start(rng: Random) -> Question:
    """The log start offset after retention by size."""
    scenario = Scenario(rng, brokers=1)
    scenario.do(laid("visits", [1], config=f"--config segment.bytes={rng.randrange(300, 900, 20)}"))
    scenario.do("producer open p1 --acks all", f"producer send p1 visits-0 {numbered_records(0, rng.randint(16, 30))}")
    segments = {int(base): row[0] for base, row in scenario.replica("visits-0", 1)["segments"].items()}
    bases = sorted(segments)
    total = sum(segments.values())
    limit = rng.randrange(segments[bases[-1]] + 1, total)
    scenario.do(
        f"kafka-configs.sh --alter --entity-type topics --entity-name visits --add-config retention.bytes={limit}",
        "task retention",
    )
    deleted = sum(1 for _ in scenario.events(SegmentsDeleted))
    start = scenario.replica("visits-0", 1)["log_start_offset"]
    place = bases.index(start)
    # As many records as would leave just that many bytes.
    exact = next(
        (offset for offset in range(start, bases[-1]) if _bytes_from(segments, bases, offset) <= limit), start + 1
    )
    choices, right = drawn(
        rng,
        start,
        [
            (bases[min(place + 1, len(bases) - 1)], "down-below"),
            (exact, "retention-to-the-byte"),
            (0, "consumed-is-deleted"),
        ],
        bases,
    )
    return Question(
        ask=text("review_store.retention.ask", limit=limit),
        given=tuple(f"{base:020d}.log  {segments[base]} B" for base in bases),
        choices=choices,
        right=right,
        reason=text(
            "review_store.retention.reason_kept" if not deleted else "review_store.retention.reason",
            left=total - sum(segments[base] for base in bases[:place]),
            start=start,
            limit=limit,
        ),
    )


def _bytes_from(segments: dict[int, int], bases: list[int], offset: int) -> int:
    """The bytes of the log from an offset on, as if bytes were spread evenly over the records of a segment."""
    base = max(one for one in bases if one <= offset)
    place = bases.index(base)
    following = bases[place + 1] if place + 1 < len(bases) else offset + 1
    rest = segments[base] * (following - offset) // (following - base)
    return rest + sum(segments[one] for one in bases[place + 1 :])


@review("020-compaction-keeps-the-last")
def survivors(rng: Random) -> Question:
    """Which offsets remain after one pass of the cleaner."""
    keys = rng.sample("abcde", rng.randint(2, 3))
    sent = [(rng.choice(keys), "null" if rng.random() < 0.2 else str(number)) for number in range(rng.randint(6, 8))]
    scenario = Scenario(rng, brokers=1)
    scenario.do(
        laid("prices", [1], config="--config cleanup.policy=compact --config segment.bytes=230"),
        "producer open p1 --acks all",
        f"producer send p1 prices-0 {' '.join(f'{key}:{shown}' for key, shown in sent)}",
    )
    bases = sorted(map(int, scenario.replica("prices-0", 1)["segments"]))
    scenario.do("log clean prices-0", "consumer follow c1 prices-0 --from earliest", "sleep 1s")
    left = [row[0] for _, read in scenario.events(RecordsConsumed) for row in read.records]
    active = bases[-1]
    tombstones = {offset for offset, (_, shown) in enumerate(sent) if shown == "null" and offset < active}
    by_segment = _last_by_segment(sent, bases)
    newest = _last_of([*enumerate(sent)])
    choices, right = drawn(
        rng,
        _shown(left),
        [
            (_shown(range(len(left))), "compaction-renumbers"),
            (_shown(by_segment), "one-per-segment"),
            (_shown(one for one in left if one not in tombstones), "tombstone-goes-at-once"),
            (_shown(newest), "newest-only"),
        ],
        [_shown(range(len(sent)))],
        count=5,
    )
    given = []
    for place, base in enumerate(bases):
        end = bases[place + 1] if place + 1 < len(bases) else len(sent)
        given.append(f"{base:020d}.log  {'  '.join(f'{n}={sent[n][0]}:{sent[n][1]}' for n in range(base, end))}")
    return Question(
        ask=text("review_store.compaction.ask"),
        given=tuple(given),
        choices=choices,
        right=right,
        reason=text("review_store.compaction.reason", active=active, offsets=_shown(left)),
    )


def _last_of(rows: list[tuple[int, tuple[str, str]]]) -> list[int]:
    return sorted({key: offset for offset, (key, _) in rows}.values())


def _last_by_segment(sent: list[tuple[str, str]], bases: list[int]) -> list[int]:
    ends = [*bases[1:], len(sent)]
    return [
        offset
        for base, end in zip(bases, ends, strict=True)
        for offset in _last_of([(number, sent[number]) for number in range(base, end)])
    ]


def _shown(offsets: Iterable[int]) -> str:
    return " ".join(map(str, offsets))


@review("021-zero-copy-measured")
def copied(rng: Random) -> Question:
    """How many bytes the processor copies to send a file, by either way."""
    size = rng.randrange(1, 65) * CHUNK_BYTES
    way = rng.choice(("read", "sendfile"))
    answer = copied_bytes(way, size)
    amounts = {0: "", size: "one-copy-left", 2 * size: "as-read-and-write"}
    laid_out = [(amount, "" if amount == answer else tag) for amount, tag in amounts.items()]
    choices = [Choice(str(amount), _amount(amount), tag) for amount, tag in laid_out]
    if size > CHUNK_BYTES:
        choices.append(Choice(str(CHUNK_BYTES), _amount(CHUNK_BYTES)))
    rng.shuffle(choices)
    return Question(
        ask=text(_WAYS[way], size=size // 1024, chunk=CHUNK_BYTES // 1024),
        choices=tuple(choices),
        right=str(answer),
        reason=text("review_store.copies.reason", read=copied_bytes("read", size) // 1024),
    )


_WAYS = {"read": "review_store.copies.ask_read", "sendfile": "review_store.copies.ask_sendfile"}


def _amount(size: int) -> Text:
    return value(f"{size // 1024} KiB" if size else "0")
