"""Every recorded response of a real Kafka 3.9.1 is reproduced, byte for byte where it can be equal."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from tests.support.kit_runner import FOLDER, Cluster, Conversation, cases

AREAS = sorted(path.stem for path in FOLDER.glob("*.json"))
CASES = [(area, name) for area in AREAS for name in cases(area)]


IMPOSTOR = "between_brokers"
"""The area whose cases send brokers requests that did not come from their controller."""


@cache
def recorded(area: str) -> dict[str, Any]:
    return cases(area)


@pytest.fixture(scope="module")
def clusters() -> Iterator[dict[str, Cluster]]:
    """One cluster per area, created when its first case is played. None raises an alarm, unless a case plays the
    controller.
    """
    made: dict[str, Cluster] = {}
    yield made
    for area, cluster in made.items():
        assert area == IMPOSTOR or cluster.run.view["alarms"] == {}


@pytest.mark.parametrize(("area", "name"), CASES, ids=[name for _, name in CASES])
def test_answers_are_those_of_a_real_broker(clusters: dict[str, Cluster], area: str, name: str) -> None:
    if area not in clusters:
        clusters[area] = Cluster(is_first=area == "idempotence", area=area)
    case = recorded(area)[name]
    conversation = Conversation(clusters[area], case.get("run", ""), in_order=case.get("in_order", False))
    got = conversation.answers(case)
    differing = [
        f"step {at}: expected {step['expect']}, answered {answer}"
        for at, (step, answer) in enumerate(zip(case["steps"], got, strict=True), 1)
        if step.get("expect", answer) != answer
    ]
    assert not differing, "\n".join(differing)
