"""Static files under `/static/<build-id>/`: names stay what they are, so that modules import each other by relative
paths, and a browser may keep every file for ever, because another build has another address.
"""

import hashlib
import mimetypes
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from lab.refusal import not_found

KEEP_FOR_EVER = "public, max-age=31536000, immutable"
mimetypes.add_type("text/javascript", ".js")
mimetypes.add_type("font/woff2", ".woff2")


def folder() -> Path:
    return Path(settings.STATICFILES_DIRS[0])


def build_id() -> str:
    """Ten hex digits that change whenever a file below static/ does."""
    digest = hashlib.sha256()
    for path in sorted(folder().rglob("*")):
        if path.is_file():
            stat = path.stat()
            digest.update(f"{path}:{stat.st_mtime_ns}:{stat.st_size}\n".encode())
    return digest.hexdigest()[:10]


class BuildStorage(StaticFilesStorage):
    """What `{% static %}` asks: the address of a file in this build."""

    def __init__(self) -> None:
        super().__init__()
        self._build_id = build_id()

    def url(self, name: str | None) -> str:
        return f"{settings.STATIC_URL}{self._build_id}/{name}"


@require_safe
def serve(request: HttpRequest, build: str, path: str) -> HttpResponse:
    """One file of static/. An address of another build gets today's file, but must ask again next time."""
    root = folder().resolve()
    file = (root / path).resolve()
    if not file.is_relative_to(root) or not file.is_file():
        raise not_found(f"There is no static file {path!r}.")
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    response = HttpResponse(file.read_bytes(), content_type=kind)
    response["Cache-Control"] = KEEP_FOR_EVER if build == build_id() else "no-store"
    return response
