"""`--zookeeper`, by which the admin tools found the cluster before Kafka 3.0: older texts are full of it."""

from collections.abc import Sequence

from broker_core.eras import Era
from broker_core.shell.grammar.process import Process, Running
from broker_core.shell.grammar.registry import refuse
from broker_core.texts import text

_OPTION = "--zookeeper"
_TOOLS = ("kafka-configs.sh", "kafka-reassign-partitions.sh", "kafka-topics.sh")


def without_zookeeper(words: Sequence[str], era: Era) -> list[str]:
    """The words of a command. In a cluster of an older era they lose the option and its value: the tools speak to the
    lab's brokers all the same. A value that is missing is left to the tool to complain of.
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
    """The command, behind a line that says how it is written today."""
    refuse(process, text("shell.zookeeper_option"))
    return (yield from running)
