"""The labs that were shown in a class: read from their runs, or from the copies that its recording keeps."""

import asyncio
from pathlib import Path
from weakref import WeakKeyDictionary

from django.conf import settings

from lab.actions.classes.live_class import LiveClasses, class_folder, live_classes
from lab.actions.classes.recordings import look_into
from lab.classroom.recorded.playback import Playback
from lab.models import Branch, Class, Run
from lab.recordings.recording import Recording
from lab.runtime.host import Host, host
from lab.runtime.shown_labs import LABS, is_kept, keep_shown, kept_folder
from lab.texts.refusal import Refusal


class _Copies:
    """The copies that are open."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.recordings: dict[Path, Recording] = {}


_of_process: WeakKeyDictionary[LiveClasses, _Copies] = WeakKeyDictionary()


def _copies() -> _Copies:
    return _of_process.setdefault(live_classes(), _Copies())


async def shown_lab(classroom: Class, number: int) -> tuple[Recording, int]:
    """The recording of a lab that was shown in a class, and the last event that was. Raises Refusal (404) for another
    number, and where neither its run nor a copy is there.
    """

    def find(playback: Playback) -> tuple[str, int]:
        if number >= len(playback.map.labs):
            raise Refusal("refusal.no_shown_lab", 404, number=number, labs=len(playback.map.labs))
        return playback.map.labs[number].address, playback.map.last_seqs[number]

    address, last_seq = await look_into(classroom, find)
    run, _, branch = address.partition("/")
    folder = kept_folder(class_folder(classroom.slug), run, branch)
    if is_kept(folder):
        kept = await _opened(classroom.slug, run, branch)
        if kept.last_seq >= last_seq:
            return kept, last_seq
    if not await Branch.objects.filter(run__slug=run, name=branch).aexists():
        raise Refusal("refusal.shown_lab_gone", 404, lab=address)
    return (await host().lab(run, branch)).recording, last_seq


async def keep_labs(host: Host, classroom: Class, run: str = "") -> None:
    """Keeps the labs that were shown in a class, or those of one run, as far as they were shown."""
    wanted = await look_into(classroom, _ends)
    for address, last_seq in wanted.items():
        slug, _, branch = address.partition("/")
        if run not in ("", slug) or not await Branch.objects.filter(run__slug=slug, name=branch).aexists():
            continue
        folder = kept_folder(class_folder(classroom.slug), slug, branch)
        if is_kept(folder) and (await _opened(classroom.slug, slug, branch)).last_seq >= last_seq:
            continue
        recording = (await host.lab(slug, branch)).recording
        await _close(folder.path)
        await asyncio.to_thread(keep_shown, recording, last_seq, folder)


def _ends(playback: Playback) -> dict[str, int]:
    return {lab.address: seq for lab, seq in zip(playback.map.labs, playback.map.last_seqs, strict=True) if seq}


async def keep_labs_of_run(host: Host, run: Run) -> None:
    """Before a run is deleted: the recordings of the classes that it was shown in keep what they need of it."""
    for folder in sorted((Path(settings.DATA) / "classes").glob(f"*/{LABS}/{run.slug}")):
        classroom = await Class.objects.filter(slug=folder.parent.parent.name).afirst()
        if classroom is not None:
            await keep_labs(host, classroom, run.slug)


async def close_labs(classroom: str) -> None:
    """Closes the copies of a class, as it is deleted."""
    for path in [path for path in _copies().recordings if path.is_relative_to(class_folder(classroom))]:
        await _close(path)


async def _opened(classroom: str, run: str, branch: str) -> Recording:
    folder = kept_folder(class_folder(classroom), run, branch)
    copies = _copies()
    async with copies.lock:
        if folder.path not in copies.recordings:
            copies.recordings[folder.path] = await asyncio.to_thread(Recording, folder)
        return copies.recordings[folder.path]


async def _close(path: Path) -> None:
    copies = _copies()
    async with copies.lock:
        recording = copies.recordings.pop(path, None)
        if recording is not None:
            await asyncio.to_thread(recording.close)
