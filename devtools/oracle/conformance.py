"""`make conformance KIT=FOLDER`: third-party clients on clusters of ours.

Five parts, each on a fresh cluster: conversations recorded with a real Kafka (FOLDER holds the package `conformance`,
which is run as it is), Kafka's Java client, its console tools, franz-go's own tests, and the programs of the card
"Connect a client" that need more than Python.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from devtools.oracle.clients import console_tools, franz_go, java_client, programs
from devtools.oracle.clients.outcome import Outcome, ToolMissing
from devtools.oracle.real_kafka import RealKafkaError

ROOT = Path(__file__).parents[2]
SETTINGS = (
    "offsets.topic.replication.factor=3",
    "transaction.state.log.replication.factor=3",
    "transaction.state.log.min.isr=2",
    "group.initial.rebalance.delay.ms=0",
    "auto.leader.rebalance.enable=false",
)
"""What the kit expects of a cluster, besides brokers 0, 1 and 2."""
PARTS = ("kit", "java", "tools", "franz-go", "programs")
NEEDS: dict[str, Callable[[], None]] = {
    "java": java_client.need,
    "tools": console_tools.need,
    "franz-go": franz_go.need,
    "programs": programs.need,
}
ENDING_S = 60


@contextmanager
def cluster() -> Iterator[str]:
    """The address of a fresh cluster. Raises ChildProcessError when it does not start; it has said why."""
    settings = [part for setting in SETTINGS for part in ("--config", setting)]
    command = [sys.executable, "manage.py", "cluster", "--brokers", "3", "--first-id", "0", "--port", "0", *settings]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            if not address:
                raise ChildProcessError("the cluster did not start")
            yield address
        finally:
            process.terminate()
            process.wait(ENDING_S)


def play_kit(folder: Path, more: list[str], address: str, work: Path) -> Outcome:
    """The recorded conversations; the kit prints what differs."""
    told = work / "kit.json"
    command = [sys.executable, "-m", "conformance", address, "--json", str(told), *more]
    code = subprocess.run(command, cwd=folder, check=False).returncode
    outcome = Outcome()
    cases = json.loads(told.read_text())["cases"] if told.exists() else {}
    for name, case in cases.items():
        outcome.judge("" if case["pass"] else name)
    if code and not outcome.failed:
        outcome.judge(f"the kit ended with {code}")
    return outcome


def play(part: str, chosen: argparse.Namespace) -> Outcome:
    """One part on a cluster of its own."""
    jars: Path = chosen.jars
    with tempfile.TemporaryDirectory(prefix="highwater-conformance-") as folder, cluster() as address:
        work = Path(folder)
        match part:
            case "kit":
                return play_kit(chosen.kit, chosen.more, address, work)
            case "java":
                return java_client.play(address, jars, work)
            case "tools":
                return console_tools.play(address, jars, work)
            case "franz-go":
                return franz_go.play(address, work)
            case _:
                return programs.play(address, jars, work)


def main() -> int:
    """0 when all is as with a real Kafka, 1 when something is not, 2 when it could not be tried."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kit", type=Path, help="the folder that holds the package `conformance`")
    parser.add_argument("--parts", default=",".join(PARTS), help="some of them, commas between (default: %(default)s)")
    parser.add_argument("--jars", type=Path, default=Path(".oracle"), help="where Kafka's jars are kept")
    parser.add_argument("more", nargs="*", help="further arguments of the kit, such as --only produce.")
    chosen = parser.parse_args()
    parts = [part for part in PARTS if part in chosen.parts.split(",")]
    try:
        _check(chosen, parts)
        outcomes = {}
        for part in parts:
            print(f"--- {part}", flush=True)
            outcomes[part] = play(part, chosen)
            for fault in outcomes[part].faults:
                print(f"FAILED {fault}", flush=True)
    except (ToolMissing, RealKafkaError, ChildProcessError) as error:
        print(error, file=sys.stderr)
        return 2
    except subprocess.CalledProcessError as error:
        print(
            f"`{' '.join(error.cmd)}` ended with {error.returncode}. A package registry was expected.", file=sys.stderr
        )
        return 2
    print(f"{'part':10}{'passed':>8}{'failed':>8}{'skipped':>9}")
    for part, outcome in outcomes.items():
        print(f"{part:10}{outcome.passed:8}{outcome.failed:8}{outcome.skipped:9}")
    return int(any(outcome.failed or not outcome.passed for outcome in outcomes.values()))


def _check(chosen: argparse.Namespace, parts: list[str]) -> None:
    """Raises ToolMissing for whatever is not there, before anything is started."""
    unknown = set(chosen.parts.split(",")) - set(PARTS)
    if unknown:
        raise ToolMissing(f"There is no part {', '.join(sorted(unknown))}. Some of {', '.join(PARTS)} were expected.")
    if "kit" in parts and not (chosen.kit and (chosen.kit / "conformance").is_dir()):
        raise ToolMissing(
            f"{chosen.kit} has no folder `conformance`. The folder that holds the kit was expected. "
            "Name it, make conformance KIT=FOLDER, or leave the kit out: make conformance ARGS='--parts java,tools'"
        )
    for part in parts:
        if part in NEEDS:
            NEEDS[part]()


if __name__ == "__main__":
    sys.exit(main())
