"""Sealing: the contents and visibility of an ended class, chapters, and the effects of erasing a person."""

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from lab.actions.classes import shown_labs
from lab.actions.classes.recorded.chapters import _title
from lab.actions.classes.shown_labs import close_labs
from lab.classroom.captions.webvtt import Cue, write
from lab.classroom.events.pace import LessonBegan
from lab.classroom.events.poll import PollMade, PollOpened
from lab.classroom.recorded.chapters import APART_US, MAX_TITLE, Landmark, Landmarks, StoredChapter, proposed
from lab.classroom.recorded.sealed import SEALED, SealedManifest, path_of, read_events, read_manifest
from lab.course.loader import course
from lab.models import Participant
from lab.runtime.host import Host
from lab.web.recorded.replay_pages import class_address_time
from tests.support.classroom.class_pages import Classroom
from tests.support.classroom.memory_class import NoWords
from tests.support.lab_server import LabServer

SECRET, NAME = "why-is-epoch-nine-stale", "Zuleika Dobson"


@pytest.fixture(scope="module")
def classroom(lab_server: LabServer) -> Iterator[Classroom]:
    """A class that has ended: p2 was on stage and asked, p3 is left out of the recording."""
    made = Classroom(lab_server)
    Participant.objects.filter(classroom=made.model, number=2).update(nickname=NAME, consent="nickname")
    Participant.objects.filter(classroom=made.model, number=3).update(consent="not_recorded")
    lead, _, _ = (made.give_lab(p, brokers="1") for p in ("p1", "p2", "p3"))
    with made.page("p1") as teacher, made.page("p2") as ada, made.page("p3") as bob:
        for page in (teacher, ada, bob):
            page.until("snap")
        assert teacher.act("take_lead", lab=f"{lead}/main")["k"] == "done"
        while not teacher.held.get("/lead_lab"):
            teacher.read()
        assert ada.act("ask", text=SECRET, lang="en", at={"lab": own_lab(made, 2)})["k"] == "done"
        assert bob.act("ask", text="left-out-question", lang="en", at={"lab": own_lab(made, 3)})["k"] == "done"
        assert teacher.act("ask_stage", p="p2")["k"] == "done"
        assert ada.act("answer_stage", accepted=True, named=True, recorded=True)["k"] == "done"
        assert teacher.act("clear_stage")["k"] == "done"
        assert teacher.act("set_recording", on=False)["k"] == "done"
        assert say(made, 10**12, "off-the-record-caption") == 409
        teacher.send(k="time", ms=1)
        inside_us = int(teacher.until("time")["class_us"])
        assert teacher.act("add_chapter", text="off-the-record-chapter", lang="en")["k"] == "done"
        assert teacher.act("set_recording", on=True)["k"] == "done"
        assert say(made, inside_us, "off-the-record-caption") == 409, "sent later"
        assert say(made, 10**12, "**typed in class** by nobody") == 200
        assert teacher.act("add_chapter", text="Wrap-up", lang="en")["k"] == "done"
        assert teacher.act("end_class")["k"] == "done"
    yield made
    made.close()


def own_lab(classroom: Classroom, number: int) -> str:
    run = Participant.objects.get(classroom=classroom.model, number=number).run
    return f"{run.slug}/main" if run else ""


def say(classroom: Classroom, from_us: int, text: str) -> int:
    """Types a caption."""
    address = f"/api/classes/{classroom.slug}/recording/captions/en/cues"
    return (
        classroom.visitors["p1"]
        .post_json(address, {"from_us": from_us, "to_us": from_us + 900_000, "text": text})
        .status
    )


def folder_of(classroom: Classroom) -> Path:
    return Path(settings.DATA) / "classes" / classroom.slug


def ask(classroom: Classroom, p: str, path: str, method: str = "GET", content: Any = None) -> Any:
    address, visitor = f"/api/classes/{classroom.slug}/recording/{path}", classroom.visitors[p]
    answer = visitor.get(address) if method == "GET" else visitor.send_json(method, address, content)
    assert answer.status == 200, answer.text
    return answer.json


