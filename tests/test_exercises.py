"""Exercises: what content must be, and how a learner's way through one is checked."""

import json
import shutil
from pathlib import Path

import pytest
from django.core.management import call_command

from lab.exercises import compiler, loader
from lab.exercises.glossary import glossary, parse
from lab.exercises.loader import ContentError, exercises, load, page_content
from lab.exercises.log_predicates import Believes, Dumped, Flushed, HighWatermark, Stored
from lab.exercises.message_predicates import Acknowledged, HasRead, Parked, RpcInFlight
from lab.exercises.places import Nowhere, check_offset, offset_of
from lab.exercises.predicate import Moment, Predicate
from lab.exercises.predicates import BrokerIs, Isr, Leader, Paused, ask_all
from lab.exercises.session import ExerciseSession
from lab.exercises.setup import run_setup
from lab.exercises.solution import Rehearsal
from lab.protocol import Exercise as Frame
from lab.refusal import Refusal
from lab.runtime.rehearsal import rehearsal_run

SLUG = "001-high-watermark-two-fetches"
OFFSET = "002-finding-an-offset"
POWER = "003-what-a-power-loss-takes"


class Learner:
    """Somebody at a lab of their own, with time in their hands."""

    def __init__(self, *before: str, seed: int = 1) -> None:
        self.exercise = exercises()[SLUG]
        self.run = rehearsal_run(seed)
        run_setup(self.run, [*before, *self.exercise.setup])
        self.run.take()
        self.paused = True
        self.session = ExerciseSession(self.exercise, self.moment)

    @property
    def moment(self) -> Moment:
        return Moment(self.run.view, self.run.now_us, self.paused)

    def look(self) -> bool:
        return self.session.on_events(self.moment, [made[0] for made in self.run.take()])

    def send(self) -> None:
        self.run.submit("producer open p1 --acks all")
        self.run.submit("producer send p1 orders-0 k:v")

    def step(self) -> None:
        self.run.step_rpc()
        self.look()

    def step_until(self, step: str, state: str = "done") -> None:
        for _ in range(100):
            if self.states[step] == state:
                return
            self.step()
        raise AssertionError(f"{step} is {self.states[step]}: {self.why_not()}")

    def handle(self, op: str, **more: object) -> None:
        self.session.handle(Frame(id="u1", op=op, **more), self.moment)

    def predict(self, choice: str) -> None:
        self.handle("predict", step="predict", choice=choice, confidence=0.7)

    @property
    def states(self) -> dict[str, str]:
        return {step["id"]: step["state"] for step in self.session.frame("en")["steps"]}

    def of(self, step: str, language: str = "en") -> dict:
        return next(one for one in self.session.frame(language)["steps"] if one["id"] == step)

    def why_not(self, language: str = "en") -> str:
        return next(one["why_not"] for one in self.session.frame(language)["steps"] if one["state"] == "active")


@pytest.fixture
def asked() -> Learner:
    """The prediction is asked."""
    learner = Learner()
    learner.send()
    learner.step_until("predict", "active")
    return learner


# A learner's way


def test_the_first_step_waits_for_the_leader_to_hold_a_record_that_is_not_committed():
    learner = Learner()
    assert learner.states["produce"] == "active"
    leader = learner.run.view["partitions"]["orders-0"]["leader"]
    assert learner.why_not() == f"The leader, broker {leader}, has 0 offsets of orders-0 above its HW; 1 wanted."
    assert "高水位之上有 0 个位移" in learner.why_not("zh")
    learner.send()
    learner.step_until("produce")
    assert "waits at" in learner.of("produce")["checked"]["detail"]


def test_while_time_runs_nothing_is_checked_that_asks_for_a_pause():
    learner = Learner()
    learner.send()
    learner.paused = False
    learner.step()
    assert learner.why_not() == "Time is running: pause it."


def test_outcomes_are_hidden_from_the_question_to_the_answer(asked):
    assert asked.session.masked
    assert asked.of("predict")["offsets"] == {"HW": 0, "HW + 1": 1, "HW + 2": 2}
    asked.predict("HW + 1")
    assert not asked.session.masked
    assert asked.of("predict")["prediction"] == {"choice": "HW + 1", "confidence": 0.7, "outcome": None}
    assert asked.why_not() == "What you predicted has not happened yet: step on."


