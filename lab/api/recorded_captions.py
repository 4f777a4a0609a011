"""HTTP API of a class's captions: viewers of the recording read them, staff write and correct them."""

import msgspec
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from lab.actions.classes.recorded.captions import (
    MAX_FILE_BYTES,
    CaptionChange,
    add_caption,
    captions_of,
    change_caption,
    remove_caption,
    upload_captions,
)
from lab.actions.classes.recorded.recognising import Job, begin_recognising, cancel_recognising, job_of
from lab.actions.classes.seal_class import refresh_seal
from lab.api.history import body_of, json_answer
from lab.api.recorded import Asker, for_class
from lab.classroom.captions.webvtt import write
from lab.preferences import preferences_of
from lab.texts.refusal import Refusal


@require_GET
@for_class("see")
async def captions(request: HttpRequest, asker: Asker, language: str) -> HttpResponse:
    """All captions in a language, by time."""
    return await _answer(asker, language)


@require_GET
@for_class("see")
async def download(request: HttpRequest, asker: Asker, language: str) -> HttpResponse:
    """The captions in a language as a WebVTT file."""
    response = HttpResponse(write(await captions_of(asker.classroom, language)), content_type="text/vtt; charset=utf-8")
    response["Cache-Control"] = "no-store"
    response["Content-Disposition"] = f'attachment; filename="{asker.classroom.slug}.{language}.vtt"'
    return response


@require_http_methods(["PUT"])
@for_class("staff")
async def file(request: HttpRequest, asker: Asker, language: str) -> HttpResponse:
    """Replaces the captions with a WebVTT file. Responds with all captions."""
    announced = request.headers.get("Content-Length", "")
    size = int(announced) if announced.isdigit() else 0
    # Django reads at most 2.5 MB into memory; larger bodies are rejected without reading them.
    if size > MAX_FILE_BYTES or len(request.body) > MAX_FILE_BYTES:
        raise Refusal("refusal.caption_file_size", 413, field="file", max=MAX_FILE_BYTES // 2**20)
    await upload_captions(asker.classroom, language, request.body)
    await refresh_seal(asker.classroom)
    return await _answer(asker, language)


@require_POST
@for_class("staff", seals=False)
async def cues(request: HttpRequest, asker: Asker, language: str) -> HttpResponse:
    """Adds a caption: `from_us`, `to_us`, `text`, `source`. Responds with it."""
    added = await add_caption(asker.classroom, language, body_of(request, CaptionChange))
    await refresh_seal(asker.classroom)
    return json_answer(msgspec.to_builtins(added))


@require_http_methods(["PUT", "DELETE"])
@for_class("staff")
async def cue(request: HttpRequest, asker: Asker, language: str, number: int) -> HttpResponse:
    """Corrects or removes a caption. Responds with all captions."""
    if request.method == "PUT":
        await change_caption(asker.classroom, language, number, body_of(request, CaptionChange))
    else:
        await remove_caption(asker.classroom, language, number)
    await refresh_seal(asker.classroom)
    return await _answer(asker, language)


@require_http_methods(["GET", "POST", "DELETE"])
@for_class("staff")
async def recognised(request: HttpRequest, asker: Asker, language: str) -> HttpResponse:
    """Starts the recogniser of this machine on the sound, reports its progress, or cancels it."""
    if request.method == "DELETE":
        await cancel_recognising(asker.classroom, language)
    if request.method == "POST":
        await begin_recognising(asker.classroom, language)
    return json_answer(_shown(job_of(asker.classroom, language), preferences_of(request).language))


def _shown(job: Job | None, language: str) -> dict[str, object]:
    if job is None:
        return {"state": "none"}
    refusal = job.refusal.as_json(language) if job.refusal is not None else None
    return {"state": job.state, "done": job.done, "of": job.pieces, "added": job.added, "refusal": refusal}


async def _answer(asker: Asker, language: str) -> HttpResponse:
    return json_answer({"cues": msgspec.to_builtins(await captions_of(asker.classroom, language))})
