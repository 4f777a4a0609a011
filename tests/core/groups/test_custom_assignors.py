"""Custom assignors: rules that a learner writes (`assignor define`)."""

import pytest

from broker_core.events.group import (
    AssignmentPlanned,
)
from broker_core.groups.assignors import GroupMemberInfo, OwnAssignor
from broker_core.groups.consumer_protocol import Subscription
from broker_core.shell.grammar.parser import ShellError
from broker_core.texts import text
from devtools.sim.parity import differences
from tests.support.shell_runs import ShellRun


def own(rules: str, counts: dict[str, int], wants: dict[str, list[str]]) -> dict[str, list[str]]:
    members = [GroupMemberInfo(name, None, Subscription(tuple(topics))) for name, topics in wants.items()]
    return OwnAssignor(rules).assign(counts, members)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("deal one by one", {"a": ["t-0", "t-3"], "b": ["t-1", "t-4"], "c": ["t-2"]}),
        ("deal in runs", {"a": ["t-0", "t-1"], "b": ["t-2", "t-3"], "c": ["t-4"]}),
        ("members reversed; deal in runs", {"a": ["t-4"], "b": ["t-2", "t-3"], "c": ["t-0", "t-1"]}),
        ("members first b; deal one by one", {"a": ["t-1", "t-4"], "b": ["t-0", "t-3"], "c": ["t-2"]}),
        ("partitions reversed; deal one by one", {"a": ["t-4", "t-1"], "b": ["t-3", "t-0"], "c": ["t-2"]}),
        ("give t-0..2 to c; deal to the least", {"a": ["t-3"], "b": ["t-4"], "c": ["t-0", "t-1", "t-2"]}),
        ("give t-* to a; give t-4 to b", {"a": ["t-0", "t-1", "t-2", "t-3", "t-4"], "b": ["t-4"], "c": []}),
        ("give all to nobody", {"a": [], "b": [], "c": [], "nobody": ["t-0", "t-1", "t-2", "t-3", "t-4"]}),
    ],
)
def test_custom_assignor_assigns_by_its_rules(rules: str, expected: dict[str, list[str]]) -> None:
    assert own(rules, {"t": 5}, {"a": ["t"], "b": ["t"], "c": ["t"]}) == expected


def test_deal_rule_assigns_only_subscribed_topics() -> None:
    wants = {"a": ["t", "u"], "b": ["t"]}
    assert own("partitions by number; deal one by one", {"t": 2, "u": 2}, wants) == {
        "a": ["t-0", "u-0", "u-1"],
        "b": ["t-1"],
    }
    for rules in ("deal in runs", "deal to the least"):
        given = own(rules, {"t": 2, "u": 2}, wants)
        assert sorted(given["a"] + given["b"]) == ["t-0", "t-1", "u-0", "u-1"]
        assert not any(name.startswith("u") for name in given["b"])


def test_group_uses_a_custom_assignor_without_validation_as_in_kafka() -> None:
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic orders --partitions 4 --replication-factor 3")
    shell.at("assignor define mine 'keep; give orders-0,orders-1 to c1;  give orders-1 to c2; give orders-2 to c9'")
    rules = "keep; give orders-0,orders-1 to c1; give orders-1 to c2; give orders-2 to c9"
    assert shell.at("assignor list")[-1] == f"mine: {rules}"
    for client in ("c1", "c2"):
        shell.at(f"consumer start {client} --group g1 --topic orders --assignor mine")
    shell.at('wait "group g1 == Stable 2" 30s')
    shell.after(1)
    assert shell.at("group describe g1") == ["group g1: Stable mine", "  c1: orders[0,1]", "  c2: orders[1]"]
    planned = shell.events(AssignmentPlanned)[-1]
    assert (planned.twice, planned.nobody, planned.strangers) == (("orders-1",), ("orders-2", "orders-3"), ("c9",))
    alarms = [alarm for alarm in shell.run.view["alarms"].values() if alarm["invariant"] == "I-GROUP"]
    assert [(alarm["explained_by"] != "", alarm["setting"]) for alarm in alarms] == [
        (True, "partition.assignment.strategy=mine")
    ]
    shell.run.checkpoint()
    # running members keep the old rules: a restarted program uses the new ones
    shell.at("assignor define mine 'deal in runs'")
    shell.at("consumer start c3 --group g1 --topic orders --assignor mine")
    shell.at('wait "group g1 == Stable 3" 30s')
    assert "  c3: nothing" in shell.at("group describe g1")
    assert differences(shell.run) == []


def test_invalid_rules_are_refused_with_what_is_allowed() -> None:
    shell = ShellRun()
    for line, what in (
        ("assignor define mine 'deal cards'", text("shell.assignor_rule", rule="deal cards")),
        ("assignor define mine ';'", text("shell.assignor_rule_count", count=0, max=100)),
        ("assignor define range 'deal in runs'", text("shell.assignor_built_in", name="range")),
        (
            "consumer start c --group g --topic t --assignor mine",
            text(
                "shell.unknown_assignor",
                assignor="mine",
                assignors="range, roundrobin, sticky, cooperative-sticky",
            ),
        ),
    ):
        with pytest.raises(ShellError) as caught:
            shell.run.submit(line, "test")
        assert caught.value.what == what
