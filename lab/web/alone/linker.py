"""Splits the page's modules into pieces of text, so that one file can contain all of them and start them without URLs.

A browser loads modules neither from files next to a local page nor from inline scripts. The first script of the page
creates a URL for each module from its text (static/lab/ui/pages/alone/loader.js). The URLs are known only then, so
import specifiers are left as placeholders here.
"""

import re

from lab.web.assets.modules import resolved
from lab.web.assets.static_files import folder

_SPECIFIER = re.compile(
    r"""^(?:import|export)\b(?:[^"';]*?\bfrom)?\s*"(?P<static>[^"]+)";"""
    r"""|(?:\bawait|\breturn|=>)\s+import\("(?P<asked>[^"]+)"\)""",
    re.MULTILINE,
)
_COMMENT_LINES = re.compile(r"^[ \t]*(?://[^\n]*|/\*\*(?:[^*]|\*(?!/))*\*/[ \t]*)\n", re.MULTILINE)
Piece = str | int


class LinkError(ValueError):
    """The modules cannot be put into one page."""


def linked(entry: str) -> list[list[Piece]]:
    """A module and all its static and dynamic imports, each as pieces of text separated by the number of the imported
    module. `entry` is a path below static/ and comes last.

    Raises LinkError for import cycles and missing modules.
    """
    order: dict[str, list[Piece]] = {}
    numbers: dict[str, int] = {}
    _add(entry, order, numbers, ())
    return list(order.values())


def _add(path: str, order: dict[str, list[Piece]], numbers: dict[str, int], importers: tuple[str, ...]) -> int:
    if path in importers:
        raise LinkError(f"{' imports '.join((*importers[importers.index(path) :], path))}")
    if path not in numbers:
        pieces = [
            piece if isinstance(piece, str) else _add(piece[0], order, numbers, (*importers, path))
            for piece in _split(path)
        ]
        numbers[path] = len(order)
        # The browser's error messages use this name for the module.
        order[path] = [*pieces, f"\n//# sourceURL={path}\n"]
    return numbers[path]


def _split(path: str) -> list[str | tuple[str]]:
    """The text of a module, with the paths of its imports as tuples in between."""
    file = folder() / path
    if not file.is_file():
        raise LinkError(f"there is no module {path}")
    source = file.read_text(encoding="utf-8")
    if path.startswith("vendor/"):
        return [source]
    # Comments are a third of the size and not needed in a page; type imports in comments are not dependencies.
    source = _COMMENT_LINES.sub("", source)
    pieces: list[str | tuple[str]] = []
    end = 0
    for found in _SPECIFIER.finditer(source):
        group = "static" if found["static"] else "asked"
        pieces += (source[end : found.start(group)], (resolved(path, found[group]),))
        end = found.end(group)
    return [*pieces, source[end:]]


def joined(path: str) -> str:
    """A module that starts a page, with those that it imports, as one inline script: they share its scope."""
    texts = []
    for pieces in linked(path):
        text = "".join(piece for piece in pieces[:-1] if isinstance(piece, str))
        texts.append(re.sub(r'^import [^"]*"";\n', "", re.sub(r"^export ", "", text, flags=re.M), flags=re.M))
    return "".join(texts)
