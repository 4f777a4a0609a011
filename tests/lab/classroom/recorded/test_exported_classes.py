"""Recorded classes as files: what is exported is imported as it was, and what is no export is refused whole."""

import io
import json
import re
import stat
import zipfile
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import cramjam
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from msgspec.structs import replace

from broker_core.records.compression import CompressionType
from broker_core.records.record_batch import batch_parts
from lab.actions.classes.demonstration import DEMONSTRATION
from lab.classroom.audio.wave import RATE, samples_of
from lab.classroom.captions.webvtt import Cue, write
from lab.course.check import unreadable_recordings
from lab.exercises.loader import exercises
from lab.models import Class, Participant, Run
from tests.support.classroom.class_pages import Classroom
from tests.support.classroom.sound import LENGTH_US, SLICES
from tests.support.lab_server import LabServer, Visitor

Entries = dict[str, bytes]


@pytest.fixture(scope="module")
def classroom(lab_server: LabServer) -> Iterator[Classroom]:
    """A class that has ended, in which p1 led."""
    made = Classroom(lab_server)
    User.objects.filter(username="user 1").update(is_staff=True)
    slug = made.visitors["p1"].new_run(brokers="1")
    with made.page("p1") as teacher:
        teacher.until("snap")
        assert teacher.act("take_lead", lab=f"{slug}/main")["k"] == "done"
        while not teacher.held.get("/lead_lab"):
            teacher.read()
        view = {"branch": f"{slug}/main", "seq": 5, "at_us": 7, "mode": "pause", "rate": 1, "screen": "table"}
        teacher.send(k="view", term=1, view={**view, "partition": "", "selection": "", "ranges": {}})
        teacher.until_held("/view screen", "table")
        assert teacher.act("add_chapter", text="Leaders", lang="en")["k"] == "done"
        assert teacher.act("end_class")["k"] == "done"
    yield made
    made.close()


@pytest.fixture(scope="module")
def exported(classroom: Classroom) -> bytes:
    cues = write([Cue(7, 0, 1_000, "a < b", "recognised")])
    address = f"/api/classes/{classroom.slug}/recording/captions/en/file"
    assert classroom.visitors["p1"].put(address, cues, "text/vtt").status == 200
    answer = classroom.visitors["p1"].get(f"/api/classes/{classroom.slug}/recording/export")
    assert answer.status == 200 and "Replication.hwclass" in answer.headers["Content-Disposition"]
    return answer.body


@pytest.fixture
def teacher(classroom: Classroom) -> Iterator[Visitor]:
    yield classroom.visitors["p1"]
    Class.objects.filter(owner__username="user 1").exclude(pk=classroom.model.pk).delete()


