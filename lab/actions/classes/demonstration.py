"""The demonstration: a recorded class that is shipped with the lab."""

from django.contrib.auth.models import User

from lab.actions.classes.transfer_class import import_class, imported_once
from lab.exercises.loader import CONTENT
from lab.models import Class

LESSON = "011-acks"
DEMONSTRATION = CONTENT / LESSON / "recording.hwclass"
"""Made by `manage.py record_demonstration`. The lesson also names it."""


async def open_demonstration(user: User) -> Class:
    """The demonstration as a class of the user, imported once. Raises Refusal if the user may not teach classes."""
    return await imported_once(user, DEMONSTRATION, "demonstration", True, import_class)
