"""Review questions: every generator is sound, and what is wrong with one is found."""

from random import Random

import pytest
from django.core.management import CommandError, call_command

from broker_core.texts import text
from lab.learning.misconceptions import INVENTORY, inventory
from lab.reviews.checks import problems
from lab.reviews.question import Choice, Question, around, drawn, fixed, value
from lab.reviews.registry import Generator, generators, question_of

FEW = 3
"""`make check` draws 12 of each, and `manage.py check_reviews` 200."""


def test_all_forty_lessons_have_a_generator_and_chapters_one_to_six_are_there() -> None:
    assert len(generators()) == 40
    assert {one.chapter for one in generators().values()} == set(range(1, 7))


@pytest.mark.parametrize("slug", generators())
def test_sample_questions_of_each_generator_are_valid(slug) -> None:
    assert list(problems(generators()[slug], FEW)) == []


def test_command_reports_valid_generators_and_refuses_unknown_ones(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("check_reviews", "012-linger", "017-segments", questions=FEW)
    assert capsys.readouterr().out == "ok 012-linger-and-batch\nok 017-segments-roll\n2 passed, 0 failed\n"
    with pytest.raises(CommandError, match="No generator's slug contains nothing-of-this"):
        call_command("check_reviews", "nothing-of-this")


def test_same_seed_gives_the_same_question_and_others_give_others() -> None:
    assert question_of("017-segments-roll", 7) == question_of("017-segments-roll", 7)
    assert len({question_of("017-segments-roll", seed).right for seed in range(8)}) > 2


@pytest.mark.parametrize("seed", range(4))
def test_answer_follows_from_the_figures_of_a_question(seed) -> None:
    # What a learner can work out from the figures that are shown is what the core has done.
    rolled = question_of("017-segments-roll", seed)
    shown, base = rolled.ask.values, int(rolled.right.removesuffix(".log"))
    assert base * int(str(shown["batch"])) <= int(str(shown["segment"])) < (base + 1) * int(str(shown["batch"]))
    batch = question_of("018-a-batch-byte-by-byte", seed)
    count, alone = (int(str(batch.ask.values[name])) for name in ("n", "alone"))
    assert int(batch.right) == 61 + count * (alone - 61)
    replicas = question_of("014-which-partition", seed)
    hashed = int(replicas.given[0].rpartition(" ")[2])
    assert int(replicas.right) == hashed % int(str(replicas.ask.values["after"]))
    linger = question_of("012-linger-and-batch", seed)
    assert linger.given == ("batch header 61 B", "record 18 B")


def numbers(rng: Random) -> Question:
    right = rng.randint(0, 9)
    choices, id = drawn(rng, right, [(right + 1, "key-sticks")], around(right))
    return Question(
        ask=text("review.value", value="?"), choices=choices, right=id, reason=text("review.value", value=1)
    )


def faults(generate, slug: str = "014-which-partition") -> list[str]:
    return list(problems(Generator(slug, 2, generate), 40))


def test_valid_generator_has_no_fault() -> None:
    assert faults(numbers) == []


def test_right_answer_that_is_always_at_one_place_is_found() -> None:
    def first(rng: Random) -> Question:
        question = numbers(rng)
        laid = sorted(question.choices, key=lambda choice: choice.id != question.right)
        return Question(ask=question.ask, choices=tuple(laid), right=question.right, reason=question.reason)

    found = faults(first)
    assert "the right choice is never at place 2" in found
    assert any("at place 1 in 40 of 40" in one for one in found)


def test_fixed_choice_that_is_never_right_is_found() -> None:
    def never_refused(rng: Random) -> Question:
        rows = [(id, value(id), "key-sticks") for id in ("told", "waits", "refused")]
        choices, id = fixed(rng.choice(("told", "waits")), rows)
        return Question(
            ask=text("review.value", value="?"), choices=choices, right=id, reason=text("review.value", value=1)
        )

    assert "choice 'refused' is never right" in faults(never_refused)


def test_generator_with_its_own_randomness_is_found() -> None:
    elsewhere = Random(1)
    assert "the same seed gives two different questions" in faults(lambda rng: numbers(elsewhere))


def test_missing_text_and_equal_choices_are_found() -> None:
    def untold(rng: Random) -> Question:
        choices = (Choice("a", text("review.no_such")), Choice("b", value(1), "key-sticks"))
        return Question(ask=value(1), choices=choices, right="a", reason=value(1))

    def equal(rng: Random) -> Question:
        choices = (Choice("a", value(1)), Choice("b", value(1), "key-sticks"))
        return Question(ask=value(1), choices=choices, right="a", reason=value(1))

    assert any("review.no_such" in one for one in faults(untold))
    assert any("two choices read the same" in one for one in faults(equal))


def test_misconception_of_another_lesson_is_found() -> None:
    assert any("add 011-acks to its lessons" in one for one in faults(numbers, "011-acks"))


@pytest.mark.parametrize(
    ("choices", "right", "says"),
    [
        ((Choice("a", value(1)),), "a", "2 to 5 choices"),
        ((Choice("a", value(1)), Choice("a", value(2))), "a", "different ids"),
        ((Choice("a", value(1)), Choice("b", value(2))), "c", "none of the choices"),
        ((Choice("a", value(1)), Choice("b", value(2), "no-such-tag")), "a", "inventory"),
        ((Choice("a", value(1), "key-sticks"), Choice("b", value(2))), "a", "right choice"),
    ],
)
def test_question_that_cannot_be_asked_is_refused(choices, right, says) -> None:
    with pytest.raises(ValueError, match=says):
        Question(ask=value("?"), choices=choices, right=right, reason=value("!"))


def test_misconceptions_are_sorted_and_each_is_offered_by_a_lesson_of_the_course() -> None:
    tags = list(inventory())
    assert tags == sorted(tags)
    assert {slug for one in inventory().values() for slug in one.lessons} <= set(generators())
    assert INVENTORY.read_text(encoding="utf-8").count("\n[") == len(tags)
