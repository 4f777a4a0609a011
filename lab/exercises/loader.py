"""Reads lessons from `content/NNN-slug/`, strictly: errors are reported with their position.

A folder holds these files and no others:

    exercise.toml                    everything that `lesson.Definition` has: settings, steps, questions, goals
    brief.en.md   brief.zh.md        what it is about, before the first step
    hints.en.md   hints.zh.md        hints with a line `---` between them, in the order in which they are given; a
                                     first line `[step other-step]` says which steps one helps with
    debrief.en.md debrief.zh.md      shown when it is finished
    setup.lab                        console lines that prepare the cluster
    solution.lab                     how it is solved (see solution.py)
    *.hwclass                        a recorded class; only where `recording` names it
    wrong.lab                        how each wrong state is reached; only where a step has some

`HIGHWATER_LESSONS` may name a folder with lessons that are not part of the course. They are read in the same way.
"""

import logging
import os
import re
import tomllib
from collections.abc import Collection, Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from lab.exercises.bilingual import LANGUAGES, Bilingual
from lab.exercises.lesson import Definition, Exercise
from lab.exercises.predicate import Goal
from lab.exercises.predicates import goal_of

CONTENT = Path(__file__).parent / "content"
OUTSIDE = "HIGHWATER_LESSONS"
"""The environment variable that names a folder with external lessons."""
_SLUG = re.compile(r"(\d{3})-[a-z0-9]+(-[a-z0-9]+)*")
_FILES = frozenset(
    {"exercise.toml", "setup.lab", "solution.lab"}
    | {f"{name}.{language}.md" for name in ("brief", "hints", "debrief") for language in LANGUAGES}
)
_WRONG = "wrong.lab"
SUFFIX = ".hwclass"
"""The suffix of a recorded class."""
_FOR_STEPS = re.compile(r"\[([a-z0-9 -]+)\]\n")
_VERSION_BYTES = 6
_LOG = logging.getLogger(__name__)


class ContentError(Exception):
    """Unusable content. The message says where, what is wrong and what was expected."""


class Outside(NamedTuple):
    """The lessons of the folder in `HIGHWATER_LESSONS`, by slug, and the problems of the others."""

    lessons: dict[str, Exercise]
    faults: dict[str, str]


@cache
def exercises() -> dict[str, Exercise]:
    """All lessons by slug: those of the course in the order of their numbers, then external ones. Raises ContentError
    where one of the course cannot be read; an unreadable external one is left out, and the log says why.
    """
    return {**_of_the_course(), **outside().lessons}


@cache
def outside() -> Outside:
    """The external lessons."""
    name = os.environ.get(OUTSIDE, "")
    found = Outside({}, {})
    if not name:
        return found
    if not Path(name).is_dir():
        found.faults[name] = f"{OUTSIDE}: {name} is not a folder. Expected one with a folder for each lesson."
    for folder in sorted(Path(name).iterdir()) if Path(name).is_dir() else ():
        if not folder.is_dir() or folder.name.startswith("."):
            continue
        try:
            if folder.name in _of_the_course():
                raise ContentError(f"{folder.name}: a lesson of the course has this name. Expected another number.")
            found.lessons[folder.name] = load(folder)
        except (ContentError, OSError, UnicodeDecodeError) as error:
            found.faults[folder.name] = str(error)
    for fault in found.faults.values():
        _LOG.warning("%s", fault)
    return found


@cache
def _of_the_course() -> dict[str, Exercise]:
    return {folder.name: load(folder) for folder in sorted(CONTENT.iterdir()) if folder.is_dir()}


def is_slug(name: str) -> bool:
    """Whether a lesson can have this name."""
    return _SLUG.fullmatch(name) is not None


def load(folder: Path) -> Exercise:
    """One lesson. Raises ContentError."""
    if not is_slug(folder.name):
        raise ContentError(f"{folder.name}: not the name of a lesson. Expected a folder like 001-some-words.")
    definition = _definition(folder)
    _check_files(folder, definition)
    wrong = folder / _WRONG
    stated = {name: getattr(definition, name) for name in Definition.__struct_fields__}
    stated["recording"] = str(folder / definition.recording) if definition.recording else ""
    hints, hint_steps = _hints(folder, [step.id for step in definition.steps])
    return Exercise(
        slug=folder.name,
        brief=both(folder, "brief"),
        hints=hints,
        hint_steps=hint_steps,
        debrief=both(folder, "debrief"),
        setup=list(lines_of(_text_of(folder / "setup.lab"))),
        solution=_text_of(folder / "solution.lab"),
        wrong=_text_of(wrong) if wrong.exists() else "",
        content_version=_version_of(folder),
        **stated,
    )


