"""Recordings of lessons of the course: each is imported once per lab, and does not belong to a user."""

import asyncio
from pathlib import Path

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from lab.actions.classes.transfer_class import imported_once
from lab.archives.manifest import digest_of
from lab.exercises.lesson import Exercise
from lab.models import Class
from lab.texts.refusal import Refusal

OWNER = "course"
"""The user who owns these classes. The account cannot be used to sign in."""


async def recording_of(lesson: Exercise) -> Class:
    """The recording of a lesson, imported on demand. Raises Refusal: 404 if it has none, otherwise like
    `import_for`.
    """
    if not lesson.recording:
        raise Refusal("refusal.lesson_without_recording", 404, lesson=lesson.slug)
    path = Path(lesson.recording)
    named = f"{lesson.slug}@{await asyncio.to_thread(_digest, path)}"
    return await imported_once(await sync_to_async(_owner)(), path, "course", named)


def _owner() -> User:
    owner, is_new = User.objects.get_or_create(username=OWNER, defaults={"is_active": False})
    if is_new:
        owner.set_unusable_password()
        owner.save()
    return owner


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return digest_of(stream).sha256
