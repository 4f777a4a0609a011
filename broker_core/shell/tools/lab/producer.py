"""producer: the lab's producers, which stay open between commands."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from broker_core.clients.exceptions import exception_class, exception_message
from broker_core.clients.producer.accumulator import record_size_upper_bound
from broker_core.clients.producer.producer import Producer
from broker_core.config_defs import ConfigException
from broker_core.config_defs.java_text import parse_integer
from broker_core.partitions import TopicPartition, topic_of
from broker_core.shell.admin.requests import RETRY_BACKOFF_US, Asking
from broker_core.shell.console.producer_options import (
    CHOICES,
    OPEN_OPTIONS,
    parse_options,
    settings_of,
    shown_settings,
    wants_ids,
    what_to_change,
)
from broker_core.shell.console.producer_transactions import (
    abort_open_transaction,
    await_initialization,
    end_or_begin,
    failed_before,
    init_transactions,
    is_spent,
    no_such_producer,
    result_is_in,
    why_not,
)
from broker_core.shell.console.transaction_offsets import complete_offsets, send_offsets
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.completion_sources import partitions, topics
from broker_core.shell.grammar.parser import ShellError
from broker_core.shell.grammar.process import Process, Running, Sleep, Until
from broker_core.shell.grammar.registry import (
    PARTITION,
    TOPIC,
    Command,
    UsageError,
    not_understood,
    partition_of,
    refuse,
)
from broker_core.shell.java.errors import JavaException
from broker_core.texts import text

VERBS = ("open", "send", "begin", "commit", "abort", "offsets", "burst", "stream", "flush", "close", "drop")
CLOSE_US = 120_000_000
MAX_RATE = 10_000
MAX_BURST = 100_000
MAX_TIMESTAMP_MS = (1 << 63) - 1
_SEND_OPTIONS = ("--timestamp", "--key-separator")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,39}")
_NODE = re.compile(r"b\d+|zk|shell|lab")


def client_name(command: str, word: str) -> str:
    """The node of a client that an argument names. A producer may have the name of another node, such as b2: only the
    brokers get its client id. Raises ShellError for an invalid client name.
    """
    if command == "producer" and _NODE.fullmatch(word):
        return f"producer-{word}"
    if _NAME.fullmatch(word) is None or _NODE.fullmatch(word):
        raise ShellError("shell.invalid_client_name", name=word, example=f"{command[0]}1")
    return word


def _producer(process: Process, arguments: list[str]) -> Running:
    verb = arguments[0] if arguments else ""
    if verb not in VERBS or len(arguments) < 2:
        raise not_understood("producer", arguments)
    name, rest = client_name("producer", arguments[1]), arguments[2:]
    if verb == "open":
        return _open(process, name, parse_options(rest))
    if verb in ("close", "drop", "begin", "commit", "abort", "flush"):
        if rest:
            raise UsageError(text("shell.unexpected_arguments", words=" ".join(rest)))
        if verb in ("close", "drop"):
            return _close(process, name, wait=verb == "close")
        return _flush(process, name) if verb == "flush" else end_or_begin(process, name, verb)
    if verb == "offsets":
        return send_offsets(process, name, rest)
    if len(rest) < 2 or (verb != "send" and len(rest) > 2):
        raise UsageError(text("shell.incomplete", line=" ".join(["producer", *arguments])))
    if verb == "send":
        # An invalid topic name is reported by the client with its own message.
        is_odd = re.fullmatch(PARTITION, rest[0]) is None and re.fullmatch(r".*-\d{1,10}", rest[0]) is not None
        place = Place(rest[0], is_topic=False) if is_odd else _place(rest[0])
        return _send(process, name, place, _records_of(rest[1:]))
    place = _place(rest[0])
    least, most = (0, MAX_RATE) if verb == "stream" else (1, MAX_BURST)
    number = parse_integer(rest[1])
    if number is None or not least <= number <= most:
        raise UsageError(text("shell.invalid_number", value=rest[1], min=least, max=most))
    if verb == "stream":
        return _stream(process, name, place, number)
    return _burst(process, name, place, number)


class Records(NamedTuple):
    """The records of `send`: keys with values, and the timestamp of all; None is the time at which each is sent."""

    pairs: list[tuple[bytes | None, bytes | None]]
    timestamp_ms: int | None


def _records_of(words: list[str]) -> Records:
    """The records, then the options in any order. Raises UsageError."""
    options: dict[str, str] = {}
    records = list(words)
    while len(records) > 2 and records[-2] in _SEND_OPTIONS and records[-2] not in options:
        *records, option, options[option] = records
    given, separator = options.get("--timestamp"), options.get("--key-separator", ":")
    number = None if given is None else parse_integer(given)
    is_number = given is None or (number is not None and 0 <= number <= MAX_TIMESTAMP_MS)
    if not is_number or not separator or any(word in _SEND_OPTIONS for word in records):
        raise UsageError(text("shell.invalid_send_options", words=" ".join(words)))
    return Records([_key_and_value(record, separator) for record in records], number)


class Place(NamedTuple):
    """The destination of records: a partition, or a topic of which the partitioner chooses one."""

    name: str
    is_topic: bool


def _place(word: str) -> Place:
    """The destination of an argument: what ends with a minus and a number is a partition."""
    if not re.fullmatch(PARTITION, word) and re.fullmatch(TOPIC, word):
        return Place(word, is_topic=True)
    return Place(partition_of(word), is_topic=False)


def _open(process: Process, name: str, given: dict[str, str]) -> Running:
    clients = process.cluster.clients
    era = process.cluster.era
    if wants_ids(given) and not era.transactions.are_supported:
        refuse(process, text("shell.no_producer_ids", era=era.name))
        return 1
    spent = name in clients.producers and is_spent(clients.producers[name])
    if not spent and not clients.is_free(name):
        refuse(process, text("shell.name_taken", name=name, command="producer close"))
        return 1
    try:
        settings = settings_of(given, era)
    except ConfigException as error:
        return _refused(process, given, JavaException("org.apache.kafka.common.config.ConfigException", str(error)))
    except JavaException as error:
        return _refused(process, given, error)
    if spent:
        clients.close(name)
    producer = clients.open_producer(name, settings, shown_settings(settings))
    if settings.transactional_id:
        yield from init_transactions(process, producer)
    return 0


def _refused(process: Process, given: dict[str, str], error: JavaException) -> int:
    """Kafka's own message on one line, and what to do on the next."""
    trace = error.stack_trace()
    process.err(" / ".join(trace))
    refuse(process, text("shell.producer_settings", options=what_to_change(given, trace[-1])))
    return 1


