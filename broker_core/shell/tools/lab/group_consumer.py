"""The verbs of `consumer` for members of groups."""

import re
from collections.abc import Callable, Mapping, Sequence

from broker_core.clients.consumer.consumer import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from broker_core.clients.consumer.group_consumer_settings import GroupConsumerSettings
from broker_core.clients.consumer.zookeeper_group import ASSIGNORS as ZOOKEEPER_ASSIGNORS
from broker_core.config_defs.java_text import parse_integer
from broker_core.config_defs.patterns import RefusedPattern, bounded_pattern
from broker_core.groups.assignors import ASSIGNORS, DEFAULT_ASSIGNORS
from broker_core.partitions import TopicPartition
from broker_core.shell.admin.group_admin import list_offsets
from broker_core.shell.admin.requests import RETRY_BACKOFF_US
from broker_core.shell.console.console_formatters import DefaultMessageFormatter
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.completion_sources import topics
from broker_core.shell.grammar.process import Process, Running, Sleep, Until
from broker_core.shell.grammar.registry import UsageError, partition_of, refuse
from broker_core.shell.tools.lab.producer import client_name
from broker_core.texts import text

CLOSE_US = 20_000_000
API_TIMEOUT_US = 60_000_000
SEEKS = {"beginning": EARLIEST_TIMESTAMP, "end": LATEST_TIMESTAMP}
NUMBERS = (
    "--process-ms",
    "--max-poll-records",
    "--max-poll-interval-ms",
    "--session-timeout-ms",
    "--heartbeat-interval-ms",
    "--auto-commit-interval-ms",
    "--metadata-max-age-ms",
)
ISOLATION_LEVELS = ("read_uncommitted", "read_committed")
CHOICES = {
    "--isolation": ISOLATION_LEVELS,
    "--from": ("beginning", "latest"),
    "--reset": ("earliest", "latest", "none"),
    "--auto-commit": ("true", "false"),
}
OPTIONS = ("--group", "--topic", "--assignor", "--instance", "--rack", *CHOICES, *NUMBERS)
_PRINTED = {"print.partition": "true", "print.offset": "true", "print.key": "true", "key.separator": ":"}


def group_consumer(process: Process, verb: str, arguments: list[str]) -> Running:
    """Starts the verb. Raises ShellError."""
    if not arguments:
        raise UsageError(text("shell.consumer_name_missing", verb=verb))
    name, rest = client_name("consumer", arguments[0]), arguments[1:]
    if verb == "start":
        return _start(process, name, settings_of(rest, process.cluster.clients.own_assignors))
    if verb == "seek":
        return _seek(process, name, *_place(rest))
    if rest:
        raise UsageError(text("shell.unexpected_arguments", words=" ".join(rest)))
    if name not in process.cluster.clients.group_consumers:
        return _unknown(process, name)
    return _VERBS[verb](process, name)


