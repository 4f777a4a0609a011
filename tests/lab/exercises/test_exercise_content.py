"""What the content of an exercise must be, and what is found in one that is not so."""

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from django.core.management import CommandError, call_command

from broker_core.texts import render
from broker_core.view.fold import empty_view
from lab.exercises import compiler, loader
from lab.exercises.bilingual import Bilingual
from lab.exercises.copied import in_a_copy
from lab.exercises.frames import listed
from lab.exercises.glossary import glossary, parse
from lab.exercises.happenings import NAMES_OF_KINDS, EventHappens
from lab.exercises.lesson import Exercise, Step
from lab.exercises.loader import ContentError, exercises, load
from lab.exercises.moment import Moment
from lab.exercises.progress import Progress
from lab.exercises.quantities import quantity_text
from lab.exercises.questions import asked_by, choice_texts
from lab.exercises.setup import needs_new_run, run_setup
from lab.exercises.solution import Rehearsal, lesson_run
from lab.management import verdicts
from lab.management.commands import check_exercises
from lab.runtime.headless.rehearsal import rehearsal_run
from tests.support.learner import SLUG


def test_valid_exercise_passes_the_check_and_a_broken_one_fails_it(monkeypatch, copy, capsys) -> None:
    # `make check` solves all exercises with all seeds.
    call_command("check_exercises", only=SLUG)
    assert f"ok {SLUG}\n1 passed, 0 failed" in capsys.readouterr().out
    damage(copy, "solution.lab", "producer send p1 orders-0 greeting:hello\n", "")
    monkeypatch.setattr(check_exercises, "exercises", lambda: {SLUG: load(copy)})
    monkeypatch.setattr(verdicts, "ProcessPoolExecutor", ThreadPoolExecutor)
    with pytest.raises(CommandError, match="At least one exercise failed"):
        call_command("check_exercises")
    assert f"FAIL {SLUG}\n  {SLUG}/solution.lab: [produce] is not done at its end" in capsys.readouterr().out


def test_lesson_whose_topics_are_in_the_way_of_its_set_up_needs_a_new_run_for_each_attempt() -> None:
    again = [slug for slug, one in exercises().items() if not listed(one)["is_once"]]
    # The era of 006 and 023 deletes no topics; in 009 and 010 the learner creates them.
    assert not {"006-the-lost-record", "023-in-sync-by-time-or-by-count"} & set(again)
    assert not {"009-ask-with-kafkas-own-commands", "010-where-replicas-land", "011-acks"} & set(again)
    for slug in again:
        run = lesson_run(exercises()[slug], 1)
        run_setup(run, exercises()[slug].setup)
        run_setup(run, exercises()[slug].setup)


def test_statement_that_a_lesson_tests_can_be_read_in_english() -> None:
    tested = {slug: exercise.against for slug, exercise in exercises().items() if exercise.against}
    assert tested and not [slug for slug, against in tested.items() if not against.english]


def test_prediction_of_a_broker_offers_broker_names() -> None:
    rehearsal = Rehearsal(exercises()["007-who-may-lead"], rehearsal_run(1))
    rehearsal.play()
    english = {step["id"]: step for step in rehearsal.session.frame("en")["steps"]}
    chinese = {step["id"]: step for step in rehearsal.session.frame("zh-CN")["steps"]}
    assert list(english["predict-none"]["said"].values()) == ["broker 3", "broker 1", "none"]
    assert english["predict-none"]["checked"]["detail"] == "leader of votes-0: none"
    assert list(chinese["predict-next"]["said"].values()) == ["broker 2", "broker 3", "没有"]
    assert english["written"]["said"] == {}


def test_choices_without_a_value_yet_are_written_in_words() -> None:
    lesson = exercises()["024-stuck-slow-or-gone"]
    progress = Progress()
    english, chinese = (set(choice_texts(lesson.step("predict"), progress, one).values()) for one in ("en", "zh-CN"))
    assert english == {"within 16 s", "at once", "after 30 to 45 s", "never"}
    assert chinese == {"16 秒之内", "立刻", "30 到 45 秒后", "一直不会"}


def test_events_that_goals_count_are_named_in_words() -> None:
    goals = [goal for one in exercises().values() for step in one.steps for goal in step.goals]
    counted = {what.kind for goal in goals for what in goal.happenings if isinstance(what, EventHappens)}
    assert "IsrShrunk" in counted
    assert counted <= set(NAMES_OF_KINDS)


def test_figures_of_a_measurement_are_named_in_words() -> None:
    asked = [quantity for one in exercises().values() for step in one.steps for quantity in [str(asked_by(step))]]
    measured = [one for one in asked if one.startswith("measured(")]
    moment = Moment(empty_view(), 0, True)
    named = {render(quantity_text(moment, one), "en") for one in measured}
    assert named == {"bytes copied with sendfile", "system calls with read and send"}


