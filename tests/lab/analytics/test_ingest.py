"""Recordings with what cannot be read, from other versions, and with what was read already under another name."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from broker_core.events import CORE, KINDS
from broker_core.records.record_batch import HEADER_BYTES, SimpleRecord, build_batch, crc32c_of
from lab.analytics.build import held, run
from lab.analytics.build.acts import Clock, FoundLog, rows_of
from lab.analytics.build.events import EVENTS, field_types, of_kind
from lab.analytics.build.found import Found, recordings_at
from lab.analytics.build.lineage import by_identity, lineage
from lab.analytics.build.segments import Span, appended, read
from lab.analytics.build.values import NARROW, PRESENT, UNREADABLE, row_of, written
from lab.analytics.store.builds import Build, Store
from lab.analytics.store.ledger import BranchEntry
from lab.analytics.store.reading import rows
from lab.analytics.tables.registry import TABLES
from lab.recordings.description import IDENTITY, VOCABULARY, RecordedVocabulary, present_kinds
from lab.recordings.folder import branch_folder
from lab.recordings.fork import fork_recording
from tests.support.analytics.built import REGISTRY, Lab, batches_of, entry, expected

CRC_POSITION = 17
ADVANCED = ["HighWatermarkAdvanced", "orders-0@b1", 0, 4]
KNOWN = ("HighWatermarkAdvanced", "LeaderElected", "NodeAdded", "RecordsConsumed")


def text(*values: object) -> bytes:
    return json.dumps(values, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (text(2**63, "b1", 0, ADVANCED), "range"),
        (text(5, "b1", 2**63, ADVANCED), "range"),
        (text(5, "b1", 0, [*ADVANCED[:3], 2**63]), "range"),
        (text(5, "b1", 0, ["LeaderElected", "orders-0", 2**31, 1, [1], "x", False]), "range"),
        (text(5, "b1", 0, ["LeaderElected", "orders-0", 1, 1, [1, -(2**31) - 1], "x", False]), "range"),
        (b'[5,"b1",0,["HighWatermarkAdvanced","orders-0@b1",0,4e400]]', "range"),
        (b'[5,"b1",0,["HighWatermarkAdvanced","orders-0@b1",0, -1E30]]', "range"),
        (b'[5,"b1",0,["HighWatermarkAdvanced","orders-0@b1",0,4.5]]', "range"),
        (b'[5,"b1",0,["LeaderElected","orders-0",3e9,1,[1],"x",false]]', "range"),
        (b'[5,"b1",0,["LeaderElected","orders-0",1,1,[1,2e9,3e9],"x",false]]', "range"),
        (b"[5,", "json"),
        (b'{"at": 5}', "json"),
        (text("5", "b1", 0, ADVANCED), "json"),
        (text(5, "b1", 0, {"kind": "x"}), "json"),
        (text(5, "b1", 0, []), "json"),
        (b'[5,"b1",0,["HighWatermarkAdvanced","\xff",0,4]]', "json"),
        (text(5, "b1", 0, ["Unheard", 1]), "vocabulary"),
        (b'[5,"b1",0,["HighWatermarkAdvanced","orders-0@b1",0,NaN]]', "json"),
        (b'[1e999,"b1",0,["HighWatermarkAdvanced","orders-0@b1",0,4]]', "json"),
        (text(5, "b1", 0, ["RecordsConsumed", "c1", "orders-0", 1, 1, None]), "json"),
        (text(5, "b1", 0, ["NodeAdded", "c1", "client", -1, 7]), "json"),
        (b"", "json"),
    ],
)
def test_invalid_event_is_reported_with_its_reason(value: bytes, reason: str) -> None:
    fields = {name: KINDS[name].__struct_fields__ for name in KNOWN}
    known = written(1, "abc", fields)
    *_, kind, family, payload = row_of(value, known)
    assert (kind, family, json.loads(payload)["reason"]) == (UNREADABLE, "", reason)


def test_integer_is_read_in_any_spelling() -> None:
    for spelling in (b"4000", b"4e3", b"4E+3", b"4000.0"):
        value = b'[5,"b1",0,["HighWatermarkAdvanced","orders-0@b1",0,%s]]' % spelling
        assert row_of(value, PRESENT[0])[3] == "HighWatermarkAdvanced"
    # A version that does not know a kind does not know which of its numbers are integers.
    later = written(1, "later", {"Weighed": ("kilograms",)})
    assert row_of(b'[5,"b1",0,["Weighed",4.5]]', later)[3] == "Weighed"


def test_json_is_read_in_any_formatting() -> None:
    blanks = json.dumps([5, "b1", 3, ADVANCED], indent=1).encode()
    escaped = text(5, "b1", 3, ADVANCED).replace(b'["High', b'["\\u0048igh')
    for value in (blanks, escaped, text(5, "b1", 3, ADVANCED)):
        at_us, node, cause, kind, family, payload = row_of(value, PRESENT[0])
        assert (at_us, node, cause, kind) == (5, "b1", 3, ADVANCED[0])
        assert family == CORE.family_of(CORE.kinds[kind])
        assert json.loads(payload) == ADVANCED


def test_addresses_and_contents_stay_out_of_tables() -> None:
    settings = [["broker", "b1"], ["host", "203.0.113.9"]]
    added = ["NodeAdded", "c1", "client", -1, settings]
    member = ["GroupMemberAdded", "b1", "g", "m", "c", "", "/203.0.113.9", "consumer", 1, 2, [], False]
    consumed = ["RecordsConsumed", "c1", "orders-0", 1, 1, [[0, 0, "key", "a secret"]]]
    payloads = [row_of(text(5, "b1", 0, one), PRESENT[0])[-1] for one in (added, member, consumed)]
    assert not any("203.0.113.9" in one or "secret" in one for one in payloads)
    assert json.loads(payloads[0])[4] == [["broker", "b1"]] and json.loads(payloads[2])[5] == 1
    # in another vocabulary the field has another position
    other = written(1, "abc", {"GroupMemberAdded": ("client_host", "group")})
    assert json.loads(row_of(text(5, "b1", 0, ["GroupMemberAdded", "/203.0.113.9", "g"]), other)[-1])[1] == ""


def event(at_us: int) -> bytes:
    return text(at_us, "b1", 0, ADVANCED)


def batch(from_seq: int, *values: bytes | None) -> bytes:
    return build_batch((SimpleRecord(5, None, value) for value in values), base_offset=from_seq)


HEAD, PAIR, LAST = batch(0, b'{"config":{}}', event(1), event(2)), batch(3, event(3), event(4)), batch(5, event(5))


def with_crc(data: bytes, at: int, put: bytes) -> bytes:
    """A batch with other bytes somewhere, and the checksum of those."""
    changed = data[:at] + put + data[at + len(put) :]
    crc = crc32c_of(changed, CRC_POSITION + 4, len(changed))
    return changed[:CRC_POSITION] + crc.to_bytes(4, "big") + changed[CRC_POSITION + 4 :]


@pytest.mark.parametrize(
    ("segments", "seqs", "lost"),
    [
        ({0: HEAD + PAIR + LAST}, [1, 2, 3, 4, 5], []),
        # nothing counts twice
        ({0: HEAD + PAIR + PAIR + LAST}, [1, 2, 3, 4, 5], [(3, 4, "repeated")]),
        ({0: HEAD + PAIR, 3: PAIR + LAST}, [1, 2, 3, 4, 5], [(3, 4, "repeated")]),
        # the checksum holds, and the records are none, fewer, more, of another codec, or without a value
        ({0: HEAD + with_crc(PAIR, HEADER_BYTES, b"\xff" * 20) + LAST}, [1, 2, 5], [(3, 4, "records")]),
        ({0: HEAD + with_crc(PAIR, 57, b"\0\0\0\1") + LAST}, [1, 2, 3, 5], [(4, 4, "records")]),
        ({0: HEAD + with_crc(PAIR, 57, b"\0\0\0\x63") + LAST}, [1, 2, 5], [(3, 4, "records")]),
        ({0: HEAD + with_crc(PAIR, 23, b"\0\0\0\0") + LAST}, [1, 2, 3, 5], [(4, 4, "gap")]),
        ({0: HEAD + with_crc(PAIR, 21, b"\0\1") + LAST}, [1, 2, 5], [(3, 4, "records")]),
        ({0: HEAD + batch(3, event(3), None) + LAST}, [1, 2, 3, 5], [(4, 4, "json")]),
        # segments without a byte, and a torn batch that another segment follows
        ({0: HEAD, 3: b"", 5: LAST}, [1, 2, 5], [(3, 4, "gap")]),
        ({0: HEAD + PAIR[:-5], 5: LAST}, [1, 2, 5], [(3, 4, "gap")]),
        ({0: b""}, [], []),
    ],
)
def test_log_is_read_up_to_its_first_invalid_batch(
    tmp_path: Path, segments: dict[int, bytes], seqs: list[int], lost: list[tuple[int, int, str]]
) -> None:
    for base, data in segments.items():
        (tmp_path / f"{base:020}.log").write_bytes(data)
    (tmp_path / "notes.log").write_text("no segment")
    found = appended(tmp_path, (), (), 0, 0)
    rows = [row for span in found.spans for each in read("b", "r", 0, span) for row in each.to_pylist()]
    assert [row["seq"] for row in rows if row["kind"] != UNREADABLE] == seqs
    reported = [(one.from_seq, one.to_seq, one.reason) for one, _ in found.damage]
    for row in rows:
        if row["kind"] == UNREADABLE:
            why = json.loads(row["payload"])
            reported.append((row["seq"], why.get("to_seq", 0) or row["seq"], why["reason"]))
    assert reported == lost


@pytest.mark.parametrize(
    "segments", [{0: HEAD, 3: PAIR, 5: LAST}, {0: HEAD + PAIR, 5: LAST}, {0: HEAD + PAIR + LAST}, {0: HEAD + PAIR}]
)
def test_past_of_a_fork_that_has_grown_is_not_taken_for_repeated(tmp_path: Path, segments: dict[int, bytes]) -> None:
    for base, data in segments.items():
        (tmp_path / f"{base:020}.log").write_bytes(data)
    first = appended(tmp_path, (), (), 0, 4)
    with (tmp_path / f"{max(segments):020}.log").open("ab") as log:
        log.write(batch(first.last_seq + 1, event(6)))
    then = appended(tmp_path, first.ranges, (), first.last_seq, 4)
    assert (first.damage, then.damage) == ([], [])
    spans = [*first.spans, *then.spans]
    seqs = [row["seq"] for span in spans for each in read("b", "r", 4, span) for row in each.to_pylist()]
    assert seqs == list(range(5, first.last_seq + 2))


@pytest.mark.parametrize("order", [("whole", "cut", "empty"), ("empty", "cut", "whole")])
def test_most_complete_copy_of_a_recording_is_read(tmp_path: Path, order: Sequence[str]) -> None:
    held = {"whole": HEAD + PAIR + LAST, "cut": HEAD + PAIR[:-5], "empty": b""}
    for place, name in enumerate(order):
        recording = tmp_path / f"copy-{place}" / "main" / "recording"
        (recording / "events-0").mkdir(parents=True)
        (recording / "events-0" / f"{0:020}.log").write_bytes(held[name])
        said = {"run": "r1", "name": "main", "branch": "06h2e883m9p3o924qgrp2ojh88", "parent": "", "parent_seq": 0}
        (recording / "identity.json").write_text(json.dumps({**said, "created_ms": 1}))
    (found,) = recordings_at(str(tmp_path))
    assert (found.entry.branch, found.folder.parent.parent.parent.name) == ("r1/main", f"copy-{order.index('whole')}")


@pytest.mark.parametrize(
    "value",
    [
        None, b"", b"[1", b"5", b"{}", text(1, "p1", "", "Voted"), text(2**70, "p1", "", ["ClassEnded"]),
        text("1", "p1", "", ["ClassEnded"]), text(1, 7, "", ["ClassEnded"]), text(1, "p1", "", [["ClassEnded"]]),
        text(1, "p1", "", ["ClassResumed"]), text(1, "p1", "", ["ClassResumed", 1, 2**70]),
        text(1, "p1", "", ["ClassResumed", 1, "noon"]), b"[" * 5_000,
    ],
)  # fmt: skip
@pytest.mark.parametrize("of_class", [True, False])
def test_invalid_act_is_quarantined_and_the_others_are_read(
    tmp_path: Path, value: bytes | None, *, of_class: bool
) -> None:
    good = text(3_000, "p1", "", ["ClassEnded"]) if of_class else b'{"k":"Answered","run":["a"]}'
    whole = text(4_000, "p1", "", ["ClassEnded"]) if of_class else b'{"k":"Answered","step":"1"}'
    data = batch(0, b"{}", whole, value, whole) + with_crc(batch(4, whole, good), HEADER_BYTES, b"\xff" * 20)
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(data + batch(6, whole))
    class_, learner = ("a class", "") if of_class else ("", "A")
    entry = BranchEntry("a log", "", "", class_=class_, learner=learner)
    log = FoundLog(tmp_path, entry, people={"p1": "A"})
    rows, _ = rows_of(log, [Span(str(path), 0, path.stat().st_size)], Clock())
    kind = "ClassEnded" if of_class else "Answered"
    assert [(row["seq"], row["kind"]) for row in rows.to_pylist()] == [
        (1, kind), (2, UNREADABLE), (3, kind), (4, UNREADABLE), (6, kind),
    ]  # fmt: skip


class Written:
    """A recording of a few events, as another version of the code might have left it."""

    def __init__(self, root: Path) -> None:
        self.recording = root / "other" / "main" / "recording"
        self.log = self.recording / "events-0"
        self.log.mkdir(parents=True)
        self.store = Store.at(str(root / "tables"))

    def holds(self, values: Sequence[bytes], kinds: dict[str, Any] | None = None, hash: str = "0123456789ab") -> None:
        every = [b'{"config":{}}', *values]
        (self.log / f"{0:020}.log").write_bytes(build_batch(SimpleRecord(0, None, value) for value in every))
        if kinds is not None:
            line = RecordedVocabulary(1, hash, kinds)
            (self.recording / VOCABULARY).write_bytes(msgspec.json.encode(line) + b"\n")

    def built(self, session: SparkSession) -> Build:
        found = Found(self.log, BranchEntry("other/main", "other", str(self.log)))
        run.build(lambda: session, self.store, run.Wanted([found], registry=REGISTRY))
        newest = self.store.newest()
        assert newest is not None
        return newest

    def rows(self, build: Build, table: str) -> list[dict[str, Any]]:
        found = rows(self.store, build, table)
        return [] if found is None else found.to_pylist()


def test_events_that_cannot_be_read_are_quarantined_and_the_others_counted(
    session: SparkSession, tmp_path: Path
) -> None:
    made = Written(tmp_path)
    huge = text(5, "b1", 2**70, ADVANCED)
    deep = b'[5,"b1",0,["Unheard",' + b"[" * 2_000 + b"]" * 2_000 + b"]]"
    infinite = text(9, "b1", 0, ADVANCED).replace(b"0,4]", b"0,1e999]")
    made.holds([text(1, "b1", 0, ADVANCED), huge, b"no json", text(9, "b1", 0, ADVANCED), deep, infinite])
    first = made.log / f"{0:020}.log"
    cut = with_crc(batch(7, event(10), event(11)), HEADER_BYTES, b"\xff" * 20)
    first.write_bytes(first.read_bytes() + cut + batch(9, event(12)))
    (made.recording / IDENTITY).write_text("{torn")
    build = made.built(session)
    entry = build.ledger()["other/main"]
    assert sorted((one.from_seq, one.reason) for one in entry.damage) == [
        (0, "identity"), (2, "range"), (3, "json"), (5, "json"), (6, "range"), (7, "records"),
    ]  # fmt: skip
    range_damage = next(one for one in entry.damage if one.reason == "range")
    assert made.store.files.read(range_damage.copy) == huge
    assert [row["seq"] for row in made.rows(build, EVENTS.name)] == [1, 4, 9]
    assert entry.kinds() == {"HighWatermarkAdvanced": 3} and entry.last_seq == 9
    assert made.built(session).number == build.number  # nothing new


def test_first_tables_of_a_waiting_page_need_only_their_events(session: SparkSession, tmp_path: Path) -> None:
    made = Written(tmp_path)
    elected = text(5, "b1", 0, ["LeaderElected", "orders-0", 1, 7, [1], "x", False])
    made.holds([text(1, "b1", 0, ADVANCED), elected, b"no json", text(9, "b1", 0, ADVANCED)])
    found = Found(made.log, BranchEntry("other/main", "other", str(made.log)))
    memory = held.Held()

    def build(*tables: str, is_first: bool) -> Build:
        wanted = run.Wanted([found], tables, held=memory, is_first=is_first)
        run.build(lambda: session, made.store, wanted)
        newest = made.store.newest()
        assert newest is not None
        return newest

    first = build("silver.leader_epochs", is_first=True)
    assert [row["leader_epoch"] for row in made.rows(first, "silver.leader_epochs")] == [7]
    assert first.ledger()["other/main"].kinds() == {"LeaderElected": 1}
    # The next build stores all events, counts them and quarantines what it cannot read, and keeps what was made.
    second = build("silver.leader_epochs", "silver.replica_offsets", is_first=False)
    entry = second.ledger()["other/main"]
    assert entry.kinds() == {"HighWatermarkAdvanced": 2, "LeaderElected": 1}
    assert [(one.from_seq, one.reason) for one in entry.damage] == [(3, "json")]
    assert sorted(row["seq"] for row in made.rows(second, EVENTS.name)) == [1, 2, 4]
    assert second.files("silver.leader_epochs") == first.files("silver.leader_epochs")
    assert [row["value"] for row in made.rows(second, "silver.replica_offsets")] == [4, 4]


def test_numbers_that_a_column_does_not_hold_are_quarantined(session: SparkSession, tmp_path: Path) -> None:
    made = Written(tmp_path)

    def elected(epoch: int, *isr: int) -> bytes:
        fields = {"partition": "orders-0", "leader": 1, "leader_epoch": epoch, "isr": list(isr)}
        return text(
            5, "b1", 0, ["LeaderElected", *(fields.get(name) for name in KINDS["LeaderElected"].__struct_fields__)]
        )

    made.holds([elected(7, 1), elected(2**31, 1), elected(2**31 - 1, 1), elected(9, 1, 2**31), elected(9, 2**64)])
    found = Found(made.log, BranchEntry("other/main", "other", str(made.log)))
    run.build(lambda: session, made.store, run.Wanted([found], ["silver.leader_epochs"]))
    build = made.store.newest()
    assert build is not None
    assert [row["leader_epoch"] for row in made.rows(build, "silver.leader_epochs")] == [7, 2**31 - 1]
    damage = build.ledger()["other/main"].damage
    assert [(one.from_seq, one.reason) for one in damage] == [(2, "range"), (4, "range"), (5, "range")]
    assert "is not a 32-bit integer" in damage[0].detail


def test_offsets_and_times_may_need_64_bits() -> None:
    value = text(5, "b1", 0, [*ADVANCED[:3], 2**63 - 1])
    assert row_of(value, PRESENT[0])[3] == "HighWatermarkAdvanced"


def test_every_field_that_a_column_of_32_bits_is_named_after_is_checked() -> None:
    columns = {
        column.name
        for table in TABLES.values()
        if table.unit == "branch"
        for column in table.columns
        if column.type in ("int", "array<int>")
    }
    fields = {name for kind in KINDS for name, type in field_types(kind).items() if type in ("bigint", "array<bigint>")}
    assert columns & fields <= NARROW <= fields


def test_events_are_typed_by_their_own_vocabulary(session: SparkSession, tmp_path: Path) -> None:
    made = Written(tmp_path)
    kinds = {
        **present_kinds(),
        "HighWatermarkAdvanced": [("to_offset", "int"), ("added_later", "str"), ("replica", "str")],
        "BrokerDreamt": [("of", "str")],
    }
    made.holds(
        [
            text(1, "b1", 0, ["HighWatermarkAdvanced", 4, "x", "orders-0@b1"]),
            text(2, "b1", 0, ["BrokerDreamt", "sheep"]),
            text(3, "b1", 0, ["NobodyKnows", 1]),
        ],
        kinds,
    )
    build = made.built(session)
    totals = made.rows(build, "gold.totals")
    assert [(row["replica"], row["high_watermark"]) for row in totals] == [("orders-0@b1", 4)]
    events = {row["kind"]: row for row in made.rows(build, EVENTS.name)}
    # a kind that only a newer version knows is kept without a family; an unknown one is not
    assert events.keys() == {"HighWatermarkAdvanced", "BrokerDreamt"}
    assert (events["BrokerDreamt"]["family"], events["BrokerDreamt"]["vocabulary"]) == ("", "0123456789ab")
    damage = build.ledger()["other/main"].damage
    assert [(one.reason, one.from_seq) for one in damage] == [("vocabulary", 1), ("vocabulary", 3)]
    assert "HighWatermarkAdvanced.from_offset" in damage[0].detail and "NobodyKnows" in damage[1].detail


def test_old_layouts_of_recordings_without_a_vocabulary_are_recognised(session: SparkSession, tmp_path: Path) -> None:
    made = Written(tmp_path)
    before = ["LogOpened", "orders-0@b1", "id", 0, 9, 7, [[0, 0]], [[0, 1, 2, 3]], [[5]]]
    now = [*before[:6], 6, *before[6:]]
    made.holds([text(1, "b1", 0, before), text(2, "b1", 0, now)])
    build = made.built(session)
    stored = session.read.parquet(*(made.store.for_spark(file) for file in build.files(EVENTS.name)))
    numbered = stored.withColumn("branch_no", F.lit(0))
    found = of_kind(numbered, "LogOpened").select("recovery_point", F.to_json("tail").alias("tail")).orderBy("seq")
    assert [tuple(row) for row in found.collect()] == [(None, "[[5]]"), (6, "[[5]]")]


def test_changed_or_moved_recording_is_read_again(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.build()
    path = lab.recording.folder.recording / "events-0" / f"{0:020d}.log"
    forked = fork_recording(lab.recording, 600, branch_folder("r1", "main-2", runs=lab.root / "runs"))
    forked.flush()
    child = entry(forked, "r1/main", 600)
    lab.build(entry(lab.recording), child)

    whole = path.read_bytes()
    damaged = bytearray(whole)
    damaged[batches_of(whole)[1][0] + CRC_POSITION] ^= 1
    path.write_bytes(damaged)
    lab.build()
    (lost,) = newest(lab).ledger()["r1/main"].damage
    assert lost.reason == "crc"
    path.write_bytes(whole)
    lab.build()
    assert newest(lab).ledger()["r1/main"].damage == ()
    assert lab.totals() == expected(lab.recording)
    # what was made of its events was made again
    assert lab.totals("r1/main-2") == expected(lab.recording, 600)

    own = forked.folder.recording / "events-0" / f"{0:020d}.log"
    data = bytearray(own.read_bytes())
    data[batches_of(bytes(data))[1][0] + CRC_POSITION] ^= 1
    own.unlink()
    own.write_bytes(data)
    monkeypatch.setattr(run, "BRONZE_FORMAT", "next")
    before = newest(lab).number
    lab.build(entry(lab.recording), child)
    assert newest(lab).number > before and lab.totals() == expected(lab.recording)
    events = rows(lab.store, newest(lab), EVENTS.name)
    assert events is not None and events.num_rows == lab.recording.last_seq
    assert set(events["build"].to_pylist()) == {newest(lab).number}
    # damage in the part that a fork shares with its parent is not damage of the fork
    assert newest(lab).ledger()["r1/main-2"].damage == ()
    forked.close()


def test_missing_recording_is_noted_once(lab: Lab) -> None:
    lab.build()
    gone = entry(lab.recording)._replace(folder=lab.root / "nowhere")
    lab.build(gone)
    assert newest(lab).ledger()["r1/main"].state == "gone"
    number = newest(lab).number
    lab.build(gone)
    assert newest(lab).number == number
    lab.build()
    assert newest(lab).ledger()["r1/main"].state == "open" and lab.totals() == expected(lab.recording)


def newest(lab: Lab) -> Build:
    found = lab.store.newest()
    assert found is not None
    return found


def branch(name: str, identity: str, last_seq: int, origin: str = "", parent_seq: int = 0) -> BranchEntry:
    return BranchEntry(name, name.partition("/")[0], "", last_seq=last_seq, identity=identity, origin=origin,
                       parent_seq=parent_seq)  # fmt: skip


@pytest.mark.parametrize(
    ("given", "total"),
    [
        ([branch("a/main", "1", 100)], 100),
        # a run that was copied under another name, identity and all; and one that was copied and went on
        ([branch("a/main", "1", 100), branch("b/main", "1", 100)], 100),
        ([branch("a/main", "1", 100), branch("b/main", "1", 130)], 130),
        # an import of a branch that is here
        ([branch("a/main", "1", 100), branch("b/main", "2", 60, "1", 60)], 100),
        ([branch("a/main", "1", 100), branch("b/main", "2", 90, "1", 60)], 130),
        # imports of one that is not: twice the same, or up to different events
        ([branch("b/main", "2", 60, "1", 60), branch("c/main", "3", 60, "1", 60)], 60),
        ([branch("b/main", "2", 60, "1", 60), branch("c/main", "3", 90, "1", 90)], 90),
        # a fork of an import
        ([branch("b/main", "2", 60, "1", 60), branch("b/main-2", "3", 80, "2", 50)], 90),
    ],
)
def test_no_event_counts_twice_whatever_name_it_has(given: list[BranchEntry], total: int) -> None:
    found = by_identity(given, {}, lambda one: one.last_seq)
    assert sum(max(0, one.last_seq - one.own_from_seq) for one in found.values()) == total
    for name, one in found.items():
        parts = lineage(name, found)
        assert sum(part.to_seq - part.from_seq for part in parts) == one.last_seq
        assert [part.from_seq for part in parts[1:]] == [part.to_seq for part in parts[:-1]]
    # once it is known, a copy that lags behind keeps what it owns
    again = by_identity(given, found, lambda one: one.last_seq + 50)
    assert {name: one.own_from_seq for name, one in again.items()} == {
        name: one.own_from_seq for name, one in found.items()
    }


def test_parent_added_later_owns_its_events(lab: Lab) -> None:
    forked = fork_recording(lab.recording, 900, branch_folder("r2", "main", runs=lab.root / "runs"))
    forked.flush()

    def said(found: Found, identity: str, origin: str = "", parent_seq: int = 0) -> Found:
        renamed = msgspec.structs.replace(
            found.entry, identity=identity, origin=origin, parent_seq=parent_seq, parent="", own_from_seq=0
        )
        return found._replace(entry=renamed)

    child, parent = said(entry(forked), "2", "1", 900), said(entry(lab.recording), "1")
    lab.build(child)
    assert lab.totals("r2/main") == expected(lab.recording, 900)
    lab.build(parent)
    events = rows(lab.store, newest(lab), EVENTS.name)
    assert events is not None and events.num_rows == lab.recording.last_seq
    assert lab.totals("r2/main") == expected(lab.recording, 900)
    assert lab.totals("r1/main") == expected(lab.recording)
    assert newest(lab).ledger()["r2/main"].parent == "r1/main"
    forked.close()


def test_current_vocabulary_is_the_one_that_recordings_contain() -> None:
    assert {name: [field for field, _ in fields] for name, fields in present_kinds().items()} == {
        name: list(kind.__struct_fields__) for name, kind in CORE.kinds.items()
    }
