"""Challenges in `content/cN-slug/`, read strictly: an error names the file, what is wrong and what is expected.

A folder holds these files and no others (c9 also its `case.lab`):

    challenge.toml                 number, kind, needs, seeds, titles, the fields of an entry, the scores
    brief.en.md   brief.zh.md      the rules and the aim
    later.en.md   later.zh.md      what in later releases closes the hole
    par.toml                       the course's own entry, which passes
    bad.toml                       an entry that must fail
"""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from lab.exercises.bilingual import LANGUAGES, Bilingual
from lab.exercises.loader import ContentError, both

CONTENT = Path(__file__).parent / "content"
_SLUG = re.compile(r"c(\d+)-[a-z0-9]+(-[a-z0-9]+)*")
_FILES = frozenset(
    {"challenge.toml", "par.toml", "bad.toml"}
    | {f"{name}.{language}.md" for name in ("brief", "later") for language in LANGUAGES}
)
_MORE = frozenset({"case.lab"})

Kind = Literal["attack", "defend", "find"]


class Field(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A field of an entry: a script, one of `choices`, or a number in `min`..`max`."""

    name: str
    kind: Literal["script", "choice", "integer"]
    label: Bilingual
    choices: tuple[str, ...] = ()
    min: int = 0
    max: int = 0
    default: str = ""


class Score(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure of a verdict, aggregated over its seeds, and the value that the course's own entry reaches."""

    name: str
    label: Bilingual
    better: Literal["lower", "higher"]
    aggregate: Literal["max", "min", "mean"]
    par: float
    unit: str = ""


class Challenge(msgspec.Struct, frozen=True, kw_only=True):
    """A challenge. `needs`: the slugs of the lessons to do before; `summary`: its aim in a sentence; `seeds`: how many
    an entry is judged on. `later`: what in later releases closes the hole. `par` and `bad` are entries.
    """

    slug: str
    number: int
    kind: Kind
    needs: tuple[str, ...]
    seeds: int
    title: Bilingual
    summary: Bilingual
    fields: tuple[Field, ...]
    scores: tuple[Score, ...]
    brief: Bilingual
    later: Bilingual
    par: dict[str, str]
    bad: dict[str, str]


class _Definition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`challenge.toml`."""

    number: int
    kind: Kind
    needs: tuple[str, ...]
    seeds: int
    title: Bilingual
    summary: Bilingual
    fields: tuple[Field, ...]
    scores: tuple[Score, ...] = ()


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
    _check_files(folder)
    return Challenge(
        slug=folder.name,
        brief=both(folder, "brief"),
        later=both(folder, "later"),
        par=_entry(folder / "par.toml", definition),
        bad=_entry(folder / "bad.toml", definition),
        **{name: getattr(definition, name) for name in _Definition.__struct_fields__},
    )


def _check_files(folder: Path) -> None:
    found = {path.name for path in folder.iterdir()}
    for name in sorted(_FILES - found):
        raise ContentError(f"{folder.name}: {name} is missing. Each challenge has: {', '.join(sorted(_FILES))}.")
    for name in sorted(found - _FILES - _MORE):
        raise ContentError(f"{folder.name}: {name} belongs to no challenge. Expected: {', '.join(sorted(_FILES))}.")


def _entry(path: Path, definition: _Definition) -> dict[str, str]:
    where = f"{path.parent.name}/{path.name}"
    try:
        entry = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), dict[str, str])
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ContentError(f"{where}: not an entry: {error}.") from None
    names = {field.name for field in definition.fields}
    if set(entry) != names:
        raise ContentError(f"{where}: fields {', '.join(sorted(entry))}. Expected {', '.join(sorted(names))}.")
    return entry


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