@pytest.fixture
def copy(tmp_path) -> Path:
    """The exercise in a folder where it can be damaged."""
    return Path(shutil.copytree(loader.CONTENT / SLUG, tmp_path / SLUG))


def damage(folder: Path, name: str, old: str, new: str) -> None:
    text = (folder / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("exercise.toml", 'is = "paused"', 'is = "sleeping"', "sleeping"),
        ("exercise.toml", "equals = 1", "equal = 1", "equal"),
        ("exercise.toml", 'replica = "orders-0@followers"', 'replica = "orders-0"', "is not a replica"),
        ("exercise.toml", "minutes = 10", "minutes = 'ten'", "int"),
        ("exercise.toml", "minutes = 10", "minutes = 10\nhours = 1", r"exercise\.toml:\d+: .*unknown field `hours`"),
        ("exercise.toml", "equals = 1", "equals = [1]", "equals"),
        (
            "exercise.toml",
            "minutes = 10",
            "minutes = 10\nrecording = '../011-acks/recording.hwclass'",
            "beside this one",
        ),
        ("exercise.toml", "minutes = 10", "minutes = 10\nrecording = 'walk.hwclass'", r"walk\.hwclass is missing"),
        ("exercise.toml", "minutes = 10", "minutes =", "not TOML"),
        ("exercise.toml", 'zh = "高水位为什么总是晚一次拉取"', 'zh = " "', "both languages"),
        ("exercise.toml", 'id = "leader-moves"', 'id = "produce"', "different ids"),
        ("exercise.toml", 'offset = "high_watermark(orders-0@leader)"', "below = 3", "needs says"),
        ("hints.zh.md", "---\n", "", "hints"),
        ("hints.zh.md", "[followers-learn]", "[produce]", "helps with"),
        ("hints.en.md", "[followers-learn]", "[later]", "are not steps"),
    ],
)
def test_content_is_parsed_strictly(copy, name, old, new, says) -> None:
    damage(copy, name, old, new)
    with pytest.raises(ContentError, match=says) as error:
        load(copy)
    assert SLUG in str(error.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("minutes = 10", "hours = 1"),
        ('kind = "', 'kinds = "'),
        ("equals = 1", "equal = 1"),
        ("offset = ", "offsets = "),
    ],
)
def test_error_names_the_line(copy, old: str, new: str) -> None:
    damage(copy, "exercise.toml", old, f"{old}, {new}" if "goals" in old else new)
    text = (copy / "exercise.toml").read_text(encoding="utf-8")
    line = text[: text.index(new)].count("\n") + 1
    with pytest.raises(ContentError, match=rf"exercise\.toml:{line}: "):
        load(copy)


def test_text_missing_in_one_language_is_reported(copy) -> None:
    (copy / "debrief.zh.md").unlink()
    with pytest.raises(ContentError, match=r"debrief\.zh\.md is missing"):
        load(copy)
    (copy / "debrief.zh.md").write_text("\n")
    with pytest.raises(ContentError, match="both languages"):
        load(copy)


def test_unexpected_file_is_reported(copy) -> None:
    (copy / "notes.txt").write_text("x")
    with pytest.raises(ContentError, match=r"notes\.txt belongs to no lesson"):
        load(copy)


def faults(folder: Path) -> list[str]:
    return list(compiler.problems(load(folder), glossary()))


def test_exercise_that_starts_solved_is_found(copy) -> None:
    damage(
        copy,
        "exercise.toml",
        '    { is = "uncommitted", partition = "orders-0", equals = 1 },\n    { is = "parked"',
        '    { is = "parked"',
    )
    damage(copy, "exercise.toml", '    { is = "parked", api = "Produce", partition = "orders-0" },\n', "")
    assert any("'produce' is done before anything was done" in fault for fault in faults(copy))


def test_setup_whose_wait_times_out_is_found(copy) -> None:
    damage(copy, "setup.lab", "kafka-topics.sh --create", 'wait "leader orders-0 == 7" 1s\nkafka-topics.sh --create')
    assert any("times out: the learner waits in vain" in fault for fault in faults(copy))


def test_solution_that_does_not_solve_is_found(copy) -> None:
    damage(copy, "solution.lab", "producer send p1 orders-0 greeting:hello\n", "")
    assert any("[produce] is not done at its end" in fault for fault in faults(copy))


