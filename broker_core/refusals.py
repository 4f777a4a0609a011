"""What a run and its readers raise for an input that they do not accept: then nothing has happened."""

from broker_core.cluster import ClusterError
from broker_core.config_defs import ConfigException
from broker_core.errors import KafkaException
from broker_core.shell.grammar.parser import ShellError

__all__ = ["ClusterError", "ConfigException", "KafkaException", "ShellError"]
