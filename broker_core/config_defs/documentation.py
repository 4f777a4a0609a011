"""Kafka's documentation of its configurations, as returned by brokers (DescribeConfigs, KIP-569).

The texts are those of Apache Kafka 3.9.1, © The Apache Software Foundation, under the Apache License 2.0.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec


@cache
def _texts() -> Mapping[str, Mapping[str, str]]:
    data = files(__package__).joinpath("documentation.json").read_bytes()
    return msgspec.json.decode(data, type=dict[str, dict[str, str]])


def documentation(of: Literal["topic", "broker"]) -> Mapping[str, str]:
    """The text of each configuration by name."""
    return _texts()[of]
