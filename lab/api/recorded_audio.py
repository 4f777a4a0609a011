"""HTTP API of a class's sound: uploads of the instructor's page, and playback for the replay."""

import asyncio
import re
from typing import Annotated, TypeAlias, get_args

import msgspec
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from lab.actions.classes.live_class import class_folder
from lab.actions.classes.record_audio import end_piece, hear_voice, put_slice
from lab.actions.classes.seal_class import refresh_seal
from lab.api.history import IMMUTABLE, body_of, json_answer, number_of
from lab.api.recorded import Asker, for_class
from lab.classroom.audio import store
from lab.classroom.audio.pieces import AudioType, Passage
from lab.texts.refusal import Refusal

_RANGE = re.compile(r"bytes=([0-9]{0,15})-([0-9]{0,15})")
_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
_TYPES: tuple[AudioType, ...] = get_args(AudioType)


class _End(msgspec.Struct):
    """A piece has `slices`. `gives_up`: those that have not arrived never will."""

    slices: _Count
    length_us: _Count
    gives_up: bool = False


class _Spans(msgspec.Struct):
    spans: list[Passage]


class _Shift(msgspec.Struct):
    shift_us: int


@require_http_methods(["PUT"])
@for_class("staff", seals=False)
async def put(request: HttpRequest, asker: Asker, piece: int, index: int) -> HttpResponse:
    """A slice: `at_us`, at which its piece began, `digest` (SHA-256), and the type in the header."""
    at_us, named = number_of(request, "at_us"), (request.content_type or "").partition(";")[0]
    kind = next((one for one in _TYPES if one == named), None)
    if kind is None:
        raise Refusal("refusal.audio_type", 415, type=named[:40], types=", ".join(_TYPES))
    digest = request.GET.get("digest", "")
    await put_slice(asker.classroom, piece, index, -1 if at_us is None else at_us, kind, request.body, digest)
    return json_answer({"kept": index})


@require_POST
@for_class("staff", seals=False)
async def end(request: HttpRequest, asker: Asker, piece: int) -> HttpResponse:
    """A piece is over; answers with the slices that are missing. It is made without them when they are given up."""
    body = body_of(request, _End)
    count = min(body.slices, store.MAX_SLICES)
    left = await end_piece(asker.classroom, piece, count, body.length_us, gives_up=body.gives_up)
    return json_answer({"missing": left})


@require_POST
@for_class("staff", seals=False)
async def voice(request: HttpRequest, asker: Asker) -> HttpResponse:
    """Adds passages with speech: `spans` between two instants of class time."""
    await hear_voice(asker.classroom, body_of(request, _Spans).spans)
    return json_answer({})


@require_http_methods(["PUT"])
@for_class("staff", seals=False)
async def shift(request: HttpRequest, asker: Asker) -> HttpResponse:
    """Sets the delay of the sound of the whole class, `shift_us`."""
    wanted = body_of(request, _Shift).shift_us
    await asyncio.to_thread(store.set_shift, class_folder(asker.classroom.slug), wanted)
    await refresh_seal(asker.classroom)
    return json_answer({"shift_us": wanted})


@require_GET
@for_class("see")
async def play(request: HttpRequest, asker: Asker, piece: int) -> HttpResponse:
    """A piece, or the requested range of it (RFC 9110, 14)."""
    found, path = await asyncio.to_thread(store.file_of, class_folder(asker.classroom.slug), piece)
    data = await asyncio.to_thread(path.read_bytes)
    wanted = _RANGE.fullmatch(request.headers.get("Range", ""))
    answer = HttpResponse(data, content_type=found.type)
    if wanted is not None and any(wanted.groups()):
        begin, end = _range(wanted[1], wanted[2], len(data))
        if begin >= end:
            return HttpResponse(status=416, headers={"Content-Range": f"bytes */{len(data)}"})
        answer = HttpResponse(data[begin:end], content_type=found.type, status=206)
        answer["Content-Range"] = f"bytes {begin}-{end - 1}/{len(data)}"
    answer["Accept-Ranges"] = "bytes"
    answer["Cache-Control"] = IMMUTABLE
    return answer


def _range(first: str, last: str, size: int) -> tuple[int, int]:
    if not first:
        return max(0, size - int(last)), size
    return int(first), min(size, int(last) + 1) if last else size
