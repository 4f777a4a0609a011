"""One JVM for all tests of the pipeline in a process."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from lab.analytics.session import Spark


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Spark on this machine. It is shared: unpersist what you cache, and change no setting of it."""
    spark = Spark.start(tmp_path_factory.mktemp("spark") / "spark.log")
    yield spark.session
    spark.stop()
