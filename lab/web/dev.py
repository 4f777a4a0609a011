"""For `make dev`: notifies open pages when their files have changed."""

from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from lab.web.assets import static_files


@require_safe
def build(request: HttpRequest) -> JsonResponse:
    """The current build; a page of another build reloads."""
    return JsonResponse({"build": build_of_files()})


def build_of_files() -> str:
    """An id that changes with the templates, styles and modules; rendered pages contain it."""
    templates = [path.stat().st_mtime_ns for path in sorted(Path(settings.BASE_DIR, "templates").rglob("*.html"))]
    return f"{static_files.build_id()}-{max(templates)}-{len(templates)}"
