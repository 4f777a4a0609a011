"""The order of what an answer lists where a real broker's is that of a hash map, which clients see."""

import json
from typing import Any

import pytest

from broker_core.run import Run
from broker_core.wire.schemas import BY_NAME
from tests.support.paths import DATA
from tests.support.tcp_conversation import ask, create, started

RECORDED = json.loads((DATA / "wire/config_order.json").read_text())
"""The names of configurations as a broker of 3.9.1 listed them."""
TOPIC, BROKER = 2, 4
DESCRIBE = BY_NAME["DescribeConfigs"].request
ALTER = BY_NAME["AlterClientQuotas"].request


@pytest.fixture
def run() -> Run:
    return started()


def names(run: Run, resource_type: int, name: str, keys: list[str] | None = None) -> list[str]:
    resource: Any = DESCRIBE.DescribeConfigsResource(
        resource_type=resource_type, resource_name=name, configuration_keys=keys
    )
    answer = ask(run, run.connect(0, "127.0.0.1"), "DescribeConfigs", 4, resources=[resource])
    return [each.name for each in answer.results[0].configs]


def test_configs_of_a_topic_are_in_the_order_of_a_real_broker(run: Run) -> None:
    create(run, run.connect(0, "127.0.0.1"), "orders")
    assert names(run, TOPIC, "orders") == RECORDED["topic"]
    two = RECORDED["two_of_a_topic"]
    assert names(run, TOPIC, "orders", two) == names(run, TOPIC, "orders", two[::-1]) == two


def test_configs_of_a_broker_are_in_the_order_of_a_real_broker(run: Run) -> None:
    listed, recorded = names(run, BROKER, "0"), RECORDED["broker"]
    common = set(listed) & set(recorded)
    assert len(common) > 300
    assert [name for name in listed if name in common] == [name for name in recorded if name in common]


def test_kinds_of_an_entity_are_in_the_order_of_a_real_broker(run: Run) -> None:
    kinds = ["user", "client-id"]
    entry = ALTER.EntryData(
        entity=[ALTER.EntityData(entity_type=kind, entity_name="a") for kind in kinds],
        ops=[ALTER.OpData(key="producer_byte_rate", value=1000.0, remove=False)],
    )
    answer = ask(run, run.connect(0, "127.0.0.1"), "AlterClientQuotas", 1, entries=[entry], validate_only=False)
    assert [each.entity_type for each in answer.entries[0].entity] == ["client-id", "user"]
