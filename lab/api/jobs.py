"""What a page is told of a job of the analyst, and how it ends one: the same for runs, classes and lessons.

A job is known by its number and by what it is about. An address looks only for jobs about what its right is for.
"""

import asyncio
from collections.abc import Collection

from django.http import HttpRequest, HttpResponse

from lab.analytics.jobs import Job, analyst
from lab.api.history import json_answer
from lab.preferences import preferences_of
from lab.texts.refusal import Refusal, rendered


def begun_answer(job: Job | None, *, wait_s: float = 0.0, live: bool = False) -> HttpResponse:
    """The number of the job that goes on; null where there is nothing to do, and then `wait_s` says when to ask again
    (0: not any more). `live`: whether more is to come.
    """
    return json_answer({"job": job.id if job else None, "wait_s": wait_s, "live": live})


def job_answer(request: HttpRequest, id: str, about: Collection[str]) -> HttpResponse:
    """How far a job about one of these is, and how many builds it has published. Raises Refusal (404) without one."""
    found = _found(id, about)
    error = found.error and rendered(found.error, preferences_of(request).language)
    progress = round(found.progress, 3)
    response = json_answer(
        {
            "state": found.state,
            "progress": progress,
            "stage": found.stage,
            "error": error,
            "published": found.published,
        }
    )
    response["Cache-Control"] = "no-store"
    return response


async def cancel_answer(id: str, about: Collection[str]) -> HttpResponse:
    """Ends a job about one of these; what it has published stays. Raises Refusal (404) without one."""
    found = _found(id, about)
    await asyncio.to_thread(analyst().cancel, found.of, id)
    return json_answer({"state": found.state})


def _found(id: str, about: Collection[str]) -> Job:
    for of in about:
        found = analyst().found(of, id)
        if found is not None:
            return found
    raise Refusal("refusal.no_analysis", 404, analysis=id[:40])