def test_a_class_is_sealed_by_its_end_and_its_files_are_those_of_the_manifest(classroom: Classroom) -> None:
    shown = ask(classroom, "p2", "manifest.json")
    assert (shown["live"], shown["sealed_ms"] > 0) == (False, True)
    manifest = whole_manifest(classroom)
    assert (manifest.last_seq, manifest.length_us) == (shown["last_seq"], shown["length_us"])
    assert {name.split("/")[0] for name in manifest.files} == {
        *("class-0", "labs", "words.json", "chapters.json", "captions"),
    }
    assert not any("checkpoints" in name or "cluster" in name for name in manifest.files)


def whole_manifest(classroom: Classroom) -> SealedManifest:
    """The manifest, each of whose digests is that of its file."""
    manifest = read_manifest(folder_of(classroom))
    assert manifest is not None
    for name, described in manifest.files.items():
        data = path_of(folder_of(classroom), name).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (described.bytes, described.sha256), name
    return manifest


def test_members_replay_what_was_sealed_without_what_was_left_out(classroom: Classroom) -> None:
    events = ask(classroom, "p2", "segments/0.json")["events"]
    shown = json.dumps(events)
    # as a word: a random id may contain the letters
    assert not re.search(r"\bp3\b", shown)
    assert "left-out-question" not in shown and "off-the-record-chapter" not in shown
    assert SECRET in shown and {event[4][0] for event in events if event[4]} >= {
        "LeadTaken",
        "StageShown",
        "ClassEnded",
    }
    assert [seq for seq, *_ in read_events(folder_of(classroom))] == list(range(1, events[-1][0] + 1))
    found = ask(classroom, "p4", "manifest.json")
    assert len(found["off_record"]) == 1 and [one["stage"] for one in found["labs"]] == [False, True]
    assert found["labs"][1]["title"] == NAME
    assert all(b"left-out-question" not in path.read_bytes() for path in sealed_files(classroom))


def sealed_files(classroom: Classroom) -> list[Path]:
    folder = folder_of(classroom)
    return [path for path in (folder / SEALED).rglob("*") if path.is_file()] + [folder / "chapters.json"]


def test_staff_correct_chapters_after_class_and_sealing_again_keeps_them(classroom: Classroom) -> None:
    before = ask(classroom, "p1", "manifest.json")["chapters"]
    assert [one["title"] for one in before if one["by"] == "staff"] == ["Wrap-up"]
    added = ask(classroom, "p1", "chapters", "POST", {"at_us": 5, "title": "  First\nwords "})
    number = next(one["chapter"] for one in added if one["title"] == "First words")
    moved = ask(classroom, "p1", f"chapters/{number}", "PUT", {"at_us": 7})
    whole_manifest(classroom)
    ask(classroom, "p1", "audio/shift", "PUT", {"shift_us": 150_000})
    assert "audio/pieces.json" in whole_manifest(classroom).files
    assert ask(classroom, "p2", "manifest.json")["audio"]["shift_us"] == 150_000
    assert next(one["at_us"] for one in moved if one["chapter"] == number) == 7
    sealed = ask(classroom, "p1", "seal", "POST", {})["sealed_ms"]
    after = ask(classroom, "p2", "manifest.json")
    assert after["sealed_ms"] == sealed and after["chapters"] == moved
    left = ask(classroom, "p1", f"chapters/{number}", "DELETE", {})
    assert left == before
    visitor, address = classroom.visitors["p1"], f"/api/classes/{classroom.slug}/recording/chapters"
    assert visitor.post_json(address, {"at_us": 1, "title": "x" * 81}).status == 400
    assert visitor.send_json("PUT", f"{address}/99", {"at_us": 1}).status == 404


