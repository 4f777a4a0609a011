"""Keeps what PySpark looks up in the JVM for each column expression.

PySpark asks the JVM for the class `functions` and for its method again whenever an expression is made. That is a
quarter of the calls between Python and the JVM during a build, and neither answer changes while the JVM runs.
"""

from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaClass, JavaMember

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLASSES = {
    "functions": "org.apache.spark.sql.functions",
    "org.apache.spark.sql.functions": "org.apache.spark.sql.functions",
    "PythonUtils": "org.apache.spark.api.python.PythonUtils",
    "PythonSQLUtils": "org.apache.spark.sql.api.python.PythonSQLUtils",
}
"""By the names under which PySpark looks them up."""


class KnownClass(JavaClass):  # type: ignore[misc]
    """A Java class that looks up each static method once."""

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        if isinstance(found, JavaMember):
            setattr(self, name, found)
        return found


def keep_lookups(session: "SparkSession") -> None:
    """For a session with a JVM of its own; sessions of Spark Connect have none."""
    view = session.sparkContext._jvm
    assert view is not None
    known = {full: KnownClass(full, view._gateway_client) for full in CLASSES.values()}
    # Python asks the view only for attributes that it does not have.
    for name, full in CLASSES.items():
        setattr(view, name, known[full])