def test_the_outcome_of_a_prediction_is_what_happened(asked):
    asked.predict("HW + 1")
    asked.step()
    assert asked.of("predict")["prediction"]["outcome"] == "HW"
    assert asked.of("predict")["checked"]["at_us"] == asked.run.now_us
    assert asked.states["leader-moves"] == "active"


def test_the_outcome_is_that_of_the_first_fetch_even_when_much_more_has_happened_since(asked):
    asked.predict("HW")
    arrives_us = min(rpc["due_us"] for rpc in asked.run.view["rpcs"].values() if rpc["api"] == "Fetch")
    asked.run.advance(asked.run.now_us + 1_000_000)
    asked.look()
    assert asked.of("predict")["prediction"]["outcome"] == "HW"
    assert asked.of("predict")["checked"]["at_us"] == arrives_us


def test_who_lets_the_moment_pass_without_an_answer_brings_it_about_again(asked):
    asked.step()
    assert list(asked.states.values()) == ["done", "active", "open", "open", "open"]
    assert not asked.session.masked
    assert asked.why_not()
    asked.run.advance(asked.run.now_us + 1_000_000)
    asked.run.submit("producer send p1 orders-0 k:v")
    asked.step_until("predict", "active")
    assert asked.of("predict")["offsets"] == {"HW": 1, "HW + 1": 2, "HW + 2": 3}


def test_the_leaders_high_watermark_moves_before_the_followers_do(asked):
    asked.predict("HW")
    asked.step_until("leader-moves")
    moved_us = asked.of("leader-moves")["checked"]["at_us"]
    asked.paused = False
    while not asked.session.finished:
        asked.step()
    assert asked.of("followers-learn")["checked"]["at_us"] - moved_us >= 400_000


def test_it_works_on_a_partition_that_holds_records_already():
    learner = Learner(
        "kafka-topics.sh --create --topic orders --partitions 2 --replication-factor 3",
        "producer open early",
        "producer send early orders-0 a:1 b:2 c:3",
    )
    learner.run.advance(learner.run.now_us + 2_000_000)
    learner.look()
    learner.send()
    learner.step_until("predict", "active")
    assert learner.of("predict")["offsets"] == {"HW": 3, "HW + 1": 4, "HW + 2": 5}


def test_a_session_goes_on_from_what_was_stored(asked):
    asked.predict("HW")
    stored = json.loads(json.dumps(asked.session.state))
    asked.session = ExerciseSession(asked.exercise, asked.moment, stored)
    asked.step()
    assert asked.of("predict")["prediction"]["outcome"] == "HW"


def test_what_another_version_has_stored_begins_anew(asked):
    asked.session = ExerciseSession(
        asked.exercise, asked.moment, {"steps": {"gone": {"phase": "active"}}, "hints_shown": 1}
    )
    assert asked.states["produce"] != "open"
    assert asked.session.frame("en")["hints_shown"] == 0


def test_the_frame_is_said_to_change_only_when_it_does():
    learner = Learner()
    assert not learner.look()
    learner.send()
    changes = [learner.run.step_rpc() and learner.look() for _ in range(30)]
    assert True in changes and False in changes


def test_hints_come_one_by_one_and_end(asked):
    for shown in range(1, len(asked.exercise.hints) + 1):
        asked.handle("hint")
        assert asked.session.frame("en")["hints_shown"] == shown
    with pytest.raises(Refusal, match="no other hint"):
        asked.handle("hint")


def test_a_reset_forgets_everything(asked):
    asked.predict("HW")
    asked.step_until("leader-moves")
    asked.handle("hint")
    asked.run.advance(asked.run.now_us + 2_000_000)
    asked.look()
    asked.handle("reset")
    assert asked.states["produce"] == "active"
    assert asked.of("predict")["prediction"] is None
    assert asked.session.frame("en")["hints_shown"] == 0


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"step": "predict", "choice": "42"}, "'42' is no choice"),
        ({"step": "produce", "choice": "HW"}, "No prediction is asked"),
        ({"step": "predict", "choice": "HW", "confidence": 7.0}, "7.0 is no confidence"),
    ],
)
def test_a_prediction_that_is_none_is_refused(asked, more, what):
    with pytest.raises(Refusal) as refused:
        asked.handle("predict", **more)
    assert what in refused.value.what
    assert asked.of("predict")["prediction"] is None


