"""Names and free texts of a class, which events refer to by number.

They are read from the database when the class is opened; code that changes them calls `load`.
"""

from collections.abc import Sequence

from django.db import transaction
from django.db.models import Max

from lab.models import ClassText, Participant

ERASED = ("", "")


class ClassWords:
    """The words of one class. Reading does not access the database and is thread-safe."""

    def __init__(self, class_id: int) -> None:
        self._class_id = class_id
        self._names: dict[str, str] = {}
        self._texts: dict[int, tuple[str, str]] = {}
        self.load()

    def load(self) -> None:
        """Reads all names and texts from the database again."""
        people = Participant.objects.filter(classroom_id=self._class_id)
        self._names = {f"p{number}": name for number, name in people.values_list("number", "nickname")}
        texts = ClassText.objects.filter(classroom_id=self._class_id)
        self._texts = {number: (body, lang) for number, body, lang in texts.values_list("number", "body", "language")}

    def name_as(self, p: str, name: str) -> None:
        """Sets the name of a participant."""
        self._names[p] = name

    def name(self, p: str) -> str:
        return self._names.get(p, "")

    def text(self, number: int) -> tuple[str, str]:
        return self._texts.get(number, ERASED)

    def add(self, author: Participant, language: str, bodies: Sequence[str]) -> tuple[int, ...]:
        """Stores texts before the event that refers to them; returns their numbers."""
        if not bodies:
            return ()
        with transaction.atomic():
            known = ClassText.objects.filter(classroom_id=self._class_id)
            last = known.aggregate(last=Max("number"))["last"] or 0
            made = [
                ClassText(classroom_id=self._class_id, number=number, author=author, language=language, body=body)
                for number, body in enumerate(bodies, last + 1)
            ]
            ClassText.objects.bulk_create(made)
        self._texts |= {one.number: (one.body, one.language) for one in made}
        return tuple(one.number for one in made)

    def discard(self, numbers: Sequence[int]) -> None:
        """Removes texts whose event was rejected."""
        if numbers:
            ClassText.objects.filter(classroom_id=self._class_id, number__in=numbers).delete()
            self._texts = {number: text for number, text in self._texts.items() if number not in numbers}
