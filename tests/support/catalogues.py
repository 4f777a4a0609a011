"""What must hold of catalogues of texts and of the sources that ask for them, as lists of what does not."""

import ast
import json
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from broker_core.texts import LANGUAGES, TextError
from broker_core.texts.catalogues import PLACE, files, read

CHINESE = re.compile(r"[一-鿿]")
#: a code in a source, whole or, in an f-string, with {} for what is computed; its places are the names before `=`
CODE = re.compile(r"([a-z][a-z0-9_]*)(\.[A-Za-z0-9_]+)+(\?.*)?", re.S)
NAMES = re.compile(r"[?&]([a-z]\w*)=")
#: what a rejection is beside its values
NOT_A_VALUE = {"status", "field", "frame"}
PARTS = ("what", "expected", "todo")
#: the sentences of a predicate's answer
ANSWERS = ("met", "unmet")
#: a message within a message
INNER = re.compile(r"=\(([a-z][a-z0-9_]*(?:\.[A-Za-z0-9_]+)+)")


class Use(NamedTuple):
    """A message that a source names, and the values that it gives, None where the source does not show them."""

    id: str
    values: frozenset[str] | None
    where: str


def flaws(folder: Path, plain: Iterable[str] = ()) -> list[str]:
    """What is wrong with the catalogues of a folder by themselves. `plain`: ids whose Chinese has no Chinese in it."""
    try:
        english, chinese = (read([folder], language) for language in LANGUAGES)
    except TextError as twice:
        return [str(twice)]
    return [*_misfiled(folder), *_different(english, chinese), *_untranslated(english, chinese, frozenset(plain))]


def _misfiled(folder: Path) -> Iterator[str]:
    for path in (Path(str(path)) for language in LANGUAGES for path in files(folder, language)):
        ids = list(json.loads(path.read_text(encoding="utf-8")))
        name = path.relative_to(folder)
        if ids != sorted(ids):
            yield f"{name} is not sorted by id"
        if path.parent != folder:
            yield from (f"{id} is in {name}" for id in ids if id.partition(".")[0] != path.stem)


def _different(english: dict[str, str], chinese: dict[str, str]) -> Iterator[str]:
    # Chinese has no singular of its own.
    for id in {one for one in english.keys() ^ chinese.keys() if not one.endswith(".one")}:
        yield f"{id} is in one language only"
    for id in english.keys() & chinese.keys():
        if not id.endswith(".one") and set(PLACE.findall(english[id])) != set(PLACE.findall(chinese[id])):
            yield f"{id} has other places in Chinese"
    for id, template in english.items():
        if id.endswith(".one") and not {*PLACE.findall(template)} <= {*PLACE.findall(english.get(id[:-4], ""))} | {"n"}:
            yield f"{id} has places that {id[:-4]} has not"


def _untranslated(english: dict[str, str], chinese: dict[str, str], plain: frozenset[str]) -> Iterator[str]:
    for id, template in chinese.items():
        words = re.search(r"[a-z]{3,} [a-z]{3,}", PLACE.sub("", template))
        if words and not CHINESE.search(template) and id not in plain:
            yield f"{id} is not in Chinese"
    for id, template in english.items():
        if CHINESE.search(template):
            yield f"{id} is not in English"


def uses(sources: Iterable[Path], families: frozenset[str]) -> Iterator[Use]:
    """The messages of these families that Python sources name: in calls of `text`, in codes, in f-strings of codes,
    where a rejection is made, which has three of them, and where a predicate answers, which has two.
    """
    for path in sources:
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        parts_of_strings = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in (one for one in nodes if id(one) not in parts_of_strings):
            where = f"{path.name}:{getattr(node, 'lineno', 0)}"
            match node:
                case ast.Call(func=ast.Name(id="text"), args=[ast.Constant(value=str(name))], keywords=keywords):
                    names = [keyword.arg for keyword in keywords]
                    yield Use(name, None if None in names else frozenset(map(str, names)), where)
                case ast.Call(func=ast.Name(id="answer"), args=[ast.Constant(value=str(name)), *_], keywords=keywords):
                    yield Use(name, frozenset(str(keyword.arg) for keyword in keywords), where)
                case ast.Call(func=ast.Name(id=made), args=[ast.Constant(value=str(name)), *_], keywords=keywords) if (
                    made[0].isupper() and "." in name and name.partition(".")[0] in families
                ):
                    yield Use(name, frozenset(str(keyword.arg) for keyword in keywords) - NOT_A_VALUE, where)
                case ast.JoinedStr(values=parts):
                    shown = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
                    yield from _codes(shown, families, where)
                case ast.Constant(value=str(said)):
                    yield from _codes(said, families, where)


def _codes(said: str, families: frozenset[str], where: str) -> Iterator[Use]:
    found = CODE.fullmatch(said)
    if found is None or found[1] not in families:
        return
    for inner in INNER.findall(said):
        yield Use(inner, None, where)
    # of a message within the message only the outer names count
    outer, query = said.partition("?")[0], re.sub(r"\([^()]*\)", "", said.partition("?")[2])
    yield Use(outer, frozenset(NAMES.findall(f"?{query}")) if query else None, where)


def messages(id: str, templates: Collection[str]) -> set[str]:
    """The ids of a message, the three of a rejection or the two of an answer; fewer where a catalogue lacks one."""
    if id in templates:
        return {id}
    return {part for part in (f"{id}.{part}" for part in (*PARTS, *ANSWERS)) if part in templates}


def misused(used: Iterable[Use], templates: dict[str, str]) -> list[str]:
    """Messages that sources name and no catalogue has, and values that are missing or that no template takes."""
    found = []
    for use in used:
        ids = messages(use.id, templates)
        if ids not in ({use.id}, *({f"{use.id}.{part}" for part in parts} for parts in (PARTS, ANSWERS))):
            found.append(f"{use.where} names {use.id}, which no catalogue has")
        elif use.values is not None and use.values != {name for id in ids for name in PLACE.findall(templates[id])}:
            found.append(f"{use.where} gives {use.id} {sorted(use.values)}")
    return found
