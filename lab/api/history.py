"""HTTP API of the lab page: history, files, and other requests that need no socket. Responses and refusals are JSON."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, TypeVar

import msgspec
from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from broker_core.partitions import split_replica
from lab import selectors
from lab.actions.bookmark import bookmark
from lab.actions.classes.live_class import live_classes
from lab.actions.fork_run import fork_run
from lab.actions.rerun import commands_of
from lab.class_rights import Right
from lab.models import Bookmark, Branch
from lab.preferences import preferences_of
from lab.protocol.event_schema import schema_hash
from lab.recordings import history
from lab.recordings.contents import contents
from lab.recordings.decoding import decoded
from lab.recordings.disk.replica_files import MAX_LENGTH, ReplicaFiles
from lab.recordings.recording import Recording
from lab.recordings.summary import RecordingSummary, read_summary
from lab.rights import user_of
from lab.runtime.exchange import exchanged
from lab.runtime.host import host
from lab.runtime.lab import Lab
from lab.texts.refusal import Refusal

IMMUTABLE = "private, max-age=86400, immutable"
MAX_BODY_BYTES = 64 * 1024

View = Callable[..., Coroutine[Any, Any, HttpResponse]]
T = TypeVar("T")


class _ForkRequest(msgspec.Struct):
    seq: int
    line: str = ""
    at_us: int = 0
    name: str = ""


class _BookmarkRequest(msgspec.Struct):
    seq: int
    name: str = ""


def for_branch(right: Right) -> Callable[[View], View]:
    """Finds the branch of the address, if the user has this right to it, and opens its lab: `view(request, branch, lab,
    ...)`. Raises Refusal: 401 if not signed in, otherwise like `selectors.branch_of`.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        async def found(request: HttpRequest, run: str, branch: str, **more: Any) -> HttpResponse:
            chosen = await sync_to_async(selectors.branch_of)(await user_of(request), run, branch, right)
            await live_classes().of_run(chosen.run)
            return await view(request, chosen, await host().lab(run, branch), **more)

        return found

    return decorate


@require_GET
@for_branch("see")
async def index(request: HttpRequest, branch: Branch, lab: Lab) -> HttpResponse:
    """Data of the time line: segments, density, marks, branches."""
    described = await sync_to_async(selectors.branches_and_bookmarks)(branch)
    return json_answer(await asyncio.to_thread(_index, branch, lab, *described))


@require_GET
@for_branch("see")
async def segment(request: HttpRequest, branch: Branch, lab: Lab, n: int) -> HttpResponse:
    """1,000 events with their patches, and the view before them."""
    data, is_full = await asyncio.to_thread(history.segment_json, lab.recording, n)
    response = HttpResponse(data, content_type="application/json")
    response["Cache-Control"] = IMMUTABLE if is_full else "no-store"
    return response


@require_GET
@for_branch("see")
async def seek(request: HttpRequest, branch: Branch, lab: Lab) -> HttpResponse:
    """The event to show for an instant: `t_us` or `seq`."""
    t_us, seq = number_of(request, "t_us"), number_of(request, "seq")
    if t_us is None and seq is None:
        raise Refusal("refusal.instant_missing")
    now_us = lab.clock().at_us
    return json_answer(await asyncio.to_thread(history.seek, lab.recording, t_us=t_us, seq=seq, now_us=now_us))


@require_GET
@for_branch("see")
async def commands(request: HttpRequest, branch: Branch, lab: Lab) -> HttpResponse:
    """The lines that were given, each with the instant and the last event before it."""
    given = await asyncio.to_thread(lambda: commands_of(lab.recording.inputs()))
    return json_answer([{"seq": seq, "at_us": at_us, "line": line} for seq, at_us, line in given])


@require_GET
@for_branch("see")
async def log_contents(request: HttpRequest, branch: Branch, lab: Lab) -> HttpResponse:
    """The newest records of each log after event `seq`, by replica and offset."""
    recording = lab.recording
    seq = number_of(request, "seq")
    place = history.seek(recording, seq=recording.last_seq if seq is None else seq)
    return json_answer(await asyncio.to_thread(contents, recording, place["seq"]))


@require_GET
@for_branch("see")
async def message_bytes(request: HttpRequest, branch: Branch, lab: Lab) -> HttpResponse:
    """The bytes of the message `rpc`, which was sent at or before event `seq`, and their meanings."""
    rpc, seq = request.GET.get("rpc", ""), number_of(request, "seq")
    last = lab.recording.last_seq if seq is None else seq
    found = await asyncio.to_thread(exchanged, lab.recording, rpc, last, lab.endpoints)
    return json_answer(msgspec.to_builtins(found))


@require_GET
@for_branch("see")
async def files(request: HttpRequest, branch: Branch, lab: Lab) -> HttpResponse:
    """The files of a replica at an instant."""
    found = await asyncio.to_thread(_replica_files, request, lab.recording)
    return json_answer([file.as_json() for file in found.files.values()])


