"""Checks `course.toml` and the lessons' places in it."""

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

from lab.course.loader import Definition
from lab.exercises.lesson import ERRATA, TOPICS, Exercise


def problems(written: Definition, known: dict[str, Exercise]) -> Iterator[str]:
    """What is wrong with the course as it is now."""
    listed = [slug for chapter in written.chapters for slug in chapter.lessons]
    for slug in listed:
        if slug not in known:
            yield f"course.toml: {slug} has no folder in lab/exercises/content."
    for slug in sorted(known.keys() - set(listed)):
        yield f"course.toml: {slug} has no place in a chapter; its folder exists."
    yield from _circle(known)
    path = [slug for slug in written.first_path if slug in known]
    for place, slug in enumerate(path):
        for needed in known[slug].requires:
            if needed in known and needed not in path[:place]:
                yield f"course.toml: {slug} is on the first path before {needed}, which it requires."


def gaps(written: Definition, known: dict[str, Exercise]) -> Iterator[str]:
    """What the course still lacks: topics and errata without a lesson, and lessons that are named and do not exist."""
    topics = {topic for exercise in known.values() for topic in exercise.topics}
    errata = {erratum for exercise in known.values() for erratum in exercise.errata}
    if missing := [topic for topic in TOPICS if topic not in topics]:
        yield f"No lesson has the topics {', '.join(missing)}."
    if absent := [str(erratum) for erratum in ERRATA if erratum not in errata]:
        yield f"No lesson has the errata {', '.join(absent)}."
    for exercise in known.values():
        for needed in exercise.requires:
            if needed not in known:
                yield f"{exercise.slug}: it requires {needed}, which has no folder in lab/exercises/content."
    named = {slug for note in written.notes for heading in note.headings for slug in heading.lessons}
    for slug in sorted((named | set(written.first_path)) - known.keys()):
        yield f"course.toml: {slug} is named by a note or the first path, and has no folder in lab/exercises/content."


def _circle(known: dict[str, Exercise]) -> Iterator[str]:
    try:
        TopologicalSorter({slug: set(exercise.requires) for slug, exercise in known.items()}).prepare()
    except CycleError as error:
        yield f"Lessons require each other in a circle: {' → '.join(error.args[1])}."
