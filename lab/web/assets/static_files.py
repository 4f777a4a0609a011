"""Static files under `/static/<build-id>/`: file names do not change, so modules can import each other by relative
paths, and a browser may cache every file for ever, because another build has another address.
"""

import hashlib
import mimetypes
import time
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from lab.api.packing import MIN_BYTES, answer, packed, takes_packed
from lab.texts.refusal import Refusal

FRESH_S = 1.0
MAX_PACKED = 1_000
"""Files that are held in memory as they are sent; all scripts and styles are fewer."""
_PACKED = ("text/", "application/json", "image/svg+xml")
JOINT = "+"
"""`lab/css/draw/stage+strips.css` is `stage.css` and `strips.css` of that folder, one after the other."""
KEEP_FOR_EVER = "public, max-age=31536000, immutable"
mimetypes.add_type("text/javascript", ".js")
mimetypes.add_type("font/woff2", ".woff2")


def folder() -> Path:
    return Path(settings.STATICFILES_DIRS[0])


class _Build:
    """The files below static/ as they were at the first request. With `make dev` they are checked at most once a
    second: an edited file is served at the next reload.
    """

    def __init__(self) -> None:
        self._id = ""
        self._looked_s = float("-inf")

    def id(self) -> str:
        now_s = time.monotonic()
        if not self._id or (settings.DEV and now_s - self._looked_s > FRESH_S):
            self._id, self._looked_s = self._compute(), now_s
        return self._id

    def _compute(self) -> str:
        digest = hashlib.sha256()
        for path in sorted(folder().rglob("*")):
            if path.is_file():
                stat = path.stat()
                digest.update(f"{path}:{stat.st_mtime_ns}:{stat.st_size}\n".encode())
        return digest.hexdigest()[:10]


_build = _Build()


def build_id() -> str:
    """The build id of the static files."""
    return _build.id()


class BuildStorage(StaticFilesStorage):
    """Storage behind `{% static %}`: the address of a file in this build."""

    def url(self, name: str | None) -> str:
        return f"{settings.STATIC_URL}{_build.id()}/{name}"


@lru_cache(maxsize=MAX_PACKED)
def _packed_files(files: tuple[Path, ...], modified_ns: tuple[int, ...]) -> bytes:
    return packed(_content(files))


def _content(files: tuple[Path, ...]) -> bytes:
    return b"".join(file.read_bytes() for file in files)


def _named(path: str) -> tuple[Path, ...]:
    """The file of an address, or the stylesheets joined in it. Raises Refusal (404) if one does not exist."""
    root, name = folder().resolve(), path.replace("\0", "/")
    names = [name]
    if name.endswith(".css"):
        parent, _, last = name.removesuffix(".css").rpartition("/")
        names = [f"{parent}/{one}.css" for one in last.split(JOINT)]
    files = tuple((root / one.lstrip("/")).resolve() for one in names)
    if not all(file.is_relative_to(root) and file.is_file() for file in files):
        raise Refusal("refusal.no_static_file", HTTPStatus.NOT_FOUND, path=path)
    return files


@require_safe
def serve(request: HttpRequest, build: str, path: str) -> HttpResponse:
    """One file of static/, or several stylesheets of a folder. An address of another build gets the current content
    without caching.
    """
    files = _named(path)
    kind = mimetypes.guess_type(files[0].name)[0] or "application/octet-stream"
    stats = [file.stat() for file in files]
    size = sum(stat.st_size for stat in stats)
    is_packed = kind.startswith(_PACKED) and size >= MIN_BYTES and takes_packed(request)
    modified_ns = tuple(stat.st_mtime_ns for stat in stats)
    content = _packed_files(files, modified_ns) if is_packed else _content(files)
    response = answer(content, kind, is_packed=is_packed)
    response["Cache-Control"] = KEEP_FOR_EVER if build == _build.id() else "no-store"
    return response
