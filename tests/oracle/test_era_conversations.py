"""Recorded responses of real brokers of older releases are reproduced by clusters of their eras.

The conversations are those of `tests/data/conformance`, in the versions and message formats that each release has.
"""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from broker_core.eras import DEFAULT_ERA, ERAS
from tests.support.kit_runner import Cluster, Conversation
from tests.support.paths import DATA

FOLDER = DATA / "eras"
OLD_ERAS = [era for era in ERAS if era != DEFAULT_ERA]


@cache
def recorded(era: str) -> dict[str, Any]:
    """The cases of the era's release, by name, in the order in which they were recorded."""
    path = FOLDER / ERAS[era].release / "conversations.json"
    return {case["name"]: case for case in json.loads(path.read_text())}


CASES = [(era, name) for era in OLD_ERAS for name in recorded(era)]


@pytest.fixture(scope="module")
def clusters() -> Iterator[dict[tuple[str, str], Cluster]]:
    """A cluster for each area of each era."""
    yield {}


@pytest.mark.parametrize(("era", "name"), CASES, ids=[f"{era}-{name}" for era, name in CASES])
def test_answers_are_those_of_a_real_broker_of_the_era(
    clusters: dict[tuple[str, str], Cluster], era: str, name: str
) -> None:
    case = recorded(era)[name]
    place = era, name.partition(".")[0]
    if place not in clusters:
        clusters[place] = Cluster(is_first=False, era=era)
    conversation = Conversation(clusters[place], case.get("run", ""), in_order=case.get("in_order", False))
    got = conversation.answers(case)
    differing = [
        f"step {at}: expected {step['expect']}, answered {answer}"
        for at, (step, answer) in enumerate(zip(case["steps"], got, strict=True), 1)
        if step.get("expect", answer) != answer
    ]
    assert not differing, "\n".join(differing)