def test_wrong_states_are_tried_at_the_start_of_their_steps(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(compiler, "SEEDS", compiler.SEEDS[:1])
    slug = "022-leo-and-hw"
    folder = Path(shutil.copytree(loader.CONTENT / slug, tmp_path / slug))
    damage(folder, "wrong.lab", "producer send p2 orders-0 d:4\n", "")
    damage(folder, "wrong.lab", "play 45s", "no-such-command")
    first, second = faults(folder)
    assert f"{slug}/wrong.lab: [ahead/waits] does not lead to its wrong state: the step is active" in first
    assert "'no-such-command'" in second


def test_other_way_that_does_not_complete_its_step_is_found(copy, monkeypatch) -> None:
    monkeypatch.setattr(compiler, "SEEDS", compiler.SEEDS[:1])
    solution = (copy / "solution.lab").read_text(encoding="utf-8")
    way = solution[solution.index("[produce]") :].partition("\n[")[0].replace("[produce]", "[produce/again]")
    (copy / "solution.lab").write_text(f"{solution}\n{way}\n", encoding="utf-8")
    assert faults(copy) == []
    (copy / "solution.lab").write_text(f"{solution}\n[produce/nothing]\npause\n", encoding="utf-8")
    [fault] = faults(copy)
    assert f"{SLUG}/solution.lab: [produce/nothing] does not complete the step" in fault
    (copy / "solution.lab").write_text(f"{solution}\n[consume/way]\npause\n", encoding="utf-8")
    assert any("[consume/way] names no step" in fault for fault in faults(copy))


def test_trial_in_a_copy_changes_nothing_and_reports_its_failure() -> None:
    found: list[str] = []

    def fails() -> str:
        found.append("there")
        raise LookupError("in the copy")

    assert in_a_copy(lambda: str(found.append("there")) + "\u4ee3") == "None\u4ee3"
    with pytest.raises(RuntimeError, match="LookupError: in the copy"):
        in_a_copy(fails)
    assert found == []


def test_solution_that_solves_two_steps_at_once_is_found(copy) -> None:
    damage(copy, "solution.lab", "[leader-moves]\nstep rpc until done", "[leader-moves]\nplay\nplay\nplay")
    damage(
        copy,
        "exercise.toml",
        '    { is = "high_watermark", replica = "orders-0@followers", below = "log_end_offset(orders-0@leader)" },\n',
        "",
    )
    damage(copy, "solution.lab", "step rpc\n", "step rpc until done\n" + "step rpc\n" * 20)
    assert any("as well" in fault for fault in faults(copy))


def test_lesson_without_a_chain_is_found(copy) -> None:
    text = (copy / "exercise.toml").read_text(encoding="utf-8")
    start = text.index("[chain]")
    (copy / "exercise.toml").write_text(text[:start] + text[text.index("[", start + 7) :], encoding="utf-8")
    assert any("it has no [chain]" in fault for fault in faults(copy))


def test_chain_that_reaches_no_command_of_the_solution_is_found(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(compiler, "SEEDS", compiler.SEEDS[:1])
    slug = "023-in-sync-by-time-or-by-count"
    folder = Path(shutil.copytree(loader.CONTENT / slug, tmp_path / slug))
    damage(folder, "exercise.toml", 'via = { is = "event"', '# via = { is = "event"')
    assert any("does not reach a command of the solution: IsrShrunk" in fault for fault in faults(folder))


def test_term_without_a_row_in_the_glossary_is_found(copy) -> None:
    damage(copy, "exercise.toml", '"purgatory"', '"waiting room"')
    assert any("'waiting room' is not in docs/GLOSSARY.md" in fault for fault in faults(copy))


def found(exercise: Exercise, says: str) -> bool:
    """Whether the check reports it; it ends there."""
    return any(says in fault for fault in compiler.problems(exercise, glossary()))


def with_choices(exercise: Exercise, **more: object) -> Exercise:
    """The lesson with other fields in all choices of its first prediction."""
    at = next(place for place, step in enumerate(exercise.steps) if step.prediction)
    asked = exercise.steps[at].prediction
    assert asked is not None
    choices = [msgspec.structs.replace(choice, **more) for choice in asked.choices]
    steps = list(exercise.steps)
    steps[at] = msgspec.structs.replace(steps[at], prediction=msgspec.structs.replace(asked, choices=choices))
    return msgspec.structs.replace(exercise, steps=steps)


def test_question_without_an_expected_choice_a_reason_or_a_tag_is_found() -> None:
    lesson = exercises()[SLUG]
    assert found(with_choices(lesson, expected=False), "is expected")
    assert found(with_choices(lesson, reason=None), "has no reason")
    assert found(with_choices(lesson, tag=""), "expected a tag")


def test_choices_that_mean_the_same_number_are_found(monkeypatch) -> None:
    monkeypatch.setattr(compiler, "SEEDS", compiler.SEEDS[:1])
    lesson = exercises()[SLUG]
    asked = lesson.step("predict").prediction
    assert asked is not None
    assert found(with_choices(lesson, offset=asked.choices[0].offset), "mean the same")


def test_prediction_with_another_outcome_is_found(copy, monkeypatch) -> None:
    monkeypatch.setattr(compiler, "SEEDS", compiler.SEEDS[:1])
    text = (copy / "exercise.toml").read_text(encoding="utf-8")
    right = next(line for line in text.splitlines() if "expected = true" in line)
    wrong = next(line for line in text.splitlines() if "tag = " in line and "value = " in line)
    tag = re.search(r'tag = "[^"]+", ', wrong)
    assert tag
    swapped = {
        right: right.replace("expected = true", tag[0].strip(", ")),
        wrong: wrong.replace(tag[0], "expected = true, "),
    }
    for line, other in swapped.items():
        text = text.replace(line, other)
    (copy / "exercise.toml").write_text(text, encoding="utf-8")
    assert any("is marked as expected" in fault for fault in faults(copy))


def test_answer_that_no_seed_changes_is_found(monkeypatch) -> None:
    monkeypatch.setattr(compiler, "SEEDS", compiler.SEEDS[:2])
    lesson = exercises()["016-all-or-nothing"]
    steps = [
        step if step.answer is None else msgspec.structs.replace(step, answer=changed_answer(step))
        for step in lesson.steps
    ]
    assert found(msgspec.structs.replace(lesson, steps=steps), "is the same for each seed; mark it as constant")


def changed_answer(step: Step) -> object:
    return msgspec.structs.replace(step.answer, constant=False) if step.answer else None


def test_hints_without_a_step_or_with_the_outcome_are_found() -> None:
    lesson = exercises()[SLUG]
    vague = [*lesson.hints[:-1], Bilingual("look closely", "仔细看")]
    assert found(msgspec.structs.replace(lesson, hints=vague), "names neither a line nor a place")
    other = exercises()["038-nobody-committed"]
    everywhere: list[list[str]] = [[] for _ in other.hints]
    assert found(
        msgspec.structs.replace(other, hint_steps=everywhere), "gives away the outcome of 'predict-latest': 61"
    )


def test_minutes_that_do_not_fit_the_texts_are_found() -> None:
    lesson = exercises()[SLUG]
    assert found(msgspec.structs.replace(lesson, minutes=40), "expected 4 to 10")
    few = msgspec.structs.replace(lesson, minutes=10, steps=lesson.steps[:1], brief=Bilingual("Look.", "看。"))
    assert found(few, "its texts and steps suggest")


def test_line_that_the_console_does_not_accept_is_found() -> None:
    lesson = exercises()[SLUG]
    line = "```\nkafka-topic.sh --list\n```"
    steps = [msgspec.structs.replace(lesson.steps[0], text=Bilingual(line, line)), *lesson.steps[1:]]
    assert found(msgspec.structs.replace(lesson, steps=steps), "the line 'kafka-topic.sh --list' is not accepted")


def test_table_that_the_page_would_not_show_is_found(copy) -> None:
    assert [one for one in compiler._texts(load(copy), glossary()) if "table" in one] == []
    (copy / "debrief.zh.md").write_text("结果：\n\n| a | b |\n|---|---|\n", encoding="utf-8")
    assert [one for one in compiler._texts(load(copy), glossary()) if "a table" in one]


@pytest.mark.parametrize(
    ("said", "is_found"),
    [
        ("Play (`Space`) and 播放（`空格`）, open the console (`` ` ``).", False),
        ("Press `Enter`.", True),
        ("`]` makes time faster.", True),
        ("Click with Shift.", True),
    ],
)
def test_key_that_a_phone_does_not_have_is_found(said: str, is_found: bool) -> None:
    lesson = exercises()[SLUG]
    hints = [Bilingual(said, said), *lesson.hints[1:]]
    faults = list(compiler._texts(msgspec.structs.replace(lesson, hints=hints), glossary()))
    assert any("a phone has none" in fault for fault in faults) is is_found


def test_sections_must_name_the_steps_in_order(copy) -> None:
    damage(copy, "solution.lab", "[produce]", "[begin]")
    with pytest.raises(ContentError, match="begin"):
        Rehearsal(load(copy), rehearsal_run(1)).play()


def test_incomplete_glossary_row_is_found() -> None:
    with pytest.raises(ValueError, match="without"):
        parse("| English | 中文 | meaning | 含义 |\n|---|---|---|---|\n| lag | 滞后量 | behind | |")


@pytest.mark.parametrize(
    ("setup", "is_needed"),
    [
        (["kafka-consumer-groups.sh --delete --group old"], False),
        (["kafka-topics.sh --delete"], False),
        (["kafka-topics.sh --create --topic=orders"], True),
        (["kafka-topics.sh --delete --topic orders", "kafka-topics.sh --create --topic=orders"], False),
    ],
)
def test_a_lesson_whose_topics_are_left_over_needs_a_new_run(setup: list[str], is_needed: bool) -> None:
    exercise = msgspec.structs.replace(exercises()["011-acks"], setup=setup)
    assert needs_new_run(exercise) is is_needed
