"""The pages of the gallery."""

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET

from devtools.gallery.run import gallery_branch
from devtools.gallery.scenes import OTHER, SCENES
from lab.api.state_charts import state_charts
from lab.exercises.frames import listed
from lab.exercises.loader import exercises
from lab.runtime.host import host

PAGES = ("lab", "classroom", "replay", "charts", "files", "compare", "alone")
"""Each has the stylesheets and the hosts that its components need: templates/dev/gallery/."""
WITH_CHARTS = ("replay", "charts")
"""Plotly writes style attributes (lab.web.middleware)."""


@login_required
@require_GET
@ensure_csrf_cookie
async def gallery(request: HttpRequest) -> HttpResponse:
    """`/dev/gallery/?page=lab&scene=records`. Raises Refusal where its run cannot be made."""
    user = await request.auser()
    assert isinstance(user, User)
    branch = await gallery_branch(host(), user)
    marks = {one.name: one async for one in branch.bookmarks.all()}
    page = request.GET.get("page")
    page = page if page in PAGES else PAGES[0]
    scene = next((one for one in SCENES if one.name == request.GET.get("scene")), SCENES[0])
    context = {
        "pages": [{"name": one, "is_shown": one == page} for one in PAGES],
        "scenes": [{"name": one.name, "is_shown": one is scene} for one in SCENES],
        "scene": scene,
        "seq": marks[scene.name].seq,
        "run": {"id": branch.run.slug, "name": branch.run.name, "era": branch.run.era},
        "branch": branch.name,
        "other": OTHER.name,
        "forked_us": marks["transaction"].at_us,
        "exercises": [listed(exercise) for exercise in exercises().values()],
        "state_charts": state_charts(),
    }
    response = await sync_to_async(render)(request, f"dev/gallery/{page}.html", context)
    response.inline_styles = page in WITH_CHARTS  # type: ignore[attr-defined]
    return response