def settings_of(words: list[str], own: Mapping[str, str]) -> GroupConsumerSettings:
    """The settings of a member with these options. Raises ShellError."""
    given = dict(zip(words[::2], words[1::2], strict=False))
    unknown = [word for word in words[::2] if word not in OPTIONS]
    if len(words) % 2 or unknown:
        raise UsageError(text("shell.invalid_options", words=" ".join(unknown or words[-1:])))
    if "--group" not in given or "--topic" not in given:
        raise UsageError(text("shell.consumer_start_incomplete"))
    assignors = tuple(given["--assignor"].split(",")) if "--assignor" in given else DEFAULT_ASSIGNORS
    for assignor in assignors:
        if assignor not in ASSIGNORS and assignor not in own:
            known = ", ".join((*ASSIGNORS, *own))
            raise UsageError(text("shell.unknown_assignor", assignor=assignor, assignors=known))
    for option, choices in CHOICES.items():
        if given.get(option, choices[0]) not in choices:
            value, names = given[option], ", ".join(choices)
            raise UsageError(text("shell.option_choice", option=option, value=value, choices=names))
    numbers = {option: parse_integer(given[option]) or 0 for option in NUMBERS if option in given}
    for option, number in numbers.items():
        if number <= 0:
            raise UsageError(text("shell.option_not_positive", option=option, value=given[option]))
    if "--from" in given and "--reset" in given:
        raise UsageError(text("shell.from_and_reset"))
    start = "latest" if given.get("--from") == "latest" else "earliest"
    topic_names = tuple(given["--topic"].split(","))
    if len(topic_names) > 1:
        _check_patterns(topic_names)
    session_timeout_ms = numbers.get("--session-timeout-ms", 6_000)
    heartbeat_interval_ms = numbers.get("--heartbeat-interval-ms", 500)
    if heartbeat_interval_ms >= session_timeout_ms:
        raise UsageError(text("shell.heartbeat_too_long"))
    return GroupConsumerSettings(
        group_id=given["--group"],
        topics=topic_names,
        is_pattern=len(topic_names) > 1,
        assignors=assignors,
        own_assignors=tuple((name, own[name]) for name in assignors if name in own),
        group_instance_id=given.get("--instance"),
        auto_offset_reset=given.get("--reset", start),
        enable_auto_commit=given.get("--auto-commit", "true") == "true",
        auto_commit_interval_ms=numbers.get("--auto-commit-interval-ms", 500),
        session_timeout_ms=session_timeout_ms,
        heartbeat_interval_ms=heartbeat_interval_ms,
        processing_ms=numbers.get("--process-ms", 0),
        max_poll_records=numbers.get("--max-poll-records", 500),
        max_poll_interval_ms=numbers.get("--max-poll-interval-ms", 300_000),
        metadata_max_age_ms=numbers.get("--metadata-max-age-ms", 300_000),
        isolation_level=given.get("--isolation", ISOLATION_LEVELS[0]),
        client_rack=given.get("--rack", ""),
    )


def _check_patterns(names: Sequence[str]) -> None:
    """Several topics are subscribed to as regular expressions. Raises UsageError."""
    for name in names:
        try:
            bounded_pattern(name)
        except RefusedPattern as refused:
            raise UsageError(refused.what) from None
        except re.error:
            raise UsageError(text("shell.pattern_invalid", pattern=name)) from None


def _start(process: Process, name: str, settings: GroupConsumerSettings) -> Running:
    clients = process.cluster.clients
    if not clients.is_free(name):
        refuse(process, text("shell.name_taken", name=name, command="consumer stop"))
        return 1
    if not clients.era.coordinates_consumers and settings.assignors[0] not in ZOOKEEPER_ASSIGNORS:
        known = ", ".join(ZOOKEEPER_ASSIGNORS)
        refuse(process, text("shell.old_assignors", era=clients.era.name, assignors=known))
        return 1
    if settings.client_rack and not clients.era.replication.reads_from_followers:
        refuse(process, text("shell.no_client_rack", era=clients.era.name))
        return 1
    clients.open_group_consumer(name, settings)
    yield from ()
    return 0


def _unknown(process: Process, name: str) -> Running:
    refuse(process, text("shell.no_group_consumer", name=name))
    yield from ()
    return 1


def _print(process: Process, name: str) -> None:
    formatter = DefaultMessageFormatter(process, _PRINTED)
    output = process.cluster.clients.group_consumers[name].output
    rows = [
        (
            (
                TopicPartition.parse(partition).partition,
                record.offset,
                formatter.text(partition, record).removesuffix("\n"),
            )
        )
        for partition, record in output
    ]
    for _, _, line in sorted(rows):
        process.out(line)


def _freeze(process: Process, name: str) -> Running:
    clients = process.cluster.clients
    if clients.is_frozen(name):
        refuse(process, text("shell.already_frozen", name=name))
        return 1
    clients.freeze(name)
    yield from ()
    return 0


