"""Checks exercises as a compiler checks programs: nothing that a learner meets may be missing, solved or unsolvable."""

from collections.abc import Callable, Iterator

from lab.exercises.glossary import Term
from lab.exercises.lesson import Exercise
from lab.exercises.loader import ContentError
from lab.exercises.solution import Rehearsal, TimedEngine


def problems(
    exercise: Exercise, terms: dict[str, Term], make_engine: Callable[[int, str], TimedEngine]
) -> Iterator[str]:
    """What is wrong with an exercise. `make_engine` gives a fresh engine, its brokers up, for a seed and an era."""
    for term in exercise.terms:
        if term not in terms:
            yield f"{exercise.slug}: the term {term!r} does not stand in docs/GLOSSARY.md."
    said = " ".join([exercise.brief.en, exercise.debrief.en, *(step.text.en for step in exercise.steps)]).lower()
    for term in exercise.terms:
        if term.lower() not in said:
            yield f"{exercise.slug}: the term {term!r} is listed, but no text uses it."
    # Another seed gives another leader and other latencies: the way to the goal must not hang on them.
    for seed in SEEDS:
        try:
            Rehearsal(exercise, make_engine(seed, exercise.era)).play()
        except ContentError as error:
            yield f"{error} (seed {seed})"


SEEDS = (1, 2, 3, 4, 5)
