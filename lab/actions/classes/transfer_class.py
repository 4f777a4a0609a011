"""Exports recorded classes as files, and imports them as ended classes."""

import asyncio
import shutil
from pathlib import Path
from typing import IO

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from lab.actions.classes.live_class import class_folder
from lab.actions.classes.recordings import IMPORTED, sealed_of
from lab.actions.classes.start_class import MAX_CLASSES, enter_instructor
from lab.actions.execution import ExecutionLimit, in_thread
from lab.actions.import_run import rebuilt
from lab.actions.start_run import new_slug
from lab.archives.temporary import written
from lab.classroom.codes import draw_link_key
from lab.classroom.recorded.class_file import pack_class, unpack_class
from lab.classroom.recorded.retention import keep_sealed_log
from lab.classroom.recorded.sealed import SealedManifest
from lab.models import Class
from lab.recordings.folder import branch_folder
from lab.rights import require
from lab.runtime.classes.shown_labs import LABS
from lab.texts.i18n import LANGUAGES
from lab.texts.refusal import Refusal


async def export_class(classroom: Class) -> IO[bytes]:
    """A temporary file with the sealed class, at its start. Raises Refusal."""
    manifest = await sealed_of(classroom)
    if manifest is None:
        raise Refusal("refusal.class_not_ended", 409, title=classroom.title)
    return await written(lambda target: pack_class(class_folder(classroom.slug), manifest, target))


async def import_class(user: User, source: IO[bytes]) -> Class:
    """Imports a class, with the user as its instructor. Raises Refusal like `import_for`, and if the user has too many
    classes.
    """
    await sync_to_async(require)(user, None, "staff")
    await sync_to_async(_ensure_few)(user)
    return await import_for(user, source)


async def import_for(user: User, source: IO[bytes]) -> Class:
    """A class of the user's. The labs' inputs are executed, which makes the brokers' disks; nothing else of the
    file is. Raises Refusal for a file that is not an export of a class, and for inputs that take too long; nothing is
    left.
    """
    slug = new_slug()
    folder = class_folder(slug)
    try:
        manifest = await in_thread(lambda limit: _prepare(source, folder, limit))
    except BaseException:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        raise
    try:
        # What is committed is not removed, also when the request is cancelled meanwhile.
        return await asyncio.shield(sync_to_async(_enter)(user, slug, manifest))
    except Exception:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        raise


def _prepare(source: IO[bytes], folder: Path, limit: ExecutionLimit) -> SealedManifest:
    manifest = unpack_class(source, folder)
    keep_sealed_log(folder)
    for lab in manifest.labs:
        run, _, branch = lab.address.partition("/")
        carried = branch_folder(run, branch, runs=folder / LABS)
        if not carried.recording.is_dir():
            continue
        with rebuilt(carried, lab.address, limit) as recording:
            recording.spread_keyframes()
        shutil.rmtree(carried.checkpoints, ignore_errors=True)
    return manifest


def _ensure_few(user: User) -> None:
    if user.classes.count() >= MAX_CLASSES:
        raise Refusal("refusal.class_limit", 409, max=MAX_CLASSES)


def _enter(user: User, slug: str, manifest: SealedManifest) -> Class:
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
            settings=IMPORTED,
        )
        enter_instructor(made, user)
        return made
