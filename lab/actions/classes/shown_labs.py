"""The labs that were shown in a class: read from their runs, or from the copies that its recording keeps."""

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from weakref import WeakKeyDictionary

from lab.actions.classes.live_class import LiveClasses, class_folder, classes_folder, live_classes
from lab.actions.classes.recordings import is_imported, look_into
from lab.classroom.recorded.playback import Playback
from lab.models import Branch, Class, Run
from lab.recordings.recording import Recording
from lab.runtime.classes.shown_labs import LABS, PartialCopy, begin_copy, complete, finish, is_kept, kept_folder
from lab.runtime.host import Host, host
from lab.runtime.processes.module_process import module_process
from lab.texts.refusal import Refusal

logger = logging.getLogger(__name__)

SHORT_EVENTS = 20_000
"""The copy of a lab with no more events is completed before another process would have started."""


class _Copies:
    """The copies that are open."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.recordings: dict[Path, Recording] = {}


_of_process: WeakKeyDictionary[LiveClasses, _Copies] = WeakKeyDictionary()


def _copies() -> _Copies:
    return _of_process.setdefault(live_classes(), _Copies())


async def shown_lab(classroom: Class, number: int) -> tuple[Recording, int]:
    """The recording of a lab that was shown in a class, and the last event shown. Raises Refusal (404) for an unknown
    number, and if neither its run nor a copy exists.
    """

    def find(playback: Playback) -> tuple[str, int]:
        if not 0 <= number < len(playback.map.labs):
            raise Refusal("refusal.no_shown_lab", 404, number=number, labs=len(playback.map.labs))
        return playback.map.labs[number].address, playback.map.last_seqs[number]

    address, last_seq = await look_into(classroom, find)
    return await recording_of(classroom, address, last_seq), last_seq


async def recording_of(classroom: Class, address: str, last_seq: int) -> Recording:
    """The recording of a lab, `run/branch`, that a class has shown up to an event. Raises Refusal (404) if neither its
    run nor a copy exists.
    """
    run, _, branch = address.partition("/")
    kept = await _copy(classroom.slug, run, branch)
    if kept is not None and kept.last_seq >= last_seq:
        return kept
    # The addresses in an imported recording are those of another lab; a run of that name here may be anybody's.
    if is_imported(classroom):
        raise Refusal("refusal.shown_lab_missing", 404, lab=address)
    if not await Branch.objects.filter(run__slug=run, name=branch).aexists():
        raise Refusal("refusal.shown_lab_gone", 404, lab=address)
    return (await host().lab(run, branch)).recording


async def keep_labs(host: Host, classroom: str, wanted: Mapping[str, int], run: str = "") -> None:
    """Copies labs that were shown in a class, or those of one run: by address, up to an event."""
    for address, last_seq in wanted.items():
        slug, _, branch = address.partition("/")
        if run not in ("", slug) or not await Branch.objects.filter(run__slug=slug, name=branch).aexists():
            continue
        kept = await _copy(classroom, slug, branch)
        if kept is not None and kept.last_seq >= last_seq:
            continue
        recording = (await host.lab(slug, branch)).recording
        folder = kept_folder(class_folder(classroom), slug, branch)
        await _close(folder.path)
        try:
            copy = await asyncio.to_thread(begin_copy, recording, last_seq, folder)
            await (asyncio.to_thread(complete, copy.folder) if copy.events <= SHORT_EVENTS else _complete_aside(copy))
            await asyncio.to_thread(finish, copy)
        except Refusal as refusal:
            # A cluster without history has nothing to copy.
            logger.warning("class %s cannot keep %s: %s", classroom, address, refusal)


async def _complete_aside(copy: PartialCopy) -> None:
    """Completes a copy in a process of its own. Raises OSError if it fails."""
    folder = copy.folder
    async with module_process(
        "lab.runtime.classes.copy_worker", folder.run, folder.branch, str(folder.path), stdin=asyncio.subprocess.PIPE
    ) as process:
        code = await process.wait()
    if code:
        raise OSError(f"the process that copies {copy.target.run}/{copy.target.branch} for its class ended with {code}")


def shown_ends(playback: Playback) -> dict[str, int]:
    """By address, the last event of each lab that was shown."""
    return {lab.address: seq for lab, seq in zip(playback.map.labs, playback.map.last_seqs, strict=True) if seq}


async def keep_labs_of_run(host: Host, run: Run) -> None:
    """Before a run is deleted, copies what recordings of classes need of it."""
    for folder in sorted(classes_folder().glob(f"*/{LABS}/{run.slug}")):
        classroom = await Class.objects.filter(slug=folder.parent.parent.name).afirst()
        if classroom is not None and not is_imported(classroom):
            await keep_labs(host, classroom.slug, await look_into(classroom, shown_ends), run.slug)


async def close_labs(classroom: str) -> None:
    """Closes the copies of a class, as it is deleted."""
    for path in [path for path in _copies().recordings if path.is_relative_to(class_folder(classroom))]:
        await _close(path)


async def _copy(classroom: str, run: str, branch: str) -> Recording | None:
    folder = kept_folder(class_folder(classroom), run, branch)
    copies = _copies()
    async with copies.lock:
        if not is_kept(folder):
            return None
        if folder.path not in copies.recordings:
            copies.recordings[folder.path] = await asyncio.to_thread(Recording, folder)
        return copies.recordings[folder.path]


async def _close(path: Path) -> None:
    copies = _copies()
    async with copies.lock:
        recording = copies.recordings.pop(path, None)
        if recording is not None:
            await asyncio.to_thread(recording.close)
