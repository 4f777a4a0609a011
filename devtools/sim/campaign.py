"""Many schedules: numbered seeds in several processes, what they have shown together, scripts of those that failed."""

import gc
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path

import msgspec

from devtools.sim.draw import draw
from devtools.sim.player import Unplayable, play
from devtools.sim.shrink import shrink
from devtools.sim.verdict import UNPLAYABLE, Failure, Played

SEEDS_A_TASK = 10


class Result(msgspec.Struct, frozen=True):
    """What one seed has shown."""

    seed: int
    era: str
    events: int
    cpu_s: float
    failure: Failure | None
    alarms: dict[tuple[str, str], int]
    found: tuple[str, ...]


class Tally:
    """A summary of all results."""

    def __init__(self) -> None:
        self.schedules = 0
        self.events = 0
        self.cpu_s = 0.0
        self.failed: list[Result] = []
        self.alarms: Counter[tuple[str, str]] = Counter()
        self.found: dict[str, list[int]] = {}

    def add(self, result: Result) -> None:
        self.schedules += 1
        self.events += result.events
        self.cpu_s += result.cpu_s
        self.alarms.update(result.alarms)
        for what in result.found:
            self.found.setdefault(what, []).append(result.seed)
        if result.failure is not None:
            self.failed.append(result)

    def lines(self, elapsed_s: float) -> Iterator[str]:
        """The summary."""
        mean = self.events // max(1, self.schedules)
        yield (
            f"{self.schedules} schedules, {self.events} events ({mean} on average) in {elapsed_s:.0f} s: "
            f"{self.events / max(elapsed_s, 0.001):.0f} events/s, {self.events / max(self.cpu_s, 0.001):.0f} a core"
        )
        for (invariant, explanation), count in sorted(self.alarms.items()):
            yield f"  {count} {invariant}: {'explained by ' + explanation if explanation else 'UNEXPLAINED'}"
        for what, seeds in sorted(self.found.items()):
            yield f"  {len(seeds)} {what}; first in seed {min(seeds)}"
        yield f"{len(self.failed)} failed" if self.failed else "none failed"


def run_campaign(
    seeds: Iterable[int], eras: tuple[str, ...], jobs: int, progress: Callable[[Tally, list[Result]], None]
) -> Tally:
    """Plays each seed, in the eras by turns. `progress` is also called with new results now and then."""
    tally = Tally()
    tasks = _tasks(list(seeds), eras)
    in_flight: set[Future[list[Result]]] = set()
    with ProcessPoolExecutor(jobs, initializer=_prepare) as pool:
        while True:
            while len(in_flight) < 2 * jobs and (task := next(tasks, None)) is not None:
                in_flight.add(pool.submit(_play_all, task))
            if not in_flight:
                return tally
            done, in_flight = wait(in_flight, return_when=FIRST_COMPLETED)
            results = [result for future in done for result in future.result()]
            for result in results:
                tally.add(result)
            progress(tally, results)


def _tasks(seeds: list[int], eras: tuple[str, ...]) -> Iterator[list[tuple[int, str]]]:
    all_of_them = [(seed, eras[seed % len(eras)]) for seed in seeds]
    for start in range(0, len(all_of_them), SEEDS_A_TASK):
        yield all_of_them[start : start + SEEDS_A_TASK]


def _prepare() -> None:
    """A run makes no garbage until it is garbage itself: looked for after each schedule, and not before. What the
    program itself consists of is never garbage.
    """
    gc.disable()
    gc.freeze()


def _play_all(task: list[tuple[int, str]]) -> list[Result]:
    return [play_seed(seed, era) for seed, era in task]


def play_seed(seed: int, era: str) -> Result:
    """Draws and plays one schedule."""
    begun_s = time.process_time()
    try:
        played = play(draw(seed, era))
    except Unplayable as error:
        played = Played(Failure(UNPLAYABLE, 0, str(error)), 0, (), {})
    gc.collect()
    cpu_s = time.process_time() - begun_s
    return Result(seed, era, played.events, cpu_s, played.failure, played.alarms, played.found)


def write_script(result: Result, folder: Path) -> tuple[Path, Failure]:
    """Shrinks a schedule that failed and writes it as a script. Returns where, and how the short one fails."""
    assert result.failure is not None
    short, played, failure = shrink(draw(result.seed, result.era), result.failure.kind)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"seed-{result.seed}-era-{result.era}.lab"
    remark = f"{failure.kind} at event {failure.seq}: {failure.detail}".replace(os.linesep, " | ")
    path.write_text(short.script(played.typed, remark), encoding="utf-8")
    return path, failure
