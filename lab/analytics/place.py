"""Where Spark runs: on this machine, unless the environment names a cluster. Does not import Spark.

`SPARK_MASTER` names a master that this process is the driver for (`spark://host:7077`, `yarn`, `k8s://...`);
`SPARK_REMOTE` a Spark Connect server (`sc://host:15002`), which takes precedence. Settings for a small machine apply
only locally; a cluster keeps its own.
"""

import os


def remote() -> str | None:
    """The Spark Connect server to use."""
    return os.environ.get("SPARK_REMOTE") or None


def master() -> str | None:
    """The master to be the driver for; None on this machine."""
    named = os.environ.get("SPARK_MASTER") or None
    return None if remote() is not None or named is None or named.startswith("local") else named


def local_master() -> str:
    """The local master URL: with up to 8 cores, or as in `SPARK_MASTER`."""
    named = os.environ.get("SPARK_MASTER", "")
    return named if named.startswith("local") else f"local[{min(os.cpu_count() or 1, 8)}]"


def is_local() -> bool:
    """Whether Spark runs in a JVM of this process."""
    return remote() is None and master() is None


def name() -> str:
    """The name of the place for messages."""
    return remote() or master() or local_master()
