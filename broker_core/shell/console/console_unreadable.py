"""The exception of a formatter of kafka-console-consumer.sh for a record that it cannot read."""

from broker_core.shell.java.errors import JavaException


class UnreadableRecord(JavaException):
    """A record is not what its formatter or deserializer expects; `written` was printed before."""

    written = ""