def _bytes(word: str) -> bytes | None:
    return None if word == "null" else word.encode()


def _send(process: Process, name: str, place: Place, records: Records) -> Running:
    """Sends one record after the other; each waits for its acknowledgement."""
    producer = process.cluster.clients.producers.get(name)
    if producer is None:
        return no_such_producer(process, name)
    yield from await_initialization(process, producer)
    for key, value in records.pairs:
        if name not in process.cluster.clients.producers:
            return no_such_producer(process, name)
        refused = yield from _why_not(process, producer, place, record_size_upper_bound(key, value))
        if refused:
            process.out(refused)
            continue
        # The client detects too late that there is no transaction: it has appended the record, and keeps it.
        thrown = why_not(producer, place.name)
        handed = producer.send(
            place.name, key, value, is_topic=place.is_topic, keep_result=not thrown, timestamp_ms=records.timestamp_ms
        )
        if thrown:
            process.out(thrown)
            continue
        yield Until(result_is_in(producer, handed.sequence), process.now_us + 2 * CLOSE_US, poll_us=1_000)
        result = producer.take_result(handed.sequence)
        if result is None:
            return no_such_producer(process, name)
        offset = f"@{result.base_offset + handed.place}" if result.base_offset >= 0 else " sent"
        process.out(f"{result.exception}: {result.message}" if result.exception else handed.partition + offset)
    return 0


def _key_and_value(record: str, separator: str) -> tuple[bytes | None, bytes | None]:
    """Splits as `key.separator` of the console producer does, but a record without a separator has no key."""
    key, found, value = record.partition(separator)
    return (_bytes(key), _bytes(value)) if found else (None, _bytes(record))


def _why_not(process: Process, producer: Producer, place: Place, size: int) -> Asking[str]:
    """Waits until a record of this size can be sent; returns the exception of `KafkaProducer.send` if it cannot."""
    if producer.transactions.is_broken:
        return failed_before(producer.transactions)
    refused = yield from _why_not_taken(process, producer, place, size)
    if refused and producer.transactions.transactional_id:
        exception, _, message = refused.partition(": ")
        refused = producer.transactions.send_failed(exception, message) or refused
    return refused