def test_captions_are_uploaded_corrected_and_found_and_those_off_the_record_are_left_out(classroom: Classroom) -> None:
    recording = f"/api/classes/{classroom.slug}/recording"
    visitor = classroom.visitors["p1"]
    (typed,) = ask(classroom, "p2", "captions/en")["cues"]
    assert (typed["text"], typed["source"]) == ("**typed in class** by nobody", "typed")
    found = ask(classroom, "p2", "search?q=nobody%20TYPED")
    assert [(one["at_us"], one["kind"], one["language"]) for one in found] == [(typed["from_us"], "caption", "en")]
    ((off_us, on_us),) = ask(classroom, "p2", "manifest.json")["off_record"]
    cues = [
        Cue(1, 0, 1_000, "一", "file"),
        Cue(2, off_us // 1_000 * 1_000 + 1_000, on_us + 1_000, "off-the-record-caption", "file"),
    ]
    sent = visitor.put(f"{recording}/captions/zh-CN/file", write(cues), "text/vtt")
    assert sent.status == 200 and [one["text"] for one in sent.json["cues"]] == ["一"]
    refused = visitor.put(f"{recording}/captions/zh-CN/file", write(cues).replace(b"\xe4", b"<i>\xe4"), "text/vtt")
    assert refused.status == 400 and "Line 5" in refused.json["what"]
    assert visitor.put(f"{recording}/captions/zh-CN/file", b"WEBVTT" * 10**6, "text/vtt").status == 413
    assert visitor.put(f"{recording}/captions/fr/file", write(cues), "text/vtt").status == 404
    changed = {"from_us": 0, "to_us": 1_000, "text": "<b>二</b>"}
    assert ask(classroom, "p1", "captions/zh-CN/cues/1", "PUT", changed)["cues"][0]["text"] == "<b>二</b>"
    assert visitor.post_json(f"{recording}/captions/zh-CN/cues", changed).status == 409
    ask(classroom, "p1", "seal", "POST", {})
    assert ask(classroom, "p2", "manifest.json")["captions"] == [
        {"language": "en", "cues": 1}, {"language": "zh-CN", "cues": 1},
    ]  # fmt: skip
    file = classroom.visitors["p4"].get(f"{recording}/captions/zh-CN.vtt")
    assert file.headers["Content-Type"] == "text/vtt; charset=utf-8" and "&lt;b&gt;二" in file.text


def test_transcript_is_complete_as_text_and_links_into_the_replay(classroom: Classroom) -> None:
    def read(more: str = "") -> str:
        answer = classroom.visitors["p2"].get(f"/classes/{classroom.slug}/transcript/{more}")
        assert answer.status == 200
        return answer.text

    (typed,) = ask(classroom, "p2", "captions/en")["cues"]
    whole, chinese, found = read(), read("?captions=zh-CN"), read("?q=NOBODY+typed")
    link = f"/replay/?at={class_address_time(typed['from_us'])}"
    for text in (typed["text"], "Wrap-up", SECRET, "passage off the record starts", link):
        assert text in whole, text
    assert "&lt;b&gt;二" in chinese and typed["text"] not in chinese and "off-the-record" not in whole + chinese
    assert typed["text"] in found and SECRET not in found and "Matching lines: 1." in found
    assert "No matches" in read("?q=none-of-it")
    assert classroom.visitors["p2"].get(f"/classes/{classroom.slug}/transcript/?q={'x' * 101}").status == 400


def test_a_restarted_server_replays_what_was_sealed(classroom: Classroom) -> None:
    before = ask(classroom, "p2", "segments/0.json")
    classroom.restart()
    assert ask(classroom, "p2", "segments/0.json") == before


def test_large_lab_is_copied_by_another_process_with_the_same_files(
    classroom: Classroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = folder_of(classroom) / "labs" / ask(classroom, "p1", "manifest.json")["labs"][0]["address"]

    def files() -> dict[str, bytes]:
        found = {str(path.relative_to(copy)): path.read_bytes() for path in sorted(copy.rglob("*")) if path.is_file()}
        assert "cluster/broker-1/meta.properties" in found
        # A copy has an identity of its own.
        del found["recording/identity.json"]
        return found

    def copy_again() -> None:
        async def drop(_: Host) -> None:
            await close_labs(classroom.slug)
            shutil.rmtree(copy)

        classroom.server.call(drop)
        ask(classroom, "p1", "seal", "POST", {})

    copy_again()
    made_here = files()
    monkeypatch.setattr(shown_labs, "SHORT_EVENTS", -1)
    monkeypatch.setattr(shown_labs, "complete", None)
    copy_again()
    assert files() == made_here
    assert not list(copy.parent.glob("*.partial"))


def test_erasing_a_person_removes_name_texts_and_stage_from_the_recording(classroom: Classroom) -> None:
    """Acceptance statement 24, of somebody who was on stage."""
    last_seq, lab = ask(classroom, "p1", "manifest.json")["last_seq"], own_lab(classroom, 2)
    assert any(NAME.encode() in path.read_bytes() for path in sealed_files(classroom))
    ask(classroom, "p2", "notes", "POST", {"at_us": 1, "text": f"{SECRET}, says {NAME}"})
    answer = classroom.visitors["p1"].post(f"/classes/{classroom.slug}/people/2", op="erase", confirm="yes")
    assert answer.status == 200
    for path, data in classroom.files().items():
        assert NAME.encode() not in data and SECRET.encode() not in data, path
    found = ask(classroom, "p1", "manifest.json")
    assert found["captions"], "nobody is named as the author of captions"
    assert len(found["labs"]) == 1 and found["questions"][0]["text"] == ""
    assert not (folder_of(classroom) / "labs" / lab).exists()
    assert last_seq - found["last_seq"] == 2, "the stage was asked for and allowed"


def test_interrupted_sealing_is_completed_by_the_next_request(
    classroom: Classroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of(classroom)
    (folder / SEALED).rename(folder / "elsewhere")
    assert ask(classroom, "p1", "manifest.json")["sealed_ms"] > 0
    (folder / SEALED).rename(folder / f"{SEALED}.before")
    assert read_manifest(folder) is not None, "a crash between the two renames"


def test_chapter_of_a_poll_is_titled_by_its_step_or_the_beginning_of_its_text() -> None:
    class Long(NoWords):
        def text(self, number: int) -> tuple[str, str]:
            return ("哪" * 300 if number == 2 else "Where do you expect it? " * 20), "en"

    def title(text: str, **values: str) -> str:
        return _title(StoredChapter(1, 0, kind="poll", about=text, values=values), Long(), "en")

    assert title("1", step="3") == "Poll: prediction of step 3"
    for text, begin in (("1", "Poll: Where do you"), ("2", "Poll: 哪哪")):
        assert title(text).startswith(begin) and 50 < len(title(text)) <= MAX_TITLE + len("Poll: ")
        assert title(text).endswith("…") and not title(text).endswith(" …")
    made = PollMade(poll=1, form="prediction", text=9, choices=(), anonymous=True, asks_sure=True, right="", step=3)
    landmarks = Landmarks()
    landmarks.take((1, 1, "p1", "", made))
    landmarks.take((2, 2, "p1", "", PollOpened(poll=1, round=1, until_us=0)))
    landmarks.take((3, 3, "p1", "", LessonBegan(lesson="011-acks", steps=4, minutes=9, hints=(), handout=2)))
    assert landmarks.found == [Landmark(3, 2, "poll", "9", {"step": "3"}), Landmark(0, 3, "lesson", "011-acks")]
    (chapter,) = proposed(landmarks.found, [])
    assert chapter.is_sane
    lesson = course().lesson("011-acks")
    assert _title(chapter, Long(), "en") == f"Lesson {lesson.number} {lesson.exercise.title.en}"


def test_proposed_chapters_are_90_s_apart_and_prefer_important_events() -> None:
    minute = 60_000_000
    found = proposed(
        [
            Landmark(4, 0, "step", "1"),
            Landmark(1, 1 * minute, "lead", "p1"),
            Landmark(3, 1 * minute + APART_US, "poll", "4"),
            Landmark(5, 9 * minute, "BrokerStopped", "", {"broker": "b1"}),
            Landmark(5, 10 * minute, "BrokerStopped", "", {"broker": "b2"}),
        ],
        [StoredChapter(3, 11 * minute, text=1)],
    )
    assert [(one.chapter, one.at_us, one.kind) for one in found] == [
        (4, 1 * minute, "lead"),
        (5, 1 * minute + APART_US, "poll"),
        (6, 9 * minute, "BrokerStopped"),
    ]
