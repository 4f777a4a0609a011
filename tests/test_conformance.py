"""Every answer of a real Kafka 3.9.1 that was recorded is given here, too, byte for byte as far as it can be equal."""

from collections.abc import Iterator
from functools import cache

import pytest

from tests.kit_runner import FOLDER, Cluster, Conversation, cases

AREAS = sorted(path.stem for path in FOLDER.glob("*.json"))
CASES = [(area, name) for area in AREAS for name in cases(area)]


@cache
def recorded(area: str) -> dict[str, object]:
    return cases(area)


@pytest.fixture(scope="module")
def clusters() -> Iterator[dict[str, Cluster]]:
    """One cluster an area, made when its first case is played. None of them raises an alarm."""
    made: dict[str, Cluster] = {}
    yield made
    for cluster in made.values():
        assert cluster.run.view["alarms"] == {}


@pytest.mark.parametrize(("area", "name"), CASES, ids=[name for _, name in CASES])
def test_the_answers_are_those_of_a_real_broker(clusters: dict[str, Cluster], area: str, name: str) -> None:
    if area not in clusters:
        clusters[area] = Cluster(is_first=area == "idempotence")
    case = recorded(area)[name]
    got = Conversation(clusters[area]).answers(case)
    expected = [step.get("expect") for step in case["steps"]]  # type: ignore[index]
    for at, (want, have) in enumerate(zip(expected, got, strict=True)):
        if want is not None:
            assert have == want, f"step {at + 1}"
