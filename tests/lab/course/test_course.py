"""The course: its file, its checks with a planted fault for each, and what the pages make of it."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import BinaryIO

import msgspec
import pytest
from django.core.management import CommandError, call_command

from lab.classroom.recorded.class_file import unpack_class
from lab.course import check
from lab.course.check import gaps, misplaced_tags, misquoted, problems
from lab.course.loader import COURSE, assemble, course, definition
from lab.exercises import compiler
from lab.exercises.glossary import glossary
from lab.exercises.lesson import Exercise
from lab.exercises.loader import CONTENT, OUTSIDE, ContentError, exercises, load, outside
from lab.learning.misconceptions import Misconception, inventory
from lab.texts.refusal import Refusal
from lab.web.classes.class_pages import starts

LOST = "006-the-lost-record"
WATERMARK = "001-high-watermark-two-fetches"


@pytest.fixture(scope="module", autouse=True)
def _plays_once() -> Iterator[None]:
    """Each check plays dozens of reviews and unpacks a recording, none of which a test plants a fault into."""
    never_asked, unpacked = check._never_asked, set[str]()

    @cache
    def asked_once(slug: str, tags: frozenset[str]) -> set[str]:
        return never_asked(slug, set(tags))

    def unpack_once(source: BinaryIO, folder: Path) -> None:
        if source.name not in unpacked:
            unpack_class(source, folder)
            unpacked.add(source.name)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(check, "_never_asked", lambda slug, tags: asked_once(slug, frozenset(tags)))
        patched.setattr(check, "unpack_class", unpack_once)
        yield


def damaged(tmp_path: Path, old: str, new: str) -> Path:
    """The course's file with a part replaced."""
    text = COURSE.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "course.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


def changed(slug: str, **more: object) -> dict[str, Exercise]:
    """All lessons, one of them with other fields."""
    return {**exercises(), slug: msgspec.structs.replace(exercises()[slug], **more)}


def test_course_is_sound() -> None:
    assert list(problems(definition(), exercises())) == []
    call_command("check_course")


@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_class_starts_from_lessons_and_from_chapters_that_have_some(language: str) -> None:
    whole = course()
    offered = [slug for slug, _ in starts(language)]
    assert set(whole.lessons) < set(offered)
    assert [one.slug for one in whole.chapters if one.slug in offered] == [
        one.slug for one in whole.chapters if one.lessons
    ]
    assert whole.challenge_chapter.slug not in offered


def test_lessons_are_numbered_by_their_places() -> None:
    whole = course()
    assert list(whole.lessons) == [lesson.slug for chapter in whole.chapters for lesson in chapter.lessons]
    for chapter in whole.chapters:
        assert [lesson.number for lesson in chapter.lessons] == [
            f"{chapter.number}.{place}" for place in range(1, len(chapter.lessons) + 1)
        ]
    last = list(whole.lessons.values())[-1]
    assert whole.after(last) is None
    first, second, *_ = whole.lessons.values()
    assert whole.after(first) == second
    with pytest.raises(Refusal):
        whole.lesson("999-no-such-lesson")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('slug = "store"', 'slug = "produce"', "produce"),
        (f'"{LOST}",', f'"{LOST}", "{WATERMARK}",', WATERMARK),
        ("first_path", "first_road", "first_road"),
        ('title = { en = "Store"', 'title = { en = ""', "both languages"),
        ("[[chapters]]", "[[chapters", "not valid TOML"),
    ],
)
def test_damaged_file_is_refused(tmp_path: Path, old: str, new: str, says: str) -> None:
    with pytest.raises(ContentError, match=says):
        definition(damaged(tmp_path, old, new))


def test_lesson_without_folder_is_reported_and_left_out() -> None:
    known = {slug: exercise for slug, exercise in exercises().items() if slug != LOST}
    assert LOST not in assemble(definition(), known).lessons
    assert [said for said in problems(definition(), known) if "has no folder" in said]


def test_folder_without_place_is_reported() -> None:
    known = {**exercises(), "099-new": msgspec.structs.replace(exercises()[LOST], slug="099-new")}
    assert any("099-new has no place" in said for said in problems(definition(), known))


