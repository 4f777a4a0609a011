"""The session of Spark that the tests of the pipeline use."""

from tests.lab.analytics.conftest import session

__all__ = ["session"]