def entries_of(file: bytes) -> Entries:
    with zipfile.ZipFile(io.BytesIO(file)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(entries: Entries) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return target.getvalue()


def described(entries: Entries, **changes: Any) -> Entries:
    """With the manifest that fits the entries."""
    manifest = json.loads(entries["manifest.json"]) | changes
    files = {name: data for name, data in entries.items() if name != "manifest.json"}
    manifest["files"] = {n: {"bytes": len(data), "sha256": sha256(data).hexdigest()} for n, data in files.items()}
    return {"manifest.json": json.dumps(manifest).encode(), **files}


def imported(visitor: Visitor, file: bytes) -> str:
    answer = visitor.post_file("/classes/import", file)
    assert answer.status == 200 and "/replay/" in answer.url, answer.text
    return answer.url.split("/")[-3]


def ask(visitor: Visitor, slug: str, path: str) -> Any:
    answer = visitor.get(f"/api/classes/{slug}/recording/{path}")
    assert answer.status == 200, answer.text
    return answer.json


def test_export_import_export_gives_the_same_file(teacher: Visitor, exported: bytes) -> None:
    """Acceptance statement 23: the same manifest."""
    slug = imported(teacher, exported)
    assert teacher.get(f"/api/classes/{slug}/recording/export").body == exported
    entries = entries_of(exported)
    assert next(iter(entries)) == "manifest.json"
    assert not any("checkpoint" in name and "leader-epoch" not in name for name in entries)


def test_class_with_lost_sound_erased_person_and_corrected_captions_is_exported_unchanged(
    lab_server: LabServer,
) -> None:
    made = Classroom(lab_server, people="exported")
    User.objects.filter(username="exported 1").update(is_staff=True)
    Participant.objects.filter(classroom=made.model, number=3).update(nickname="Zuleika Dobson", consent="nickname")
    teacher, recording = made.visitors["p1"], f"/api/classes/{made.slug}/recording"
    try:
        with made.page("p1") as page, made.page("p3"):
            page.until("snap")
            assert page.act("set_microphone", on=True)["k"] == "done"
            page.send(k="time", ms=1)
            at_us = int(page.until("time")["class_us"])
            for index in (0, 1, 3, 5):
                query = f"?at_us={at_us}&digest={sha256(SLICES[index]).hexdigest()}"
                address = f"{recording}/audio/{at_us // 1_000}/{index}{query}"
                assert teacher.put(address, SLICES[index], "audio/webm").status == 200
            body = {"slices": len(SLICES), "length_us": LENGTH_US, "gives_up": True}
            assert teacher.post_json(f"{recording}/audio/{at_us // 1_000}/end", body).status == 200
            cue = {"from_us": 0, "to_us": 900_000, "text": "as typed"}
            assert teacher.post_json(f"{recording}/captions/en/cues", cue).status == 200
            assert page.act("end_class")["k"] == "done"
        assert "Zuleika Dobson" in str(ask(teacher, made.slug, "manifest.json")["people"])
        assert teacher.post(f"/classes/{made.slug}/people/3", op="erase", confirm="yes").status == 200
        files = [teacher.get(f"{recording}/export").body]
        for text in ("corrected here", "corrected where it was imported"):
            slug = imported(teacher, files[-1])
            assert teacher.get(f"/api/classes/{slug}/recording/export").body == files[-1]
            audio = ask(teacher, slug, "manifest.json")["audio"]
            assert len(audio["pieces"]) == 1 and len(audio["lost"]) == 2
            address = f"/api/classes/{slug}/recording/captions/en/cues/1"
            assert teacher.send_json("PUT", address, {**cue, "text": text}).status == 200
            files.append(teacher.get(f"/api/classes/{slug}/recording/export").body)
            assert text.encode() in entries_of(files[-1])["captions/en.vtt"]
        assert not any(b"Zuleika" in data for file in files for data in entries_of(file).values())
        kept = [
            {n: d for n, d in entries_of(one).items() if n not in ("manifest.json", "captions/en.vtt")} for one in files
        ]
        assert kept[0] == kept[1] == kept[2]
    finally:
        Class.objects.filter(owner__username="exported 1").exclude(pk=made.model.pk).delete()
        made.close()


def test_imported_class_is_replayed_and_taken_over_without_its_runs(
    teacher: Visitor, classroom: Classroom, exported: bytes
) -> None:
    slug = imported(teacher, exported)
    here, there = (ask(teacher, one, "manifest.json") for one in (classroom.slug, slug))
    ours = ("slug", "can", "you", "people")
    assert {k: v for k, v in there.items() if k not in ours} == {k: v for k, v in here.items() if k not in ours}
    for path in ("map.json", "labs/0/index.json", "labs/0/segments/0.json", "labs/0/contents", "captions/en"):
        assert ask(teacher, slug, path) == ask(teacher, classroom.slug, path), path
    assert ask(teacher, slug, "segments/0.json")["last_seq"] == here["last_seq"]
    taken = teacher.post_json(f"/api/classes/{slug}/recording/take-over", {"lab": 0, "seq": 5})
    assert taken.status == 200
    assert not there["can"]["seal"] and teacher.post_json(f"/api/classes/{slug}/recording/seal", {}).status == 409
    assert teacher.get(f"/classes/{slug}/").status == teacher.get(f"/classes/{slug}/summary/").status == 200
    assert Participant.objects.filter(classroom__slug=slug).count() == 1
    Run.objects.filter(origin__endswith="/5").delete()


def test_an_imported_recording_opens_no_run_of_this_lab(teacher: Visitor, exported: bytes) -> None:
    """It may name any run: that of another person, for example."""
    entries = entries_of(exported)
    address = json.loads(entries["manifest.json"])["labs"][0]["address"]
    assert Run.objects.filter(slug=address.split("/")[0]).exists()
    slug = imported(teacher, packed(described({n: d for n, d in entries.items() if not n.startswith("labs/")})))
    for path in ("labs/0/index.json", "labs/0/segments/0.json", "labs/0/contents", "labs/0/commands"):
        answer = teacher.get(f"/api/classes/{slug}/recording/{path}")
        assert answer.status == 404 and "does not contain the lab" in answer.json["what"], answer.text
    taken = teacher.post_json(f"/api/classes/{slug}/recording/take-over", {"lab": 0, "seq": 1})
    assert taken.status == 404
    found = ask(teacher, slug, "search?q=Leaders")
    assert [one["kind"] for one in found] == ["chapter"]
    assert teacher.get(f"/classes/{slug}/transcript/").status == 200


def tones(visitor: Visitor, slug: str, pieces: list[dict[str, Any]]) -> list[int]:
    """When tones begin, in class time to the millisecond."""
    found: set[int] = set()
    for piece in pieces:
        sound = samples_of(visitor.get(f"/api/classes/{slug}/recording/audio/{piece['piece']}").body)
        assert sound is not None
        heard = [at for at, level in enumerate(sound) if level != 128]
        begins = [at for before, at in pairwise([-RATE, *heard]) if at - before > RATE // 4]
        # A tone begins with a sample of silence.
        found |= {piece["at_us"] + (at - 1) * 1_000 // (RATE // 1_000) for at in begins}
    return sorted(us // 1_000 * 1_000 for us in found)


def test_the_demonstration_is_replayed_at_once_and_kept(teacher: Visitor) -> None:
    first, again = (teacher.post("/classes/demonstration") for _ in range(2))
    assert first.status == 200 and "/replay/" in first.url and again.url == first.url
    slug = first.url.split("/")[-3]
    shown = ask(teacher, slug, "manifest.json")
    assert len(shown["chapters"]) >= 5 and [lab["stage"] for lab in shown["labs"]] == [False, True]
    assert {"Ada", "Noah", "Mei"} <= {one["name"] for one in shown["people"]}
    rows = ask(teacher, slug, "map.json")
    assert rows[-1][1] == -1 and {row[1] for row in rows} == {0, 1, -1}
    assert DEMONSTRATION.stat().st_size < 300_000
    english, chinese = (ask(teacher, slug, f"captions/{one}")["cues"] for one in ("en", "zh-CN"))
    assert len(english) >= 10 and [one["from_us"] for one in english] == [one["from_us"] for one in chinese]
    assert tones(teacher, slug, shown["audio"]["pieces"]) == [one["from_us"] for one in english]
    marks = ask(teacher, slug, "labs/0/index.json")["marks"]
    (cut,) = [mark for mark in marks if mark["kind"] == "LogTruncated"]
    assert cut["values"]["replica"] == "ledger-0@b1"
    taken = teacher.post_json(f"/api/classes/{slug}/recording/take-over", {"lab": 0, "seq": cut["seq"]})
    assert taken.status == 200, taken.text
    Run.objects.filter(origin__endswith=f"/{cut['seq']}").delete()
    page_has_what_members_may_see(teacher, f"/api/classes/{slug}/recording/page", shown)
    page_has_the_notes_for_the_class(teacher, f"/api/classes/{slug}/recording", shown)


def page_has_what_members_may_see(teacher: Visitor, address: str, shown: dict[str, Any]) -> None:
    """The recording as a page, all of it and the passage in which broker 1 crashes."""
    parts = parts_of(teacher.get(f"{address}.html").text)
    about, page = parts["about"], json.dumps(parts)
    assert about["length_us"] == shown["length_us"] and about["chapters"]["en"] == shown["chapters"]
    assert "LabsSeen" not in page and not any(key in page for key in ('"/progress', '"/notes'))
    assert about["people"] == [one for one in shown["people"] if one["role"] == "instructor"]
    assert {"lab-0-index", "lab-1-index", "map", "class-0", "captions-en", "captions-zh-CN"} <= set(parts)
    assert {f"sound-{one['piece']}" for one in shown["audio"]["pieces"]} <= set(parts)
    begin, end = (one["at_us"] for one in shown["chapters"][2:4])
    passage = f"from=0:{begin / 1e6:09.6f}&to=0:{end / 1e6:09.6f}"
    parts = parts_of(teacher.get(f"{address}.html?{passage}").text)
    about = parts["about"]
    assert (about["first_us"], about["length_us"]) == (begin, end)
    assert [one["title"] for one in about["chapters"]["en"]] == ["Broker 1 crashes"]
    assert [one["text"] for one in about["questions"]] == ["Why was dora:12 acknowledged at all?"]
    times = [event[1] for event in parts["class-0"]["events"]]
    assert begin <= times[0] and times[-1] <= end
    assert "Noah" not in json.dumps(parts), "he comes on stage later"
    index = parts["lab-0-index"]
    assert "lab-1-index" not in parts and about["labs"][1]["address"] == ""
    assert {"BrokerStopped"} <= {mark["kind"] for mark in index["marks"]} and index["first_seq"] > 1
    assert not any(mark["kind"] == "LogTruncated" for mark in index["marks"])
    weighed = teacher.get(f"{address}.json").json
    size = len(teacher.get(f"{address}.html").body)
    assert weighed["sound_bytes"] > 0 and 0.6 * size < weighed["bytes"] + weighed["sound_bytes"] < 1.6 * size
    assert teacher.get(f"{address}.html?from=9:59").status == 400
    assert teacher.get(f"{address}.html?from=soon").status == 404


def page_has_the_notes_for_the_class(teacher: Visitor, address: str, shown: dict[str, Any]) -> None:
    """Those that staff shared, in the passage; nobody's own."""
    begin, end = (one["at_us"] for one in shown["chapters"][2:4])
    notes = (begin + 1, "Look at b1.", True), (begin + 2, "my-own-note", False), (end + 1, "Later.", True)
    sent = [{"at_us": at_us, "text": text, "shared": shared} for at_us, text, shared in notes]
    written = [teacher.post_json(f"{address}/notes", one).json["id"] for one in sent]
    whole = parts_of(teacher.get(f"{address}/page.html").text)
    assert [one["text"] for one in whole["notes"]] == ["Look at b1.", "Later."]
    assert whole["about"]["can"] == {"read_notes": True} and "my-own-note" not in json.dumps(whole)
    passage = parts_of(teacher.get(f"{address}/page.html?from=0:{begin / 1e6:09.6f}&to=0:{end / 1e6:09.6f}").text)
    assert [one["text"] for one in passage["notes"]] == ["Look at b1."]
    for id in written:
        assert teacher.send_json("DELETE", f"{address}/notes/{id}", {}).status == 200


def parts_of(page: str) -> dict[str, Any]:
    """What the page carries besides its program; of its sound, how many bytes."""
    found = re.findall(r'<script type="text/plain" id="([a-zA-Z0-9-]+)">([^<]*)</script>', page)
    left = ("program", "licences", "sound-")
    parts = {id: json.loads(zlib.decompress(b64decode(text))) for id, text in found if not id.startswith(left)}
    return parts | {id: len(b64decode(text)) for id, text in found if id.startswith("sound-")}


def test_a_lesson_offers_its_recording_which_is_imported_once_for_all(teacher: Visitor, classroom: Classroom) -> None:
    assert 'action="/course/011-acks/watch"' in teacher.get("/course/011-acks/").text
    assert "/watch" not in teacher.get("/course/012-linger-and-batch/").text
    opened = [classroom.visitors[p].post("/course/011-acks/watch") for p in ("p2", "p3", "p2")]
    assert len({one.url for one in opened}) == 1 and all(one.status == 200 for one in opened)
    slug = opened[0].url.split("/")[-3]
    shown = ask(classroom.visitors["p2"], slug, "manifest.json")
    assert shown["you"] == {"p": "p2", "role": "learner"} and not shown["can"]["correct"]
    assert teacher.get(f"/classes/{slug}/replay/").status == 404, "who has not asked for it"
    refused = teacher.post("/course/012-linger-and-batch/watch")
    assert refused.status == 404 and "does not have a recording" in refused.text
    Class.objects.filter(slug=slug).delete()


def test_a_recording_that_cannot_be_imported_is_a_problem_of_the_course(tmp_path: Path) -> None:
    lesson = exercises()["011-acks"]
    assert list(unreadable_recordings({lesson.slug: lesson})) == []
    damaged = tmp_path / "walk.hwclass"
    damaged.write_bytes(b"PK but not really")
    (problem,) = unreadable_recordings({lesson.slug: replace(lesson, recording=str(damaged))})
    assert problem.startswith("011-acks: walk.hwclass: ")


def test_only_instructors_import_classes(classroom: Classroom, exported: bytes) -> None:
    assert classroom.visitors["p2"].post_file("/classes/import", exported).status == 403


def lab_file(entries: Entries, ending: str) -> str:
    return next(name for name in entries if name.startswith("labs/") and name.endswith(ending))


def with_link(entries: Entries) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in entries.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFLNK if name == "words.json" else stat.S_IFREG) << 16
            archive.writestr(info, data)
    return target.getvalue()


def changed_log(entries: Entries, change: Callable[[bytes], bytes]) -> bytes:
    name = next(name for name in entries if name.startswith("class-0/"))
    return packed(described({**entries, name: change(entries[name])}))


def with_bomb(entries: Entries) -> bytes:
    """A declared file of 3 GB, which takes 3 MB."""
    manifest = json.loads(entries["manifest.json"])
    manifest["files"]["captions/en.vtt"] = {"bytes": BOMB_BYTES, "sha256": "0" * 64}
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**entries, "manifest.json": json.dumps(manifest).encode()}.items():
            archive.writestr(name, data)
        # The compressed zeros repeat, so they are made once: compressing all of them takes a quarter of a minute.
        packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        piece = packer.compress(bytes(2**25)) + packer.flush(zlib.Z_FULL_FLUSH)
        packed = piece * (BOMB_BYTES // 2**25) + packer.flush()
        about = zipfile.ZipInfo("captions/en.vtt")
        about.compress_type = zipfile.ZIP_DEFLATED
        about.file_size, about.compress_size, about.CRC = BOMB_BYTES, len(packed), BOMB_CRC
        about.header_offset = target.tell()
        target.write(about.FileHeader() + packed)
        archive.filelist.append(about)
        archive.NameToInfo[about.filename] = about
        archive.start_dir = target.tell()
    return target.getvalue()


def with_lie(entries: Entries) -> bytes:
    """A file that is much larger than it is declared to be."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in described({**entries, "captions/en.vtt": CAPTION % b"a"}).items():
            archive.writestr(name, data if name != "captions/en.vtt" else bytes(2**28))
    return target.getvalue()


def with_small_bomb_in_its_log(entries: Entries) -> bytes:
    """Records of 256 MB in a batch of some KB."""
    packer = cramjam.zstd.Compressor(level=1)
    for _ in range(16):
        packer.compress(bytes(2**24))
    records = bytes(packer.finish())
    batch = batch_parts(
        records,
        base_offset=0,
        leader_epoch=0,
        attributes=CompressionType.ZSTD,
        last_offset_delta=9,
        base_timestamp=0,
        max_timestamp=1,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=10,
    )
    return changed_log(entries, lambda _: b"".join(map(bytes, batch)))


def misnamed(entries: Entries) -> bytes:
    """A name that is not in the encoding that the zip says."""
    name = "words.json"
    data = packed(entries).replace(name.encode(), b"\xff" + name.encode()[1:])
    at = data.rindex(b"PK\x01\x02", 0, data.rindex(b"\xff" + name.encode()[1:]))
    return data[: at + 8] + b"\x00\x08" + data[at + 10 :]


def squeezed(entries: Entries, method: int) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return target.getvalue()


def damaged_part(entries: Entries) -> bytes:
    """Compressed, and damaged."""
    data = bytearray(squeezed(entries, zipfile.ZIP_DEFLATED))
    at = data.index(b"words.json") + len(b"words.json")
    data[at : at + 8] = b"\xff" * 8
    return bytes(data)


def nested(name: str) -> Callable[[Entries], bytes]:
    return lambda entries: packed(described({**entries, name: b'{"x":' + b"[" * 100_000}))


def chapter(**fields: Any) -> Callable[[Entries], bytes]:
    data = json.dumps([{"chapter": 1, "at_us": 0, **fields}]).encode()
    return lambda entries: packed(described({**entries, "chapters.json": data}))


def sound(**changes: Any) -> Callable[[Entries], bytes]:
    """A piece of sound that is described in this way."""
    piece = {"piece": 1, "at_us": 1_000, "length_us": 5, "type": "audio/webm", "bytes": 1, "digest": ""}
    index = json.dumps({"pieces": [piece], **changes}).encode()
    return lambda entries: packed(described({**entries, "audio/1.webm": b"x", "audio/pieces.json": index}))


BOMB_BYTES, BOMB_CRC = 3 * 2**30, 0x480BBE37
CAPTION = b"WEBVTT\n\n00:00.000 --> 00:00.001\n%s\n"
BAD: dict[str, Callable[[Entries], bytes]] = {
    "no zip": lambda entries: b"PK but not really",
    "a run": lambda entries: packed(described(entries, kind="highwater run")),
    "newer": lambda entries: packed(described(entries, version=2)),
    "climbs": lambda entries: packed(described({**entries, "labs/../../x/recording/identity.json": b"{}"})),
    "a pickle": lambda entries: packed(described({**entries, "labs/a/main/recording/checkpoints/1.engine": b"x"})),
    "unknown lab": lambda entries: packed(described({**entries, "labs/a/main/recording/identity.json": b"{}"})),
    "link": with_link,
    "bomb": with_bomb,
    "more than declared": with_lie,
    "changed": lambda entries: packed({**entries, "words.json": entries["words.json"] + b" "}),
    "undeclared": lambda entries: packed({**entries, "captions/en.vtt": b"WEBVTT"}),
    "captions with markup": lambda entries: packed(described({**entries, "captions/en.vtt": CAPTION % b"<img>"})),
    "captions in no language": lambda entries: packed(described({**entries, "captions/fr.vtt": CAPTION % b"a"})),
    "torn log": lambda entries: changed_log(entries, lambda data: data[:-7]),
    "flipped bit": lambda entries: changed_log(entries, lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]),
    "torn lab": lambda entries: packed(described({**entries, (name := lab_file(entries, ".log")): entries[name][:-7]})),
    "long text": lambda entries: packed(
        described({**entries, "words.json": json.dumps({"names": {}, "texts": {"1": ["x" * 2_001, "en"]}}).encode()})
    ),
    "other end": lambda entries: packed(described(entries, last_seq=3)),
    "endless": lambda entries: packed(described(entries, length_us=10**18)),
    "bomb in a log": with_small_bomb_in_its_log,
    "misnamed": misnamed,
    "another compression": lambda entries: squeezed(entries, zipfile.ZIP_BZIP2),
    "damaged where it is compressed": damaged_part,
    "nested manifest": lambda entries: packed({**entries, "manifest.json": b'{"x":' + b"[" * 100_000}),
    "nested words": nested("words.json"),
    "nested chapters": nested("chapters.json"),
    "chapter of an unknown kind": chapter(kind="Flood"),
    "chapter without what its title says": chapter(kind="LeaderElected", values={"leader": "b1"}),
    "chapter of no poll": chapter(kind="poll", about="two"),
    "chapter before the beginning": chapter(at_us=-1, title="x"),
    "nested sound": nested("audio/pieces.json"),
    "sound without its file": sound(
        pieces=[{"piece": 2, "at_us": 2_000, "length_us": 5, "type": "audio/webm", "bytes": 1, "digest": ""}]
    ),
    "passage that ends before it begins": sound(lost=[[9, 5]]),
    "sound that is shifted by an hour": sound(shift_us=3_600_000_000),
    "sound that is no sound": lambda entries: packed(described({**entries, "audio/pieces.json": b"\xff"})),
    "another file beside the sound": lambda entries: packed(described({**entries, "audio/a.exe": b"MZ"})),
    "many": lambda entries: packed(described({**entries, **{f"audio/{n}.webm": b"" for n in range(2_000)}})),
}


@pytest.mark.parametrize("why", sorted(BAD))
def test_invalid_file_is_refused_with_a_message_and_leaves_nothing(teacher: Visitor, exported: bytes, why: str) -> None:
    folder = Path(settings.DATA) / "classes"
    before = sorted(path.name for path in folder.iterdir()), Class.objects.count()
    answer = teacher.post_file("/classes/import", BAD[why](entries_of(exported)))
    assert answer.status == 400, answer.text
    assert 'id="import-error"' in answer.text and str(settings.DATA) not in answer.text
    assert (sorted(path.name for path in folder.iterdir()), Class.objects.count()) == before
