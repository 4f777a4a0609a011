"""HTTP API of the disk screen: a broker's data folder at an instant, decoded bytes, and offset lookups."""

import asyncio
import struct
from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET, require_POST

from broker_core.log import Lookup
from lab.api.history import body_of, for_branch, json_answer, number_of
from lab.exercises.observer import ExerciseObserver
from lab.models import Branch
from lab.recordings import history
from lab.recordings.disk import broker_disk, example_disk
from lab.recordings.recording import Recording
from lab.runtime.lab import Lab
from lab.runtime.zero_copy import Measurement, measure
from lab.texts.refusal import Refusal

_measuring = asyncio.Lock()
"""One measurement at a time: two would measure each other."""


class _ZeroCopyRequest(msgspec.Struct):
    broker: str
    path: str


@require_GET
@for_branch("see")
async def tree(request: HttpRequest, branch: Branch, lab: Lab) -> HttpResponse:
    """The folders and files of a broker at an instant."""
    await lab.ensure_files()
    return json_answer(await asyncio.to_thread(lambda: broker_disk.tree(_disk(request, lab.recording))))


@require_GET
@for_branch("see")
async def page(request: HttpRequest, branch: Branch, lab: Lab) -> HttpResponse:
    """One page of a file: its bytes and their meanings."""
    path, start = request.GET.get("path", ""), number_of(request, "from") or 0

    def read() -> dict[str, Any]:
        try:
            return broker_disk.page(_disk(request, lab.recording), path, start)
        except FileNotFoundError:
            raise _gone(path) from None

    await lab.ensure_files()
    shown = await asyncio.to_thread(read)
    lab.page_facts.note("file", f"{request.GET.get('broker', '')}/{path}", lab.recording.last_seq)
    return json_answer(shown)


@require_GET
@for_branch("see")
async def lookup(request: HttpRequest, branch: Branch, lab: Lab) -> HttpResponse:
    """The steps by which a log finds `offset`, or `timestamp` (ms)."""
    offset, timestamp = number_of(request, "offset"), number_of(request, "timestamp")
    if offset is None and timestamp is None:
        raise Refusal("refusal.lookup_missing")
    folder = request.GET.get("folder", "")

    def read() -> Lookup:
        try:
            return broker_disk.look_up(_disk(request, lab.recording), folder, offset, timestamp)
        except (FileNotFoundError, struct.error):
            raise _gone(folder) from None

    await lab.ensure_files()
    found = await asyncio.to_thread(read)
    lab.page_facts.note("lookup", f"{request.GET.get('broker', '')}/{folder}", lab.recording.last_seq)
    return json_answer(found)


@require_POST
@for_branch("act")
async def zero_copy(request: HttpRequest, branch: Branch, lab: Lab) -> HttpResponse:
    """Sends a segment as it is on disk now to a socket, both ways, and reports the cost."""
    wanted = body_of(request, _ZeroCopyRequest)
    await lab.ensure_files()

    def find() -> str:
        disk = broker_disk.BrokerDisk(lab.recording, wanted.broker, lab.recording.last_seq)
        return broker_disk.log_of(disk, wanted.path)

    path = lab.recording.folder.cluster / await asyncio.to_thread(find)
    async with _measuring:
        measured = await asyncio.to_thread(measure, path)
    lab.page_facts.note("zero copy", f"{wanted.broker}/{wanted.path}", lab.recording.last_seq)
    observer = lab.observers.get((await request.auser()).pk or 0)
    if isinstance(observer, ExerciseObserver):
        await observer.saw("zero_copy", _figures(measured))
    return json_answer(measured)


def _figures(measured: Measurement) -> dict[str, int]:
    """Figures for lessons: bytes of the file, bytes copied by the CPU, and system calls, for each method."""
    return {
        "bytes": measured.bytes,
        "read_copied": measured.read.copied_bytes,
        "read_calls": measured.read.calls,
        "sendfile_copied": measured.sendfile.copied_bytes,
        "sendfile_calls": measured.sendfile.calls,
    }


def _disk(request: HttpRequest, recording: Recording) -> broker_disk.DataFolder:
    broker = request.GET.get("broker", "")
    if broker == example_disk.NAME:
        return example_disk.ExampleDisk()
    seq = number_of(request, "seq")
    place = history.seek(recording, seq=recording.last_seq if seq is None else seq)
    return broker_disk.BrokerDisk(recording, broker, place["seq"])


def _gone(path: str) -> Refusal:
    return Refusal("refusal.file_changed", 404, file=path[:80])
