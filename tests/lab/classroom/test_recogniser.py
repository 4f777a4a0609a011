"""A recogniser that the operator installed: what it is given, what is taken from it, and what ends it."""

import asyncio
import hashlib
import signal
import stat
import time
from asyncio.subprocess import PIPE
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from lab.classroom.captions import recogniser
from lab.classroom.captions.recogniser import joined, recognise
from lab.classroom.captions.webvtt import Cue
from lab.models import Class
from lab.texts.refusal import Refusal
from tests.support.classroom.class_pages import Classroom
from tests.support.classroom.sound import LENGTH_US, SLICES
from tests.support.lab_server import LabServer

S = 1_000_000
SAYS = '#!/bin/sh\nprintf \'WEBVTT\\n\\n00:00.000 --> 00:00.010\\n%s %s\\n\' "$2" "$(basename $1)"\n'
Install = Callable[[str], list[str]]


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Makes a command of a script."""

    def made(script: str) -> list[str]:
        path = tmp_path / "hears"
        path.write_text(script)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return [str(path)]

    return made


def refused(command: list[str], audio: Path) -> Refusal:
    with pytest.raises(Refusal) as found:
        asyncio.run(recognise(command, audio, "en", 5 * S))
    texts = found.value.as_json("en"), found.value.as_json("zh-CN")
    assert all("{" not in sentence for one in texts for sentence in one.values())
    return found.value


def test_recogniser_gets_file_and_language_and_prints_captions(install: Install, tmp_path: Path) -> None:
    audio = tmp_path / "60000.webm"
    assert asyncio.run(recognise(install(SAYS), audio, "zh-CN", 5 * S)) == [
        Cue(1, 0, 10_000, "zh-CN 60000.webm", "recognised")
    ]


def test_recogniser_runs_in_its_own_folder_without_the_labs_secrets(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIGHWATER_TOKEN", "secret-of-the-lab")
    prints = '\'WEBVTT\\n\\n00:00.500 --> 00:01.500\\n%s %s %s\\n\' "$PWD" "$HOME" "$HIGHWATER_TOKEN"'
    script = f"#!/bin/sh\ntouch left\nprintf {prints}\n"
    (cue,) = asyncio.run(recognise(install(script), tmp_path / "a.webm", "en", 5 * S))
    folder, home = cue.text.split()
    assert folder == home and Path(folder) != Path.cwd() and not Path(folder).exists()


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("#!/bin/sh\necho no model >&2\nexit 3\n", "failed"),
        ("#!/bin/sh\necho '1\n00:00:01,000 --> 00:00:02,000\nSRT'\n", "output"),
        ("#!/bin/sh\nprintf 'WEBVTT\\n\\n09:00.000 --> 09:01.000\\nlate\\n'\n", "output"),
        ("#!/bin/sh\nprintf 'WEBVTT\\n\\n00:00.000 --> 00:01.000\\n<script>x</script>\\n'\n", "output"),
        ("#!/bin/sh\nexec yes WEBVTT\n", "large"),
        ("#!/nowhere/sh\n", "missing"),
    ],
)
def test_failures_are_reported(install: Install, tmp_path: Path, script: str, why: str) -> None:
    refusal = refused(install(script), tmp_path / "a.webm")
    assert refusal.id == f"refusal.recogniser_{why}"
    if why == "failed":
        assert "status 3: no model" in refusal.as_json("en")["what"]


def test_recogniser_that_does_not_end_is_killed_with_its_children(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recogniser, "MIN_LIMIT_S", 1.0)
    monkeypatch.setattr(recogniser, "SECONDS_EACH_SECOND", 0)
    pid = tmp_path / "pid"
    refusal = refused(install(f"#!/bin/sh\nsleep 1000 &\necho $! > {pid}\nwait\n"), tmp_path / "a.webm")
    assert refusal.id == "refusal.recogniser_slow"
    is_gone(int(pid.read_text()))


def test_recogniser_whose_output_is_no_longer_read_is_killed() -> None:
    async def flood_and_kill() -> int | None:
        process = await asyncio.create_subprocess_exec("yes", stdout=PIPE, stderr=PIPE, start_new_session=True)
        output = process._transport.get_pipe_transport(1)  # type: ignore[attr-defined]
        while output.is_reading():
            await asyncio.sleep(0.01)
        await asyncio.wait_for(recogniser._kill(process), 60)
        return process.returncode

    assert asyncio.run(flood_and_kill()) == -signal.SIGKILL


def is_gone(pid: int) -> None:
    """It may be a zombie until its new parent reaps it."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return
        except FileNotFoundError:
            return
    raise AssertionError(f"{pid} is alive")


