"""The page of the gallery."""

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET

from devtools.gallery.run import gallery_branch
from devtools.gallery.scenes import SCENES
from lab.api.state_charts import state_charts
from lab.exercises.frames import listed
from lab.exercises.loader import exercises
from lab.runtime.host import host


@login_required
@require_GET
@ensure_csrf_cookie
async def gallery(request: HttpRequest) -> HttpResponse:
    """`/dev/gallery/?scene=records`: all components in one scene. Raises Refusal where its run cannot be made."""
    user = await request.auser()
    assert isinstance(user, User)
    branch = await gallery_branch(host(), user)
    seqs = {one.name: one.seq async for one in branch.bookmarks.all()}
    scene = next((one for one in SCENES if one.name == request.GET.get("scene")), SCENES[0])
    context = {
        "scenes": [{"name": one.name, "is_shown": one is scene} for one in SCENES],
        "scene": scene,
        "seq": seqs[scene.name],
        "run": {"id": branch.run.slug, "name": branch.run.name, "era": branch.run.era},
        "branch": branch.name,
        "exercises": [listed(exercise) for exercise in exercises().values()],
        "state_charts": state_charts(),
    }
    return await sync_to_async(render)(request, "dev/gallery.html", context)