def test_a_prediction_cannot_be_taken_back(asked):
    asked.predict("HW")
    with pytest.raises(Refusal, match="locked in"):
        asked.predict("HW + 1")


def test_a_set_up_that_fails_says_why():
    run = rehearsal_run(1, brokers=(1, 2))
    with pytest.raises(Refusal) as refused:
        run_setup(run, exercises()[SLUG].setup)
    assert "replication factor" in refused.value.what.lower()


# Predicates


def test_predicates_say_what_is_there_and_what_is_not():
    learner = Learner()
    moment = learner.moment
    leader = f"b{learner.run.view['partitions']['orders-0']['leader']}"
    assert HighWatermark(replica="orders-0@leader", equals=0).answer(moment).met
    assert HighWatermark(replica="orders-0@leader", at_least=1).answer(moment).says.en == (
        f"The high watermark of broker {leader[1:]} is 0; at least 1 is wanted."
    )
    assert Isr(partition="orders-0", size=2).answer(moment).says.zh.endswith("应有 2 个同步副本。")
    assert Believes(partition="orders-0", follower="orders-0@followers", at_least=5).answer(moment).met is False
    assert Parked(api="Fetch", partition="orders-0").answer(moment).met
    assert "No Produce for orders-0 waits" in Parked(api="Produce", partition="orders-0").answer(moment).says.en
    assert not RpcInFlight(api="Produce", kind="request", source="p1", destination="orders-0@leader").answer(moment).met
    assert not Paused().answer(moment._replace(paused=False)).met


def test_what_does_not_exist_is_a_sentence_and_no_error():
    run = rehearsal_run(1)
    answer = HighWatermark(replica="nothing-0@leader", equals=0).answer(Moment(run.view, 0, True))
    assert (answer.met, answer.says.en) == (False, "There is no partition nothing-0.")
    assert ask_all([], Moment(run.view, 0, True)).met


def test_where_a_scan_begins_is_read_from_the_index_that_was_dumped():
    run = rehearsal_run(1)
    run_setup(run, exercises()[OFFSET].setup)

    def moment() -> Moment:
        return Moment(run.view, run.now_us, True)

    wanted = Dumped(replica="archive-0@leader", holds=2490, kind="index")
    assert wanted.answer(moment()).says.en == "No .index of archive-0 on broker 2 was dumped yet."
    with pytest.raises(Nowhere, match="not been dumped"):
        offset_of(run.view, "scan_start(archive-0@b2, 2490)")
    above = max(int(base) for base in run.view["replicas"]["archive-0@b2"]["segments"])
    run.submit(f"kafka-dump-log.sh --files broker-2/archive-0/{above:020d}.index")
    assert wanted.answer(moment()).says.en == f"{above:020d}.index begins above 2490: it cannot hold it."
    below = Dumped(replica="archive-0@b2", holds=above, kind="index")
    assert below.answer(moment()).met
    run.submit("kafka-dump-log.sh --files=broker-2/archive-0/00000000000000000000.index")
    assert wanted.answer(moment()).met
    assert offset_of(run.view, "scan_start(archive-0@b2, 2490)") == 49_111
    assert offset_of(run.view, "scan_start(archive-0@b2, 5)") == 0
    assert offset_of(run.view, "batch_position(archive-0@b2, 2490)") == 49_676
    assert offset_of(run.view, "next_entry(archive-0@b2, 2490)") == 53_631
    with pytest.raises(Nowhere, match="last batches"):
        offset_of(run.view, "batch_position(archive-0@b2, 5)")
    run_setup(run, exercises()[OFFSET].setup)
    assert not wanted.answer(moment()).met, "what was dumped before the table was laid anew counts no more"


def test_the_file_of_another_broker_or_another_partition_is_not_the_one():
    run = rehearsal_run(1)
    run_setup(run, [*exercises()[SLUG].setup, *exercises()[OFFSET].setup])
    run.submit("kafka-dump-log.sh --files broker-2/orders-0/00000000000000000000.index")
    answer = Dumped(replica="archive-0@b2", holds=2490, kind="index").answer(Moment(run.view, run.now_us, True))
    assert answer.says.zh == "还没有打印过代理 2 上 archive-0 的 .index 文件。"