def test_overlap_of_two_pieces_is_captioned_once() -> None:
    def cue(from_s: float, to_s: float, text: str) -> Cue:
        return Cue(1, int(from_s * S), int(to_s * S), text, "recognised")

    first = [cue(1, 3, "a"), cue(58, 60.5, "b"), cue(61.5, 62, "c")]
    second = [cue(0.2, 0.9, "half of b"), cue(1.5, 2, "c"), cue(3, 4, "d")]
    found = joined([(10 * S, 72 * S, first), (70 * S, 132 * S, second)])
    assert [(one.text, one.from_us / S, one.to_us / S) for one in found] == [
        ("a", 11, 13), ("b", 68, 70.5), ("c", 71.5, 72), ("d", 73, 74),
    ]  # fmt: skip


# In a class


@pytest.fixture
def classroom(lab_server: LabServer) -> Iterator[Classroom]:
    """A class that has ended: a piece of sound, and a caption in it that was typed."""
    made = Classroom(lab_server)
    recording = f"/api/classes/{made.slug}/recording"
    with made.page("p1") as teacher:
        teacher.until("snap")
        teacher.act("set_microphone", on=True)
        for index, data in enumerate(SLICES):
            digest = hashlib.sha256(data).hexdigest()
            address = f"{recording}/audio/0/{index}?at_us=0&digest={digest}"
            assert made.visitors["p1"].put(address, data, "audio/webm;codecs=opus").status == 200
        # Else sealing would wait for more of it.
        body = {"slices": len(SLICES), "length_us": LENGTH_US, "gives_up": False}
        assert made.visitors["p1"].post_json(f"{recording}/audio/0/end", body).status == 200
        teacher.act("end_class")
    yield made
    made.close()


def test_staff_recognise_a_recording_and_typed_captions_are_kept(
    classroom: Classroom, install: Install, settings: Settings
) -> None:
    staff, address = classroom.visitors["p1"], f"/api/classes/{classroom.slug}/recording"
    manifest = staff.get(f"{address}/manifest.json").json
    assert not manifest["can"]["recognise"], "none is installed"
    assert staff.post_json(f"{address}/captions/en/recognised", {}).status == 404
    settings.RECOGNISER = install(SAYS)
    assert staff.get(f"{address}/manifest.json").json["can"]["recognise"]
    assert not classroom.visitors["p2"].get(f"{address}/manifest.json").json["can"]["recognise"]
    assert classroom.visitors["p2"].post_json(f"{address}/captions/en/recognised", {}).status == 403
    typed = {"from_us": 0, "to_us": S, "text": "typed"}
    assert staff.post_json(f"{address}/captions/zh-CN/cues", typed).status == 200
    for language in ("en", "zh-CN"):
        assert staff.post_json(f"{address}/captions/{language}/recognised", {}).status == 200
        job = ended(classroom, language)
        assert job["state"] == "done", job
    (english,) = staff.get(f"{address}/captions/en").json["cues"]
    assert (english["text"], english["source"]) == ("en 0.webm", "recognised")
    assert [one["text"] for one in staff.get(f"{address}/captions/zh-CN").json["cues"]] == ["typed"]


def test_a_job_is_cancelled_and_leaves_nothing(
    classroom: Classroom, install: Install, settings: Settings, tmp_path: Path
) -> None:
    staff, address = classroom.visitors["p1"], f"/api/classes/{classroom.slug}/recording/captions/en"
    pid = tmp_path / "pid"
    settings.RECOGNISER = install(f"#!/bin/sh\necho $$ > {pid}.new\nmv {pid}.new {pid}\nsleep 1000\n")
    assert staff.post_json(f"{address}/recognised", {}).status == 200
    assert staff.post_json(f"{address}/recognised", {}).status == 409, "one at a time"
    until = time.monotonic() + 60
    while not pid.exists() and time.monotonic() < until:
        assert staff.get(f"{address}/recognised").json["state"] in ("waits", "runs")
    assert staff.send_json("DELETE", f"{address}/recognised", {}).json == {"state": "none"}
    is_gone(int(pid.read_text()))
    assert staff.get(address).json["cues"] == []


def test_imported_class_is_not_recognised(classroom: Classroom, install: Install, settings: Settings) -> None:
    settings.RECOGNISER = install(SAYS)
    staff, address = classroom.visitors["p1"], f"/api/classes/{classroom.slug}/recording"
    assert staff.get(f"{address}/manifest.json").status == 200
    Class.objects.filter(slug=classroom.slug).update(settings={"recording": "imported"})
    assert not staff.get(f"{address}/manifest.json").json["can"]["recognise"]
    assert staff.post_json(f"{address}/captions/en/recognised", {}).status == 409


def ended(classroom: Classroom, language: str) -> dict[str, object]:
    address = f"/api/classes/{classroom.slug}/recording/captions/{language}/recognised"
    until = time.monotonic() + 60
    while time.monotonic() < until:
        job: dict[str, object] = classroom.visitors["p1"].get(address).json
        if job["state"] in ("done", "failed"):
            return job
    raise AssertionError("it does not end")
