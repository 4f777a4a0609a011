"""kafka-console-producer.sh (`kafka.tools.ConsoleProducer`, `LineMessageReader`)."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from broker_core.clients.producer.accumulator import record_size_upper_bound
from broker_core.clients.producer.producer import AppendedRecord, Producer
from broker_core.clients.producer.producer_settings import ProduceResult, ProducerSettings
from broker_core.config_defs import ConfigException
from broker_core.config_defs.java_text import CLASSES_WITHOUT_ARGUMENTS
from broker_core.errors import Errors
from broker_core.shell.admin.admin_client import check_address
from broker_core.shell.admin.requests import RETRY_BACKOFF_US, Asking
from broker_core.shell.console.producer_options import shown_settings
from broker_core.shell.console.producer_transactions import result_is_in, why_not
from broker_core.shell.grammar.parser import Option, OptionError, ParsedOptions
from broker_core.shell.grammar.process import Process, Running, Sleep, Until, settled
from broker_core.shell.grammar.registry import Command
from broker_core.shell.java.client_configs import NO_REPORTER
from broker_core.shell.java.errors import (
    ERRORS_PACKAGE,
    HELP,
    VERSION,
    JavaException,
    ToolUsageError,
    check_help,
    check_required,
    error_class,
    key_values,
    load_properties,
    log_error,
    print_usage,
)
from broker_core.shell.java.patterns import compiled
from broker_core.shell.java.producer_config import era_settings, fitted, not_constructed, settings_of, with_era_defaults
from broker_core.texts import text

CLIENT_ID = "console-producer"
CALLBACK_LOGGER = "org.apache.kafka.clients.producer.internals.ErrorLoggingCallback"
SENDER_LOGGER = "org.apache.kafka.clients.producer.internals.Sender"
METADATA_LOGGER = "org.apache.kafka.clients.Metadata"
READER_DEFAULTS = {
    "parse.key": "false",
    "key.separator": "\t",
    "parse.headers": "false",
    "headers.delimiter": "\t",
    "headers.separator": ",",
    "headers.key.separator": ":",
    "ignore.error": "false",
    "null.marker": None,
}
OPTIONS = (
    Option("batch-size", "Bytes of a batch, at most.", "size", "Integer"),
    Option("bootstrap-server", "The brokers to connect to; the lab adds those that are up.", "server to connect to"),
    Option("broker-list", "The old name of bootstrap-server.", "broker-list"),
    Option(
        "compression-codec",
        "none, gzip, snappy, lz4 or zstd; gzip if nothing follows.",
        "compression-codec",
        optional=True,
        values="none|gzip|snappy|lz4|zstd",
    ),
    HELP,
    VERSION,
    Option("line-reader", "The class that reads the lines.", "reader_class"),
    Option("max-memory-bytes", "How much may wait to be sent.", "total memory in bytes", "Long"),
    Option("max-partition-memory-bytes", "Bytes of a batch, at most.", "memory in bytes per partition", "Integer"),
    Option("metadata-expiry-ms", "After how long metadata is asked for again.", "metadata expiration interval", "Long"),
    Option("producer.config", "A file of producer configurations.", "config file", values="file"),
    Option("reader-config", "A file of properties for reading lines.", "config file", values="file"),
    Option("retry-backoff-ms", "The pause before a failed send is tried again.", "Long", "Long"),
    Option("socket-buffer-size", "The size of the TCP buffer.", "size", "Integer"),
    Option("max-block-ms", "How long a send may wait for metadata.", "max block on send", "Long"),
    Option("message-send-max-retries", "How often a failed send is tried again.", "retries", "Integer"),
    Option("producer-property", "A producer configuration.", "producer_prop", repeats=True),
    Option(
        "property",
        "How lines are read: parse.key, key.separator, parse.headers, headers.delimiter, headers.separator, "
        "headers.key.separator, ignore.error, null.marker.",
        "prop",
        repeats=True,
    ),
    Option("request-required-acks", "all, -1, 0 or 1.", "request required acks", values="all|0|1"),
    Option("request-timeout-ms", "How long the leader may take to answer.", "request timeout ms", "Integer"),
    Option("sync", "Wait for each record before the next one is sent."),
    Option("timeout", "How long records may gather; the end of the input sends them anyhow.", "timeout_ms", "Long"),
    Option("topic", "The topic to produce to.", "topic", values="topic"),
)
_PROPERTY_OPTIONS = (
    ("timeout", "linger.ms", "1000"),
    ("request-required-acks", "acks", "-1"),
    ("request-timeout-ms", "request.timeout.ms", "1500"),
    ("message-send-max-retries", "retries", "3"),
    ("retry-backoff-ms", "retry.backoff.ms", "100"),
    ("socket-buffer-size", "send.buffer.bytes", "102400"),
    ("max-memory-bytes", "buffer.memory", "33554432"),
    ("batch-size", "batch.size", "16384"),
    ("max-partition-memory-bytes", "batch.size", "16384"),
    ("metadata-expiry-ms", "metadata.max.age.ms", "300000"),
    ("max-block-ms", "max.block.ms", "60000"),
)
"""Options that set a configuration, with their defaults if neither the option nor a property is given."""
TEXTS = ("request-required-acks",)
USUAL_LENGTH = 1_000
"""The length of headers for which the separator is checked at the start; it is checked again for longer ones."""
LINE_READERS = ("kafka.tools.ConsoleProducer$LineMessageReader",)


class Line(NamedTuple):
    """The record in a line of input."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class LineReader:
    """Parses lines into records (`LineMessageReader`). Raises JavaException for conflicting settings."""

    def __init__(self, properties: dict[str, str]) -> None:
        given: dict[str, str | None] = {**READER_DEFAULTS, **properties}
        self.parse_key, self.parse_headers, self.ignore_error = (
            (given[name] or "").strip().lower() == "true" for name in ("parse.key", "parse.headers", "ignore.error")
        )
        self.key_separator = given["key.separator"] or ""
        self.headers_delimiter = given["headers.delimiter"] or ""
        self.headers_separator = compiled(given["headers.separator"] or "", USUAL_LENGTH, is_searched=True)
        self.headers_key_separator = given["headers.key.separator"] or ""
        self.null_marker = given["null.marker"]
        if self.parse_headers:
            for one, other in (
                ("headers.delimiter", "headers.separator"),
                ("headers.delimiter", "headers.key.separator"),
                ("headers.separator", "headers.key.separator"),
            ):
                if given[one] == given[other]:
                    raise _kafka_exception(f"{one} and {other} may not be equal")
        for name in ("key.separator", "headers.delimiter", "headers.separator", "headers.key.separator"):
            if self.null_marker is not None and self.null_marker == given[name]:
                raise _kafka_exception(f"null.marker and {name} may not be equal")

    def read(self, lines: list[str]) -> Iterator[Line]:
        """The records of the lines. Raises JavaException at the first line in another format, and
        RefusedPattern.
        """
        for number, line in enumerate(lines, 1):
            headers = self._part(self.parse_headers, line, 0, self.headers_delimiter, "headers delimiter", number)
            begin = 0 if headers is None else len(headers) + len(self.headers_delimiter)
            key = self._part(self.parse_key, line, begin, self.key_separator, "key separator", number)
            begin += 0 if key is None else len(key) + len(self.key_separator)
            pairs: tuple[tuple[str, bytes | None], ...] = ()
            if headers is not None and headers != self.null_marker:
                pairs = tuple(self._header(pair, number) for pair in _split_by(self.headers_separator, headers))
            yield Line(self._bytes(key), self._bytes(line[begin:]), pairs)

    def _part(self, enabled: bool, line: str, begin: int, separator: str, name: str, number: int) -> str | None:
        if not enabled:
            return None
        end = line.find(separator, begin)
        if end < 0:
            if self.ignore_error:
                return None
            raise _kafka_exception(f"No {name} found on line number {number}: '{line}'")
        return line[begin:end]

    def _header(self, pair: str, number: int) -> tuple[str, bytes | None]:
        end = pair.find(self.headers_key_separator)
        if end < 0:
            if self.ignore_error:
                return pair, None
            raise _kafka_exception(f"No header key separator found in pair '{pair}' on line number {number}")
        name, value = pair[:end], pair[end + len(self.headers_key_separator) :]
        if name == self.null_marker:
            raise _kafka_exception(
                f"Header keys should not be equal to the null marker '{self.null_marker}' as they can't be null"
            )
        return name, self._bytes(value)

    def _bytes(self, text: str | None) -> bytes | None:
        return None if text is None or text == self.null_marker else text.encode()


