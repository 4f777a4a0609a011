"""The words of a class while several threads read and change them: nothing new is lost, nothing erased comes back."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from lab.classroom.words import ERASED, ClassWords
from lab.models import Class, ClassText, Participant

NAME = "Ada"


@pytest.fixture
def ada(database: None) -> Iterator[Participant]:
    owner = User.objects.create(username="words")
    room = Class.objects.create(slug="words", owner=owner, title="Replication", link_key="words")
    yield Participant.objects.create(classroom=room, number=2, nickname=NAME)
    room.delete()
    owner.delete()


@pytest.fixture
def words(ada: Participant) -> ClassWords:
    return ClassWords(ada.classroom_id)


def right_after_reading(patch: pytest.MonkeyPatch, job: Callable[[], object]) -> None:
    """Does what another thread may do once the texts have been read for the first time, before they are taken."""
    select = ClassText.objects.filter

    class Read:
        def __init__(self, **which: Any) -> None:
            self._found = select(**which)

        def values_list(self, *fields: str) -> list[tuple[Any, ...]]:
            rows = list(self._found.values_list(*fields))
            patch.undo()
            job()
            return rows

    patch.setattr(ClassText.objects, "filter", Read)


def test_text_that_is_stored_while_the_words_are_read_is_kept(
    ada: Participant, words: ClassWords, monkeypatch: pytest.MonkeyPatch
) -> None:
    right_after_reading(monkeypatch, lambda: words.add(ada, "en", ["Why?"]))
    words.load()
    assert words.text(1) == ("Why?", "en")


def test_text_is_kept_although_another_one_is_discarded_while_it_is_stored(
    ada: Participant, words: ClassWords, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = ClassText.objects.bulk_create

    def created(texts: list[ClassText]) -> None:
        create(texts)
        right_after_reading(monkeypatch, lambda: words.discard((99,)))

    monkeypatch.setattr(ClassText.objects, "bulk_create", created)
    words.add(ada, "en", ["Why?"])
    assert words.text(1) == ("Why?", "en")


def test_text_that_is_erased_while_the_words_are_read_does_not_come_back(
    ada: Participant, words: ClassWords, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert words.add(ada, "en", ["Why?"]) == (1,)

    def erase() -> None:
        ada.texts.all().delete()
        words.load()

    right_after_reading(monkeypatch, erase)
    words.load()
    assert words.text(1) == ERASED


def test_text_whose_author_is_erased_while_it_is_stored_is_not_kept(
    ada: Participant, words: ClassWords, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = ClassText.objects.bulk_create

    def created(texts: list[ClassText]) -> None:
        monkeypatch.undo()
        create(texts)
        transaction.on_commit(erase)

    def erase() -> None:
        ada.texts.all().delete()
        words.load()

    monkeypatch.setattr(ClassText.objects, "bulk_create", created)
    words.add(ada, "en", ["Why?"])
    assert words.text(1) == ERASED


def test_name_that_is_erased_while_names_are_read_does_not_come_back(ada: Participant, words: ClassWords) -> None:
    read: list[Sequence[Participant]] = []

    def people() -> Sequence[Participant]:
        read.append(list(Participant.objects.filter(pk=ada.pk)))
        if len(read) == 1:
            Participant.objects.filter(pk=ada.pk).update(nickname="")
            words.load()
        return read[-1]

    assert words.name("p2") == NAME
    assert words.take_names(people) == read[-1]
    assert words.name("p2") == ""
