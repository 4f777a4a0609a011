"""`python -m devtools.sim`: one seed or many. Exit code 1: a seed failed; 2: the arguments make no sense."""

import argparse
import os
import sys
import time
from pathlib import Path

from broker_core.eras import ERAS
from devtools.sim.campaign import Result, Tally, play_seed, run_campaign, write_script
from devtools.sim.draw import draw
from devtools.sim.player import play
from devtools.sim.verdict import UNPLAYABLE

PROGRESS_S = 10.0
MAX_SHRUNK = 5


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="sim", description="Random schedules with all invariants on.")
    parser.add_argument("--seed", type=int, help="play this one and print its script")
    parser.add_argument("--runs", type=int, help="how many numbered seeds to play")
    parser.add_argument("--first", type=int, default=1, help="the first of them")
    parser.add_argument("--era", default="", help="the era, or several with commas between; all of them by turns")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--out", type=Path, default=Path("data/sim"), help="folder for scripts of what failed")
    options = parser.parse_args(arguments)
    eras = tuple(word for word in options.era.split(",") if word) or tuple(ERAS)
    unknown = [era for era in eras if era not in ERAS]
    if unknown:
        print(f"Unknown era {unknown[0]!r}. Expected one of {', '.join(ERAS)}: name one.", file=sys.stderr)
        return 2
    fewest = min(options.jobs, 1 if options.runs is None else options.runs)
    if (options.seed is None) == (options.runs is None) or fewest < 1:
        print("Expected a seed or a number of runs: make sim SEED=7, or make sim RUNS=400.", file=sys.stderr)
        return 2
    if options.seed is not None:
        return _one(options.seed, eras[options.seed % len(eras)], options.out)
    return _many(range(options.first, options.first + options.runs), eras, options.jobs, options.out)


def _one(seed: int, era: str, out: Path) -> int:
    played = play(draw(seed, era))
    print(draw(seed, era).script(played.typed, f"seed {seed}, era {era}: {played.events} events"), end="")
    result = play_seed(seed, era)
    tally = Tally()
    tally.add(result)
    print("\n".join(tally.lines(result.cpu_s)))
    return _report([result] if result.failure is not None else [], out)


def _many(seeds: range, eras: tuple[str, ...], jobs: int, out: Path) -> int:
    begun_s = time.monotonic()
    shown_s = begun_s

    def progress(tally: Tally, results: list[Result]) -> None:
        nonlocal shown_s
        for result in results:
            if result.failure is not None:
                print(f"seed {result.seed}, era {result.era}: {result.failure.kind}", flush=True)
        if time.monotonic() - shown_s >= PROGRESS_S:
            shown_s = time.monotonic()
            rate = tally.events / (shown_s - begun_s)
            print(
                f"{tally.schedules} of {len(seeds)} schedules, {tally.events} events, {rate:.0f}/s, "
                f"{len(tally.failed)} failed",
                flush=True,
            )

    tally = run_campaign(seeds, eras, jobs, progress)
    print("\n".join(tally.lines(time.monotonic() - begun_s)))
    return _report(sorted(tally.failed, key=lambda result: result.seed), out)


def _report(failed: list[Result], out: Path) -> int:
    """Each failure; the first ones shrunk to scripts, one of each kind before others."""
    kinds = {UNPLAYABLE}
    for result in failed:
        failure = result.failure
        assert failure is not None
        print(f"seed {result.seed}, era {result.era}, event {failure.seq}: {failure.kind}: {failure.detail}")
        if failure.kind not in kinds and len(kinds) <= MAX_SHRUNK:
            kinds.add(failure.kind)
            path, short = write_script(result, out)
            print(f"  shrunk to {path}, event {short.seq}; play it by manage.py play {path}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
