"""The generators by the slug of their lesson."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from random import Random
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from lab.reviews import generators as _package
from lab.reviews.question import Question

Generate: TypeAlias = Callable[[Random], Question]


class Generator(NamedTuple):
    """`chapter` is the number of the lesson's chapter, for mixing."""

    slug: str
    chapter: int
    generate: Generate


_registered: dict[str, Generator] = {}


def chapter(number: int) -> Callable[[str], Callable[[Generate], Generate]]:
    """The decorator `review` of a module with questions of this chapter."""

    def review(slug: str) -> Callable[[Generate], Generate]:
        def register(generate: Generate) -> Generate:
            if slug in _registered:
                raise ValueError(f"{slug} has two generators")
            _registered[slug] = Generator(slug, number, generate)
            return generate

        return register

    return review


@cache
def generators() -> "MappingProxyType[str, Generator]":
    """All generators by slug."""
    for module in iter_modules(_package.__path__):
        import_module(f"{_package.__name__}.{module.name}")
    return MappingProxyType(dict(sorted(_registered.items())))


def question_of(slug: str, seed: int) -> Question:
    """The question of a lesson for a seed: always the same. Raises KeyError for a lesson without a generator."""
    return generators()[slug].generate(Random(seed))
