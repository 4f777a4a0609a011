"""Two branches or eras side by side: the page's address, what is asked for it, and the same script in another era."""

import re
import urllib.parse

import pytest

from lab import selectors
from lab.actions import rerun
from tests.support.lab_server import Visitor

SCRIPT = (
    "kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3",
    "producer open p1 --acks all",
    "producer send p1 orders-0 k:first k:second",
)


@pytest.fixture(scope="module")
def played(lab_server) -> tuple[Visitor, str]:
    """A paused run of era 3.9 that has played the script."""
    visitor = Visitor(lab_server).sign_in()
    run = visitor.new_run(name="Side by side", seed="7", era="3.9")
    with visitor.socket(run) as socket:
        socket.ask({"k": "time", "op": "play", "value": 5.0})
        for line in SCRIPT:
            socket.run(line)
        socket.ask({"k": "time", "op": "pause"})
    return visitor, run


def test_commands_of_a_branch_with_their_instants(played: tuple[Visitor, str]) -> None:
    visitor, run = played
    commands = visitor.get(f"/api/runs/{run}/main/commands").json
    assert [command["line"] for command in commands] == list(SCRIPT)
    assert [command["at_us"] for command in commands] == sorted(command["at_us"] for command in commands)


def test_comparison_shows_records_now_and_before_any(played: tuple[Visitor, str]) -> None:
    visitor, run = played
    now = visitor.get(f"/api/runs/{run}/main/contents").json
    assert now["orders-0@b1"] == {"0": "k:first", "1": "k:second"}
    before = visitor.get(f"/api/runs/{run}/main/commands").json[2]["seq"]
    assert visitor.get(f"/api/runs/{run}/main/contents?seq={before}").json["orders-0@b1"] == {}


@pytest.mark.parametrize("era", ["0.8", "1.1"])
def test_same_script_in_another_era(played: tuple[Visitor, str], era: str) -> None:
    visitor, run = played
    answer = visitor.post(f"/runs/{run}/rerun", branch="main", era=era)
    assert answer.status == 200 and "/compare/?" in answer.url, answer.text
    sides = urllib.parse.parse_qs(urllib.parse.urlparse(answer.url).query)
    assert sides["a"] == [f"{run}/main"]
    again = sides["b"][0]
    assert f"era {era}" in answer.text
    first, second = (visitor.get(f"/api/runs/{one}/commands").json for one in (f"{run}/main", again))

    assert [command["line"] for command in first] == [command["line"] for command in second] == list(SCRIPT)
    # A line that was given before the first step waits for it, and its time depends on the era.
    assert [command["at_us"] for command in first] == pytest.approx([command["at_us"] for command in second], abs=1_000)
    assert visitor.get(f"/api/runs/{again}/contents").json["orders-0@b1"] == {"0": "k:first", "1": "k:second"}
    ends = [visitor.get(f"/api/runs/{one}/index.json").json["last_at_us"] for one in (f"{run}/main", again)]
    assert abs(ends[0] - ends[1]) < 1_000_000


def test_page_without_a_choice_offers_the_branches(played: tuple[Visitor, str]) -> None:
    visitor, run = played
    text = visitor.get("/compare/").text
    assert f'value="{run}/main"' in text and "Choose two branches" in text
    assert "hw-differences" not in text


@pytest.mark.parametrize("address", ["nosuch/main", "x", "../../etc", "a/b/c"])
def test_branch_of_another_user_is_not_found(played: tuple[Visitor, str], address: str) -> None:
    visitor, run = played
    answer = visitor.get(f"/compare/?a={run}/main&b={urllib.parse.quote(address)}")
    assert answer.status == 404 and "There is no branch" in answer.text


def test_other_users_cannot_compare(played: tuple[Visitor, str], other_visitor: Visitor) -> None:
    _, run = played
    assert other_visitor.get(f"/compare/?a={run}/main").status == 404
    assert other_visitor.get(f"/api/runs/{run}/main/contents").status == 404
    assert other_visitor.get(f"/api/runs/{run}/main/commands").status == 404


def test_unknown_era_is_refused(played: tuple[Visitor, str]) -> None:
    visitor, run = played
    answer = visitor.post(f"/runs/{run}/rerun", branch="main", era="4.0")
    assert answer.status == 400 and "Unknown Kafka version" in answer.text


def test_rerun_that_fails_leaves_no_run_behind(played: tuple[Visitor, str], monkeypatch: pytest.MonkeyPatch) -> None:
    visitor, run = played

    async def broken(lab: object, until_us: int) -> None:
        raise RuntimeError("planted")

    def runs() -> list[str]:
        return re.findall(r"/r/([a-z0-9-]+)/main", visitor.get("/runs/").text)

    before = runs()
    monkeypatch.setattr(rerun, "_advance", broken)
    assert visitor.post(f"/runs/{run}/rerun", branch="main", era="1.1").status == 500
    assert runs() == before


def test_form_offers_every_era_with_its_sentence_and_the_run_shows_its_own(visitor: Visitor) -> None:
    text = visitor.get("/runs/").text
    assert re.findall(r'name="era" value="([^"]+)"', text) == ["3.9", "2.4", "1.1", "0.10", "0.8"]
    assert re.search(r'value="3.9" checked', text)
    run = visitor.new_run(name="An old one", seed="7", era="0.10")
    assert "era 0.10" in visitor.get(f"/r/{run}/main").text
    assert "era 0.10" in visitor.get("/runs/").text


def test_runs_with_a_fork_are_offered_as_pairs() -> None:
    choices = [
        {"run": run, "address": f"{run}/{branch}"}
        for run, branch in (("r2", "main"), ("r1", "main"), ("r1", "main-2"), ("r1", "main-3"))
    ]
    pairs = selectors.branch_pairs(choices)
    assert [(one["address"], other["address"]) for one, other in pairs] == [("r1/main", "r1/main-3")]
