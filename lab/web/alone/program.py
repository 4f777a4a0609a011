"""The program of a standalone page: modules, stylesheets, texts, symbols, fonts and licences."""

import json
import re
import tomllib
import zlib
from base64 import b64encode
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from django.conf import settings

from lab.texts.i18n import LANGUAGES, catalogue
from lab.web.alone.linker import joined, linked
from lab.web.assets import vendor
from lab.web.assets.static_files import build_id, folder

ENTRY = "lab/ui/pages/alone/main.js"
CLASS_ENTRY = "lab/ui/pages/alone/class/main.js"
LOADER = "lab/ui/pages/alone/loader.js"
LEVEL = 9
STYLES = (
    ("base", "tokens reset frame controls forms tables dialogs"),
    ("draw", "stage topology strips pointers"),
    ("lab", "frame bar act inspector znodes dock table dialogs"),
    ("screens/disk", "frame"),
    ("screens/zookeeper", "frame tree znode controller"),
    ("parts", "statechart"),
    ("screens/clients", "groups producers transactions"),
    ("screens", "alarms"),
    ("pages", "alone"),
)
CLASS_STYLES = (
    ("base", "tokens reset frame controls forms tables dialogs"),
    ("draw", "stage topology strips pointers"),
    ("class", "tiles polls captions split replay replay_dock replay_side"),
    ("pages", "plain alone"),
)
_URL = re.compile(r'url\("([./][^"]+)"\)')
_COMMENTS = re.compile(r"/\*.*?\*/", re.DOTALL)
_NOT_SHOWN = frozenset(
    (
        *("account", "age", "analytics", "board", "challenge", "challenge_state", "class", "class_act", "compare"),
        *(
            "course",
            "disk",
            "door",
            "front",
            "goal",
            "hero",
            "ink",
            "learning",
            "mastery",
            "own",
            "preview",
            "quantity",
        ),
        *("replay", "review_cluster", "review_consume", "review_elect", "review_produce", "review_replicate"),
        *("review_store", "runs", "save_page", "search", "sign_in", "snapshot_file", "summary", "verdict"),
    )
)
"""The texts of other pages, by the first part of their ids."""
_OF_CLASS = frozenset(("board", "caption", "class", "ink", "replay", "transcript"))
"""Families of texts that the page of a class shows."""
_PACKAGES = ("inter", "jetbrains-mono", "lit", "signals-core")


class Program(NamedTuple):
    """`packed` is what the loader extracts from the page; `loader` is the page's only script."""

    packed: str
    loader: str
    symbols: str
    licences: str


def program() -> Program:
    """The program that plays a run, from the current static files."""
    return _program(build_id(), ENTRY, STYLES, _NOT_SHOWN)


def class_program() -> Program:
    """The program that replays a class."""
    return _program(build_id(), CLASS_ENTRY, CLASS_STYLES, _NOT_SHOWN - _OF_CLASS)


@lru_cache(maxsize=2)
def _program(build: str, entry: str, styles: tuple[tuple[str, str], ...], not_shown: frozenset[str]) -> Program:
    content = {
        "modules": linked(entry),
        "styles": "\n".join(_style(f"{part}/{name}") for part, names in styles for name in names.split()),
        "texts": {language: _texts(language, not_shown) for language in LANGUAGES},
    }
    return Program(pack(json.dumps(content, ensure_ascii=False).encode()), joined(LOADER), _symbols(), _licences())


@cache
def version() -> str:
    """The version of the project."""
    described = tomllib.loads((Path(settings.BASE_DIR) / "pyproject.toml").read_text(encoding="utf-8"))
    return str(described["project"]["version"])


def pack(data: bytes) -> str:
    """Packs data for static/lab/ui/pages/alone/inflate.js: compressed, in base64, which cannot contain markup."""
    return b64encode(zlib.compress(data, LEVEL)).decode("ascii")


def _texts(language: str, not_shown: frozenset[str]) -> dict[str, str]:
    return {id: text for id, text in catalogue(language).items() if not _is_elsewhere(id, not_shown)}


def _is_elsewhere(id: str, not_shown: frozenset[str]) -> bool:
    """Whether a text belongs to another page or is a refusal of the server."""
    return id.partition(".")[0] in not_shown or (id.startswith("refusal.") and id.count(".") > 1)


def _style(name: str) -> str:
    """A stylesheet with embedded fonts."""
    file = folder() / "lab" / "css" / f"{name}.css"

    def inlined(found: re.Match[str]) -> str:
        font = (file.parent / found[1]).resolve()
        return f'url("data:font/woff2;base64,{b64encode(font.read_bytes()).decode("ascii")}")'

    return _URL.sub(inlined, _COMMENTS.sub("", file.read_text(encoding="utf-8")))


def _symbols() -> str:
    """The SVG symbols, with prefixed ids: elements of the page have ids too."""
    text = (folder() / "lab" / "icons.svg").read_text(encoding="utf-8")
    return text.replace('id="', 'id="ic-').replace("<svg ", '<svg hidden aria-hidden="true" ', 1)


def _licences() -> str:
    """The licences of the vendored packages and of the project."""
    folders = {path.partition("/")[0] for path in vendor.lock().files}
    chosen = sorted(one for one in folders if one.partition("@")[0] in _PACKAGES)
    own = (Path(settings.BASE_DIR) / "LICENSE").read_text(encoding="utf-8").strip()
    texts = [f"Highwater\n\n{own}"]
    texts += [f"{one}\n\n{(vendor.folder() / one / 'LICENSE').read_text(encoding='utf-8').strip()}" for one in chosen]
    return "\n\n\n".join(texts)
