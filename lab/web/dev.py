"""For `make dev`: notifies open pages when their files have changed."""

import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from lab.exercises.loader import CONTENT, OUTSIDE
from lab.web.assets import static_files


@require_safe
def build(request: HttpRequest) -> JsonResponse:
    """The current build; a page of another build reloads."""
    return JsonResponse({"build": build_of_files()})


def build_of_files() -> str:
    """An id that changes with the templates, styles, modules and texts of lessons; rendered pages contain it."""
    templates = _state(Path(settings.BASE_DIR, "templates").rglob("*.html"))
    return f"{static_files.build_id()}-{templates}-{_lessons()}"


@cache
def _lessons() -> str:
    """The state of the lessons that this server has read: it reads them once, and a change restarts it."""
    folders = [CONTENT, *map(Path, filter(None, [os.environ.get(OUTSIDE)]))]
    return _state(path for folder in folders for path in folder.rglob("*.*"))


def _state(paths: Iterable[Path]) -> str:
    changed = [path.stat().st_mtime_ns for path in paths if path.is_file()]
    return f"{max(changed, default=0)}-{len(changed)}"
