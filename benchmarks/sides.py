"""The sides of a comparison by TCP: a cluster of ours and, if there is one, a real Kafka, each with three brokers."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from devtools.oracle.clusters import Layout, our_cluster, real_cluster
from devtools.oracle.real_kafka import VERSION, RealKafkaError, fetch_jars

ROOT = Path(__file__).resolve().parent.parent
JARS = ROOT / ".oracle"


@dataclass(frozen=True)
class Sides:
    """`bootstrap` by side, "ours" and perhaps "real", and our process."""

    bootstrap: dict[str, str]
    our_pid: int


@contextmanager
def both(layout: Layout, jars: Path | None, work: Path) -> Iterator[Sides]:
    """Runs them until the block ends; without `jars` ours alone. Raises RealKafkaError and ChildProcessError."""
    with ExitStack() as stack:
        ours = stack.enter_context(our_cluster(layout, work / "ours"))
        bootstrap = {"ours": ",".join(ours.addresses)}
        if jars is not None:
            bootstrap["real"] = ",".join(stack.enter_context(real_cluster(layout, jars, work / "real")))
        yield Sides(bootstrap, ours.pid)


def find_jars(folder: Path) -> Path | None:
    """Kafka's jars, if present or downloadable."""
    if not (folder / f"kafka-{VERSION}").is_dir() and shutil.which("mvn") is None:
        return None
    try:
        return fetch_jars(folder)
    except RealKafkaError as error:
        print(error, file=sys.stderr)
        return None
