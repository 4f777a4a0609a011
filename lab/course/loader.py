"""`course.toml`: the chapters with their lessons in order, the first path, and the lessons by the notes' headings.

A lesson is an exercise (`lab/exercises/content`) that has a place in a chapter. Its identity is the exercise's slug;
its number is the place, such as 4.2. Lessons from outside of the repository form a chapter of their own, the last one.
"""

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgspec

from lab.exercises.bilingual import Bilingual
from lab.exercises.lesson import Exercise
from lab.exercises.loader import ContentError, exercises, outside
from lab.texts.i18n import LANGUAGES, translate
from lab.texts.refusal import Refusal

COURSE = Path(__file__).parent / "course.toml"
CHALLENGES = "break-it-prove-it"
"""The chapter of the challenges, which has no lessons."""
MORE_LESSONS = "more-lessons"


class ChapterDefinition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A chapter as it is written: `lessons` are slugs."""

    slug: str
    title: Bilingual
    lessons: list[str]


class Heading(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A heading of a note, in the note's own words, and the slugs of the lessons that treat its subject."""

    title: str
    lessons: list[str]


class Note(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of the notes. `title` is empty if the note has none."""

    number: str
    title: str
    headings: list[Heading]


class Definition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`course.toml`."""

    first_path: list[str]
    chapters: list[ChapterDefinition]
    notes: list[Note]

    def __post_init__(self) -> None:
        slugs = [slug for chapter in self.chapters for slug in chapter.lessons]
        for kind, names in (("lesson", slugs), ("chapter", [chapter.slug for chapter in self.chapters])):
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise ValueError(f"the {kind} {twice[0]!r} is listed twice")


class Lesson(msgspec.Struct, frozen=True):
    """A lesson in its place. `number` is such as 4.2; `chapter` is the chapter's number, from 1 on."""

    number: str
    chapter: int
    exercise: Exercise

    @property
    def slug(self) -> str:
        return self.exercise.slug


class Chapter(msgspec.Struct, frozen=True):
    """A chapter with those of its lessons that exist."""

    number: int
    slug: str
    title: Bilingual
    lessons: list[Lesson]


class Course(msgspec.Struct, frozen=True):
    """The course with the lessons that exist, by slug in the order of the course."""

    chapters: list[Chapter]
    lessons: dict[str, Lesson]
    first_path: list[Lesson]
    notes: list[Note]

    @property
    def challenge_chapter(self) -> Chapter:
        """The chapter of the challenges."""
        return next(chapter for chapter in self.chapters if chapter.slug == CHALLENGES)

    def lesson(self, slug: str) -> Lesson:
        """Raises Refusal (404) if there is no such lesson."""
        found = self.lessons.get(slug)
        if found is None:
            raise Refusal("refusal.no_lesson", 404, lesson=slug)
        return found

    def after(self, lesson: Lesson) -> Lesson | None:
        """The next lesson in the order of the course; None after the last."""
        slugs = list(self.lessons)
        place = slugs.index(lesson.slug) + 1
        return self.lessons[slugs[place]] if place < len(slugs) else None

    def following(self, lesson: Lesson) -> Lesson | None:
        """The lesson to continue with after this one: the next on the first path, else the next in the course."""
        path = [one.slug for one in self.first_path]
        if lesson.slug in path[:-1]:
            return self.first_path[path.index(lesson.slug) + 1]
        return self.after(lesson)


def definition(path: Path = COURSE) -> Definition:
    """The content of the file. Raises ContentError with the position of the error."""
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Definition)
    except tomllib.TOMLDecodeError as error:
        raise ContentError(f"{path.name}: not valid TOML: {error}.") from None
    except msgspec.ValidationError as error:
        raise ContentError(f"{path.name}: {error}.") from None


def course() -> Course:
    """The current course. Lessons whose folder is missing are left out: `manage.py check_course` reports them."""
    return assemble(_definition(), exercises(), list(outside().lessons))


def assemble(written: Definition, known: dict[str, Exercise], more: Sequence[str] = ()) -> Course:
    """The course of a definition and the exercises that exist. `more`: the slugs of external ones."""
    chapters = []
    for number, chapter in enumerate(written.chapters, 1):
        present = [slug for slug in chapter.lessons if slug in known]
        placed = [Lesson(f"{number}.{place}", number, known[slug]) for place, slug in enumerate(present, 1)]
        chapters.append(Chapter(number, chapter.slug, chapter.title, placed))
    if more:
        number = len(chapters) + 1
        placed = [Lesson(f"{number}.{place}", number, known[slug]) for place, slug in enumerate(more, 1)]
        title = Bilingual(*(translate(language, "course.more_lessons") for language in LANGUAGES))
        chapters.append(Chapter(number, MORE_LESSONS, title, placed))
    lessons = {lesson.slug: lesson for chapter in chapters for lesson in chapter.lessons}
    first_path = [lessons[slug] for slug in written.first_path if slug in lessons]
    return Course(chapters, lessons, first_path, written.notes)


@cache
def _definition() -> Definition:
    return definition()
