"""After the end of a class: it is sealed even if staff did not end it, its own log is deleted, and later its
recording.
"""

from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from lab.actions.classes.keep_recordings import apply_time_limits
from lab.actions.classes.live_class import live_classes
from lab.classroom.journal import ClassJournal
from lab.classroom.recorded.retention import finish_keeping
from lab.classroom.recorded.sealed import read_events, read_manifest
from lab.models import Class, Participant
from lab.runtime.host import Host
from tests.support.classroom.class_pages import Classroom


def folder_of(classroom: Classroom) -> Path:
    return Path(settings.DATA) / "classes" / classroom.slug


def test_class_that_ends_without_staff_is_ended_and_sealed(classroom: Classroom) -> None:
    async def end(_: Host) -> None:
        live = await live_classes().of(classroom.model)
        live.apply(live.room.board.now._replace(ended="no_staff"))
        assert live.finishing is not None
        await live.finishing

    classroom.server.call(end)
    assert Class.objects.get(pk=classroom.model.pk).state == Class.State.ENDED
    assert read_manifest(folder_of(classroom)) is not None


def test_log_is_deleted_after_a_day_and_the_recording_after_its_retention(classroom: Classroom) -> None:
    folder = folder_of(classroom)
    Participant.objects.filter(classroom=classroom.model, number=3).update(consent="not_recorded")
    with classroom.page("p1") as board:
        board.until("snap")
        assert board.act("end_class")["k"] == "done"
    teacher, manifest = classroom.visitors["p1"], f"/api/classes/{classroom.slug}/recording/manifest.json"
    before = teacher.get(manifest).json
    assert any(b'"p3"' in path.read_bytes() for path in (folder / "class-0").glob("*.log"))

    def after(**time: int) -> None:
        classroom.server.call(lambda _: apply_time_limits(timezone.now() + timedelta(**time)))

    after(hours=23)
    assert any(b'"p3"' in path.read_bytes() for path in (folder / "class-0").glob("*.log"))
    after(hours=25)
    assert not any(b"p3" in path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert teacher.get(manifest).json == before
    summary = teacher.get(f"/classes/{classroom.slug}/summary/").text
    assert "Name 2" in summary and "Name 3" not in summary
    assert teacher.send_json("POST", manifest.replace("manifest.json", "seal"), {}).status == 200
    after(days=settings.RECORDING_DAYS - 1)
    assert teacher.get(manifest).status == 200
    after(days=settings.RECORDING_DAYS + 1)
    gone = teacher.get(manifest)
    assert gone.status == 404 and "has been deleted" in gone.json["what"]
    assert {path.name for path in folder.iterdir() if path.is_dir()} == {"class-0"}
    assert "was deleted" in teacher.get(f"/classes/{classroom.slug}/").text


def test_events_off_the_record_are_emptied_in_the_log_and_the_recording_is_unchanged(classroom: Classroom) -> None:
    folder, points = folder_of(classroom), [[0, 0], [9, 9]]
    slug = classroom.visitors["p1"].new_run(brokers="1")
    with classroom.page("p1") as board:
        board.until("snap")
        assert board.act("take_lead", lab=f"{slug}/main")["k"] == "done"
        assert board.act("draw", anchor="broker:on", points=points)["k"] == "done"
        assert board.act("set_recording", on=False)["k"] == "done"
        assert board.act("draw", anchor="broker:secret", points=points)["k"] == "done"
        board.send(k="point", anchor="broker:secret", u=1, v=1, down=True)
        for screen in ("zookeeper", "table"):
            view = {"branch": f"{slug}/main", "seq": 5, "at_us": 7, "mode": "pause", "rate": 1, "screen": screen}
            board.send(k="view", term=1, view={**view, "partition": "", "selection": "", "ranges": {}})
            board.until_held("/view screen", screen)
        assert board.act("set_recording", on=True)["k"] == "done"
        assert board.act("end_class")["k"] == "done"
    teacher, path = classroom.visitors["p1"], f"/api/classes/{classroom.slug}/recording/"
    before = [teacher.get(path + name).json for name in ("map.json", "segments/0.json")]
    assert b"broker:secret" in log_of(folder)
    classroom.server.call(lambda _: apply_time_limits(timezone.now()))
    assert not any(word in log_of(folder) for word in (b"broker:secret", b"zookeeper"))
    assert b"broker:on" in log_of(folder) and not list(folder.glob("class-0.*"))
    assert teacher.send_json("POST", f"{path}seal", {}).status == 200
    assert [teacher.get(path + name).json for name in ("map.json", "segments/0.json")] == before


def log_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in (folder / "class-0").glob("*.log"))


def test_a_crash_between_two_logs_leaves_one_of_them(classroom: Classroom) -> None:
    with classroom.page("p1") as teacher:
        teacher.until("snap")
        assert teacher.act("end_class")["k"] == "done"
    folder = folder_of(classroom)
    assert classroom.visitors["p1"].get(f"/api/classes/{classroom.slug}/recording/manifest.json").status == 200
    classroom.restart()
    expected = read_events(folder)
    (folder / "class-0").rename(folder / "class-0.old")
    (folder / "sealed" / "class-0").rename(folder / "class-0.new")
    (folder / ".kafka_cleanshutdown").unlink()
    (folder / "recovery-point-offset-checkpoint").unlink()
    finish_keeping(folder)
    journal = ClassJournal(folder)
    assert list(journal.after(0)) == expected
    journal.close()
