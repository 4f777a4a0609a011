"""Challenges in `content/cN-slug/`, read strictly: an error names the file, what is wrong and what is expected."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from lab.exercises.bilingual import Bilingual
from lab.exercises.loader import ContentError

CONTENT = Path(__file__).parent / "content"
_SLUG = re.compile(r"c(\d+)-[a-z0-9]+(-[a-z0-9]+)*")

Kind = Literal["attack", "defend", "find"]


class Challenge(msgspec.Struct, frozen=True, kw_only=True):
    """A challenge. `needs`: the slugs of the lessons to do before; `summary`: its aim in a sentence."""

    slug: str
    number: int
    kind: Kind
    needs: tuple[str, ...]
    title: Bilingual
    summary: Bilingual


class _Definition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`challenge.toml`."""

    number: int
    kind: Kind
    needs: tuple[str, ...]
    title: Bilingual
    summary: Bilingual


@cache
def challenges() -> dict[str, Challenge]:
    """All challenges by slug, in the order of their numbers. Raises ContentError."""
    found = [load(folder) for folder in CONTENT.iterdir() if folder.is_dir()]
    return {challenge.slug: challenge for challenge in sorted(found, key=lambda challenge: challenge.number)}


def load(folder: Path) -> Challenge:
    """One challenge. Raises ContentError."""
    slug = _SLUG.fullmatch(folder.name)
    if slug is None:
        raise ContentError(f"{folder.name}: not the name of a challenge. Expected a folder like c1-some-words.")
    definition = _definition(folder / "challenge.toml")
    if definition.number != int(slug[1]):
        raise ContentError(f"{folder.name}/challenge.toml: number {definition.number}. Expected {slug[1]}.")
    return Challenge(slug=folder.name, **{name: getattr(definition, name) for name in _Definition.__struct_fields__})


def _definition(path: Path) -> _Definition:
    where = f"{path.parent.name}/{path.name}"
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _Definition)
    except FileNotFoundError:
        raise ContentError(f"{where}: missing. Each challenge has one.") from None
    except tomllib.TOMLDecodeError as error:
        raise ContentError(f"{where}: not valid TOML: {error}.") from None
    except msgspec.ValidationError as error:
        raise ContentError(f"{where}: {error}.") from None
