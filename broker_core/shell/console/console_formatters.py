"""Formatters of kafka-console-consumer.sh (`DefaultMessageFormatter` and the others for --formatter)."""

import re
from collections.abc import Mapping
from typing import Protocol

from broker_core.partitions import TopicPartition
from broker_core.records.record_batch import Record
from broker_core.shell.console.console_unreadable import UnreadableRecord
from broker_core.shell.console.deserializers import deserializer_of
from broker_core.shell.console.internal_formatters import INTERNAL_FORMATTERS
from broker_core.shell.grammar.process import Process
from broker_core.shell.java.errors import ToolUsageError, not_cast

PACKAGE = "org.apache.kafka.tools.consumer."
DEFAULT_FORMATTER = PACKAGE + "DefaultMessageFormatter"
_COLUMNS = ("timestamp", "partition", "offset", "headers", "key", "value")

_DEPRECATED = {
    "kafka.tools.DefaultMessageFormatter",
    "kafka.tools.LoggingMessageFormatter",
    "kafka.tools.NoOpMessageFormatter",
    *(each for each in INTERNAL_FORMATTERS if not each.startswith(PACKAGE)),
}


class MessageFormatter(Protocol):
    """`text` is the output for a record, line ends included. Raises JavaException if it cannot be read; what was
    written before is its attribute `written`.
    """

    def text(self, partition: str, record: Record) -> str: ...


def formatter_of(process: Process, name: str, properties: Mapping[str, str]) -> MessageFormatter:
    """The formatter of a class. Raises ToolUsageError for an unknown one."""
    if name in _DEPRECATED:
        newer = PACKAGE + re.split(r"[.$]", name)[-1]
        process.err(
            f"WARNING: {name} is deprecated and will be removed in the next major release. Please use {newer} instead"
        )
        # The formatters of the coordinators have another output than the newer ones.
        name = name if name in INTERNAL_FORMATTERS else newer
    if name == PACKAGE + "NoOpMessageFormatter":
        return NoOpMessageFormatter()
    if name in (DEFAULT_FORMATTER, PACKAGE + "LoggingMessageFormatter"):
        return DefaultMessageFormatter(process, properties)
    if name in INTERNAL_FORMATTERS:
        return INTERNAL_FORMATTERS[name]
    raise ToolUsageError(not_cast(name, "org.apache.kafka.common.MessageFormatter") or name)


class NoOpMessageFormatter:
    """Prints nothing."""

    def text(self, partition: str, record: Record) -> str:
        """Nothing."""
        return ""


class DefaultMessageFormatter:
    """Columns with separators. The formatter that also logs each record does the same here."""

    def __init__(self, process: Process, properties: Mapping[str, str]) -> None:
        self._prints = {
            name: properties.get(f"print.{name}", "true" if name == "value" else "false").strip().lower() == "true"
            for name in _COLUMNS
        }
        self._separator = properties.get("key.separator", "\t")
        self._line_separator = properties.get("line.separator", "\n")
        self._headers_separator = properties.get("headers.separator", ",")
        self._null_literal = properties.get("null.literal", "null")
        self._deserializers = {
            part: deserializer_of(process, properties.get(f"{part}.deserializer"))
            for part in ("key", "value", "headers")
        }

    def text(self, partition: str, record: Record) -> str:
        """The record's columns."""
        columns = [name for name in _COLUMNS if self._prints[name]]
        written = ""
        try:
            for name in columns:
                written += self._column(name, partition, record)
                written += self._line_separator if name == columns[-1] else self._separator
        except UnreadableRecord as error:
            error.written = written
            raise
        return written

    def _column(self, name: str, partition: str, record: Record) -> str:
        if name == "timestamp":
            clock = "LogAppendTime" if record.has_append_time else "CreateTime"
            return f"{clock}:{record.timestamp}" if record.timestamp >= 0 else "NO_TIMESTAMP"
        if name == "partition":
            return f"Partition:{TopicPartition.parse(partition).partition}"
        if name == "offset":
            return f"Offset:{record.offset}"
        if name == "headers":
            pairs = [f"{header}:{self._text('headers', value)}" for header, value in record.headers]
            return self._headers_separator.join(pairs) if pairs else "NO_HEADERS"
        return self._text(name, record.key if name == "key" else record.value)

    def _text(self, part: str, data: bytes | None) -> str:
        return self._deserializers[part](self._null_literal.encode() if data is None else data)
