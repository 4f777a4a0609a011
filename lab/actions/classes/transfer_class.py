"""Exports recorded classes as files, and imports them as ended classes."""

import asyncio
import shutil
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import IO, TypeAlias
from weakref import WeakKeyDictionary

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from lab.actions.classes.keep_recordings import is_recording_deleted
from lab.actions.classes.live_class import LiveClasses, class_folder, live_classes
from lab.actions.classes.recordings import IMPORTED, sealed_of
from lab.actions.classes.start_class import MAX_CLASSES, enter_instructor
from lab.actions.execution import ImportProgress, imported
from lab.actions.import_run import rebuilt
from lab.actions.start_run import new_slug
from lab.archives.progress import Share
from lab.archives.temporary import written
from lab.archives.unfinished import UnfinishedFolder
from lab.classroom.codes import draw_link_key
from lab.classroom.recorded.class_file import archived_labs, pack_class, unpack_class
from lab.classroom.recorded.retention import keep_sealed_log
from lab.classroom.recorded.sealed import SealedManifest
from lab.models import Class
from lab.rights import require
from lab.texts.i18n import LANGUAGES
from lab.texts.refusal import Refusal

Settings: TypeAlias = Mapping[str, str | bool]

_NONE: Settings = {}
_importing: WeakKeyDictionary[LiveClasses, defaultdict[int, asyncio.Lock]] = WeakKeyDictionary()
"""The locks of users who open recordings that come with the lab."""


async def export_class(classroom: Class) -> IO[bytes]:
    """A temporary file with the sealed class, at its start. Raises Refusal."""
    manifest = await sealed_of(classroom)
    if manifest is None:
        raise Refusal("refusal.class_not_ended", 409, title=classroom.title)
    return await written(lambda target: pack_class(class_folder(classroom.slug), manifest, target))


async def import_class(
    user: User, source: IO[bytes], settings: Settings = _NONE, progress: ImportProgress | None = None
) -> Class:
    """Imports a class, with the user as its instructor. Raises Refusal like `import_for`, and if the user has too many
    classes.
    """
    await sync_to_async(require)(user, None, "staff")
    await sync_to_async(_ensure_few)(user)
    return await import_for(user, source, settings, progress)


async def import_for(
    user: User, source: IO[bytes], settings: Settings = _NONE, progress: ImportProgress | None = None
) -> Class:
    """A class of the user's, with these settings. The labs' inputs are executed, which makes the brokers' disks;
    nothing else of the file is. Raises Refusal for a file that is not an export of a class, for inputs that take too
    long, and during another import of the user's; nothing is left.
    """
    slug = new_slug()
    folder = class_folder(slug)
    return await imported(
        user.pk,
        UnfinishedFolder(folder),
        lambda progress: _prepare(source, folder, progress),
        lambda manifest: _enter(user, slug, manifest, settings),
        progress,
    )


async def imported_once(
    user: User,
    path: Path,
    name: str,
    value: str | bool,
    take: Callable[[User, IO[bytes], Settings], Awaitable[Class]] = import_for,
) -> Class:
    """The class of the user's that was imported from this file of the lab's, with `take`; imported on demand. `name`
    and `value`: the setting by which it is found again. Raises Refusal like `take`.
    """
    # So that a second click during the import does not import it twice.
    async with _importing.setdefault(live_classes(), defaultdict(asyncio.Lock))[user.pk]:
        found = Class.objects.filter(owner=user, **{f"settings__{name}": value})
        known = [one async for one in found if not is_recording_deleted(one)]
        if known:
            return known[0]
        with path.open("rb") as file:
            return await take(user, file, {name: value})


def _prepare(source: IO[bytes], folder: Path, progress: ImportProgress) -> SealedManifest:
    progress.check_cancelled()
    manifest = unpack_class(source, folder, progress.report)
    keep_sealed_log(folder)
    for lab, archived, share in archived_labs(manifest, folder):

        def spread(seq: int, share: Share = share) -> None:
            progress.report("finish", share.before + seq, share.of)

        with rebuilt(archived, lab.address, progress, share) as recording:
            recording.spread_keyframes(spread)
        shutil.rmtree(archived.checkpoints, ignore_errors=True)
    return manifest


def _ensure_few(user: User) -> None:
    if user.classes.count() >= MAX_CLASSES:
        raise Refusal("refusal.class_limit", 409, max=MAX_CLASSES)


def _enter(user: User, slug: str, manifest: SealedManifest, settings: Settings) -> Class:
    with transaction.atomic():
        made = Class.objects.create(
            slug=slug,
            owner=user,
            title=manifest.title,
            chapter=manifest.chapter,
            languages=[one for one in LANGUAGES if one in manifest.languages],
            link_key=draw_link_key(),
            state=Class.State.ENDED,
            ended_at=timezone.now(),
            settings={**settings, **IMPORTED},
        )
        enter_instructor(made, user)
        return made
