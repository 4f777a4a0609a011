"""Polls: rounds, splits, advice, and anonymous votes."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from broker_core.groups.zookeeper_offsets import offset_path
from lab.classroom.acts import AnyAct, AnyFact, Given, facts, ops
from lab.classroom.anchors import is_element
from lab.classroom.ballots import BallotBox
from lab.classroom.events import poll
from lab.classroom.journal import ClassJournal
from lab.classroom.polls import Settling, advice, settling_of, split_of
from lab.classroom.recorded.sealed import words_of
from lab.classroom.state import Vote
from lab.classroom.views import section
from lab.classroom.writer import KEYS
from lab.texts.refusal import Refusal
from tests.support.classroom.memory_class import ADA, BOB, TEACHER, MemoryClass, NoWords
from tests.support.classroom.open_rooms import Chair, begun, opened, run
from tests.support.shell_runs import ShellRun

LEARNERS = [ADA, BOB, "p7", "p8", "p9", "p10"]


def with_poll(*, anonymous: bool = False, right: str = "1", form: str = "choice") -> MemoryClass:
    room_ = MemoryClass(6)
    choices = ("a", "b", "c") if form == "choice" else ()
    act = ops.MakePoll(form, "which?", "en", choices, anonymous, True, right)  # type: ignore[arg-type]
    room_.do(TEACHER, act, texts=(1, 2, 3, 4))
    room_.do(TEACHER, ops.OpenPoll(1))
    return room_


def staff_view(room_: MemoryClass) -> dict[str, object]:
    return section(room_.state, NoWords(), "staff", "polls/1")


def test_round_after_round_with_the_split_of_each() -> None:
    room_ = with_poll()
    for p in LEARNERS:
        room_.do(p, ops.CastVote(1, "0" if p != ADA else "1", 40))
    room_.do(BOB, ops.CastVote(1, "2", 90))
    assert staff_view(room_)["votes"] == 6, "a second vote of the same person replaces the first"
    assert staff_view(room_)["splits"] == [], "staff see counts while it is open, unless they ask"
    assert staff_view(room_)["voted"] == sorted(LEARNERS)
    room_.do(TEACHER, ops.OpenSplit(1))
    assert staff_view(room_)["splits"] == [
        {"count": 6, "answers": {"0": 4, "1": 1, "2": 1}, "sure": {"0": 40, "1": 40, "2": 90}, "right": 1}
    ]
    room_.do(TEACHER, ops.ClosePoll(1))
    assert staff_view(room_)["advice"] == "explain"
    assert room_.refused(ADA, ops.CastVote(1, "1", 50)) == 409
    room_.do(TEACHER, ops.Discuss(1, 120))
    room_.do(TEACHER, ops.OpenPoll(1))
    for p in LEARNERS:
        room_.do(p, ops.CastVote(1, "1", 70))
    room_.do(TEACHER, ops.ClosePoll(1))
    assert [split["right"] for split in staff_view(room_)["splits"]] == [1, 6]  # type: ignore[attr-defined]
    assert staff_view(room_)["advice"] == "go_on"
    room_.do(TEACHER, ops.Reveal(1, "1", "lead/main", 88))
    assert room_.refused(TEACHER, ops.OpenPoll(1)) == 409, "what is revealed is not asked again"
    assert staff_view(room_)["seq"] == 88


def settled_by_lab() -> MemoryClass:
    """A closed poll that a lab settles."""
    room_ = MemoryClass(6)
    act = ops.MakePoll("choice", "what is first?", "en", ("a", "b"), holds=("isr shrinks", "leader elected"))
    room_.do(TEACHER, act, texts=(1, 2, 3))
    room_.do(TEACHER, ops.OpenPoll(1))
    room_.do(TEACHER, ops.ClosePoll(1))
    return room_


def test_lab_settles_a_poll_and_staff_may_overrule_it() -> None:
    room_ = settled_by_lab()
    begin = Given(TEACHER, facts.BeginSettling(1, "lead/main", 80))
    with pytest.raises(Refusal) as refused:
        room_.give(begin)
    assert refused.value.status == 409, "no one leads"
    assert room_.refused(TEACHER, ops.SettlePoll(1)) == 409
    room_.do(TEACHER, ops.TakeLead("lead/main"))
    assert room_.give(begin) == [poll.SettlingBegan(poll=1, lab="lead/main", seq=80)]
    assert room_.give(begin) == [], "it settles already"
    assert settling_of(room_.state) == Settling(
        1, "lead/main", 80, "choice", "a-lesson", 0, "", ("isr shrinks", "leader elected"), "", 0
    )
    public = section(room_.state, NoWords(), "public", "polls/1")
    assert public["settling"] == {"lab": "lead/main", "seq": 80}
    assert "by_lab" not in public
    assert room_.fact(facts.SettlePoll(1, "other/main", "1", 90)) == [], "of a lab that does not settle it"
    (revealed,) = room_.fact(facts.SettlePoll(1, "lead/main", "1", 88))
    assert revealed == poll.Revealed(poll=1, outcome="1", lab="lead/main", seq=88, by="lab")
    assert settling_of(room_.state) is None
    assert (staff_view(room_)["by"], staff_view(room_)["outcome"], staff_view(room_)["seq"]) == ("lab", "1", 88)
    with pytest.raises(Refusal):
        room_.give(begin)
    (overruled,) = room_.do(TEACHER, ops.Reveal(1, "0"))
    assert overruled == poll.Revealed(poll=1, outcome="0", lab="", seq=0, by="staff")
    assert (staff_view(room_)["by"], staff_view(room_)["outcome"]) == ("staff", "0")


def test_settling_ends_without_an_answer_with_a_round_or_with_the_poll() -> None:
    ends: list[tuple[AnyAct | AnyFact, str]] = [
        (facts.SettlePoll(1, "lead/main", "", 9), "none"),
        (facts.SettlePoll(1, "lead/main", "", 9, "since"), "since"),
        (facts.GiveUpSettling(1, "lead/main"), "lab"),
        (ops.EndSettling(1), "act"),
        (ops.OpenPoll(1), "act"),
        (ops.EndPoll(1), "act"),
    ]
    for act, why in ends:
        room_ = settled_by_lab()
        room_.do(TEACHER, ops.TakeLead("lead/main"))
        room_.give(Given(TEACHER, facts.BeginSettling(1, "lead/main", 80)))
        assert room_.give(Given(TEACHER, act))[0] == poll.SettlingEnded(poll=1, why=why)
        assert settling_of(room_.state) is None
        assert staff_view(room_)["why_not"] == why
        assert room_.fact(facts.SettlePoll(1, "lead/main", "1", 88)) == [], "too late"


@pytest.mark.parametrize(
    ("form", "settled", "status"),
    [
        ("choice", {"holds": ("isr shrinks",)}, 400), ("choice", {"holds": ("", "")}, 400),
        ("choice", {"holds": ("a", ""), "when": "b"}, 0), ("choice", {"asks": "leader(orders-0)"}, 400),
        ("choice", {"when": "isr shrinks"}, 400), ("number", {"asks": "leader(orders-0)"}, 400),
        ("number", {"asks": "leader(orders-0)", "within_s": 9}, 0), ("number", {"holds": ("a", "b")}, 400),
        ("point", {"when": "isr shrinks"}, 400), ("prediction", {"holds": ("a", "b")}, 400),
        ("prediction", {"step": 2}, 0),
    ],
)  # fmt: skip
def test_what_settles_a_poll_fits_its_kind(form: str, settled: dict[str, Any], status: int) -> None:
    choices = ("a", "b") if form in ("choice", "prediction") else ()
    act = ops.MakePoll(form, "?", "en", choices, **settled)  # type: ignore[arg-type]
    assert MemoryClass().refused(TEACHER, act) == status


def test_prediction_is_shown_in_the_other_language_too() -> None:
    room_ = MemoryClass()
    act = ops.MakePoll(
        "prediction", "which?", "en", ("a", "b"), step=2, other_text="哪个？", other_choices=("甲", "乙")
    )
    assert ops.texts_of(act) + ops.other_texts_of(act) == ("which?", "a", "b", "哪个？", "甲", "乙")
    room_.do(TEACHER, act, texts=(1, 2, 3, 4, 5, 6))
    room_.do(TEACHER, ops.OpenPoll(1))
    shown = section(room_.state, NoWords(), "public", "polls/1")
    assert (shown["text"], shown["choices"]) == ("text 1", ["text 2", "text 3"])
    assert shown["other"] == {"lang": "en", "text": "text 4", "choices": ["text 5", "text 6"]}
    (made,) = (event for *_, event in room_.log if isinstance(event, poll.PollMade))
    kept = words_of([(1, 1, TEACHER, "", made)], NoWords(), ()).texts
    assert kept.keys() >= {1, 2, 3, 4, 5, 6}, "of the recording"


def test_another_poll_ends_the_one_before() -> None:
    room_ = with_poll()
    another = ops.MakePoll("number", "which offset?", "en")
    assert room_.refused(TEACHER, another) == 409, "not while it is open"
    room_.do(TEACHER, ops.ClosePoll(1))
    ended, made = room_.do(TEACHER, another, texts=(5,))
    assert ended == poll.PollEnded(poll=1)
    assert isinstance(made, poll.PollMade)


@pytest.mark.parametrize(
    ("form", "answer", "status"),
    [
        ("choice", "2", 0), ("choice", "3", 400), ("choice", "-1", 400), ("choice", "x", 400), ("choice", "02", 400),
        ("number", "1700", 0), ("number", "-1", 0), ("number", "1.5", 400), ("number", "٣", 400),
        ("number", "9" * 30, 400),
        ("point", "record:orders-0@b1:42", 0), ("point", "partition:__consumer_offsets-7", 0),
        ("point", "broker:b12", 0),
        ("point", "replica:a.b_c-0@b2", 0), ("point", "link:b1|b3", 0), ("point", "znode:/brokers/topics", 0),
        ("point", "client:producer-1", 0), ("point", "rpc:r12", 0), ("point", "parked:r12", 0),
        ("point", "Ada is right", 400), ("point", "record orders-0 4", 400), ("point", "client:Ada is right", 400),
        ("point", "znode:/\u202egnp.exe", 400), ("point", "broker:b1\n", 400), ("point", "12", 400),
        ("point", "time@15:b1", 400), ("point", "broker:b\u0661", 400), ("point", "client:" + "x" * 400, 400),
    ],
)  # fmt: skip
def test_answer_fits_the_kind_of_poll(form: str, answer: str, status: int) -> None:
    room_ = with_poll(form=form, right="")
    assert room_.refused(ADA, ops.CastVote(1, answer, 50)) == status
    if form == "point":
        made = ops.MakePoll("point", "?", "en", right=answer)
        assert room_.refused(TEACHER, ops.ClosePoll(1)) == 0 != room_.refused(TEACHER, made)
        room_.do(TEACHER, ops.ClosePoll(1))
        assert room_.refused(TEACHER, made) == room_.refused(TEACHER, ops.Reveal(1, answer)) == status


def test_poll_of_choices_needs_choices() -> None:
    room_ = MemoryClass()
    for form, choices, status in [("choice", ("a",), 400), ("number", ("a", "b"), 400), ("choice", ("a", "b"), 0)]:
        act = ops.MakePoll(form, "?", "en", choices)  # type: ignore[arg-type]
        assert room_.refused(TEACHER, act) == status
    assert room_.refused(TEACHER, ops.MakePoll("choice", "?", "en", ("a", "b"), right="2")) == 400


def test_confidence_is_required_only_if_the_poll_asks_for_it() -> None:
    room_ = with_poll()
    assert room_.refused(ADA, ops.CastVote(1, "0")) == 400
    assert room_.refused(ADA, ops.CastVote(1, "0", 0)) == 0


@pytest.mark.parametrize(
    ("right", "count", "said"),
    [(0, 4, ""), (1, 3, ""), (34, 100, "explain"), (35, 100, "discuss"), (70, 100, "discuss"), (71, 100, "go_on")],
)
def test_advice(right: int, count: int, said: str) -> None:
    votes = {f"p{number}": Vote("1" if number < right else "0", 50) for number in range(count)}
    assert advice(split_of(votes, "1")) == said
    assert advice(split_of(votes, "")) == ""


def test_fewer_than_five_answers_are_a_number_only() -> None:
    votes = {f"p{number}": Vote("1", 50) for number in range(4)}
    split = split_of(votes, "1")
    assert (split.count, split.answers, split.sure, split.right) == (4, {}, {}, -1)


# Anonymous votes


def vote(p: str, answer: str = "0", round: int = 1) -> poll.Voted:
    return poll.Voted(poll=1, round=round, voter=p, answer=answer, sure=50)


def test_votes_are_released_five_at_a_time_without_their_voters(tmp_path: Path) -> None:
    box: BallotBox[str] = BallotBox(tmp_path / "1.key")
    for number in range(4):
        box.put(vote(f"p{number}"), f"p{number}")
    assert box.take(closes=False) == ([], [])
    box.put(vote("p4"), "p4")
    votes, waiting = box.take(closes=False)
    assert len({one.voter for one in votes}) == 5
    assert not any(one.voter.startswith("p") for one in votes)
    assert sorted(waiting) == ["p0", "p1", "p2", "p3", "p4"]
    assert box.take(closes=True) == ([], [])


def test_order_of_votes_does_not_reveal_the_voter(tmp_path: Path) -> None:
    box: BallotBox[str] = BallotBox(tmp_path / "1.key")
    orders = set()
    for _ in range(40):
        for number in range(5):
            box.put(vote(f"p{number}"), "")
        orders.add(tuple(one.voter for one in box.take(closes=False)[0]))
    assert len(orders) > 20


def test_revote_is_matched_also_after_a_restart(tmp_path: Path) -> None:
    box: BallotBox[str] = BallotBox(tmp_path / "1.key")
    box.put(vote("p1", "0"), "first")
    box.put(vote("p1", "1"), "second")
    (one,), waiting = box.take(closes=True)
    assert one.answer == "1"
    assert waiting == ["first", "second"], "both acts are done"
    again: BallotBox[str] = BallotBox(tmp_path / "1.key")
    again.put(vote("p1", "2", round=2), "")
    assert again.take(closes=True)[0][0].voter == one.voter
    again.destroy()
    assert not (tmp_path / "1.key").exists()
    other: BallotBox[str] = BallotBox(tmp_path / "1.key")
    other.put(vote("p1"), "")
    assert other.take(closes=True)[0][0].voter != one.voter, "nobody can be matched when the poll is over"


def test_key_that_a_kill_has_left_is_destroyed_when_the_class_opens(tmp_path: Path) -> None:
    """The end of a poll is written before its key is destroyed."""

    async def test() -> None:
        room_ = await begun(tmp_path)
        poll_ = ops.MakePoll("choice", "?", "en", ("a", "b"), True, False)
        for number in (1, 2):
            await room_.do(Given(TEACHER, poll_, f"make{number}", (1, 2, 3)))
            await room_.do(Given(TEACHER, ops.OpenPoll(number), f"open{number}"))
            kept = asyncio.Event()
            voting = asyncio.create_task(room_.do(Given(ADA, ops.CastVote(number, "0")), kept.set))
            await kept.wait()
            assert (tmp_path / KEYS / f"{number}.key").exists()
            if number == 1:
                key = (tmp_path / KEYS / "1.key").read_bytes()
                await room_.do(Given(TEACHER, ops.ClosePoll(1), "close"))
                await voting
        await room_.close()
        assert [path.name for path in (tmp_path / KEYS).iterdir()] == ["2.key"], "making the second has ended the first"
        for left in ("1.key", "3.key"):
            (tmp_path / KEYS / left).write_bytes(key)
        again = await opened(tmp_path)
        assert [path.name for path in (tmp_path / KEYS).iterdir()] == ["2.key"], "the second is open"
        await again.close()
        voting.cancel()

    run(test)


def test_two_anonymous_rounds_of_40_are_counted_once_and_tell_nothing_of_their_voters(tmp_path: Path) -> None:
    """Acceptance statement 19: over what learners' pages get, also when they are loaded again, and over all files of
    the class once the poll has ended. Votes are not in the database.
    """
    learners = [f"p{number}" for number in range(20, 60)]
    first = {p: "01"[number < 15] for number, p in enumerate(learners)}
    second = {p: "01"[number < 35] for number, p in enumerate(learners)}

    async def test() -> None:
        room_ = await begun(tmp_path)
        for p in learners:
            await room_.do(Given("room", facts.SetPerson(p, "learner", lab=f"run-{p}/main")))
        await room_.do(Given(TEACHER, ops.MakePoll("choice", "?", "en", ("a", "b"), True, True, "1"), "m", (1, 2, 3)))
        page, sent = Chair(room_, learners[0]), ""
        for round_, wanted in enumerate((first, second)):
            await room_.do(Given(TEACHER, ops.OpenPoll(1), f"o{round_}"))
            # Everyone answers twice: a page that is loaded again sends its answer with another id.
            hasty = (room_.do(Given(p, ops.CastVote(1, "0", 10), f"h{round_}")) for p in learners)
            final = (room_.do(Given(p, ops.CastVote(1, wanted[p], 50), f"f{round_}")) for p in learners)
            voting = asyncio.gather(*hasty, *final)
            # They are in their turn before the round is closed.
            await asyncio.sleep(0)
            await room_.do(Given(TEACHER, ops.ClosePoll(1), f"c{round_}"))
            await voting
            keys.add((tmp_path / KEYS / "1.key").read_bytes())
            again = Chair(room_, learners[1])
            sent += json.dumps(await page.frames()) + json.dumps(await again.frames())
            room_.leave(learners[1], again)
        assert '"splits"' not in sent and '"Voted"' not in sent and '"count": 40' not in sent
        await room_.do(Given(TEACHER, ops.ShowSplit(1), "s"))
        shown = json.dumps(await page.frames())
        assert '"answers": {"0": 25, "1": 15}' in shown and '"answers": {"0": 5, "1": 35}' in shown
        await room_.do(Given(TEACHER, ops.EndPoll(1), "e"))
        await room_.close()

    keys = set[bytes]()
    run(test)
    log = list(ClassJournal(tmp_path).after(0))
    votes = [(at_us, who, act, event) for _, at_us, who, act, event in log if isinstance(event, poll.Voted)]
    assert len(votes) >= 80 and {(who, act) for _, who, act, _ in votes} == {("", "")}
    codes: list[list[str]] = [[vote.voter for *_, vote in votes if vote.round == round_] for round_ in (1, 2)]
    assert all(len(set(of_round)) == 40 for of_round in codes) and set(codes[0]) == set(codes[1])
    closed = {at_us for _, at_us, _, _, event in log if isinstance(event, poll.PollClosed)}
    moments = Counter(at_us for at_us, *_ in votes)
    assert all(count >= 5 or at_us in closed for at_us, count in moments.items()), "no time is that of one voter"
    (key,) = keys
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(key in data or key.hex().encode() in data for data in files), "nobody can compute the codes again"


def test_every_element_of_a_picture_and_every_znode_of_a_lab_is_an_answer() -> None:
    shells = [ShellRun(), ShellRun(era="0.8")]
    for shell in shells:
        shell.at("kafka-topics.sh --create --topic __a.b-c --partitions 2 --replication-factor 3")
        shell.at("consumer start c1 --group g1 --topic __a.b-c")
        shell.at("producer open p")
        shell.at("producer send p __a.b-c-0 a:1 b:2")
        shell.after(4)
    new = shells[0]
    new.at("kafka-configs.sh --alter --entity-type brokers --entity-default --add-config log.cleaner.threads=2")
    new.at("kafka-configs.sh --alter --entity-type users --entity-name 'a b@c' --add-config producer_byte_rate=1024")
    new.after(2)
    anchors = {f"znode:{offset_path('my first group', 'orders-0')}"}
    for shell in shells:
        view = shell.run.view
        anchors |= {f"znode:{path}" for path in view["zk"]} | {f"partition:{name}" for name in view["partitions"]}
        anchors |= {f"{kind}:{rpc}" for kind in ("rpc", "parked") for rpc in [*view["rpcs"], *view["parked"]]}
        anchors |= {f"broker:{name}" for name, node in view["nodes"].items() if node["kind"] == "broker"}
        anchors |= {f"client:{name}" for name in view["nodes"]}
        anchors |= {f"link:{a}|{b}" for a in view["nodes"] for b in view["nodes"]}
        anchors |= {f"replica:{name}" for name in view["replicas"]}
        anchors |= {f"record:{name}:{one['log_start_offset']}" for name, one in view["replicas"].items()}
    assert {anchor.partition(":")[0] for anchor in anchors} == {
        "broker", "client", "link", "parked", "partition", "record", "replica", "rpc", "znode",
    }  # fmt: skip
    assert "znode:/config/brokers/<default>" in anchors
    assert [anchor for anchor in sorted(anchors) if not is_element(anchor)] == []


@pytest.mark.parametrize("path", ["", "brokers", "//", "/brokers/", "/ a", "/a  b", "/<b>", "/a\n", "/<default>x"])
def test_text_that_is_no_path_of_a_znode_is_no_answer(path: str) -> None:
    assert not is_element(f"znode:{path}")
