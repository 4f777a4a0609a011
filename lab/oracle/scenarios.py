"""Plays transcripts of a real Kafka cluster through the shell and compares what is printed.

    python -m lab.oracle.scenarios --dir DIR [--only 01,03] [--store memory]

One line a transcript: `ok NAME`, `FAIL NAME: first difference`, `todo NAME: what is not there yet`; then the counts. The exit
code is 1 if any failed.
"""

import argparse
import re
import sys
from pathlib import Path
from traceback import format_exception
from typing import NamedTuple

from broker_core.run import Run, RunConfig
from broker_core.shell.parser import ShellError
from broker_core.shell.transcript import Transcript, TranscriptError, difference, parse_transcript, play
from broker_core.sim.disk import SimulatedDisk
from broker_core.zk.memory_store import MemoryStore


NOT_THERE_YET = (
    (re.compile(r"cleanup\.policy=\S*compact"), "the log cleaner is not there yet"),
    (re.compile(r"retention\.(ms|bytes)="), "retention is not there yet"),
    (re.compile(r"zk create /admin/(reassign_partitions|preferred_replica_election)"), "reassignment by znode is not there yet"),
)
"""Commands that run, but whose effect needs a part of a broker that the core does not have. A difference after one is no failure."""


class Verdict(NamedTuple):
    """`kind`: ok, FAIL or todo. `detail`: the first difference in one line. `lines`: all of it."""

    kind: str
    detail: str = ""
    lines: tuple[str, ...] = ()


def fresh_run(transcript: Transcript, name: str, seed: int = 0) -> Run:
    """A new cluster for a transcript, in memory."""
    config = RunConfig(
        name=name,
        seed=seed,
        brokers=tuple(range(1, transcript.brokers + 1)),
        broker_config=transcript.broker_config,
    )
    return Run(config, disk=SimulatedDisk(), zk=MemoryStore())


def judge(path: Path, seed: int = 0) -> Verdict:
    """Plays one transcript up to its first difference."""
    try:
        transcript = parse_transcript(path.read_text(encoding="utf-8"))
    except TranscriptError as error:
        return Verdict("FAIL", str(error))
    absent = ""
    try:
        for played in play(transcript, fresh_run(transcript, path.stem, seed)):
            absent = absent or next((what for line, what in NOT_THERE_YET if line.search(played.step.line)), "")
            lines = difference(played)
            if lines:
                changed = next(line for line in lines if not line.startswith(("@@", " ")))
                if absent:
                    return Verdict("todo", absent)
                where = f"line {played.step.number}: $ {played.step.line}"
                return Verdict("FAIL", f"{where}: {changed}", (f"  {where}", *(f"    {line}" for line in lines)))
    except ShellError as error:
        return Verdict("todo", error.what)
    except Exception as error:  # a bug of the core is a difference like any other, and the other transcripts go on
        return Verdict("FAIL", f"{type(error).__name__}: {error}", tuple(format_exception(error)))
    return Verdict("ok")


def main(arguments: list[str] | None = None) -> int:
    """Prints the verdicts; returns the exit code."""
    parser = argparse.ArgumentParser(prog="scenarios", description=__doc__.splitlines()[0])
    parser.add_argument("--dir", required=True, type=Path, help="a folder of .scenario files")
    parser.add_argument("--only", default="", help="prefixes of names, with commas between")
    parser.add_argument("--store", choices=["memory"], default="memory", help="where the znodes are kept")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--diff", action="store_true", help="print whole differences")
    options = parser.parse_args(arguments)
    prefixes = tuple(prefix.strip() for prefix in options.only.split(",") if prefix.strip())
    paths = [path for path in sorted(options.dir.glob("*.scenario")) if not prefixes or path.name.startswith(prefixes)]
    if not paths:
        what = f"starting with {options.only}" if prefixes else "ending with .scenario"
        print(f"No file {what} in {options.dir}. Expected a folder of transcripts.", file=sys.stderr)
        return 2
    counts = {"ok": 0, "FAIL": 0, "todo": 0}
    for path in paths:
        verdict = judge(path, options.seed)
        counts[verdict.kind] += 1
        print(f"{verdict.kind} {path.stem}" + (f": {verdict.detail}" if verdict.detail else ""), flush=True)
        if options.diff:
            print("\n".join(verdict.lines), end="\n" if verdict.lines else "")
    print(f"{counts['ok']} passed, {counts['FAIL']} failed, {counts['todo']} todo")
    return 1 if counts["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
