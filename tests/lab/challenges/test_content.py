"""The content of challenges, and that its entries are judged as declared."""

import shutil
from pathlib import Path

import pytest

from lab.challenges.judge import RULES, entry_of, judge
from lab.challenges.loader import CONTENT, challenges, load
from lab.challenges.rules import c9_find
from lab.exercises.loader import ContentError
from lab.runtime.host import RunConfig
from lab.texts.refusal import Refusal
from lab.trials.trial import Ended, Limits, Trial

SEEDS = {"c5-ten-rebalances": [3], "c2-settings-that-survive": [1, 2, 3, 10]}
"""Few in this suite; `manage.py check_challenges` plays 20."""


def test_ten_challenges_in_the_order_of_their_numbers() -> None:
    assert [challenge.number for challenge in challenges().values()] == list(range(1, 11))
    assert list(RULES) == list(challenges())


@pytest.mark.parametrize("slug", list(challenges()))
def test_par_entry_passes_and_bad_entry_fails(slug: str) -> None:
    challenge = challenges()[slug]
    seeds = SEEDS.get(slug, [1, 2])
    par = judge(challenge, entry_of(challenge, challenge.par), seeds)
    assert (par.passed, par.shown.why) == (True, par.shown.why), par.shown.why
    for score in challenge.scores:
        slack = 0.1 * abs(score.par)
        reached = par.scores[score.name]
        assert reached <= score.par + slack if score.better == "lower" else reached >= score.par - slack, score.name
    bad = judge(challenge, entry_of(challenge, challenge.bad), seeds)
    assert not bad.passed, bad.scores
    assert not bad.shown.why.startswith(("verdict.engine_failed", "verdict.line_refused"))


def test_script_must_be_shorter_than_the_one_given() -> None:
    challenge = challenges()["c7-shrink-it"]
    given = challenge.fields[0].default
    longer = judge(challenge, {"script": given + "sleep 1s\n"}, [1])
    assert (longer.passed, longer.shown.why) == (False, "verdict.not_shorter?invariant=I-LOGMATCH")
    assert judge(challenge, {"script": given.replace("broker thaw 3\n", "")}, [1]).passed


@pytest.mark.parametrize("answer", ["1", "4", "20"])
def test_line_of_the_work_itself_is_not_the_cause(answer: str) -> None:
    verdict = judge(challenges()["c9-who-did-it"], {"answer": answer}, [1])
    assert not verdict.passed
    assert verdict.shown.why.startswith("verdict.work_left_out")
    assert verdict.scores == {}


@pytest.mark.parametrize("answer", ["21", "22", "24"])
def test_failure_that_the_record_must_survive_is_not_the_cause(answer: str) -> None:
    verdict = judge(challenges()["c9-who-did-it"], {"answer": answer}, [1])
    assert not verdict.passed
    assert verdict.shown.why.startswith("verdict.failure_left_out")


def test_one_line_of_the_case_is_its_cause() -> None:
    challenge = challenges()["c9-who-did-it"]
    answers = [
        number
        for number, line in enumerate(c9_find.case_lines(), 1)
        if not line.startswith(c9_find.WORK + c9_find.FAILURES)
    ]
    causes = [str(answer) for answer in answers if judge(challenge, {"answer": str(answer)}, [1]).passed]
    assert causes == [challenge.par["answer"]]


def test_verdict_is_the_same_for_the_same_entry() -> None:
    challenge = challenges()["c3-two-owners"]
    first, second = (judge(challenge, challenge.par, [4]) for _ in range(2))
    assert first.digest == second.digest
    assert first.digest != judge(challenge, challenge.bad, [4]).digest


