"""Where Spark runs: by the environment alone, with a laptop's settings on this machine only."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from pyspark.sql.utils import is_remote

from lab.analytics import jvm, place, session, shipping
from lab.analytics.build.sizes import settings_for


@pytest.mark.parametrize(
    ("environment", "name", "is_local"),
    [
        ({}, None, True),
        ({"SPARK_MASTER": "local[1]"}, "local[1]", True),
        ({"SPARK_MASTER": "spark://host:7077"}, "spark://host:7077", False),
        ({"SPARK_REMOTE": "sc://host"}, "sc://host", False),
        ({"SPARK_REMOTE": "sc://host", "SPARK_MASTER": "spark://host:7077"}, "sc://host", False),
    ],
)
def test_environment_selects_where_spark_runs(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], name: str | None, is_local: bool
) -> None:
    for variable in ("SPARK_MASTER", "SPARK_REMOTE"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    assert place.is_local() is is_local
    assert name is None or place.name() == name


def test_settings_of_a_cluster_are_its_owners() -> None:
    laptop, cluster = (settings_for(10_000_000, 2, is_local=is_local) for is_local in (True, False))
    assert not [name for name in cluster if "shuffle" in name or "codegen" in name or "adaptive" in name]
    assert "spark.sql.shuffle.partitions" in laptop
    assert not set(session.OURS) & {"spark.sql.shuffle.partitions", "spark.driver.host", "spark.sql.adaptive.enabled"}


def test_missing_session_is_reported_with_a_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://host:not-a-port")
    with pytest.raises(jvm.SparkError) as raised:
        session.Spark.start(tmp_path / "spark.log")
    assert "sc://host:not-a-port" in str(raised.value) and "SPARK_REMOTE" in str(raised.value)
    assert not is_remote(), "the next session on this machine would be refused"


def test_tasks_import_what_they_need_from_the_archive_alone(tmp_path: Path) -> None:
    """On a cluster every task died of `No module named 'lab'`."""
    archive = shipping.archive(tmp_path)
    program = (
        f"import sys; sys.path.insert(0, {str(archive)!r});"
        "from lab.analytics.build import segments; from broker_core.texts import render, text;"
        "from broker_core.run import Run, RunConfig;"
        "assert '.zip' in segments.__file__; print(render(text('reason.assignment_not_stored')))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "the assignment could not be stored"


def test_archive_is_named_by_the_code_in_it(tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    first, second = shipping.archive(tmp_path), shipping.archive(tmp_path / "again")
    assert first.name == second.name and first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        assert not [name for name in archive.namelist() if "__pycache__" in name]