def _split_by(separator: re.Pattern[str], text: str) -> list[str]:
    """`Pattern.split`: without trailing empty parts if there was a separator. Raises RefusedPattern."""
    separator = compiled(separator.pattern, max(USUAL_LENGTH, len(text)), is_searched=True)
    parts, begin = [], 0
    for match in separator.finditer(text):
        if match.end():
            parts.append(text[begin : match.start()])
            begin = match.end()
    parts.append(text[begin:])
    while begin and parts and not parts[-1]:
        parts.pop()
    return parts


def _kafka_exception(message: str) -> JavaException:
    return JavaException("org.apache.kafka.common.KafkaException", message)


def _config_exception(message: str) -> JavaException:
    return JavaException("org.apache.kafka.common.config.ConfigException", message)


def producer_settings(process: Process, options: ParsedOptions) -> ProducerSettings:
    """The producer's configuration; properties apply unless an option is given. Raises JavaException, and OptionError
    for an option that is not a number.
    """
    properties: dict[str, str] = {}
    config_file = options.value("producer.config")
    if config_file is not None:
        properties |= load_properties(process, config_file)
    properties |= key_values(options.values("producer-property"))
    codec = options.value("compression-codec")
    properties["compression.type"] = "none" if "compression-codec" not in options else codec or "gzip"
    for option, name, default in _PROPERTY_OPTIONS:
        if option in options or name not in properties:
            value = options.value(option)
            if option not in TEXTS:
                options.integer(option)
            properties[name] = default if value is None else value
    try:
        settings = settings_of(with_era_defaults(properties, process.cluster.era))
    except ConfigException as error:
        raise _config_exception(str(error)) from None
    settings = fitted(settings, process.cluster.era, is_given="delivery.timeout.ms" in properties)
    if properties.get("metric.reporters"):
        raise JavaException(*NO_REPORTER.split(": ", 1))
    for name in filter(None, properties.get("interceptor.classes", "").split(",")):
        raise not_constructed(
            f"org.apache.kafka.common.KafkaException: Class {name.strip()} cannot be found",
            f"java.lang.ClassNotFoundException: {name.strip()}",
        )
    return settings


