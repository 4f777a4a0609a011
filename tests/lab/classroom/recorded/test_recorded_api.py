"""The recording of a class over HTTP: access, contents, and the labs that were shown."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from lab.class_rights import OF_ROLE
from lab.models import Branch, Participant, Role, Run
from lab.runtime.host import Host
from lab.urls import urlpatterns
from tests.support.classroom.class_pages import Classroom, Page
from tests.support.lab_server import LabServer

BASE = "api/classes/<slug>/recording"
RIGHT_OF = {
    f"{BASE}/manifest.json": ("GET", "see"),
    f"{BASE}/map.json": ("GET", "see"),
    f"{BASE}/segments/<n>.json": ("GET", "see"),
    f"{BASE}/audio/<piece>": ("GET", "see"),
    f"{BASE}/audio/<piece>/<index>": ("PUT", "staff"),
    f"{BASE}/audio/<piece>/end": ("POST", "staff"),
    f"{BASE}/audio/voice": ("POST", "staff"),
    f"{BASE}/audio/shift": ("PUT", "staff"),
    f"{BASE}/captions/<language>.vtt": ("GET", "see"),
    f"{BASE}/captions/<language>": ("GET", "see"),
    f"{BASE}/captions/<language>/file": ("PUT", "staff"),
    f"{BASE}/captions/<language>/recognised": ("GET", "staff"),
    f"{BASE}/captions/<language>/cues": ("POST", "staff"),
    f"{BASE}/captions/<language>/cues/<number>": ("DELETE", "staff"),
    f"{BASE}/labs/<lab>/index.json": ("GET", "see"),
    f"{BASE}/labs/<lab>/segments/<n>.json": ("GET", "see"),
    f"{BASE}/labs/<lab>/seek": ("GET", "see"),
    f"{BASE}/labs/<lab>/contents": ("GET", "see"),
    f"{BASE}/labs/<lab>/commands": ("GET", "see"),
    f"{BASE}/take-over": ("POST", "fork"),
    f"{BASE}/seal": ("POST", "staff"),
    f"{BASE}/export": ("GET", "export"),
    f"{BASE}/page.html": ("GET", "export"),
    f"{BASE}/page.json": ("GET", "export"),
    f"{BASE}/search": ("GET", "see"),
    f"{BASE}/notes": ("GET", "see"),
    f"{BASE}/notes/<id>": ("DELETE", "see"),
    f"{BASE}/chapters": ("POST", "staff"),
    f"{BASE}/chapters/<number>": ("DELETE", "staff"),
    "classes/<slug>/replay/": ("GET", "see"),
    "classes/<slug>/transcript/": ("GET", "see"),
}
"""By address: the method, and the right to the class that it requires."""


@pytest.fixture(scope="module")
def classroom(lab_server: LabServer) -> Iterator[Classroom]:
    """A class whose instructor led with a lab, showed something, and set a chapter."""
    made = Classroom(lab_server)
    yield made
    made.close()


@pytest.fixture(scope="module")
def lab(classroom: Classroom, lab_server: LabServer) -> str:
    """The address of the lab that led, after the lead has ended."""
    slug = classroom.visitors["p1"].new_run(brokers="1")
    with classroom.page("p1") as teacher, classroom.visitors["p1"].socket(slug) as own:
        teacher.until("snap")
        assert teacher.act("take_lead", lab=f"{slug}/main")["k"] == "done"
        own.run("kafka-topics.sh --create --topic shown --partitions 1 --replication-factor 1")
        own.ask({"k": "time", "op": "pause"})
        wait_for_pause(teacher)
        assert teacher.act("add_chapter", text="Leaders", lang="en")["k"] == "done"
        assert teacher.act("end_lead")["k"] == "done"
    return f"{slug}/main"


def wait_for_pause(page: Page) -> None:
    """Reads until the class knows that the leading lab is paused."""
    while (page.held.get("/lead_lab") or {}).get("mode") != "pause":
        page.read()


def path_of(classroom: Classroom, address: str) -> str:
    named = {"slug": classroom.slug, "n": "0", "lab": "0", "number": "1", "piece": "7", "index": "0"}
    named["language"] = "en"
    return "/" + re.sub(r"<(\w+)>", lambda found: named.get(found[1], found[0]), address)


def get(classroom: Classroom, p: str, path: str) -> Any:
    answer = classroom.visitors[p].get(f"/api/classes/{classroom.slug}/recording/{path}")
    assert answer.status == 200, answer.text
    return answer.json


def test_every_address_of_a_recording_is_in_the_table_of_rights() -> None:
    found = {re.sub(r"<\w+:(\w+)>", r"<\1>", str(pattern.pattern)) for pattern in urlpatterns}
    assert {name for name in found if name.startswith(BASE) or "/replay/" in name or "/transcript/" in name} == set(
        RIGHT_OF
    )


@pytest.mark.parametrize("address", sorted(RIGHT_OF))
def test_recording_is_visible_to_members_only(classroom: Classroom, lab: str, address: str) -> None:
    path = path_of(classroom, address) + ("?seq=1" if address.endswith("seek") else "")
    method, right = RIGHT_OF[address]

    def status(p: str) -> int:
        visitor = classroom.visitors[p]
        return (visitor.get(path) if method == "GET" else visitor.send_json(method, path, {"lab": 0, "seq": 1})).status

    refused = {
        "seal": 409,
        "export": 409,
        "page.html": 409,
        "page.json": 409,
        "<number>": 409,
        "chapters": 400,
        "<id>": 404,
        "<piece>": 404,
        "<index>": 415,
        "end": 400,
        "voice": 400,
        "shift": 400,
        "file": 409,
        "cues": 400,
    }
    allowed = refused.get(address.split("/")[-1], 200)
    assert status("p1") == allowed
    assert status("p2") == (403 if right in ("staff", "export") else allowed)
    assert status("p4") == (allowed if right == "see" else 403)
    assert status("p5") == 404
    third = Participant.objects.filter(classroom=classroom.model, number=3)
    for role in (Role.CO_INSTRUCTOR, Role.PROJECTOR):
        third.update(role=role)
        assert status("p3") == (allowed if right in OF_ROLE[role] else 403), role
    third.update(role=Role.LEARNER)
    for run in Run.objects.filter(classroom=classroom.model, participant__number=3):
        # What the co-instructor took over.
        assert classroom.visitors["p3"].post(f"/runs/{run.slug}/delete", confirm="yes").status == 200


def test_the_manifest_names_the_lab_that_led_and_the_chapters(classroom: Classroom, lab: str) -> None:
    found = get(classroom, "p2", "manifest.json")
    assert (found["title"], found["live"], found["you"]) == ("Replication", True, {"p": "p2", "role": "learner"})
    assert [(one["address"], one["title"], one["stage"]) for one in found["labs"]] == [(lab, "a run", False)]
    assert [one["title"] for one in found["chapters"]] == ["Leaders"]
    assert found["length_us"] > 0 and found["last_seq"] >= 5 and len(found["segments"]) == 1
    assert not found["can"]["correct"] and get(classroom, "p1", "manifest.json")["can"]["correct"]


def test_map_gives_the_instant_of_the_lab_shown(classroom: Classroom, lab: str) -> None:
    manifest, rows = get(classroom, "p2", "manifest.json"), get(classroom, "p2", "map.json")
    assert rows[0][1] == 0 and rows[-1][1] == -1
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    stood = rows[-2]
    last_seq = manifest["labs"][0]["last_seq"]
    assert (stood[2], stood[4]) == (last_seq, "pause")
    index = get(classroom, "p2", "labs/0/index.json")
    assert (index["last_seq"], f"{index['run']}/{index['branch']}") == (last_seq, lab)
    segment = get(classroom, "p2", "labs/0/segments/0.json")
    assert [event[0] for event in segment["ev"]] == list(range(1, last_seq + 1))
    assert get(classroom, "p2", f"labs/0/seek?t_us={stood[3]}")["seq"] == last_seq
    assert "shown-0@b1" in get(classroom, "p2", f"labs/0/contents?seq={last_seq}")
    (command,) = get(classroom, "p2", "labs/0/commands")
    assert command["line"].startswith("kafka-topics.sh --create --topic shown") and command["seq"] < last_seq


def test_events_of_a_lab_after_it_was_shown_are_not_sent(classroom: Classroom, lab: str) -> None:
    last_seq = get(classroom, "p1", "manifest.json")["labs"][0]["last_seq"]
    with classroom.visitors["p1"].socket(lab.split("/")[0]) as own:
        own.ask({"k": "time", "op": "play"})
        own.run("kafka-topics.sh --create --topic later --partitions 1 --replication-factor 1")
        own.ask({"k": "time", "op": "pause"})
    assert get(classroom, "p2", "labs/0/index.json")["last_seq"] == last_seq
    segment = get(classroom, "p2", "labs/0/segments/0.json")
    assert segment["ev"][-1][0] == last_seq and not any("later" in str(event) for event in segment["ev"])
    assert len(get(classroom, "p2", "labs/0/commands")) == 1
    ada = classroom.visitors["p2"]
    for path in (f"seek?seq={last_seq + 1}", f"contents?seq={last_seq + 1}"):
        assert ada.get(f"/api/classes/{classroom.slug}/recording/labs/0/{path}").status == 404
    assert get(classroom, "p2", "labs/0/seek?t_us=999000000")["seq"] == last_seq


def test_recording_grows_during_the_class(classroom: Classroom, lab: str) -> None:
    before = get(classroom, "p2", "manifest.json")["last_seq"]
    with classroom.page("p1") as teacher:
        teacher.until("snap")
        for op in ("pause_all", "resume_all"):
            assert teacher.act(op, id=op)["k"] == "done"
    found = get(classroom, "p2", "segments/0.json")
    assert found["last_seq"] > before
    assert {"AllPaused", "AllResumed"} <= {event[4][0] for event in found["events"] if event[4]}


def test_recording_of_a_class_that_goes_on_states_its_time(classroom: Classroom, lab: str) -> None:
    with classroom.page("p2") as ada:
        ada.send(k="time", ms=1)
        before_us = ada.until("time")["class_us"]
        found = get(classroom, "p2", "manifest.json")
        ada.send(k="time", ms=2)
        assert found["live"] and before_us <= found["length_us"] <= ada.until("time")["class_us"]
    note = classroom.visitors["p2"].post_json(
        f"/api/classes/{classroom.slug}/recording/notes", {"at_us": before_us, "text": "now", "shared": False}
    )
    assert note.json["at_us"] == before_us, "a quiet class has instants after its last event"
    at = f"{before_us // 60_000_000}:{before_us / 1_000_000 % 60:09.6f}"
    page = classroom.visitors["p2"].get(f"/classes/{classroom.slug}/replay/?at={at}").text
    assert f'data-at="{before_us}"' in page, "a link to one of them leads there"
    address = f"/api/classes/{classroom.slug}/recording/notes/{note.json['id']}"
    assert classroom.visitors["p2"].send_json("DELETE", address, None).status == 200


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("segments/7.json", "The recording of this class has no segment 7."),
        ("labs/7/index.json", "The recording of this class has no lab 7."),
        ("labs/0/segments/7.json", "This recording has no segment 7."),
    ],
)
def test_missing_parts_are_refused_with_a_message(classroom: Classroom, lab: str, path: str, what: str) -> None:
    answer = classroom.visitors["p1"].get(f"/api/classes/{classroom.slug}/recording/{path}")
    assert (answer.status, answer.json["what"]) == (404, what)


def test_the_page_begins_at_an_instant_of_the_class(classroom: Classroom, lab: str) -> None:
    ada = classroom.visitors["p2"]
    page = ada.get(f"/classes/{classroom.slug}/replay/?at=0:00.500")
    assert page.status == 200 and "Leaders" in page.text
    assert ada.get(f"/classes/{classroom.slug}/replay/?at=soon").status == 404


def test_labs_of_others_cannot_be_read_through_a_recording(classroom: Classroom, lab: str) -> None:
    assert Run.objects.get(slug=lab.split("/")[0]).owner == Participant.objects.get(number=1).user
    assert classroom.visitors["p2"].get(f"/api/runs/{lab}/index.json").status == 404
    assert Branch.objects.filter(run__slug=lab.split("/")[0]).count() == 1


def test_search_finds_commands_events_chapters_and_notes_at_class_time(classroom: Classroom, lab: str) -> None:
    rows = get(classroom, "p2", "map.json")
    (command,) = [one for one in get(classroom, "p2", "search?q=Create%20SHOWN") if one["kind"] == "command"]
    assert rows[0][0] < command["at_us"] <= rows[-1][0] and command["text"].startswith("kafka-topics.sh --create")
    assert [one["kind"] for one in get(classroom, "p2", "search?q=leaders")] == ["chapter"]
    assert get(classroom, "p2", "search?q=%20") == get(classroom, "p2", "search?q=nothing-of-the-kind") == []
    ada = classroom.visitors["p2"]
    assert ada.get(f"/api/classes/{classroom.slug}/recording/search?q={'x' * 101}").status == 400


def test_notes_are_private_unless_staff_share_them(classroom: Classroom, lab: str) -> None:
    address = f"/api/classes/{classroom.slug}/recording/notes"
    teacher, ada, bob = (classroom.visitors[p] for p in ("p1", "p2", "p3"))
    own = ada.post_json(address, {"at_us": 9, "text": " Look <b>again</b> "}).json
    assert own == {"id": "own-1", "at_us": 9, "text": "Look <b>again</b>", "shared": False}
    shared = teacher.post_json(address, {"at_us": 5, "text": "The leader moves here", "shared": True}).json
    assert get(classroom, "p2", "notes") == [shared, own] and get(classroom, "p3", "notes") == [shared]
    assert [one["kind"] for one in get(classroom, "p2", "search?q=again")] == ["note"]
    assert get(classroom, "p3", "search?q=again") == []
    assert bob.post_json(address, {"at_us": 1, "text": "x", "shared": True}).status == 403
    assert bob.send_json("DELETE", f"{address}/{shared['id']}", None).status == 403
    assert bob.send_json("DELETE", f"{address}/{own['id']}", None).status == 404
    length_us = get(classroom, "p2", "manifest.json")["length_us"]
    late = ada.post_json(address, {"at_us": 10**30, "text": "late"}).json
    assert length_us <= late["at_us"] < 10**12
    assert ada.send_json("DELETE", f"{address}/{late['id']}", None).status == 200
    for text in ("", "x" * 2_001):
        assert ada.post_json(address, {"at_us": 1, "text": text}).status == 400
    assert ada.send_json("DELETE", f"{address}/{own['id']}", None).json == [shared]


# Comparing, taking over, and deleting what was shown


def test_lab_of_the_recording_is_compared_with_the_learners_run(classroom: Classroom, lab: str) -> None:
    bob, address = classroom.visitors["p3"], f"class/{classroom.slug}/0"
    assert get(classroom, "p3", "manifest.json")["own_runs"] == []
    taken = take_over(classroom, "p3", lab=0, seq=1)
    assert get(classroom, "p3", "manifest.json")["own_runs"] == [{"address": taken, "lesson": ""}]
    shown = bob.get(f"/compare/?a={address}&b={taken}&t=1&of=a")
    assert shown.status == 200 and f'data-a-api="/api/classes/{classroom.slug}/recording/labs/0/"' in shown.text
    assert bob.post(f"/runs/{taken.split('/')[0]}/delete", confirm="yes").status == 200
    assert classroom.visitors["p5"].get(f"/compare/?a={address}").status == 404
    for wrong in (f"class/{classroom.slug}/7", "class/none/0", "class/../0"):
        assert bob.get(f"/compare/?a={wrong}").status == 404


def take_over(classroom: Classroom, p: str, **instant: int) -> str:
    answer = classroom.visitors[p].post_json(f"/api/classes/{classroom.slug}/recording/take-over", instant)
    assert answer.status == 200, answer.text
    return str(answer.json["href"]).removeprefix("/r/")


def view_at(classroom: Classroom, address: str, seq: int) -> Any:
    async def view(host: Host) -> Any:
        return (await host.lab(*address.split("/"))).recording.view_at(seq)

    return classroom.server.call(view)


def test_taking_over_creates_a_run_with_the_recorded_view(classroom: Classroom, lab: str) -> None:
    """Acceptance statement 23: at 20 instants; the recording is as before."""
    before = {path: get(classroom, "p1", path) for path in ("labs/0/index.json", "map.json", "labs/0/segments/0.json")}
    last_seq = before["labs/0/index.json"]["last_seq"]
    for seq in sorted({1 + part * (last_seq - 1) // 19 for part in range(20)}):
        taken = take_over(classroom, "p2", lab=0, seq=seq)
        run = Run.objects.get(slug=taken.split("/")[0])
        assert (run.owner, run.origin) == (Participant.objects.get(number=2).user, f"{lab}/{seq}")
        assert view_at(classroom, taken, seq) == view_at(classroom, lab, seq)
        if seq != last_seq:
            # A learner may have 20 runs.
            assert classroom.visitors["p2"].post(f"/runs/{run.slug}/delete", confirm="yes").status == 200
    assert {path: get(classroom, "p1", path) for path in before} == before
    with classroom.visitors["p2"].socket(taken.split("/")[0]) as own:
        own.ask({"k": "time", "op": "play"})
        assert any("shown" in line for line in own.run("kafka-topics.sh --list"))
        own.ask({"k": "time", "op": "pause"})
    assert get(classroom, "p1", "manifest.json")["labs"][0]["last_seq"] == last_seq


def test_taking_over_at_class_time_continues_from_the_labs_instant(classroom: Classroom, lab: str) -> None:
    rows = get(classroom, "p2", "map.json")
    taken = take_over(classroom, "p2", at_us=rows[-2][0])
    assert Run.objects.get(slug=taken.split("/")[0]).origin == f"{lab}/{rows[-2][2]}"
    path = f"/api/classes/{classroom.slug}/recording/take-over"
    ada = classroom.visitors["p2"]
    assert ada.post_json(path, {"at_us": rows[-1][0]}).status == 404
    assert ada.post_json(path, {"lab": 0, "seq": rows[-2][2] + 1}).status == 404
    assert ada.post_json(path, {"lab": -1, "seq": 1}).status == 404
    assert ada.post_json(path, {}).status == 400
    assert classroom.visitors["p4"].post_json(path, {"lab": 0, "seq": 1}).status == 403


def test_deleting_the_run_that_was_shown_does_not_break_the_recording(classroom: Classroom, lab: str) -> None:
    paths = ["labs/0/index.json", "labs/0/segments/0.json", "labs/0/contents"]
    before = [get(classroom, "p2", path) for path in paths]
    assert classroom.visitors["p1"].post(f"/runs/{lab.split('/')[0]}/delete", confirm="yes").status == 200
    assert not Run.objects.filter(slug=lab.split("/")[0]).exists()
    assert [get(classroom, "p2", path) for path in paths] == before
    taken = take_over(classroom, "p3", lab=0, seq=before[0]["last_seq"])
    assert view_at(classroom, taken, before[0]["last_seq"])["topics"]
