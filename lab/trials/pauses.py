"""Lines that let time pass."""

import re

_PAUSE = re.compile(r"sleep (\d+)(ms|s|m)")
_UNITS = {"ms": 1_000, "s": 1_000_000, "m": 60_000_000}


def pause(time_us: int) -> str:
    """A line that lets time pass."""
    return f"sleep {time_us // 1000}ms"


def pause_us(line: str) -> int | None:
    """The simulated time that a line waits; None for any other line."""
    found = _PAUSE.fullmatch(line.strip())
    return None if found is None else int(found[1]) * _UNITS[found[2]]
