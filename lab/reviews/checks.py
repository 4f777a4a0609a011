"""Checks of a generator: it is fast, each choice can be right, and both languages have the texts.

Speed and spread are judged from `ENOUGH` questions on: fewer show neither how long 200 take nor which choices can be
right.
"""

import time
from collections import Counter
from collections.abc import Iterator
from random import Random

from broker_core.texts import LANGUAGES, TextError, render
from lab.learning.misconceptions import inventory
from lab.reviews.question import Question
from lab.reviews.registry import Generator

QUESTIONS = 200
ENOUGH = 40
LIMIT_S = 30.0
"""Seconds of processor time for 200 questions."""
MAX_SHARE = 0.6
_SEED_STEP = 7919


def problems(generator: Generator, questions: int = QUESTIONS) -> Iterator[str]:
    """What is wrong with a generator, by that many of its questions."""
    began_s = time.process_time()
    drawn = [generator.generate(Random(number * _SEED_STEP)) for number in range(questions)]
    taken_s = time.process_time() - began_s
    if generator.generate(Random(0)) != drawn[0]:
        yield "the same seed gives two different questions"
    if questions >= ENOUGH:
        yield from _speed(taken_s, questions)
        yield from _spread(drawn)
    yield from _tags(generator.slug, drawn)
    for question in drawn:
        yield from _untold(question)


def _speed(taken_s: float, questions: int) -> Iterator[str]:
    limit_s = LIMIT_S * questions / QUESTIONS
    if taken_s > limit_s:
        yield f"{questions} questions take {taken_s:.1f} s of processor time; less than {limit_s:.1f} s was expected"


def _spread(drawn: list[Question]) -> Iterator[str]:
    """Each choice must be right at least once, and no place too often. Values differ from question to question: then
    it is the places of which each must be right.
    """
    ids = {tuple(sorted(choice.id for choice in question.choices)) for question in drawn}
    if len(ids) == 1:
        rights = Counter(question.right for question in drawn)
        yield from (f"choice {id!r} is never right" for id in sorted({*next(iter(ids))} - {*rights}))
    places = Counter(_place(question) for question in drawn)
    most = max(len(question.choices) for question in drawn)
    yield from (f"the right choice is never at place {place + 1}" for place in range(most) if place not in places)
    place, count = places.most_common(1)[0]
    if count > MAX_SHARE * len(drawn):
        much = f"{count} of {len(drawn)} questions"
        yield f"the right choice is at place {place + 1} in {much}; at most 60 % were expected"


def _place(question: Question) -> int:
    return next(place for place, choice in enumerate(question.choices) if choice.id == question.right)


def _tags(slug: str, drawn: list[Question]) -> Iterator[str]:
    tags = {tag for question in drawn for tag in question.tags}
    if not tags:
        yield "no choice names a misconception"
    for tag in sorted(tags):
        if slug not in inventory()[tag].lessons:
            yield f"misconception {tag!r} does not name the lesson: add {slug} to its lessons in misconceptions.toml"


def _untold(question: Question) -> Iterator[str]:
    """Texts that a language lacks, and choices that read the same."""
    for language in LANGUAGES:
        try:
            for said in (question.ask, question.reason):
                render(said, language)
            shown = [render(choice.text, language) for choice in question.choices]
        except TextError as error:
            yield f"{language}: {error}"
            continue
        if len(set(shown)) != len(shown):
            yield f"{language}: two choices read the same: {shown}"