def _reader(process: Process, options: ParsedOptions) -> "LineReader":
    """The reader of the lines. Raises JavaException."""
    name = options.value("line-reader")
    if name in CLASSES_WITHOUT_ARGUMENTS:
        why = "the reader must extend org.apache.kafka.tools.api.RecordReader"
        raise JavaException("java.lang.IllegalArgumentException", why)
    if name is not None and name not in LINE_READERS:
        raise JavaException("java.lang.ClassNotFoundException", name)
    config_file = options.value("reader-config")
    properties = {} if config_file is None else load_properties(process, config_file)
    return LineReader({**properties, **key_values(options.values("property"))})


def _run(process: Process, arguments: list[str]) -> Running:
    options = ParsedOptions(OPTIONS)
    try:
        options.parse(arguments)
        check_help(options, "This tool helps to read data from standard input and publish it to Kafka.")
        check_required(options, "topic")
        # Kafka ignores --broker-list with --bootstrap-server, which the lab adds.
        check_address(options.value("bootstrap-server"))
    except OptionError as error:
        return print_usage(process, ToolUsageError(error.message), OPTIONS)
    except ToolUsageError as error:
        return print_usage(process, error, OPTIONS)
    try:
        topic = options.value("topic") or ""
        settings = era_settings(producer_settings(process, options), process.cluster.era)
        reader = _reader(process, options)
    except (JavaException, OptionError) as error:
        return _threw(process, error)
    clients = process.cluster.clients
    name = CLIENT_ID
    while not clients.is_free(name):
        name += "-2"
    producer = clients.open_producer(name, settings, shown_settings(settings))
    producer.sender.retries_seen = []
    try:
        exit_code = yield from _produce(process, producer, topic, reader, "sync" in options)
    finally:
        clients.close(name)
    yield from settled(process)
    return exit_code


def _threw(process: Process, error: JavaException | OptionError) -> int:
    lines = [error.message] if isinstance(error, OptionError) else error.stack_trace()
    for line in "\n".join(lines).split("\n"):
        process.err(line)
    return 1


def _produce(process: Process, producer: Producer, topic: str, reader: LineReader, sync: bool) -> Asking[int]:
    pending: dict[int, list[Line]] = {}
    failure: JavaException | None = None
    try:
        for line in reader.read(process.stdin):
            refused = yield from _wait_for_topic(process, producer, topic, line)
            if refused:
                continue
            handed = _hand_over(process, producer, topic, line)
            if handed is not None:
                pending.setdefault(handed.sequence, []).append(line)
                thrown = why_not(producer, handed.partition)
                if thrown:
                    raise JavaException("java.lang.IllegalStateException", thrown.partition(": ")[2])
            if sync:
                producer.flush()
                yield from _await_all(process, producer, topic, pending)
    except JavaException as error:
        failure = error
    producer.flush()
    yield from _await_all(process, producer, topic, pending)
    return 0 if failure is None else _threw(process, failure)


