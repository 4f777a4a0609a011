"""Names and free texts of a class, which events refer to by number.

They are read from the database when the class is opened; code that changes them calls `load`. What was read is taken
only if no other thread has changed the words since: it may be older than theirs. Otherwise it is read again.
"""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import TypeVar

from django.db import transaction
from django.db.models import Max

from lab.models import ClassText, Participant, source_name

ERASED = ("", "")

T = TypeVar("T")


class ClassWords:
    """The words of one class; any thread may use it. Reading does not access the database."""

    def __init__(self, class_id: int) -> None:
        self._class_id = class_id
        self._changing = Lock()
        self._changes = 0
        """How often the words were replaced or changed."""
        self._names: dict[str, str] = {}
        self._texts: dict[int, tuple[str, str]] = {}
        self.load()

    def load(self) -> None:
        """Reads all names and texts from the database again."""

        def take(found: tuple[dict[str, str], dict[int, tuple[str, str]]]) -> None:
            self._names, self._texts = found

        self._take(lambda: (self._read_names(), self._read_texts()), take)

    def take_names(self, read: Callable[[], Sequence[Participant]]) -> Sequence[Participant]:
        """Sets the names of the participants whom `read` reads from the database, and returns those."""
        return self._take(read, lambda people: self._names.update((one.source, one.nickname) for one in people))

    def _take(self, read: Callable[[], T], take: Callable[[T], None]) -> T:
        while True:
            changes, found = self._changes, read()
            with self._changing:
                if self._changes == changes:
                    self._changes += 1
                    take(found)
                    return found

    def _read_names(self) -> dict[str, str]:
        people = Participant.objects.filter(classroom_id=self._class_id)
        return {source_name(number): name for number, name in people.values_list("number", "nickname")}

    def _read_texts(self, **which: object) -> dict[int, tuple[str, str]]:
        texts = ClassText.objects.filter(classroom_id=self._class_id, **which)
        return {number: (body, lang) for number, body, lang in texts.values_list("number", "body", "language")}

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
        numbers = tuple(one.number for one in made)
        # Their author may have been erased meanwhile.
        self._take(lambda: self._read_texts(number__in=numbers), lambda found: self._texts.update(found))
        return numbers

    def discard(self, numbers: Sequence[int]) -> None:
        """Removes texts whose event was rejected."""
        if numbers:
            ClassText.objects.filter(classroom_id=self._class_id, number__in=numbers).delete()
            with self._changing:
                self._changes += 1
                self._texts = {number: text for number, text in self._texts.items() if number not in numbers}
