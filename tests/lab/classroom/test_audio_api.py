"""The sound of a class over HTTP: uploaded slices, downloaded pieces, and the class's events."""

import errno
import hashlib
from typing import Any

import pytest
from django.db.utils import OperationalError

from lab.classroom.audio import store
from lab.classroom.audio.webm import read_webm
from lab.classroom.captions import store as caption_store
from lab.classroom.words import ClassWords as Words
from tests.support.classroom.class_pages import Classroom, Page
from tests.support.classroom.sound import LENGTH_US, SLICES


def base(classroom: Classroom) -> str:
    return f"/api/classes/{classroom.slug}/recording"


def put(classroom: Classroom, at_us: int, index: int, p: str = "p1") -> int:
    data = SLICES[index]
    query = f"?at_us={at_us}&digest={hashlib.sha256(data).hexdigest()}"
    address = f"{base(classroom)}/audio/{at_us // 1000}/{index}{query}"
    return classroom.visitors[p].put(address, data, "audio/webm;codecs=opus").status


def class_us(page: Page) -> int:
    page.send(k="time", ms=1)
    return int(page.until("time")["class_us"])


def test_received_piece_is_announced_and_served_in_ranges(classroom: Classroom) -> None:
    with classroom.page("p1") as teacher, classroom.page("p2") as ada:
        for page in (teacher, ada):
            page.until("snap")
        assert teacher.act("set_microphone", on=True)["k"] == "done"
        ada.until_held("/audio name", "Name 1")
        at_us = class_us(teacher)
        assert [put(classroom, at_us, index) for index in (1, 0, 1, 3)] == [200] * 4
        assert put(classroom, at_us, 2, "p2") == 403
        assert put(classroom, at_us + 10_000_000_000, 2) == 400
        large = classroom.visitors["p1"].put(f"{base(classroom)}/audio/1/1?at_us=1", bytes(3_000_000), "audio/webm")
        assert large.status == 413 and "3000000 bytes" in large.json["what"]
        end = f"{base(classroom)}/audio/{at_us // 1000}/end"
        body = {"slices": len(SLICES), "length_us": LENGTH_US}
        assert classroom.visitors["p1"].post_json(end, body).json == {"missing": [2, 4, 5]}
        for index in (5, 2, 4):
            assert put(classroom, at_us, index) == 200
        assert classroom.visitors["p1"].post_json(end, body).json == {"missing": []}
        ada.until_held("/audio arrived_us", LENGTH_US)
        assert classroom.visitors["p1"].post_json(
            f"{base(classroom)}/audio/voice", {"spans": [[at_us, at_us + 10]]}
        ).status == 200  # fmt: skip
        assert (
            classroom.visitors["p1"].send_json("PUT", f"{base(classroom)}/audio/shift", {"shift_us": -50_000}).status
            == 200
        )
        reader = classroom.visitors["p2"]
        sound = reader.get(f"{base(classroom)}/manifest.json").json["audio"]
        assert [(one["at_us"], one["length_us"]) for one in sound["pieces"]] == [(at_us, LENGTH_US)]
        assert (sound["shift_us"], sound["lost"], sound["voice"]) == (-50_000, [], [[at_us, at_us + 10]])
        address = f"{base(classroom)}/audio/{at_us // 1000}"
        whole = reader.get(address)
        assert whole.headers["Content-Type"] == "audio/webm" and len(read_webm([whole.body]).packets) == 86
        part = reader.get(address, Range="bytes=100-199")
        assert (part.status, part.body) == (206, whole.body[100:200])
        assert part.headers["Content-Range"] == f"bytes 100-199/{len(whole.body)}"
        assert reader.get(address, Range="bytes=-5").body == whole.body[-5:]
        assert reader.get(address, Range="bytes=999999-").status == 416
        assert reader.get(address, Range=f"bytes={'9' * 5_000}-").body == whole.body, "no range"


def test_sound_received_after_the_end_of_the_class_is_in_its_recording(classroom: Classroom) -> None:
    with classroom.page("p1") as teacher:
        teacher.until("snap")
        assert teacher.act("set_microphone", on=True)["k"] == "done"
        at_us = class_us(teacher)
        assert put(classroom, at_us, 0) == 200
        assert teacher.act("end_class")["k"] == "done"
        teacher.until_held("/audio p", "")
        assert put(classroom, at_us, 1) == 200
        end = f"{base(classroom)}/audio/{at_us // 1000}/end"
        assert classroom.visitors["p1"].post_json(end, {"slices": 2, "length_us": 2_000_000}).json == {"missing": []}
    found = classroom.visitors["p2"].get(f"{base(classroom)}/manifest.json").json
    assert [one["at_us"] for one in found["audio"]["pieces"]] == [at_us] and not found["live"]
    assert found["audio"]["pieces"][0]["length_us"] > 1_000_000
    assert put(classroom, at_us + 1_000, 2) == 409


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def full_database(*_: object) -> None:
    raise OperationalError("database or disk is full")


def test_full_disk_is_reported_and_the_class_continues(classroom: Classroom, monkeypatch: pytest.MonkeyPatch) -> None:
    chapter: dict[str, Any] = {"text": "Leaders", "lang": "en"}
    with classroom.page("p1") as teacher:
        teacher.until("snap")
        assert teacher.act("set_microphone", on=True)["k"] == "done"
        cue, at_us = {"from_us": 0, "to_us": 1_000, "text": "so"}, class_us(teacher)
        captions, audio = f"{base(classroom)}/captions/en/cues", f"{base(classroom)}/audio/voice"
        with monkeypatch.context() as patch:
            patch.setattr(store, "_write", full)
            patch.setattr(caption_store, "_write", full)
            refused = classroom.visitors["p1"].post_json(captions, cue)
            assert (refused.status, "is full" in refused.json["what"]) == (507, True)
            assert classroom.visitors["p1"].post_json(audio, {"spans": [[0, 1]]}).status == 507
            assert put(classroom, at_us, 0) == 507
            patch.setattr(Words, "add", full_database)
            patch.setattr(Words, "discard", full_database)
            no = teacher.act("add_chapter", **chapter)
            assert no["k"] == "no" and "is full" in no["what"], no
            assert teacher.act("set_microphone", on=False)["k"] == "done"
        assert classroom.visitors["p1"].post_json(captions, cue).status == 200
        assert put(classroom, at_us, 0) == 200
        assert teacher.act("add_chapter", **chapter)["k"] == "done"


def test_json_that_is_nested_without_end_is_refused(classroom: Classroom) -> None:
    answer = classroom.visitors["p1"].put(
        f"{base(classroom)}/audio/shift", b'{"x":' + b"[" * 60_000, "application/json"
    )
    assert answer.status == 400 and "cannot be read" in answer.json["what"]