def _hand_over(process: Process, producer: Producer, topic: str, line: Line) -> AppendedRecord | None:
    """Passes a record to the producer; None if it is too large."""
    size = record_size_upper_bound(line.key, line.value, line.headers)
    message = producer.why_too_large(size)
    if message:
        producer.refuse(topic, message)
        _log_failure(process, topic, line, JavaException(ERRORS_PACKAGE + "RecordTooLargeException", message))
        return None
    return producer.send(topic, line.key, line.value, line.headers, is_topic=True, keep_result=True, now=False)


def _wait_for_topic(process: Process, producer: Producer, topic: str, line: Line) -> Asking[bool]:
    """Waits for the topic's metadata. True if the record cannot be sent, which has been logged."""
    deadline_us = process.now_us + producer.settings.max_block_ms * 1000
    while topic not in producer.metadata.partition_counts:
        if producer.metadata.topic_errors.get(topic) is Errors.INVALID_TOPIC_EXCEPTION:
            log_error(
                process,
                [f"[Producer clientId={CLIENT_ID}] Metadata response reported invalid topics [{topic}]"],
                METADATA_LOGGER,
            )
            invalid = JavaException(ERRORS_PACKAGE + "InvalidTopicException", f"Invalid topics: [{topic}]")
            _log_failure(process, topic, line, invalid)
            return True
        if process.now_us >= deadline_us:
            message = f"Topic {topic} not present in metadata after {producer.settings.max_block_ms} ms."
            error = producer.metadata.why_absent(topic)
            causes = () if error is None else JavaException.of(error).stack_trace()
            _log_failure(process, topic, line, JavaException(ERRORS_PACKAGE + "TimeoutException", message, causes))
            return True
        producer.request_metadata_of(topic)
        yield Until(lambda _: not producer.requests_metadata, deadline_us, poll_us=1_000)
        answered = topic in producer.metadata.partition_counts
        if not answered and producer.metadata.topic_errors.get(topic) is not Errors.INVALID_TOPIC_EXCEPTION:
            yield Sleep(RETRY_BACKOFF_US)
    return False


def _await_all(process: Process, producer: Producer, topic: str, pending: dict[int, list[Line]]) -> Asking[None]:
    """Waits for the batches in flight, in order, and logs those that failed."""
    for sequence, lines in pending.items():
        yield Until(result_is_in(producer, sequence), process.now_us + 2 * 120_000_000, poll_us=1_000)
        _log_retries(process, producer)
        result = producer.take_result(sequence, len(lines)) or ProduceResult()
        if result.exception:
            error = JavaException(error_class(result.exception), result.message)
            for line in lines:
                _log_failure(process, topic, line, error)
    pending.clear()


def _log_retries(process: Process, producer: Producer) -> None:
    for correlation, partition, left, error in producer.sender.retries_seen or ():
        word, what = ("in", "splitting and retrying") if error is Errors.MESSAGE_TOO_LARGE else ("with", "retrying")
        if error is not Errors.NETWORK_EXCEPTION:
            process.err(
                f"WARN [Producer clientId={CLIENT_ID}] Got error produce response {word} correlation id {correlation} "
                f"on topic-partition {partition}, {what} ({left} attempts left). Error: {error.name} ({SENDER_LOGGER})"
            )
    producer.sender.retries_seen = []


def _log_failure(process: Process, topic: str, line: Line, error: JavaException) -> None:
    """Logs a record that was not written, as the callback does."""
    key = "null" if line.key is None else f"{len(line.key)} bytes"
    value = "null" if line.value is None else f"{len(line.value)} bytes"
    log_error(
        process,
        [f"Error when sending message to topic {topic} with key: {key}, value: {value} with error:"],
        CALLBACK_LOGGER,
    )
    for traced in error.stack_trace():
        process.err(traced)


COMMAND = Command(
    "kafka-console-producer.sh",
    text("help.kafka_console_producer"),
    (
        ("kafka-console-producer.sh --topic T <<< 'one' <<< 'two'", text("help.kafka_console_producer_values")),
        (
            "kafka-console-producer.sh --topic T --property parse.key=true --property key.separator=: <<< 'k:v'",
            text("help.kafka_console_producer_keys"),
        ),
    ),
    _run,
    OPTIONS,
)