def test_a_kill_leaves_the_file_whole_and_a_power_loss_what_was_fsynced():
    run = rehearsal_run(1)
    run_setup(run, exercises()[POWER].setup)
    run_setup(run, ["producer open p1 --acks all", "producer send p1 payments-0 a:1 b:2"])

    def says(goal: Predicate) -> tuple[bool, str]:
        answer = goal.answer(Moment(run.view, run.now_us, True))
        return answer.met, answer.says.en

    assert says(Acknowledged(client="p1", equals=1)) == (True, "p1: 1 acknowledged")
    assert says(Acknowledged(client="p9", equals=1)) == (False, "There is no producer p9.")
    assert says(Flushed(replica="payments-0@leader", at_least=2)) == (
        False,
        "The recovery point of broker 1 is 0; at least 2 is wanted.",
    )
    assert says(BrokerIs(broker="b3", state="down")) == (False, "Broker 3 is up: it should be down.")
    run_setup(run, ["broker kill 3"])
    assert says(BrokerIs(broker="b3", state="down"))[0]
    assert says(Stored(replica="payments-0@b3", equals=2))[0]
    run_setup(run, ["broker powerloss 3"])
    assert says(Stored(replica="payments-0@b3", equals=2)) == (
        False,
        "The end of the files of broker 3 is 0; 2 is wanted.",
    )
    assert says(Leader(partition="payments-0", broker="b1"))[0]
    assert says(Leader(partition="payments-0", other_than="b1")) == (
        False,
        "payments-0 is still led by broker 1; another broker should lead it.",
    )
    assert says(Leader(partition="payments-0", broker="b2")) == (
        False,
        "payments-0 is led by broker 1; broker 2 should lead it.",
    )


def test_a_consumer_has_read_what_lies_below_its_position():
    run = rehearsal_run(1)
    run_setup(run, exercises()[OFFSET].setup)
    wanted = HasRead(client="c1", offset=2490)
    assert wanted.answer(Moment(run.view, run.now_us, True)).says.en == "There is no consumer c1."
    run.submit("consumer follow c1 archive-0 --from 2490")
    fetch = RpcInFlight(api="Fetch", kind="request", source="c1", destination="archive-0@leader", fetch_offset=2491)
    for _ in range(3):
        run.step_rpc()
        assert not fetch.answer(Moment(run.view, run.now_us, True)).met, "it asks from another offset"
    assert (
        "c1 has not read offset 9999"
        in HasRead(client="c1", offset=9999).answer(Moment(run.view, run.now_us, True)).says.en
    )
    run.advance(run.now_us + 100_000)
    assert wanted.answer(Moment(run.view, run.now_us, True)).met


@pytest.mark.parametrize(
    "offset",
    ["log_end_offset(orders-0)", "age(orders-0@b1)", "scan_start(orders-0@b1)", "flushed(orders-0@b1, 5)", "HW"],
)
def test_what_names_no_offset_is_refused(offset):
    with pytest.raises(ValueError, match="is no"):
        check_offset(offset)


def test_a_prediction_may_wait_for_a_power_loss_and_nothing_else_settles_it():
    exercise = exercises()[POWER]
    run = rehearsal_run(1)
    run_setup(run, exercise.setup)
    run.take()

    def moment() -> Moment:
        return Moment(run.view, run.now_us, False)

    session = ExerciseSession(exercise, moment())

    def do(*lines: str) -> None:
        run_setup(run, lines)
        session.on_events(moment(), [made[0] for made in run.take()])

    def predicted() -> dict:
        return next(step for step in session.frame("en")["steps"] if step["id"] == "predict")

    do("producer open p1 --acks all", "producer send p1 payments-0 a:1 b:2 c:3", "sleep 2s")
    do("broker kill 3")
    do("broker start 3", "sleep 2s")
    assert session.masked
    session.handle(Frame(id="u1", op="predict", step="predict", choice="all", confidence=0.9), moment())
    assert predicted()["why_not"] == "What you predicted has not happened yet: bring it about."
    do("broker powerloss 3")
    assert predicted()["prediction"]["outcome"] is None
    do("broker powerloss 1")
    assert predicted()["prediction"]["outcome"] == "nothing"
    assert predicted()["checked"]["detail"] == "end of the files of broker 1: 0"


# The compiler


def test_the_exercises_are_sound():
    call_command("check_exercises")


