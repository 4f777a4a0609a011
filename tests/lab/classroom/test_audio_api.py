"""The sound of a class over HTTP: uploaded slices, downloaded pieces, and the class's events."""

import hashlib
from collections.abc import Iterator

import pytest

from lab.classroom.audio.webm import read_webm
from tests.support.classroom.class_pages import Classroom, Page
from tests.support.classroom.sound import LENGTH_US, SLICES
from tests.support.lab_server import LabServer


@pytest.fixture
def classroom(lab_server: LabServer) -> Iterator[Classroom]:
    made = Classroom(lab_server)
    yield made
    made.close()


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


def test_a_piece_that_arrives_is_told_and_can_be_played_in_ranges(classroom: Classroom) -> None:
    with classroom.page("p1") as teacher, classroom.page("p2") as ada:
        for page in (teacher, ada):
            page.until("snap")
        assert teacher.act("set_microphone", on=True)["k"] == "done"
        ada.until_held("/audio name", "Name 1")
        at_us = class_us(teacher)
        assert [put(classroom, at_us, index) for index in (1, 0, 1, 3)] == [200] * 4
        assert put(classroom, at_us, 2, "p2") == 403
        assert put(classroom, at_us + 10_000_000_000, 2) == 400
        end = f"{base(classroom)}/audio/{at_us // 1000}/end"
        told = {"slices": len(SLICES), "length_us": LENGTH_US}
        assert classroom.visitors["p1"].post_json(end, told).json == {"missing": [2, 4, 5]}
        for index in (5, 2, 4):
            assert put(classroom, at_us, index) == 200
        assert classroom.visitors["p1"].post_json(end, told).json == {"missing": []}
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


def test_sound_that_is_still_arriving_as_the_class_ends_is_in_its_recording(classroom: Classroom) -> None:
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
