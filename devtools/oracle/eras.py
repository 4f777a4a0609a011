"""Compares clusters of each era with real brokers of that release.

    python -m devtools.oracle.eras --dir DIR [--only s1b,0.10.2.2] [--all]

One line a case: `ok NAME`, `FAIL NAME: first difference`; then the counts. The exit code is 1 if any failed. A case is
an anomaly on one release (`s1b-0.10.2.2`), step by step, or a part of the survey of a release (`0.10.2.2 znodes`).
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from traceback import format_exception
from typing import Any

from broker_core.eras import ERAS
from devtools.oracle.era_anomalies import differences, replayed, with_our_numbers
from devtools.oracle.era_surveys import read_defaults, survey_cases

_ERA_OF = {era.release: era.name for era in ERAS.values()}

Case = tuple[str, Callable[[], list[str]]]


def cases(directory: Path) -> Iterator[Case]:
    """Everything that can be compared, each with a function that returns the differences."""
    for path in sorted((directory / "anomalies").glob("*.json")):
        recording = with_our_numbers(json.loads(path.read_text(encoding="utf-8")))
        era = _ERA_OF.get(recording["version"])
        if era is not None:
            yield path.stem, partial(_anomaly, era, recording)
    for each in ERAS.values():
        if (directory / each.release / "survey.json").exists():
            defaults = read_defaults(directory, each.release)
            for name, find in survey_cases(each, directory / each.release, defaults):
                yield f"{each.release} {name}", find


def _anomaly(era: str, recording: dict[str, Any]) -> list[str]:
    return differences(replayed(era, recording).steps, recording)


def compare(directory: Path, only: str = "", show_all: bool = False) -> int:
    """Prints the verdicts; returns the exit code: 1 if any failed, 2 if there was nothing to compare."""
    words = [word.strip() for word in only.split(",") if word.strip()]
    chosen = [case for case in cases(directory) if all(word in case[0] for word in words)]
    if not chosen:
        what = f"has {only} in its name" if words else "is a recording of a real broker"
        print(f"There is nothing to compare in {directory}: no file {what}.", file=sys.stderr)
        return 2
    counts = {"ok": 0, "FAIL": 0}
    for name, find in chosen:
        try:
            found = find()
        except Exception as error:  # An exception in the core counts as a difference, and the other cases still run.
            found = [f"{type(error).__name__}: {error}", *format_exception(error)]
        verdict = "FAIL" if found else "ok"
        counts[verdict] += 1
        print(f"{verdict} {name}" + (f": {found[0]}" if found else ""), flush=True)
        if show_all:
            print("".join(f"  {line}\n" for line in found[1:]), end="")
    print(f"{counts['ok']} passed, {counts['FAIL']} failed")
    return 1 if counts["FAIL"] else 0


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="eras", description=__doc__.splitlines()[0])
    parser.add_argument("--dir", required=True, type=Path, help="a folder of recordings")
    parser.add_argument("--only", default="", help="parts of names, with commas between; all must occur")
    parser.add_argument("--all", action="store_true", help="print all differences")
    options = parser.parse_args(arguments)
    return compare(options.dir, options.only, options.all)


if __name__ == "__main__":
    sys.exit(main())
