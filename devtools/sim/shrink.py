"""Shrinks a schedule that fails to a short one that fails in the same way."""

from devtools.sim.player import Unplayable, play
from devtools.sim.schedule import Schedule
from devtools.sim.verdict import Failure, Played
from lab.trials.shrink import MAX_TRIES, shrink_lines


def shrink(schedule: Schedule, kind: str, tries: int = MAX_TRIES) -> tuple[Schedule, Played, Failure]:
    """The shortest schedule found whose failure is of the same kind, with how it played. The given one must fail so."""
    last: Played | None = None

    def fails(lines: list[str]) -> bool:
        """Whether these lines fail in the same way; if so, how they played is kept."""
        nonlocal last
        try:
            played = play(schedule.with_lines(lines))
        except Unplayable:
            return False
        if played.failure is None or played.failure.kind != kind:
            return False
        last = played
        return True

    fails(list(schedule.lines))
    lines = shrink_lines(schedule.lines, fails, tries - 1)
    if last is None or last.failure is None:
        raise ValueError(f"the schedule of seed {schedule.seed} does not fail with {kind}")
    return schedule.with_lines(lines), last, last.failure
