"""One JVM for all tests of the pipeline in a process, and a lab whose recording they read."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lab.analytics.session import Spark
from tests.support.analytics.built import Lab


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Spark on this machine. It is shared: unpersist what you cache, and change no setting of it."""
    spark = Spark.start(tmp_path_factory.mktemp("spark") / "spark.log")
    yield spark.session
    spark.stop()


@pytest.fixture
def lab(session: SparkSession, tmp_path: Path) -> Iterator[Lab]:
    lab = Lab(session, tmp_path)
    yield lab
    lab.live.abandon()
    lab.recording.close()