def test_the_page_gets_texts_and_no_answers():
    content = page_content(exercises()[SLUG])
    assert content["number"] == "1"
    assert {step["id"] for step in content["steps"]} == set(Learner().states)
    predictions = [step["prediction"] for step in content["steps"] if step["prediction"]]
    assert [set(choice) for choice in predictions[0]["choices"]] == [{"value", "note"}] * 3
    assert [predictions[0]["steps"], content["partition"], content["rate"]] == [True, "orders-0", 0.0025]
    json.dumps(content)


@pytest.fixture
def copy(tmp_path) -> Path:
    """The exercise in a folder where it can be spoilt."""
    return Path(shutil.copytree(loader.CONTENT / SLUG, tmp_path / SLUG))


def spoil(folder: Path, name: str, old: str, new: str) -> None:
    text = (folder / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("exercise.toml", 'is = "paused"', 'is = "sleeping"', "sleeping"),
        ("exercise.toml", "equals = 1", "equal = 1", "equal"),
        ("exercise.toml", 'replica = "orders-0@followers"', 'replica = "orders-0"', "is no replica"),
        ("exercise.toml", "minutes = 10", "minutes = 'ten'", "int"),
        ("exercise.toml", "minutes = 10", "minutes =", "no TOML"),
        ("exercise.toml", 'zh = "高水位为什么总是晚一次拉取"', 'zh = " "', "both languages"),
        ("exercise.toml", 'id = "leader-moves"', 'id = "produce"', "different ids"),
        ("hints.zh.md", "---\n", "", "hints"),
    ],
)
def test_content_is_read_strictly(copy, name, old, new, says):
    spoil(copy, name, old, new)
    with pytest.raises(ContentError, match=says) as error:
        load(copy)
    assert SLUG in str(error.value)


def test_a_text_that_is_missing_in_one_language_is_named(copy):
    (copy / "debrief.zh.md").unlink()
    with pytest.raises(ContentError, match=r"debrief\.zh\.md is missing"):
        load(copy)
    (copy / "debrief.zh.md").write_text("\n")
    with pytest.raises(ContentError, match="both languages"):
        load(copy)


def test_a_stray_file_is_named(copy):
    (copy / "notes.txt").write_text("x")
    with pytest.raises(ContentError, match=r"notes\.txt belongs to no exercise"):
        load(copy)


def faults(folder: Path) -> list[str]:
    return list(compiler.problems(load(folder), glossary(), rehearsal_run))


def test_an_exercise_that_starts_solved_is_found(copy):
    spoil(
        copy,
        "exercise.toml",
        '    { is = "uncommitted", partition = "orders-0", equals = 1 },\n    { is = "parked"',
        '    { is = "parked"',
    )
    spoil(copy, "exercise.toml", '    { is = "parked", api = "Produce", partition = "orders-0" },\n', "")
    assert any("'produce' is done before anything was done" in fault for fault in faults(copy))


def test_a_solution_that_does_not_solve_is_found(copy):
    spoil(copy, "solution.lab", "producer send p1 orders-0 greeting:hello\n", "")
    assert any("[produce] is not done at its end" in fault for fault in faults(copy))


def test_a_solution_that_solves_two_steps_at_once_is_found(copy):
    spoil(copy, "solution.lab", "[leader-moves]\nstep rpc until done", "[leader-moves]\nplay\nplay\nplay")
    spoil(
        copy,
        "exercise.toml",
        '    { is = "high_watermark", replica = "orders-0@followers", below = "log_end_offset(orders-0@leader)" },\n',
        "",
    )
    spoil(copy, "solution.lab", "step rpc\n", "step rpc until done\n" + "step rpc\n" * 20)
    assert any("as well" in fault for fault in faults(copy))


def test_a_term_without_a_row_in_the_glossary_is_found(copy):
    spoil(copy, "exercise.toml", '"purgatory"', '"waiting room"')
    assert any("'waiting room' does not stand in docs/GLOSSARY.md" in fault for fault in faults(copy))


def test_sections_must_name_the_steps_in_order(copy):
    spoil(copy, "solution.lab", "[produce]", "[begin]")
    with pytest.raises(ContentError, match="begin"):
        Rehearsal(load(copy), rehearsal_run(1)).play()


def test_a_row_of_the_glossary_with_a_hole_is_found():
    with pytest.raises(ValueError, match="without"):
        parse("| English | 中文 | meaning |\n|---|---|---|\n| lag | | behind |")