def test_requirement_that_does_not_exist_is_a_gap() -> None:
    said = list(gaps(definition(), changed(LOST, requires=["098-not-there"])))
    assert any("requires 098-not-there" in one for one in said)


def test_circle_of_requirements_is_reported() -> None:
    known = changed(LOST, requires=[WATERMARK])
    known[WATERMARK] = msgspec.structs.replace(known[WATERMARK], requires=[LOST])
    assert any("in a circle" in said for said in problems(definition(), known))


def test_open_first_path_is_reported() -> None:
    known = changed(WATERMARK, requires=[LOST])
    assert any("on the first path before" in said for said in problems(definition(), known))


def test_term_that_no_lesson_up_to_it_explains_is_found() -> None:
    known = changed("008-a-records-way", terms=terms_without("008-a-records-way", "request"))
    said = list(problems(definition(), known))
    assert said == ["008-a-records-way: it uses 'request', which no lesson up to it explains; add it to its terms."]
    # A required lesson explains terms, even one that comes later in the course.
    transactions = exercises()["016-all-or-nothing"]
    assert "log end offset" not in transactions.terms and "022-leo-and-hw" in transactions.requires
    known = changed("015-sent-twice-stored-once", terms=terms_without("015-sent-twice-stored-once", "log end offset"))
    assert not [one for one in problems(definition(), known) if one.startswith("016")]
    known["016-all-or-nothing"] = msgspec.structs.replace(transactions, requires=[])
    said = [one for one in problems(definition(), known) if one.startswith("016")]
    assert said == [
        "016-all-or-nothing: it uses 'log end offset', which no lesson up to it explains; add it to its terms."
    ]


def terms_without(slug: str, term: str) -> list[str]:
    return [name for name in exercises()[slug].terms if name != term]


def test_command_that_no_text_up_to_the_lesson_shows_is_found() -> None:
    solution = exercises()[WATERMARK].solution
    known = changed(WATERMARK, solution=solution + "disk fill 1\n")
    assert [one for one in problems(definition(), known) if "disk fill" in one] == [
        f"{WATERMARK}: its solution needs 'disk fill', which no text up to it shows."
    ]


def test_gaps_name_topics_and_errata_without_a_lesson() -> None:
    bare = {slug: msgspec.structs.replace(one, topics=[], errata=[]) for slug, one in exercises().items()}
    topics, errata, *_ = gaps(definition(), bare)
    assert "T1, T2" in topics and topics.endswith("T31.")
    assert " 1, 2" in errata and errata.endswith("93.")
    full = {LOST: msgspec.structs.replace(exercises()[LOST], topics=_ALL_TOPICS, errata=list(range(1, 94)))}
    assert not any(said.startswith("No lesson has") for said in gaps(definition(), full))


_ALL_TOPICS = [f"T{number}" for number in range(1, 32)]


def test_command_fails_on_a_gap_only_where_the_course_should_be_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = {slug: msgspec.structs.replace(one, topics=[], errata=[]) for slug, one in exercises().items()}
    monkeypatch.setattr("lab.management.commands.check_course.exercises", lambda: bare)
    call_command("check_course")
    with pytest.raises(CommandError):
        call_command("check_course", complete=True)


def test_quote_that_is_not_in_its_note_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    against = exercises()[LOST].against
    assert against is not None
    known = {LOST: exercises()[LOST]}
    note = tmp_path / f"{against.source}_copy.txt"
    note.write_text(f"before {against.quote} after", encoding="utf-8")
    assert not list(misquoted(known, tmp_path))
    note.write_text(against.quote.replace(" ", "", 1)[:-1], encoding="utf-8")
    assert list(misquoted(known, tmp_path)) == [
        f"{LOST}: note {against.source} does not contain '{against.quote}' in these letters."
    ]
    monkeypatch.setattr("lab.management.commands.check_course.exercises", lambda: known)
    with pytest.raises(CommandError):
        call_command("check_course", notes=tmp_path)
    note.unlink()
    assert "has no file" in next(misquoted(known, tmp_path))


def test_tag_used_by_a_lesson_but_not_listed_is_found() -> None:
    tags = {**inventory(), "clean-loses-nothing": changed_tag("clean-loses-nothing", "030-all-replicas-down")}
    said = list(misplaced_tags({LOST: exercises()[LOST]}, tags))
    assert f"misconceptions.toml: clean-loses-nothing is offered by a choice of {LOST}; add it to its lessons." in said