@pytest.mark.parametrize(
    ("slug", "change", "id"),
    [
        ("c1-lose-one-acknowledged-record", {"A": "# nothing\n"}, "entry_empty"),
        ("c1-lose-one-acknowledged-record", {"A": "sleep 1s\n" * 61}, "entry_too_long"),
        ("c1-lose-one-acknowledged-record", {"A": f"producer send p1 ledger-0 {'x' * 400}"}, "entry_line_too_long"),
        ("c1-lose-one-acknowledged-record", {"B": "kafka-configs.sh --alter"}, "entry_line"),
        ("c1-lose-one-acknowledged-record", {"A": "broker kill 1\n" * 7}, "entry_faults"),
        ("c2-settings-that-survive", {"factor": "4"}, "entry_field"),
        ("c2-settings-that-survive", {"acks": "2"}, "entry_field"),
        ("c2-settings-that-survive", {"factor": "1"}, "entry_min_insync"),
        ("c2-settings-that-survive", {"acks": "1"}, "entry_idempotence"),
        ("c4-exactly-once-under-fire", {"order": "write-first", "ids": "shared"}, "entry_ids"),
        ("c5-ten-rebalances", {"heartbeat_ms": "10000"}, "entry_heartbeat"),
        ("c9-who-did-it", {"answer": "59"}, "entry_answer"),
    ],
)
def test_entry_that_cannot_be_judged_is_refused(slug: str, change: dict[str, str], id: str) -> None:
    challenge = challenges()[slug]
    with pytest.raises(Refusal) as refused:
        entry_of(challenge, challenge.par | change)
    assert refused.value.what.id == f"refusal.{id}.what"


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("sleep 59m\n" * 20, "verdict.too_long?seconds=600"),
        ("consumer freeze nobody", "verdict.nothing_twice"),
        ("producer send p1 nowhere x", "verdict.two_leaders_too_short"),
    ],
)
def test_entry_that_takes_too_long_or_is_invalid_fails_with_its_reason(script: str, why: str) -> None:
    challenge = challenges()["c8-longest-two-leaders"]
    if script.startswith("consumer"):
        challenge = challenges()["c3-two-owners"]
    entry = challenge.par | {"script": script}
    verdict = judge(challenge, entry, [1])
    assert not verdict.passed
    assert verdict.shown.why.startswith(why), verdict.shown.why


def test_trial_that_floods_the_cluster_ends_at_its_limit() -> None:
    trial = Trial(RunConfig(name="flood", seed=1), limits=Limits(events=3_000))
    with pytest.raises(Ended) as ended:
        trial.type_all(
            [
                "kafka-topics.sh --create --topic flood --replica-assignment 1:2:3",
                "producer open p1 --acks 1 --batch-size 1",
                *["producer burst p1 flood-0 1000", "sleep 10s"] * 5,
            ]
        )
    assert ended.value.why.id == "verdict.too_many_events"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CONTENT / "c3-two-owners", tmp_path / "c3-two-owners"))


@pytest.mark.parametrize(
    ("file", "change", "says"),
    [
        ("challenge.toml", ("number = 3", "number = 4"), "Expected 3"),
        ("challenge.toml", ('kind = "attack"', 'kind = "siege"'), "Invalid enum value 'siege'"),
        ("challenge.toml", ("[title]", "[title"), "not valid TOML"),
        ("challenge.toml", ("number = 3", "number = 3\npoints = 2"), "unknown field `points`"),
        ("par.toml", ("script =", "text ="), "Expected script"),
        ("bad.toml", ("script = '''", "script = ["), "not an entry"),
    ],
)
def test_damaged_content_is_refused_with_its_place(folder: Path, file: str, change: tuple[str, str], says: str) -> None:
    text = (folder / file).read_text(encoding="utf-8")
    (folder / file).write_text(text.replace(*change), encoding="utf-8")
    with pytest.raises(ContentError, match=says) as caught:
        load(folder)
    assert str(caught.value).startswith(f"c3-two-owners/{file}: ")


def test_files_of_a_challenge_are_complete_and_no_others(folder: Path) -> None:
    (folder / "notes.md").touch()
    with pytest.raises(ContentError, match=r"notes.md belongs to no challenge"):
        load(folder)
    (folder / "notes.md").unlink()
    (folder / "later.zh.md").unlink()
    with pytest.raises(ContentError, match=r"later.zh.md is missing"):
        load(folder)


def test_folder_with_another_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ContentError, match="Expected a folder like c1-some-words"):
        load(tmp_path)
