"""The demonstration: a recorded class that is shipped with the lab."""

from django.contrib.auth.models import User

from lab.actions.classes.transfer_class import import_class
from lab.exercises.loader import CONTENT
from lab.models import Class

DEMONSTRATION = CONTENT / "011-acks" / "recording.hwclass"
"""Made by `manage.py record_demonstration`. The lesson names it, too."""


async def open_demonstration(user: User) -> Class:
    """The demonstration as a class of the user, imported once. Raises Refusal if the user may not give classes."""
    known = await Class.objects.filter(owner=user, settings__demonstration=True).afirst()
    if known is not None:
        return known
    with DEMONSTRATION.open("rb") as file:
        made = await import_class(user, file)
    made.settings = {**made.settings, "demonstration": True}
    await made.asave(update_fields=["settings"])
    return made
