"""The exceptions of a run, and of readers, for invalid input. They are raised before anything has changed."""

from broker_core.cluster import ClusterError
from broker_core.config_defs import ConfigException
from broker_core.errors import KafkaException
from broker_core.shell.grammar.parser import ShellError

__all__ = ["ClusterError", "ConfigException", "KafkaException", "ShellError"]
