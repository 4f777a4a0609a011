"""Plays transcripts of a real Kafka cluster through the shell and compares the output.

    python -m devtools.oracle.scenarios --dir DIR [--only 01,03] [--store memory|zookeeper]

One line a transcript: `ok NAME`, `FAIL NAME: first difference`, `todo NAME: what is not there yet`; then the counts.
The exit code is 1 if any failed.
"""

import argparse
import sys
from pathlib import Path
from traceback import format_exception
from typing import NamedTuple

from broker_core.cluster import RunConfig
from broker_core.eras import DEFAULT_ERA, ERAS
from broker_core.shell.grammar.parser import ShellError
from broker_core.shell.grammar.transcript import Transcript, TranscriptError, difference, parse_transcript, play
from broker_core.zk.store import ZkStore
from lab.runtime.headless.rehearsal import pageless_run, stores
from lab.runtime.zookeeper.server import ZookeeperError


class Verdict(NamedTuple):
    """`kind`: ok, FAIL or todo. `detail`: the first difference in one line. `lines`: all of it."""

    kind: str
    detail: str = ""
    lines: tuple[str, ...] = ()


def config_of(transcript: Transcript, name: str, seed: int) -> RunConfig:
    """The cluster that a transcript asks for. Raises TranscriptError for an unknown era."""
    era = transcript.era or DEFAULT_ERA
    if era not in ERAS:
        raise TranscriptError(f"Unknown era {era!r}; expected one of {', '.join(ERAS)}.")
    return RunConfig(
        name=name,
        seed=seed if transcript.seed is None else transcript.seed,
        era=era,
        brokers=transcript.brokers,
        broker_config=transcript.broker_config,
        config_of_broker={broker_id: dict(own) for broker_id, own in transcript.config_of_broker.items()},
    )


def judge(path: Path, store: ZkStore, seed: int = 0) -> Verdict:
    """Plays one transcript on a new cluster, up to its first difference."""
    try:
        transcript = parse_transcript(path.read_text(encoding="utf-8"))
        config = config_of(transcript, path.stem, seed)
    except TranscriptError as error:
        return Verdict("FAIL", str(error))
    try:
        for played in play(transcript, pageless_run(config, store)):
            lines = difference(played)
            if lines:
                changed = next(line for line in lines if not line.startswith(("@@", " ")))
                where = f"line {played.step.number}: $ {played.step.line}"
                return Verdict("FAIL", f"{where}: {changed}", (f"  {where}", *(f"    {line}" for line in lines)))
    except ShellError as error:
        return Verdict("todo", str(error.what))
    except Exception as error:  # An exception in the core counts as a difference, and the other transcripts still run.
        return Verdict("FAIL", f"{type(error).__name__}: {error}", tuple(format_exception(error)))
    return Verdict("ok")


def compare(directory: Path, only: str = "", store: str = "memory", seed: int = 0, diff: bool = False) -> int:
    """Prints the verdicts; returns the exit code: 1 if any failed, 2 if there was nothing to compare."""
    prefixes = tuple(prefix.strip() for prefix in only.split(",") if prefix.strip())
    paths = [path for path in sorted(directory.glob("*.scenario")) if not prefixes or path.name.startswith(prefixes)]
    if not paths:
        what = f"starting with {only}" if prefixes else "ending with .scenario"
        print(f"There is no file {what} in {directory}. Expected a folder of transcripts: name one.", file=sys.stderr)
        return 2
    counts = {"ok": 0, "FAIL": 0, "todo": 0}
    try:
        with stores(store) as open_store:
            for path in paths:
                verdict = judge(path, open_store(), seed)
                counts[verdict.kind] += 1
                print(f"{verdict.kind} {path.stem}" + (f": {verdict.detail}" if verdict.detail else ""), flush=True)
                if diff and verdict.lines:
                    print("\n".join(verdict.lines))
    except ZookeeperError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{counts['ok']} passed, {counts['FAIL']} failed, {counts['todo']} todo")
    return 1 if counts["FAIL"] else 0


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="scenarios", description=__doc__.splitlines()[0])
    parser.add_argument("--dir", required=True, type=Path, help="a folder of .scenario files")
    parser.add_argument("--only", default="", help="prefixes of names, with commas between")
    parser.add_argument("--store", choices=["memory", "zookeeper"], default="memory", help="where the znodes are kept")
    parser.add_argument("--seed", type=int, default=0, help="of the clusters")
    parser.add_argument("--diff", action="store_true", help="print whole differences")
    options = parser.parse_args(arguments)
    return compare(options.dir, options.only, options.store, options.seed, options.diff)


if __name__ == "__main__":
    sys.exit(main())