def _thaw(process: Process, name: str) -> Running:
    clients = process.cluster.clients
    if not clients.is_frozen(name):
        refuse(process, text("shell.not_frozen", name=name))
        return 1
    clients.thaw(name)
    yield from ()
    return 0


def _stop(process: Process, name: str) -> Running:
    if process.cluster.clients.is_frozen(name):
        refuse(process, text("shell.frozen_close", name=name))
        return 1
    consumer = process.cluster.clients.group_consumers[name]
    consumer.close()
    yield Until(lambda cluster: consumer.is_over, process.now_us + CLOSE_US)
    _print(process, name)
    process.cluster.clients.close(name)
    return 0


def _kill(process: Process, name: str) -> Running:
    process.cluster.clients.close(name)
    yield from ()
    return 0


def _commit(process: Process, name: str) -> Running:
    if _is_suspended(process, name):
        return 1
    consumer = process.cluster.clients.group_consumers[name]
    deadline_us = process.now_us + API_TIMEOUT_US
    while not consumer.commit() and process.now_us < deadline_us:
        yield Sleep(RETRY_BACKOFF_US)
    yield Until(lambda cluster: consumer.commit_answer is not None or consumer.is_over, deadline_us)
    answer = consumer.commit_answer
    if answer is None:
        seconds = API_TIMEOUT_US // 1_000
        answer = f"TimeoutException: Timeout of {seconds}ms expired before successfully committing offsets"
        consumer.commit_answer = answer
    if answer:
        process.out(answer)
    return 1 if answer else 0


def _place(words: list[str]) -> tuple[str, str]:
    """Partition and offset of T-P@OFFSET. Raises ShellError."""
    partition, at, offset = words[0].rpartition("@") if len(words) == 1 else ("", "", "")
    if not at or not (offset in SEEKS or (offset.isdecimal() and len(offset) < 20 and int(offset) < 1 << 63)):
        raise UsageError(text("shell.seek_position"))
    return partition_of(partition), offset


def _seek(process: Process, name: str, partition: str, place: str) -> Running:
    clients = process.cluster.clients
    if name not in clients.group_consumers:
        return (yield from _unknown(process, name))
    if not clients.era.coordinates_consumers:
        refuse(process, text("shell.old_seek", era=clients.era.name))
        return 1
    if _is_suspended(process, name):
        return 1
    member = clients.group_consumers[name]
    if place not in SEEKS:
        offset = int(place)
    elif partition in member.owned:
        offset = (yield from list_offsets(process, [partition], SEEKS[place]))[partition]
    # A rebalance may have revoked it in the meantime.
    if partition not in member.owned:
        process.out(f"IllegalStateException: No current assignment for partition {partition}")
        return 1
    member.seek(partition, offset)
    return 0


def _is_suspended(process: Process, name: str) -> bool:
    """Whether its process is frozen, which is printed."""
    if process.cluster.clients.is_frozen(name):
        refuse(process, text("shell.frozen", name=name))
        return True
    return False


def _output(process: Process, name: str) -> Running:
    _print(process, name)
    yield from ()
    return 0


_VERBS: dict[str, Callable[[Process, str], Running]] = {
    "stop": _stop,
    "kill": _kill,
    "freeze": _freeze,
    "thaw": _thaw,
    "commit": _commit,
    "output": _output,
}
GROUP_VERBS = ("start", "seek", *_VERBS)


def complete_group_consumer(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    """The completions after these words."""
    if words[0] == "seek" and len(words) == 3:
        member = cluster.clients.group_consumers.get(words[1])
        return [f"{partition}@" for partition in member.owned] if member else []
    if words[0] != "start":
        return list(cluster.clients.group_consumers) if len(words) == 2 else []
    if len(words) < 3:
        return []
    if len(words) % 2:
        return [option for option in OPTIONS if option not in words]
    if words[-2] == "--topic":
        return topics(cluster)
    if words[-2] == "--assignor":
        return [*ASSIGNORS, *cluster.clients.own_assignors]
    return list(CHOICES.get(words[-2], ()))
