"""The recording that plays on the front page (`manage.py make_hero` writes it): the run that it is made from."""

from functools import cache
from pathlib import Path

import msgspec
from django.conf import settings

HERO = "static/lab/hero/recording.json"
"""Below the project's folder. The page plays it; see devtools/hero/recording.py for its parts."""


class HeroRun(msgspec.Struct, frozen=True):
    """Everything needed to reproduce the run: `commands` are (instant in microseconds, line) in order; the recording is
    of the instants from `at_us` to the last of `pace`.
    """

    lesson: str
    partition: str
    era: str
    config: dict[str, object]
    commands: list[tuple[int, str]]
    pace: list[tuple[int, int]]
    at_us: int

    @property
    def end_us(self) -> int:
        return self.pace[-1][1]

    @property
    def lasts_s(self) -> int:
        """Its duration in wall time."""
        return self.pace[-1][0] // 1000


@cache
def hero_run() -> HeroRun:
    """The run of the recording."""
    return msgspec.json.decode((Path(settings.BASE_DIR) / HERO).read_bytes(), type=HeroRun)
