"""A question with its choices, and helpers that lay choices out."""

from collections.abc import Iterable, Sequence
from random import Random

import msgspec

from broker_core.texts import Text, text
from lab.learning.misconceptions import inventory

MIN_CHOICES, MAX_CHOICES = 2, 5


class Choice(msgspec.Struct, frozen=True):
    """One choice. `id` names it in the learning log; `misconception` is the tag of what a wrong one would mean."""

    id: str
    text: Text
    misconception: str = ""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One drawn question.

    Attributes:
        ask: the question.
        choices: 2 to 5 with different ids.
        right: id of the choice that the core computed.
        reason: why it is right, with the numbers of this question.
        given: lines of what is given, such as console lines or a table: not translated.
    """

    ask: Text
    choices: tuple[Choice, ...]
    right: str
    reason: Text
    given: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        ids = [choice.id for choice in self.choices]
        if not MIN_CHOICES <= len(ids) <= MAX_CHOICES or len(set(ids)) != len(ids):
            raise ValueError(f"{MIN_CHOICES} to {MAX_CHOICES} choices with different ids are needed, not {ids}")
        if self.right not in ids:
            raise ValueError(f"{self.right!r} is none of the choices {ids}")
        for choice in self.choices:
            if choice.misconception and choice.misconception not in inventory():
                raise ValueError(f"{choice.misconception!r} is not in the inventory of misconceptions")
            if choice.id == self.right and choice.misconception:
                raise ValueError(f"the right choice {choice.id!r} has a misconception")

    def choice(self, id: str) -> Choice | None:
        """The choice with this id."""
        return next((one for one in self.choices if one.id == id), None)

    @property
    def tags(self) -> tuple[str, ...]:
        """The misconceptions behind its wrong choices."""
        return tuple(sorted({choice.misconception for choice in self.choices if choice.misconception}))


def value(shown: object) -> Text:
    """A text that is the same in every language: a number, a name, a list of offsets."""
    return text("review.value", value=str(shown))


def drawn(
    rng: Random, right: object, wrong: Iterable[tuple[object, str]], near: Iterable[object] = (), count: int = 4
) -> tuple[tuple[Choice, ...], str]:
    """Values as choices, in a random order, and the id of the correct one.

    `wrong`: values with the tag of the misconception that leads to each; equal ones are left out, and those that happen
    to be right. `near`: further values that fill up to `count`.
    """
    choices: dict[str, str] = {}
    for shown, tag in wrong:
        if shown != right and str(shown) not in choices and len(choices) < count - 1:
            choices[str(shown)] = tag
    for shown in near:
        if shown != right and str(shown) not in choices and len(choices) < count - 1:
            choices[str(shown)] = ""
    laid = [Choice(str(right), value(right)), *(Choice(id, value(id), tag) for id, tag in choices.items())]
    rng.shuffle(laid)
    return tuple(laid), str(right)


def around(number: int, lowest: int = 0) -> list[int]:
    """Neighbours of a number, nearest first, for choices that no misconception gives."""
    return [one for one in (number + 1, number - 1, number + 2, number - 2, number + 3) if one >= lowest]


def fixed(right: str, choices: Sequence[tuple[str, Text, str]]) -> tuple[tuple[Choice, ...], str]:
    """Choices that are the same in every question, in that order: (id, text, tag of it when it is wrong)."""
    return tuple(Choice(id, shown, "" if id == right else tag) for id, shown, tag in choices), right