def test_tag_listing_a_lesson_that_does_not_use_it_is_found() -> None:
    tags = {"epoch-to-all": changed_tag("epoch-to-all", LOST), "two-on-one": changed_tag("two-on-one", "098-not-there")}
    said = list(misplaced_tags({LOST: exercises()[LOST]}, tags))
    assert (
        f"misconceptions.toml: epoch-to-all names {LOST}, and no choice of the lesson or its review has this tag."
        in said
    )
    assert any("two-on-one names 098-not-there, which has no folder" in one for one in said)


def changed_tag(tag: str, *lessons: str) -> Misconception:
    return msgspec.structs.replace(inventory()[tag], lessons=lessons)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of lessons that are not part of the course; it is read at each call."""
    monkeypatch.setenv(OUTSIDE, str(tmp_path))
    for read in (exercises, outside):
        read.cache_clear()
    yield tmp_path
    for read in (exercises, outside):
        read.cache_clear()


def test_new_lesson_compiles_and_follows_the_course(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler, "SEEDS", compiler.SEEDS[:1])
    call_command("lesson", "new", "101-my-own")
    assert str(folder / "101-my-own") in capsys.readouterr().out
    assert list(compiler.problems(load(folder / "101-my-own"), glossary())) == []
    for read in (exercises, outside):
        read.cache_clear()
    whole = course()
    lesson = whole.lesson("101-my-own")
    assert (lesson.number, whole.chapters[-1].lessons) == ("8.1", [lesson])
    assert whole.challenge_chapter.number == 7
    call_command("check_course", "--complete")
    with pytest.raises(CommandError, match="already"):
        call_command("lesson", "new", "101-my-own")
    with pytest.raises(CommandError, match="three digits"):
        call_command("lesson", "new", "my-own")


def begun_lesson(folder: Path) -> Path:
    """The folder of a new lesson, which is not read yet."""
    call_command("lesson", "new", "101-my-own")
    for read in (exercises, outside):
        read.cache_clear()
    return folder / "101-my-own"


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("exercise.toml", b"\xff\xfe\x00", "101-my-own/exercise.toml: byte 0 is not UTF-8"),
        ("hints.zh.md", "提示".encode("gb18030"), "101-my-own/hints.zh.md: byte 0 is not UTF-8"),
        ("setup.lab", None, "101-my-own/setup.lab: Is a directory"),
    ],
)
def test_file_that_is_not_a_text_is_named(folder: Path, file: str, content: bytes | None, says: str) -> None:
    place = begun_lesson(folder) / file
    place.unlink()
    if content is None:
        place.mkdir()
    else:
        place.write_bytes(content)
    assert says in outside().faults["101-my-own"]


@pytest.mark.parametrize(
    ("line", "instead", "says"),
    [
        ("[title]", "[run]\nseed = -5\n[title]", "seed is -5: expected 0"),
        ("[title]", "[run]\nseed = 4294967296\n[title]", "seed is 4294967296: expected 0"),
        ("rate = 1.0", "rate = 0.0", "rate is 0: expected 0.001 to 100"),
        ("rate = 1.0", "rate = nan", "rate is nan: expected 0.001 to 100"),
    ],
)
def test_run_that_no_lab_can_start_is_reported(folder: Path, line: str, instead: str, says: str) -> None:
    place = begun_lesson(folder) / "exercise.toml"
    place.write_text(place.read_text(encoding="utf-8").replace(line, instead, 1), encoding="utf-8")
    assert says in outside().faults["101-my-own"]


def test_unreadable_external_lesson_is_left_out_and_reported(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in (LOST, "101-empty", "no-number"):
        (folder / name).mkdir()
    assert exercises().keys() == {path.name for path in CONTENT.iterdir() if path.is_dir()}
    assert sorted(outside().faults) == [LOST, "101-empty", "no-number"]
    assert "exercise.toml is missing" in caplog.text
    with pytest.raises(CommandError):
        call_command("check_exercises", "--only", "no lesson has this name")
    with pytest.raises(CommandError, match="3 problems"):
        call_command("check_course")
