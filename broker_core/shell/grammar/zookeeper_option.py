"""`--zookeeper`, the option of the admin tools before Kafka 3.0, which many older texts use."""

from collections.abc import Sequence

from broker_core.eras import Era
from broker_core.shell.grammar.process import Process, Running
from broker_core.shell.grammar.registry import refuse
from broker_core.texts import text

_OPTION = "--zookeeper"
_TOOLS = ("kafka-configs.sh", "kafka-reassign-partitions.sh", "kafka-topics.sh")


def without_zookeeper(words: Sequence[str], era: Era) -> list[str]:
    """The words of a command, without this option and its value in a cluster of an older era: the tools use the lab's
    brokers all the same. A missing value is left for the tool to report.
    """
    rest = list(words)
    if era.zookeeper.used_by_tools and words and words[0] in _TOOLS:
        for at, word in enumerate(words):
            if word.startswith(f"{_OPTION}="):
                del rest[at]
                break
            if word == _OPTION and at + 1 < len(words):
                del rest[at : at + 2]
                break
    return rest


def with_hint(process: Process, running: Running) -> Running:
    """The command with a hint at the current form of the option."""
    refuse(process, text("shell.zookeeper_option"))
    return (yield from running)