def _text_of(path: Path) -> str:
    """The text of a file of a lesson. Raises ContentError, or FileNotFoundError."""
    where = f"{path.parent.name}/{path.name}"
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise
    except UnicodeDecodeError as error:
        raise ContentError(f"{where}: byte {error.start} is not UTF-8. Expected a text saved as UTF-8.") from None
    except OSError as error:
        raise ContentError(f"{where}: {error.strerror}. Expected a file that can be read.") from None


def lines_of(script: str) -> Iterator[str]:
    """The lines of a script without comments and blank ones."""
    for line in script.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            yield line.strip()


def _check_files(folder: Path, definition: Definition) -> None:
    wanted = _FILES | ({_WRONG} if any(step.wrong for step in definition.steps) else set())
    wanted |= {definition.recording} if definition.recording else set()
    found = {path.name for path in folder.iterdir()}
    for name in sorted(wanted - found):
        raise ContentError(f"{folder.name}: {name} is missing. Expected the files {', '.join(sorted(wanted))}.")
    for name in sorted(found - wanted):
        raise ContentError(f"{folder.name}: {name} belongs to no lesson. Expected: {', '.join(sorted(wanted))}.")


def _definition(folder: Path) -> Definition:
    path = folder / "exercise.toml"
    where = f"{folder.name}/{path.name}"
    text = ""
    try:
        text = _text_of(path)
        return msgspec.convert(tomllib.loads(text), Definition, dec_hook=_goal)
    except FileNotFoundError:
        raise ContentError(f"{folder.name}: exercise.toml is missing. Expected the definition of the lesson.") from None
    except tomllib.TOMLDecodeError as error:
        raise ContentError(f"{where}: not TOML: {error}.") from None
    except msgspec.ValidationError as error:
        raise ContentError(f"{where}:{_line_of(text, str(error))}: {error}.") from None


def _line_of(text: str, error: str) -> int:
    """The line that an error is about: that of the field, or else of the table that its path leads into."""
    lines, at = text.splitlines(), 0
    path = re.search(r"`\$\.(\w+)(?:\[(\d+)\])?", error)
    if path:
        begins = re.compile(rf"\s*(?:\[+{path[1]}\b|{path[1]}\s*=)")
        places = [place for place, line in enumerate(lines) if begins.match(line)]
        at = places[min(int(path[2] or 0), len(places) - 1)] if places else 0
    field = re.search(r"field `(\w+)`", error)
    if field:
        names = re.compile(rf"\s*\[*(?:\w+\.)*{field[1]}\b|.*[{{,]\s*{field[1]}\s*=")
        at = next((place for place in range(at, len(lines)) if names.match(lines[place])), at)
    return at + 1


def _goal(wanted: type, table: Any) -> Goal:
    """The one type of a definition that msgspec does not know."""
    assert wanted is Goal
    return goal_of(table)


def _version_of(folder: Path) -> str:
    """Identifies the content of a folder, without its recording, which may be made again."""
    digest = blake2b(digest_size=_VERSION_BYTES)
    for path in sorted(path for path in folder.iterdir() if path.suffix != SUFFIX):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def both(folder: Path, name: str) -> Bilingual:
    """The text of a folder's files `<name>.en.md` and `<name>.zh.md`. Raises ContentError."""
    en, zh = (_text_of(folder / f"{name}.{language}.md").strip() for language in LANGUAGES)
    try:
        return Bilingual(en, zh)
    except ValueError as error:
        raise ContentError(f"{folder.name}/{name}: {error}.") from None


def _hints(folder: Path, steps: Collection[str]) -> tuple[list[Bilingual], list[list[str]]]:
    """The hints, and the steps of each: a first line `[alone waiting]` names those that it helps with."""
    hints = both(folder, "hints")
    en, zh = (
        [_hint(one.strip(), folder, steps) for one in re.split(r"^---$", text, flags=re.MULTILINE)]
        for text in (hints.en, hints.zh)
    )
    if len(en) != len(zh):
        raise ContentError(f"{folder.name}/hints: {len(en)} in English, {len(zh)} in Chinese; as many were expected.")
    for (_, ours), (_, theirs) in zip(en, zh, strict=True):
        if ours != theirs:
            raise ContentError(f"{folder.name}/hints: a hint helps with {ours} in English and {theirs} in Chinese.")
    return [Bilingual(one, other) for (one, _), (other, _) in zip(en, zh, strict=True)], [named for _, named in en]


def _hint(text: str, folder: Path, steps: Collection[str]) -> tuple[str, list[str]]:
    found = _FOR_STEPS.match(text)
    if found is None:
        return text, []
    named = found[1].split()
    if unknown := [step for step in named if step not in steps]:
        raise ContentError(f"{folder.name}/hints: {unknown} are not steps. Expected some of {', '.join(steps)}.")
    return text[found.end() :].strip(), named