def _why_not_taken(process: Process, producer: Producer, place: Place, size: int) -> Asking[str]:
    deadline_us = process.now_us + producer.settings.max_block_ms * 1000
    topic = place.name if place.is_topic else topic_of(place.name)
    if re.fullmatch(TOPIC, topic) is None:
        return f"InvalidTopicException: Invalid topics: [{topic}]"
    missing = yield from (_wait_for_topic if place.is_topic else wait_for_partition)(process, producer.name, place.name)
    if missing:
        return missing
    too_large = producer.why_too_large(size)
    if too_large:
        producer.refuse(place.name, too_large)
        return f"RecordTooLargeException: {too_large}"
    return (yield from _wait_for_memory(process, producer, place, size, deadline_us))


def _wait_for_memory(process: Process, producer: Producer, place: Place, size: int, deadline_us: int) -> Asking[str]:
    def has_capacity(_: object = None) -> bool:
        return producer.has_capacity(place.name, size, is_topic=place.is_topic)

    if has_capacity():
        return ""
    producer.block("memory")
    in_time = yield Until(has_capacity, deadline_us, poll_us=1_000)
    producer.block("")
    if in_time:
        return ""
    accumulator, limit_ms = producer.sender.accumulator, producer.settings.max_block_ms
    needed = max(accumulator.batch_size, size)
    return (
        f"BufferExhaustedException: Failed to allocate {needed} bytes within the configured max blocking time "
        f"{limit_ms} ms. Total memory: {accumulator.buffer_memory} bytes. Available memory: "
        f"{accumulator.buffer_memory - accumulator.used_memory} bytes. Poolable size: {accumulator.batch_size} bytes"
    )


def wait_for_partition(process: Process, name: str, partition: str) -> Asking[str]:
    """Waits until a producer knows a partition; returns the exception of `KafkaProducer.send` if that takes too long,
    or nothing.
    """
    producer = process.cluster.clients.producers[name]
    topic, number = TopicPartition.parse(partition)
    begun_us = process.now_us
    limit_ms = producer.settings.max_block_ms
    while partition not in producer.metadata.partitions:
        if process.now_us - begun_us >= limit_ms * 1000:
            count = producer.metadata.partition_counts.get(topic)
            if count is None:
                return _not_present(producer, topic)
            return (
                f"TimeoutException: Partition {number} of topic {topic} with partition count {count} is not present "
                f"in metadata "
                f"after {limit_ms} ms."
            )
        producer.request_metadata_of(topic)
        yield Until(lambda _: not producer.requests_metadata, begun_us + limit_ms * 1000, poll_us=1_000)
        if partition not in producer.metadata.partitions:
            yield Sleep(RETRY_BACKOFF_US)
    return ""


def _not_present(producer: Producer, topic: str) -> str:
    """The exception if no broker returns a topic's metadata in time, with a message of the lab."""
    error = producer.metadata.why_absent(topic)
    cause = "" if error is None else f" / {exception_class(error)}: {exception_message(error)}"
    return f"TimeoutException: Topic {topic} not present in metadata after {producer.settings.max_block_ms} ms.{cause}"


def _wait_for_topic(process: Process, name: str, topic: str) -> Asking[str]:
    """Waits until a producer knows a topic."""
    producer = process.cluster.clients.producers[name]
    limit_ms = producer.settings.max_block_ms
    deadline_us = process.now_us + limit_ms * 1000
    while topic not in producer.metadata.partition_counts:
        if process.now_us >= deadline_us:
            return _not_present(producer, topic)
        producer.request_metadata_of(topic)
        yield Until(lambda _: not producer.requests_metadata, deadline_us, poll_us=1_000)
        if topic not in producer.metadata.partition_counts:
            yield Sleep(RETRY_BACKOFF_US)
    return ""


def _stream(process: Process, name: str, place: Place, rate: int) -> Running:
    producer = process.cluster.clients.producers.get(name)
    if producer is None:
        return no_such_producer(process, name)
    refused = why_not(producer, place.name)
    if refused and rate:
        process.out(refused)
    else:
        producer.stream(place.name, rate, is_topic=place.is_topic)
    yield from ()
    return 0


