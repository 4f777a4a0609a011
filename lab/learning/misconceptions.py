"""The inventory of misconceptions: a tag, the statement of the belief, and the lessons that offer it."""

import tomllib
from functools import cache
from pathlib import Path

import msgspec

INVENTORY = Path(__file__).parent / "misconceptions.toml"


class Misconception(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry. `en`, `zh`: the sentence as its holder would say it; `lessons`: slugs whose choices have it."""

    en: str
    zh: str
    lessons: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.en.strip() or not self.zh.strip():
            raise ValueError("a sentence in both languages is needed")
        if not self.lessons:
            raise ValueError("at least one lesson is needed")


@cache
def inventory() -> dict[str, Misconception]:
    """All misconceptions. Raises msgspec.ValidationError for an invalid file."""
    return msgspec.convert(tomllib.loads(INVENTORY.read_text(encoding="utf-8")), dict[str, Misconception])


def says(tag: str, language: str) -> str:
    """The sentence of a tag; the tag itself for a stored event with a tag that is no longer in the inventory."""
    known = inventory().get(tag)
    if known is None:
        return tag
    return known.zh if language == "zh-CN" else known.en
