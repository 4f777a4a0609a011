"""Checks `course.toml` and the lessons' places in it."""

from collections.abc import Collection, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from lab.classroom.recorded.class_file import unpack_class
from lab.course.introduced import unintroduced
from lab.course.loader import Definition
from lab.exercises.glossary import glossary
from lab.exercises.lesson import ERRATA, TOPICS, Exercise
from lab.exercises.questions import tags_of
from lab.learning.misconceptions import Misconception, inventory
from lab.reviews.registry import generators
from lab.texts.refusal import Refusal

REVIEWS = 40
"""The number of review questions drawn when looking for a tag."""
NOTE_NUMBER = 3
"""The number of digits of a note's number."""


def problems(written: Definition, known: dict[str, Exercise], more: Collection[str] = ()) -> Iterator[str]:
    """Problems of the current course. `more`: the slugs of external lessons, which have no place in it and may offer
    any misconception.
    """
    listed = [slug for chapter in written.chapters for slug in chapter.lessons]
    for slug in listed:
        if slug not in known:
            yield f"course.toml: {slug} has no folder in lab/exercises/content."
    for slug in sorted(known.keys() - set(listed) - set(more)):
        yield f"course.toml: {slug} has no place in a chapter; its folder exists."
    yield from _circle(known)
    yield from unreadable_recordings(known)
    yield from misplaced_tags({slug: one for slug, one in known.items() if slug not in more}, inventory())
    yield from unintroduced(listed, known, glossary())
    path = [slug for slug in written.first_path if slug in known]
    for place, slug in enumerate(path):
        for needed in known[slug].requires:
            if needed in known and needed not in path[:place]:
                yield f"course.toml: {slug} is on the first path before {needed}, which it requires."


def gaps(written: Definition, known: dict[str, Exercise]) -> Iterator[str]:
    """What the course does not cover yet: topics and errata without a lesson, and lessons that are named but do not
    exist.
    """
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


def unreadable_recordings(known: Mapping[str, Exercise]) -> Iterator[str]:
    """Lessons whose recording could not be imported."""
    for slug, exercise in known.items():
        if not exercise.recording:
            continue
        with TemporaryDirectory() as folder, Path(exercise.recording).open("rb") as source:
            try:
                unpack_class(source, Path(folder) / "class")
            except Refusal as refusal:
                said = refusal.as_json()
                yield f"{slug}: {Path(exercise.recording).name}: {said['what']} {said['expected']}"


def misplaced_tags(known: dict[str, Exercise], tags: Mapping[str, Misconception]) -> Iterator[str]:
    """Misconceptions whose lessons differ from those that offer them in a question, the transfer or the review."""
    for slug, exercise in known.items():
        offered, named = tags_of(exercise), {tag for tag, entry in tags.items() if slug in entry.lessons}
        for tag in sorted(offered - named):
            yield f"misconceptions.toml: {tag} is offered by a choice of {slug}; add it to its lessons."
        for tag in sorted(_never_asked(slug, named - offered)):
            yield f"misconceptions.toml: {tag} names {slug}, and no choice of the lesson or its review has this tag."
    for tag, entry in tags.items():
        for slug in sorted(set(entry.lessons) - known.keys()):
            yield f"misconceptions.toml: {tag} names {slug}, which has no folder in lab/exercises/content."


def misquoted(known: Mapping[str, Exercise], notes: Path) -> Iterator[str]:
    """Quotes that are not in their note to the letter. `notes`: a folder of text files whose names begin with the
    numbers of the notes.
    """
    texts = {path.name[:NOTE_NUMBER]: path.read_text(encoding="utf-8") for path in notes.glob("*.txt")}
    for slug, exercise in known.items():
        if exercise.against is None:
            continue
        quote, source = exercise.against.quote, exercise.against.source
        if source not in texts:
            yield f"{slug}: it quotes note {source}; {notes} has no file {source}*.txt."
        elif quote not in texts[source]:
            yield f"{slug}: note {source} does not contain '{quote}' in these letters."


def _never_asked(slug: str, tags: set[str]) -> set[str]:
    """The tags that the review of their lesson never offers."""
    if slug not in generators():
        return tags
    for seed in range(REVIEWS):
        if not tags:
            break
        tags = tags.difference(generators()[slug].generate(Random(seed)).tags)
    return tags


def _circle(known: dict[str, Exercise]) -> Iterator[str]:
    try:
        TopologicalSorter({slug: set(exercise.requires) for slug, exercise in known.items()}).prepare()
    except CycleError as error:
        yield f"Lessons require each other in a circle: {' → '.join(error.args[1])}."
