"""The configurations: their types, defaults and limits, and Kafka's messages for invalid values."""

from broker_core.config_defs.broker import BROKER_CONFIGS, RETIRED_CONFIGS
from broker_core.config_defs.dynamic import (
    DYNAMIC_CONFIGS,
    PER_BROKER_CONFIGS,
    QUOTA_CONFIGS,
    broker_key,
    broker_synonyms,
    is_of_one_broker,
    without_listener,
)
from broker_core.config_defs.keys import (
    INT_MAX,
    LONG_MAX,
    ConfigException,
    ConfigKey,
    ConfigType,
    InvalidConfigurationException,
    Value,
    text_of,
)
from broker_core.config_defs.topics import (
    TOPIC_CONFIGS,
    broker_name,
    topic_value,
    topic_values,
    validate_topic_configs,
)

__all__ = [
    "BROKER_CONFIGS",
    "DYNAMIC_CONFIGS",
    "INT_MAX",
    "LONG_MAX",
    "PER_BROKER_CONFIGS",
    "QUOTA_CONFIGS",
    "RETIRED_CONFIGS",
    "TOPIC_CONFIGS",
    "ConfigException",
    "ConfigKey",
    "ConfigType",
    "InvalidConfigurationException",
    "Value",
    "broker_key",
    "broker_name",
    "broker_synonyms",
    "is_of_one_broker",
    "text_of",
    "topic_value",
    "topic_values",
    "validate_topic_configs",
    "without_listener",
]
