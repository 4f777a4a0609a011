"""Re-creates the log directories of a real Kafka 3.9 broker from the steps that made them, and compares the files.

    python -m devtools.oracle.golden --dir DIR [--cases 01-plain,02]

A case is a folder with a `case.json`, whose `steps` list the operations on the broker, and the files that it left.
Files that the case marks byte exact must be identical, offset checkpoints as sets of lines, meta.properties by its keys
and its version; of logs that are not byte exact, every record and the dump. What our dump tool prints of the real
broker's files must be the texts beside them. A folder with a `rejections.json` is a table of produce requests, whose
answers must be the same. One line a case is printed; the exit status is 1 if any failed, 2 if there was nothing to
compare.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from broker_core.partitions import TopicPartition
from devtools.oracle.golden_broker import GoldenBroker, Mismatch, Step
from devtools.oracle.golden_cluster import GoldenCluster
from devtools.oracle.golden_compare import compare_root
from devtools.oracle.golden_dump import compare_dumps
from devtools.oracle.golden_rejections import play_table


class Result(NamedTuple):
    """The result of a case: `status` is ok, FAIL or todo; `reason` is the first difference, or the missing feature."""

    name: str
    status: str
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.status} {self.name}" + (f": {self.reason}" if self.reason else "")


_DAMAGE = ("mutate", "delete")
_BUILT_STEPS = (
    "epoch",
    "append",
    "marker",
    "refused",
    "restart",
    "stop",
    "start",
    "copy",
    "init_producer_id",
    "cleaned",
    "delete_records",
    "retention_ran",
    *_DAMAGE,
)


def run_case(folder: Path) -> Result:
    """Replays one case and compares."""
    name = folder.name
    try:
        if not (folder / "case.json").exists():
            return _run_table(folder)
        case = json.loads((folder / "case.json").read_text())
        steps = _in_order(case["steps"])
        missing = _unbuilt(steps)
        if not missing:
            _replay(folder, case, steps)
        compare_dumps(folder)
        if missing:
            return Result(name, "todo", missing)
    except Mismatch as difference:
        return Result(name, "FAIL", str(difference))
    except (OSError, KeyError, ValueError) as error:
        return Result(name, "FAIL", f"the case cannot be read: {type(error).__name__}: {error}")
    except Exception as error:  # A log that does not load counts as a difference, and the other cases still run.
        return Result(name, "FAIL", f"{type(error).__name__}: {error}")
    return Result(name, "ok")


def _in_order(steps: Sequence[Step]) -> list[Step]:
    """Batches read back from the log are listed after the stop, but were written before it."""
    ordered = list(steps)
    written_before = [step for step in ordered if step.get("read_back")]
    if written_before and any("stop" in step for step in ordered[: ordered.index(written_before[0])]):
        rest = [step for step in ordered if not step.get("read_back")]
        stop = max(i for i, step in enumerate(rest) if "stop" in step)
        return [*rest[:stop], *written_before, *rest[stop:]]
    return ordered


def _run_table(folder: Path) -> Result:
    differences = play_table(folder / "rejections.json")
    if differences:
        count = len(differences)
        return Result(folder.name, "FAIL", f"{differences[0]}" + (f" (and {count - 1} more)" if count > 1 else ""))
    return Result(folder.name, "ok", "")


def _unbuilt(steps: Sequence[Step]) -> str:
    unknown = [step for step in steps if not any(key in step for key in _BUILT_STEPS)]
    return ", ".join(dict.fromkeys(f"steps of the kind {', '.join(sorted(step))}" for step in unknown))


def _replay(folder: Path, case: dict[str, Any], steps: Sequence[Step]) -> None:
    now_ms = next((step["at_ms"] for step in steps if "at_ms" in step), 0)
    cluster = GoldenCluster(case, now_ms)
    for number, step in enumerate(steps, 1):
        now_ms = step.get("at_ms", now_ms)
        topic_partition = TopicPartition(step.get("topic", case["topic"]), step.get("partition", 0))
        cluster.pass_time(step, now_ms)
        try:
            if "cleaned" in step:
                following = (later["copy"] for later in steps[number:] if "copy" in later)
                broker = cluster.broker_of(topic_partition, step)
                broker.clean(step["cleaned"], folder / next(following, ""), now_ms)
            elif "copy" in step:
                _compare(cluster, folder / step["copy"], case)
            elif "leader" in step and "epoch" in step:
                cluster.elect(topic_partition, step, now_ms)
            else:
                _take(cluster.broker_of(topic_partition, step), topic_partition, step, now_ms)
                cluster.follow_up(topic_partition, step, now_ms)
        except Mismatch as difference:
            where = f"at {step['copy']}" if "copy" in step else f"step {number}"
            raise Mismatch(f"{where}: {difference}") from None
    _compare(cluster, folder, case)


def _compare(cluster: GoldenCluster, folder: Path, case: dict[str, Any]) -> None:
    for broker, root in cluster.roots(folder):
        compare_root(broker.disk, root, case)


def _take(broker: GoldenBroker, topic_partition: TopicPartition, step: Step, now_ms: int) -> None:
    if "epoch" in step:
        broker.elect(topic_partition, step["epoch"], now_ms)
    elif "append" in step:
        broker.append(topic_partition, step, step.get("append_time", now_ms))
    elif "marker" in step:
        broker.append_marker(topic_partition, step, now_ms)
    elif "refused" in step:
        broker.append_refused(topic_partition, step, now_ms)
    elif "restart" in step:
        broker.stop(step["restart"] == "clean", now_ms)
        broker.start({}, now_ms)
    elif "stop" in step:
        broker.stop(step["stop"] == "clean", now_ms)
    elif "start" in step:
        broker.start(step.get("broker_configs", {}), now_ms)
    elif "delete_records" in step:
        broker.delete_records(topic_partition, step)
    elif "retention_ran" in step:
        broker.run_retention(now_ms)
    elif any(key in step for key in _DAMAGE):
        broker.damage(topic_partition, step)


def find_cases(folder: Path, prefixes: Sequence[str]) -> Iterator[Path]:
    """The case folders in `folder` whose names begin with one of `prefixes`; all folders if there are none."""
    for path in sorted(folder.iterdir()):
        is_case = (path / "case.json").exists() or (path / "rejections.json").exists()
        if is_case and (not prefixes or path.name.startswith(tuple(prefixes))):
            yield path


def run(folder: Path, prefixes: Sequence[str]) -> int:
    """Runs and prints; returns the exit status."""
    if not folder.is_dir():
        print(f"{folder} is not a folder. Expected a folder with golden cases.", file=sys.stderr)
        return 2
    counts = {"ok": 0, "FAIL": 0, "todo": 0}
    for path in find_cases(folder, prefixes):
        result = run_case(path)
        counts[result.status] += 1
        print(result, flush=True)
    print(f"{counts['ok']} passed, {counts['FAIL']} failed, {counts['todo']} todo")
    if not any(counts.values()):
        wanted = f" that begins with {' or '.join(prefixes)}" if prefixes else ""
        print(f"There is no case{wanted} in {folder}.", file=sys.stderr)
        return 2
    return 1 if counts["FAIL"] else 0


def main(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="golden", description="Compares with the log files of a real Kafka broker.")
    parser.add_argument("--dir", type=Path, required=True, help="the folder that holds the cases")
    parser.add_argument("--cases", default="", help="prefixes of names, with commas between; default: all")
    arguments = parser.parse_args(argv)
    return run(arguments.dir, [prefix.strip() for prefix in arguments.cases.split(",") if prefix.strip()])


if __name__ == "__main__":
    sys.exit(main())
