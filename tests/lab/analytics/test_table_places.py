"""Where tables and recordings may be: a folder, or an address in an object store; and the messages for other places."""

import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pyspark.sql import SparkSession

from lab.analytics.build.found import recordings_at
from lab.analytics.failures import explained
from lab.analytics.store.objects import PlaceError
from lab.recordings.folder import branch_folder
from lab.recordings.fork import fork_recording
from tests.support.analytics.built import Lab, expected


def said(*words: str) -> str:
    out = StringIO()
    call_command("analytics", *words, stdout=out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("place", "problem"), [("s3:///tables", "names no bucket"), ("gs://course/tables", "gs is not supported")]
)
def test_invalid_place_is_refused_with_a_message(place: str, problem: str) -> None:
    with pytest.raises(CommandError, match=problem):
        said("--tables-at", place, "status")


def test_missing_packages_of_object_stores_are_reported_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(CommandError, match=r"obstore is not installed.*highwater\[s3\]"):
        said("--tables-at", "s3://course/tables", "status")


def test_missing_recordings_are_reported(database: None) -> None:
    with pytest.raises(CommandError, match=r"no recordings at /nowhere.*RUN/BRANCH/recording"):
        said("build", "--recordings", "/nowhere")


def test_failure_of_the_object_store_is_reported_unchanged() -> None:
    failure = PlaceError("refusal.place_no_bucket", place="s3://course/tables", bucket="course")
    found = explained(failure, "s3://course/tables", Path())
    assert (found.id, str(found)) == (failure.id, str(failure))
    missing = RuntimeError("java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found")
    assert explained(missing, "s3://course/tables", Path()).id == "refusal.spark_no_s3a"


def test_recordings_of_a_folder_are_identified_by_their_identity_file(session: SparkSession, tmp_path: Path) -> None:
    lab = Lab(session, tmp_path)
    forked = fork_recording(lab.recording, 900, branch_folder("r1", "main-2", runs=tmp_path / "runs"))
    forked.flush()
    seed = lab.live.run.config.seed
    # The name of a folder does not matter: the recording contains its identity.
    (tmp_path / "runs" / "r1").rename(tmp_path / "runs" / "carried")
    found = recordings_at(str(tmp_path / "runs"))
    assert [(one.entry.branch, one.entry.seed, one.entry.brokers, one.entry.era) for one in found] == [
        ("r1/main", seed, 3, "3.9"), ("r1/main-2", seed, 3, "3.9"),
    ]  # fmt: skip
    lab.build(*found)
    assert lab.totals() == expected(lab.recording) and lab.totals("r1/main-2") == expected(lab.recording, 900)
    lab.live.abandon()
    forked.close()
    lab.recording.close()
