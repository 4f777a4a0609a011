"""Catalogues: the template of each message in each language.

A folder of catalogues holds `<language>/<family>.json`, or `<language>.json` alone: objects of id to template, sorted
by id. A template has places `{name}`. Where `n` is 1 the template of `id.one` is used, if there is one.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files as files_of
from importlib.resources.abc import Traversable

LANGUAGES = ("en", "zh-CN")
PLACE = re.compile(r"\{(\w+)\}")
# Tasks of Spark import this package from an archive.
_folders: list[Traversable] = [files_of("broker_core.texts")]


class TextError(LookupError):
    """A message without a template, a place without a value, or an id that has two templates."""


def register(folder: Traversable) -> None:
    """Adds a folder of catalogues to those that messages are looked up in."""
    if folder not in _folders:
        _folders.append(folder)
        catalogue.cache_clear()


def forget(folder: Traversable) -> None:
    """Removes a folder of catalogues."""
    _folders.remove(folder)
    catalogue.cache_clear()


@cache
def catalogue(language: str) -> Mapping[str, str]:
    """Every registered template of a language, by id.

    Raises:
        TextError: for a language without catalogues, and for a duplicate id.
    """
    if language not in LANGUAGES:
        raise TextError(f"no catalogue in the language {language!r}; languages: {', '.join(LANGUAGES)}")
    return read(_folders, language)


def read(folders: Sequence[Traversable], language: str) -> dict[str, str]:
    """The templates of these folders in one object. Raises `TextError` for a duplicate id."""
    templates: dict[str, str] = {}
    for path in (path for folder in folders for path in files(folder, language)):
        for id, template in json.loads(path.read_text(encoding="utf-8")).items():
            if id in templates:
                raise TextError(f"{id} of {path.name} is also in another catalogue")
            templates[id] = template
    return templates


def files(folder: Traversable, language: str) -> Iterator[Traversable]:
    """The catalogues of a language in a folder."""
    alone = folder / f"{language}.json"
    if alone.is_file():
        yield alone
    families = folder / language
    if families.is_dir():
        found = (one for one in families.iterdir() if one.name.endswith(".json"))
        yield from sorted(found, key=lambda one: one.name)


def fill(id: str, values: Mapping[str, str], language: str) -> str:
    """The template of `id` with the values in its places.

    Raises:
        TextError: where there is no such template, or a place in it has no value.
    """
    templates = catalogue(language)
    template = templates.get(f"{id}.one") if values.get("n") == "1" else None
    if template is None:
        template = templates.get(id)
    if template is None:
        raise TextError(f"no text {id} in {language}")
    try:
        return PLACE.sub(lambda place: values[place[1]], template)
    except KeyError as missing:
        raise TextError(f"{id} needs a value for {{{missing.args[0]}}}") from None
