"""Idempotent and transactional producers, against what a real broker answered."""

import pytest

from lab.sim.parity import differences
from tests.conformance_runs import Conversation, cases

CASES = {**cases("idempotence"), **cases("transactions")}


@pytest.fixture(scope="module")
def conversation() -> Conversation:
    return Conversation()


@pytest.mark.parametrize("name", CASES)
def test_answers_are_those_of_a_real_broker(conversation: Conversation, name: str) -> None:
    for number, (found, expected) in enumerate(conversation.play(CASES[name])):
        assert found == expected, f"step {number}"
    assert differences(conversation.run) == []
    assert not conversation.run.view["alarms"]