def _burst(process: Process, name: str, place: Place, count: int) -> Running:
    """Generated records, as fast as memory allows; their acknowledgements are not awaited."""
    producer = process.cluster.clients.producers.get(name)
    if producer is None:
        return no_such_producer(process, name)
    refused = why_not(producer, place.name)
    if not refused and place.is_topic:
        refused = yield from _wait_for_topic(process, name, place.name)
    if refused:
        process.out(refused)
        return 0
    for _ in range(count):
        key, value = producer.generate_record()
        size = record_size_upper_bound(key, value)
        too_large = producer.why_too_large(size)
        if too_large:
            producer.refuse(place.name, too_large)
            process.out(f"RecordTooLargeException: {too_large}")
            continue
        if not producer.has_capacity(place.name, size, is_topic=place.is_topic):
            deadline_us = process.now_us + producer.settings.max_block_ms * 1000
            refused = yield from _wait_for_memory(process, producer, place, size, deadline_us)
            if refused:
                process.out(refused)
                return 0
        producer.send(place.name, key, value, is_topic=place.is_topic, now=False)
    producer.send_ready()
    return 0


def _flush(process: Process, name: str) -> Running:
    """Sends everything that is queued, and waits until it is complete."""
    producer = process.cluster.clients.producers.get(name)
    if producer is None:
        return no_such_producer(process, name)
    producer.flush()
    yield Until(lambda _: not producer.has_unsent, process.now_us + CLOSE_US, poll_us=1_000)
    return 0


def _close(process: Process, name: str, *, wait: bool) -> Running:
    clients = process.cluster.clients
    producer = clients.producers.get(name)
    if producer is None:
        return no_such_producer(process, name)
    if producer.running_stream is not None:
        producer.stream(producer.running_stream.partition, 0)
    if wait:
        producer.begin_close()
        yield Until(lambda _: producer.is_idle, process.now_us + CLOSE_US)
        yield from abort_open_transaction(process, producer)
    if clients.producers.get(name) is producer:
        clients.close(name)
    return 0


def _complete(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    if len(words) == 1:
        return list(VERBS)
    if len(words) == 2:
        return list(cluster.clients.producers) if words[0] != "open" else []
    if words[0] == "open":
        return list(CHOICES.get(words[-2], OPEN_OPTIONS))
    if words[0] == "offsets":
        return complete_offsets(cluster, words)
    if words[0] == "send" and len(words) > 3:
        return [option for option in _SEND_OPTIONS if option not in words]
    places = words[0] in ("send", "burst", "stream") and len(words) == 3
    return [*partitions(cluster), *topics(cluster)] if places else []


COMMAND = Command(
    "producer",
    text("help.producer"),
    (
        (
            "producer open NAME [--acks all|0|1] [--linger MS] [--batch-size BYTES] [--buffer-memory BYTES]",
            text("help.producer_open"),
        ),
        (
            "... [--idempotence true|false] [--compression none|gzip|snappy|lz4|zstd]",
            text("help.producer_open_batches"),
        ),
        (
            "... [--max-in-flight N] [--retries N] [--timeout MS] [--max-block MS]",
            text("help.producer_open_limits"),
        ),
        (
            "... [--max-request-size BYTES] [--metadata-max-age-ms MS]",
            text("help.producer_open_requests"),
        ),
        (
            "... [--partitioner built-in|sticky|round-robin|random] [--ignore-keys true]",
            text("help.producer_open_partitioner"),
        ),
        (
            "producer open NAME --transactional-id ID [--transaction-timeout MS]",
            text("help.producer_open_transactions"),
        ),
        ("producer begin NAME", text("help.producer_begin")),
        ("producer commit NAME", text("help.producer_commit")),
        ("producer abort NAME", text("help.producer_abort")),
        (
            "producer offsets NAME --group G T-P@OFFSET ...",
            text("help.producer_offsets"),
        ),
        ("producer offsets NAME --consumer C", text("help.producer_offsets_of")),
        (
            "producer send NAME T-P|T K:V ... [--timestamp MS] [--key-separator S]",
            text("help.producer_send"),
        ),
        (
            "producer burst NAME T-P|T COUNT",
            text("help.producer_burst"),
        ),
        ("producer stream NAME T-P|T RATE", text("help.producer_stream")),
        ("producer flush NAME", text("help.producer_flush")),
        ("producer close NAME", text("help.producer_close")),
        ("producer drop NAME", text("help.producer_drop")),
    ),
    _producer,
    complete=_complete,
)
