"""The demonstration: a recorded class that is shipped with the lab."""

import asyncio
from weakref import WeakKeyDictionary

from django.contrib.auth.models import User

from lab.actions.classes.keep_recordings import is_recording_deleted
from lab.actions.classes.live_class import LiveClasses, live_classes
from lab.actions.classes.transfer_class import import_class
from lab.exercises.loader import CONTENT
from lab.models import Class

LESSON = "011-acks"
DEMONSTRATION = CONTENT / LESSON / "recording.hwclass"
"""Made by `manage.py record_demonstration`. The lesson names it, too."""
_opening: WeakKeyDictionary[LiveClasses, asyncio.Lock] = WeakKeyDictionary()
"""So that a second click during the import does not import it twice."""


async def open_demonstration(user: User) -> Class:
    """The demonstration as a class of the user, imported once. Raises Refusal if the user may not teach classes."""
    async with _opening.setdefault(live_classes(), asyncio.Lock()):
        found = Class.objects.filter(owner=user, settings__demonstration=True)
        known = [one async for one in found if not is_recording_deleted(one)]
        return known[0] if known else await _imported(user)


async def _imported(user: User) -> Class:
    with DEMONSTRATION.open("rb") as file:
        made = await import_class(user, file)
    made.settings = {**made.settings, "demonstration": True}
    await made.asave(update_fields=["settings"])
    return made
