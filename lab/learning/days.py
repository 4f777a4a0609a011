"""Calendar days, in the time zone of the machine.

Django sets the process to UTC, so the zone is read from the system's file.
"""

from datetime import UTC, date, datetime, tzinfo
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

DAY_MS = 24 * 3600 * 1000
_SYSTEM = Path("/etc/localtime")


@cache
def zone() -> tzinfo:
    """The system's time zone; UTC if it cannot be read."""
    try:
        with _SYSTEM.open("rb") as file:
            return ZoneInfo.from_file(file)
    except (OSError, ValueError):
        return UTC


def day_of(at_ms: int) -> date:
    """The day of an instant of wall time."""
    return datetime.fromtimestamp(at_ms / 1000, zone()).date()


def utc(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)


def wall_ms_of(instant: datetime) -> int:
    return round(instant.timestamp() * 1000)
