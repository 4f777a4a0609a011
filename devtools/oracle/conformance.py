"""`make conformance KIT=FOLDER`: runs third-party clients on Highwater clusters.

Each part runs on a new cluster: conversations recorded with a real Kafka (FOLDER holds the package `conformance`, which
is run as it is), Kafka's Java client, its console tools, the tests of franz-go, kafka-go and sarama, Kafka Streams,
Kafka Connect, Spark, and the programs of the card "Connect a client" that need more than Python. `--real` runs the
parts on a real Kafka instead, to see the expected results.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from devtools.oracle.clients import (
    connect,
    console_tools,
    franz_go,
    java_client,
    kafka_go,
    programs,
    sarama,
    spark,
    streams,
)
from devtools.oracle.clients.outcome import Outcome, ToolMissing
from devtools.oracle.clusters import Layout, our_cluster, real_cluster
from devtools.oracle.real_kafka import RealKafkaError, fetch_jars

LAYOUT = Layout(
    settings=(
        "offsets.topic.replication.factor=3",
        "transaction.state.log.replication.factor=3",
        "transaction.state.log.min.isr=2",
        "group.initial.rebalance.delay.ms=0",
        "auto.leader.rebalance.enable=false",
    )
)
"""What most parts expect of a cluster: brokers 0, 1 and 2."""


@dataclass(frozen=True)
class Trial:
    """A part about to run: the addresses of the brokers, its folder, and the options."""

    addresses: list[str]
    work: Path
    jars: Path
    options: argparse.Namespace

    @property
    def first(self) -> str:
        """The address of the first broker."""
        return self.addresses[0]


@dataclass(frozen=True)
class Part:
    """A part that `--parts` can name. `need` raises ToolMissing for a program that is not on this machine."""

    play: Callable[[Trial], Outcome]
    need: Callable[[], None] = lambda: None
    layout: Layout = LAYOUT


@contextmanager
def cluster(layout: Layout, work: Path, options: argparse.Namespace) -> Iterator[list[str]]:
    """The addresses of a new cluster. Raises ChildProcessError or RealKafkaError when it does not start."""
    if options.real:
        with real_cluster(layout, fetch_jars(options.jars), work / "cluster") as addresses:
            yield addresses
    else:
        with our_cluster(layout, work / "cluster") as ours:
            yield ours.addresses


def play_kit(folder: Path, more: list[str], address: str, work: Path) -> Outcome:
    """The recorded conversations; the kit prints the differences."""
    results = work / "kit.json"
    command = [sys.executable, "-m", "conformance", address, "--json", str(results), *more]
    code = subprocess.run(command, cwd=folder, check=False).returncode
    outcome = Outcome()
    cases = json.loads(results.read_text())["cases"] if results.exists() else {}
    for name, case in cases.items():
        outcome.judge("" if case["pass"] else name)
    if code and not outcome.failed:
        outcome.judge(f"the kit ended with {code}")
    return outcome


PARTS = {
    "kit": Part(lambda trial: play_kit(trial.options.kit, trial.options.more, trial.first, trial.work)),
    "java": Part(lambda trial: java_client.play(trial.first, trial.jars, trial.work), java_client.need),
    "tools": Part(lambda trial: console_tools.play(trial.first, trial.jars, trial.work), console_tools.need),
    "franz-go": Part(lambda trial: franz_go.play(trial.first, trial.work), franz_go.need),
    "kafka-go": Part(lambda trial: kafka_go.play(trial.work), kafka_go.need, kafka_go.LAYOUT),
    "sarama": Part(lambda trial: sarama.play(trial.addresses, trial.work), sarama.need, sarama.LAYOUT),
    "streams": Part(lambda trial: streams.play(trial.first, trial.jars, trial.work), streams.need),
    "connect": Part(lambda trial: connect.play(trial.first, trial.jars, trial.work), connect.need),
    "spark": Part(lambda trial: spark.play(trial.first, trial.jars, trial.work), spark.need),
    "programs": Part(lambda trial: programs.play(trial.first, trial.jars, trial.work), programs.need),
}


def play(part: Part, options: argparse.Namespace) -> Outcome:
    """Runs one part on its own cluster."""
    with tempfile.TemporaryDirectory(prefix="highwater-conformance-") as folder:
        work = Path(folder) / "work"
        work.mkdir()
        with cluster(part.layout, Path(folder), options) as addresses:
            return part.play(Trial(addresses, work, options.jars, options))


def main() -> int:
    """Returns 0 when everything is as with a real Kafka, 1 when something differs, 2 when something was not run. What
    lacks a program is named, and the rest is run.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kit", type=Path, help="the folder that holds the package `conformance`")
    parser.add_argument("--parts", default=",".join(PARTS), help="some of them, commas between (default: %(default)s)")
    parser.add_argument("--jars", type=Path, default=Path(".oracle"), help="where Kafka's jars are kept")
    parser.add_argument("--real", action="store_true", help="run them on a real Kafka, which Maven fetches")
    parser.add_argument("more", nargs="*", help="further arguments of the kit, such as --only produce.")
    chosen = parser.parse_args()
    parts = [part for part in PARTS if part in chosen.parts.split(",")]
    try:
        missing = lacking(chosen, parts)
        for part, reason in missing.items():
            print(f"NOT RUN {part}: {reason}", flush=True)
        outcomes = {}
        for part in parts:
            if part in missing:
                continue
            print(f"--- {part}", flush=True)
            outcomes[part] = play(PARTS[part], chosen)
            for fault in outcomes[part].faults:
                print(f"FAILED {fault}", flush=True)
            for reason in outcomes[part].missing:
                print(f"NOT RUN {reason}", flush=True)
    except (ToolMissing, RealKafkaError, ChildProcessError) as error:
        print(error, file=sys.stderr)
        return 2
    except subprocess.CalledProcessError as error:
        print(
            f"`{' '.join(error.cmd)}` ended with {error.returncode}. A package registry was expected.", file=sys.stderr
        )
        return 2
    return conclude(parts, outcomes)


def lacking(chosen: argparse.Namespace, parts: list[str]) -> dict[str, str]:
    """Why parts cannot be run, found out before anything is started. Raises ToolMissing for the name of no part."""
    unknown = set(chosen.parts.split(",")) - set(PARTS)
    if unknown:
        raise ToolMissing(f"There is no part {', '.join(sorted(unknown))}. Some of {', '.join(PARTS)} were expected.")
    missing = {}
    for part in parts:
        try:
            if part == "kit":
                _need_kit(chosen.kit)
            PARTS[part].need()
        except ToolMissing as error:
            missing[part] = str(error)
    return missing


def _need_kit(folder: Path | None) -> None:
    if not (folder and (folder / "conformance").is_dir()):
        raise ToolMissing(
            f"{folder} has no folder `conformance`. The folder that holds the kit was expected: "
            "make conformance KIT=FOLDER"
        )


def conclude(parts: list[str], outcomes: dict[str, Outcome]) -> int:
    """Prints the table and returns the exit code. `outcomes` lacks the parts that were not run."""
    print(f"{'part':10}{'passed':>8}{'failed':>8}{'skipped':>9}{'not run':>9}")
    for part in parts:
        if part in outcomes:
            outcome = outcomes[part]
            print(f"{part:10}{outcome.passed:8}{outcome.failed:8}{outcome.skipped:9}{len(outcome.missing):9}")
        else:
            print(f"{part:10}{'':25}{'all':>9}")
    if any(outcome.failed or not (outcome.passed or outcome.missing) for outcome in outcomes.values()):
        return 1
    return 2 if len(outcomes) < len(parts) or any(outcome.missing for outcome in outcomes.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
