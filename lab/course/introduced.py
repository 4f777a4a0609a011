"""Checks that no lesson takes for known what no lesson before it has introduced: terms and console commands."""

import re
from collections.abc import Iterator, Mapping, Sequence

from lab.exercises.glossary import Term
from lab.exercises.lesson import Exercise
from lab.exercises.solution import sections_of

OF_THE_LAB = frozenset(("The lab", "Learning", "Classes", "Tables and studies"))
"""The tables of the glossary with the lab's own terms, most of which are also words of everyday language."""
ON_THE_PAGE = frozenset(("pause", "play", "step", "predict", "answer", "fact"))
"""Lines of solutions for what a learner does on the page."""
_CODE = re.compile(r"```.*?```|`[^`]+`", re.DOTALL)
_EMPHASIS = re.compile(r"\*+([^*]+)\*+")


def unintroduced(order: Sequence[str], known: Mapping[str, Exercise], terms: Mapping[str, Term]) -> Iterator[str]:
    """What is used too early, where `order` is that of the course.

    A lesson introduces the terms that it lists, which its page explains, those that its brief emphasises, and the
    commands that its texts show. Earlier lessons are those before it in the course and those that it requires.
    """
    explained: dict[str, set[str]] = {}
    shown: dict[str, set[str]] = {}
    for lesson in _one_after_the_other(order, known):
        earlier = order[: order.index(lesson.slug)]
        before = [slug for slug in explained if slug in earlier or _leads_to(slug, lesson, known)]
        emphasised = " ".join(_EMPHASIS.findall(lesson.brief.en)).lower()
        own = {name for name in terms if name in lesson.terms or _uses(emphasised, name)}
        explained[lesson.slug], shown[lesson.slug] = own, _shown(lesson)
        explained_so_far = own.union(*(explained[slug] for slug in before))
        for name, term in terms.items():
            if term.section not in OF_THE_LAB and name not in explained_so_far and _uses(_prose(lesson), name):
                yield f"{lesson.slug}: it uses {name!r}, which no lesson up to it explains; add it to its terms."
        for verb in sorted(_needed(lesson) - shown[lesson.slug].union(*(shown[slug] for slug in before))):
            yield f"{lesson.slug}: its solution needs {verb!r}, which no text up to it shows."


def _one_after_the_other(order: Sequence[str], known: Mapping[str, Exercise]) -> list[Exercise]:
    """The lessons of the course, each after those that it requires. Without those that require each other."""
    placed: dict[str, Exercise] = {}
    left = [slug for slug in order if slug in known]
    while ready := [slug for slug in left if all(one in placed or one not in left for one in known[slug].requires)]:
        placed |= {slug: known[slug] for slug in ready[:1]}
        left.remove(ready[0])
    return list(placed.values())


def _leads_to(slug: str, lesson: Exercise, known: Mapping[str, Exercise]) -> bool:
    """Whether a lesson requires another one, directly or through others."""
    return any(needed == slug or _leads_to(slug, known[needed], known) for needed in lesson.requires if needed in known)


def _uses(prose: str, term: str) -> bool:
    return re.search(rf"\b{re.escape(term.lower())}s?\b", prose) is not None


def _prose(lesson: Exercise) -> str:
    """The brief and the steps, without what is code in them."""
    texts = [lesson.brief.en, *(step.text.en for step in lesson.steps)]
    return _CODE.sub(" ", "\n".join(texts)).lower()


def _shown(lesson: Exercise) -> set[str]:
    texts = [lesson.brief.en, *(step.text.en for step in lesson.steps), *(hint.en for hint in lesson.hints)]
    codes = [line for text in texts for code in _CODE.findall(text) for line in code.strip("`").splitlines()]
    return {verb for line in codes if (verb := _verb(line))}


def _needed(lesson: Exercise) -> set[str]:
    lines = [line for section in sections_of(lesson) for line in section.lines]
    return {verb for line in lines if (verb := _verb(line))}


def _verb(line: str) -> str:
    """The tool of Kafka, or the command of the lab with its verb, that a line begins with; empty for what is done on
    the page.
    """
    words = line.split()
    if not words or words[0] in ON_THE_PAGE:
        return ""
    return words[0] if words[0].endswith(".sh") else " ".join(words[:2])
