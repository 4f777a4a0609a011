"""CreateTopics for many topics: slices of bounded work, and what may happen between them."""

from collections import Counter
from typing import Any

import pytest

from broker_core.broker.admin import topic_creations
from broker_core.errors import Errors
from broker_core.events.codec import decode
from broker_core.events.control import ZnodeCreated
from broker_core.sim.kernel import PassiveNode
from broker_core.wire.messages import CreateTopicSpec, CreateTopicsRequest, CreateTopicsResponse
from devtools.sim.parity import differences
from tests.support.shell_runs import ShellRun

COUNT = 45
PER_SLICE = 10


class Asker(PassiveNode):
    """Sends one request and keeps its response, or the reason why there is none."""

    name = "asker"

    def __init__(self, shell: ShellRun, body: CreateTopicsRequest) -> None:
        self.answer: CreateTopicsResponse | None = None
        self.why = ""
        kernel = shell.run._kernel
        kernel.add(self)
        active = f"b{shell.run.view['controller']['broker']}"
        kernel.request(self.name, active, "CreateTopics", body, label="", context=("", None), timeout_us=600_000_000)

    def on_response(self, api: str, body: Any, context: Any) -> None:
        self.answer = body

    def on_disconnect(self, api: str, context: Any, why: str) -> None:
        self.why = why

    def on_timer(self, name: str, data: Any) -> None:
        """It sets none."""


def topics(count: int = COUNT, timeout_ms: int = 30_000) -> CreateTopicsRequest:
    specs = tuple(CreateTopicSpec(name=f"t-{number}", partitions=1, replication_factor=2) for number in range(count))
    return CreateTopicsRequest(topics=specs, timeout_ms=timeout_ms)


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> ShellRun:
    monkeypatch.setattr(topic_creations, "TOPICS_PER_SLICE", PER_SLICE)
    shell = ShellRun()
    shell.journal()
    return shell


def until_some_exist(shell: ShellRun) -> None:
    """Returns between two slices."""
    while not shell.run.view["topics"]:
        shell.after(0.001)
    assert len(shell.run.view["topics"]) < COUNT


def test_topics_are_created_in_slices_and_answered_together(shell: ShellRun) -> None:
    asker = Asker(shell, topics())
    until_some_exist(shell)
    assert asker.answer is None
    shell.after(10)
    assert asker.answer is not None
    assert [(result.name, result.error) for result in asker.answer.topics] == [
        (f"t-{number}", Errors.NONE) for number in range(COUNT)
    ]
    assert all(partition["leader"] > 0 for partition in shell.run.view["partitions"].values())
    envelopes = [decode(0, data) for data in shell.journal()]
    instants = Counter(
        at_us
        for _, at_us, _, _, event in envelopes
        if isinstance(event, ZnodeCreated) and event.path in {f"/brokers/topics/t-{number}" for number in range(COUNT)}
    )
    assert sorted(instants.values()) == [5, 10, 10, 10, 10]
    assert differences(shell.run) == []


def test_names_that_occur_twice_are_refused_whatever_slice_they_are_in(shell: ShellRun) -> None:
    body = topics()
    twice = CreateTopicsRequest(topics=(*body.topics, body.topics[0]), timeout_ms=body.timeout_ms)
    asker = Asker(shell, twice)
    shell.after(10)
    assert asker.answer is not None
    refused = [number for number, result in enumerate(asker.answer.topics) if result.error is Errors.INVALID_REQUEST]
    assert refused == [0, COUNT] and "t-0" not in shell.run.view["topics"]


def test_controller_that_is_killed_between_slices_closes_the_connection(shell: ShellRun) -> None:
    asker = Asker(shell, topics())
    until_some_exist(shell)
    shell.at(f"broker kill {shell.run.view['controller']['broker']}")
    shell.after(30)
    assert asker.answer is None and asker.why
    assert 0 < len(shell.run.view["topics"]) < COUNT
    again = Asker(shell, topics())
    shell.after(30)
    assert again.answer is not None
    errors = Counter(result.error for result in again.answer.topics)
    assert set(errors) == {Errors.NONE, Errors.TOPIC_ALREADY_EXISTS} and len(shell.run.view["topics"]) == COUNT
    assert differences(shell.run) == []


@pytest.mark.parametrize("seconds", [1, 30])
def test_creation_waits_for_zookeeper(shell: ShellRun, seconds: int) -> None:
    asker = Asker(shell, topics(timeout_ms=60_000))
    active = f"b{shell.run.view['controller']['broker']}"
    until_some_exist(shell)
    shell.at(f"link cut {active} zk")
    before = len(shell.run.view["topics"])
    shell.after(seconds)
    assert len(shell.run.view["topics"]) == before and asker.answer is None
    shell.at(f"link restore {active} zk")
    shell.after(30)
    assert asker.answer is not None
    errors = {result.error for result in asker.answer.topics}
    # after 30 s its session has expired, and another broker is the controller
    assert errors <= {Errors.NONE, Errors.NOT_CONTROLLER, Errors.REQUEST_TIMED_OUT}
    assert (errors == {Errors.NONE}) == (seconds == 1)
    assert differences(shell.run) == []


@pytest.mark.parametrize(("timeout_ms", "is_enough"), [(1, False), (39, True)])
def test_timeout_begins_when_the_last_topic_is_written(shell: ShellRun, timeout_ms: int, is_enough: bool) -> None:
    """Writing takes four pauses of 10 ms."""
    asker = Asker(shell, topics(timeout_ms=timeout_ms))
    shell.after(10)
    assert asker.answer is not None
    errors = Counter(result.error for result in asker.answer.topics)
    assert (Errors.REQUEST_TIMED_OUT not in errors) == is_enough
    assert len(shell.run.view["topics"]) == COUNT