@require_GET
@for_branch("see")
async def file_bytes(request: HttpRequest, branch: Branch, lab: Lab) -> HttpResponse:
    """A part of a file as it was, at most 64 KiB."""
    start, length = number_of(request, "from") or 0, number_of(request, "length")
    wanted = MAX_LENGTH if length is None else min(length, MAX_LENGTH)

    def read() -> tuple[bytes, int]:
        found = _replica_files(request, lab.recording)
        file = found.file(request.GET.get("file", ""))
        return found.read(file, start, wanted), file.size

    data, size = await asyncio.to_thread(read)
    _note_file(request, lab)
    return HttpResponse(data, content_type="application/octet-stream", headers={"X-File-Size": str(size)})


@require_GET
@for_branch("see")
async def file_decoded(request: HttpRequest, branch: Branch, lab: Lab) -> HttpResponse:
    """A decoded part of a file: batches and records, index entries, or lines."""
    start = number_of(request, "from") or 0

    def read() -> dict[str, Any]:
        found = _replica_files(request, lab.recording)
        return decoded(found, found.file(request.GET.get("file", "")), start)

    meaning = await asyncio.to_thread(read)
    _note_file(request, lab)
    return json_answer(meaning)


def _note_file(request: HttpRequest, lab: Lab) -> None:
    """A file of a replica was shown."""
    partition, node = split_replica(request.GET.get("replica", ""))
    lab.page_facts.note("file", f"{node}/{partition}/{request.GET.get('file', '')}", lab.recording.last_seq)


@require_POST
@for_branch("fork")
async def fork(request: HttpRequest, branch: Branch, lab: Lab) -> HttpResponse:
    """Acting in the past."""
    wanted = body_of(request, _ForkRequest)
    user = await user_of(request)
    child = await fork_run(host(), user, branch, wanted.seq, wanted.line, at_us=wanted.at_us, name=wanted.name)
    return json_answer({"branch": child.name, "url": reverse("lab", args=(branch.run.slug, child.name))})


@require_POST
@for_branch("act")
async def add_bookmark(request: HttpRequest, branch: Branch, lab: Lab) -> HttpResponse:
    """Gives an instant a name."""
    wanted = body_of(request, _BookmarkRequest)
    user = await user_of(request)
    place = await asyncio.to_thread(history.seek, lab.recording, seq=wanted.seq)
    language = preferences_of(request).language
    made = await sync_to_async(bookmark)(user, branch, place["seq"], place["at_us"], wanted.name, language)
    return json_answer({"seq": made.seq, "at_us": made.at_us, "name": made.name})


def _index(branch: Branch, lab: Lab, branches: list[Branch], bookmarks: list[Bookmark]) -> dict[str, Any]:
    found = history.index_of(lab.recording)
    named = [
        {"seq": one.seq, "at_us": one.at_us, "kind": "Bookmark", "values": {"name": one.name}} for one in bookmarks
    ]
    return {
        "run": branch.run.slug,
        "branch": branch.name,
        "name": branch.run.name,
        "boot": lab.boot,
        "schema": schema_hash(),
        **found,
        "marks": sorted([*found["marks"], *named], key=lambda mark: mark["seq"]),
        "branches": [_branch(one, lab) for one in branches],
    }


def _branch(branch: Branch, lab: Lab) -> dict[str, Any]:
    """A branch in the list. For a branch that is not open, the last recorded values are used."""
    opened = host().open_lab(branch.run.slug, branch.name)
    end: Recording | RecordingSummary = (
        opened.recording if opened else read_summary(host().folder(branch.run.slug, branch.name))
    )
    return {
        "branch": branch.name,
        "parent": branch.parent.name if branch.parent else None,
        "parent_seq": branch.parent_seq,
        "parent_at_us": branch.parent_at_us,
        "last_seq": end.last_seq,
        "last_at_us": end.last_at_us,
    }


def _replica_files(request: HttpRequest, recording: Recording) -> ReplicaFiles:
    seq = number_of(request, "seq")
    place = history.seek(recording, seq=recording.last_seq if seq is None else seq)
    return ReplicaFiles(recording, request.GET.get("replica", ""), place["seq"])


def number_of(request: HttpRequest, name: str) -> int | None:
    """A number of the address, None if absent. Raises Refusal for text that is not a number."""
    text = request.GET.get(name)
    if text is None:
        return None
    if not text.isdecimal() or len(text) > 18:
        raise Refusal("refusal.invalid_parameter", name=name, value=text[:40])
    return int(text)


def body_of(request: HttpRequest, kind: type[T]) -> T:
    """The JSON body of the request. Raises Refusal for anything else."""
    if len(request.body) > MAX_BODY_BYTES:
        raise Refusal("refusal.request_too_large", size=len(request.body), max=MAX_BODY_BYTES)
    try:
        return msgspec.json.decode(request.body, type=kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise Refusal("refusal.request_unreadable", problem=str(error)) from None


def json_answer(content: Any, status: int = 200) -> HttpResponse:
    """A response that must not be cached."""
    response = HttpResponse(msgspec.json.encode(content), content_type="application/json", status=status)
    response["Cache-Control"] = "no-store"
    return response
