"""HTTP responses about analytics jobs, and their cancellation, shared by runs, classes and lessons.

A job is identified by its number and subject. An address only finds jobs for the subject that its right covers.
"""

import asyncio
from collections.abc import Collection

from django.http import HttpRequest, HttpResponse

from lab.analytics.jobs import Job, analyst
from lab.api.history import json_answer
from lab.preferences import preferences_of
from lab.texts.refusal import Refusal, rendered


def begun_answer(job: Job | None, *, wait_s: float = 0.0, live: bool = False) -> HttpResponse:
    """The number of the job in progress; null if there is nothing to do, and then `wait_s` is the time until the next
    request (0: none). `live`: whether more will follow.
    """
    return json_answer({"job": job.id if job else None, "wait_s": wait_s, "live": live})


def job_answer(request: HttpRequest, id: str, about: Collection[str]) -> HttpResponse:
    """The progress of a job for one of these subjects, and the number of builds it has published. Raises Refusal (404)
    if there is none.
    """
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
    """Cancels a job for one of these subjects; what it has published is kept. Raises Refusal (404) if there is none."""
    found = _found(id, about)
    await asyncio.to_thread(analyst().cancel, found.of, id)
    return json_answer({"state": found.state})


def _found(id: str, about: Collection[str]) -> Job:
    for of in about:
        found = analyst().job_of(of, id)
        if found is not None:
            return found
    raise Refusal("refusal.no_analysis", 404, analysis=id[:40])
