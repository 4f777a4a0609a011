"""Completion of a console line: commands, verbs, options, and existing names."""

from collections.abc import Collection, Sequence

from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.completion_sources import log_files, partitions, topics
from broker_core.shell.grammar.parser import Option, quoted, words_of
from broker_core.shell.grammar.registry import Command, Grammar


def complete(
    cluster: ClusterApi, grammar: Grammar, line: str, cursor: int, files: Collection[str] = ()
) -> tuple[int, list[str]]:
    """The start of the word at the cursor, and its completions, sorted. `files`: those that `file` has written."""
    words = words_of(line[:cursor])
    if words and (words[-1].end == cursor or words[-1].open) and not line[:cursor][-1:].isspace():
        begin, last, before = words[-1].start, words[-1].text, [word.text for word in words[:-1]]
    else:
        begin, last, before = cursor, "", [word.text for word in words]
    items = _candidates(cluster, grammar, before, last, files)
    return begin, sorted({quoted(item) for item in items if item.startswith(last) and item != last})


def _candidates(
    cluster: ClusterApi, grammar: Grammar, before: Sequence[str], last: str, files: Collection[str]
) -> list[str]:
    if not before:
        return list(grammar.commands)
    command = grammar.commands.get(before[0])
    if command is None:
        return []
    if command.options:
        return _options(cluster, command, before[1:], last, files)
    return command.complete(cluster, [*before[1:], last]) if command.complete is not None else []


def _options(
    cluster: ClusterApi, command: Command, before: Sequence[str], last: str, files: Collection[str]
) -> list[str]:
    by_name = {option.name: option for option in command.options}
    requested = by_name.get(before[-1].removeprefix("--")) if before and before[-1].startswith("--") else None
    if requested is not None and requested.argument:
        return sorted(files) if requested.values == "file" else _values(cluster, requested, last)
    return [f"--{option.name}" for option in command.options if option.repeats or f"--{option.name}" not in before]


def _values(cluster: ClusterApi, option: Option, last: str) -> list[str]:
    if option.values == "topic":
        return topics(cluster)
    if option.values == "broker":
        return [str(broker_id) for broker_id in cluster.broker_ids]
    if option.values == "partition":
        return partitions(cluster)
    if option.values == "log files":
        return log_files(cluster, last)
    return option.values.split("|") if option.values else []
