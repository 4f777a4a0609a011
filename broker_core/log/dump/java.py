"""The Java behaviour that shows in the output of Kafka's dump tool: exceptions, integer overflow, text, file names.

Source: the Java 17 class library as `kafka.tools.DumpLogSegments` uses it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from broker_core.config_defs import LONG_MAX

TEXT_PIECE_BYTES = 1024 * 1024

_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_NUMBER = re.compile(r"[+-]?\d+")


class Thrown(Exception):
    """A Java exception that ends Kafka's tool, and a sentence that says what is wrong with the input.

    `rule` is the rule that was broken. `file` and `position` (bytes from its start) say where; the reader of a file
    fills them in, because the inner parsers see only bytes.
    """

    def __init__(self, java_class: str, message: str | None, rule: str, causes: Sequence[str] = ()) -> None:
        super().__init__(java_class, message, rule)
        self.java_class = java_class
        self.message = message
        self.rule = rule
        self.causes = tuple(causes)
        self.file: str | None = None
        self.position: int | None = None

    def __str__(self) -> str:
        """As `Throwable.toString` formats it."""
        return self.java_class if self.message is None else f"{self.java_class}: {self.message}"

    def at(self, file: str, position: int | None = None) -> "Thrown":
        """Sets the file and position, unless they are set already."""
        if self.file is None:
            self.file, self.position = file, position
        return self

    @property
    def sentence(self) -> str:
        """File, position and rule."""
        where = "" if self.file is None else self.file
        if self.position is not None:
            where += f", byte {self.position}"
        return f"{where}: {self.rule}." if where else f"{self.rule}."

    @property
    def stack_trace(self) -> tuple[str, ...]:
        """The exception and its causes, without frames."""
        return (str(self), *(f"Caused by: {cause}" for cause in self.causes))


def kafka(name: str) -> str:
    """The full name of an exception class of Kafka's clients."""
    package = "org.apache.kafka.common" if name in ("KafkaException", "InvalidRecordException") else _ERRORS
    return f"{package}.{name}"


_ERRORS = "org.apache.kafka.common.errors"


def out_of_memory(rule: str) -> Thrown:
    """The OutOfMemoryError for data too large to hold; Kafka's tool, with 256 MB by default, fails on it as well."""
    return Thrown("java.lang.OutOfMemoryError", "Java heap space", rule)


def int16(number: int) -> int:
    """The number wrapped to Java's short."""
    return (number + 0x8000 & 0xFFFF) - 0x8000


def int32(number: int) -> int:
    """The number wrapped to Java's int."""
    return (number + 0x80000000 & 0xFFFFFFFF) - 0x80000000


def int64(number: int) -> int:
    """The number wrapped to Java's long."""
    return (number + (1 << 63) & 0xFFFFFFFFFFFFFFFF) - (1 << 63)


def parse_long(text: str) -> int:
    """`Long.parseLong`. Raises Thrown."""
    if _NUMBER.fullmatch(text) is not None:
        number = int(text) if len(text) < 64 else LONG_MAX + 1
        if -LONG_MAX - 1 <= number <= LONG_MAX:
            return number
    rule = f"the name must begin with an offset and a dot, such as 00000000000000000000.log; it begins with {text!r}"
    raise Thrown("java.lang.NumberFormatException", f'For input string: "{text}"', rule)


def decode(data: bytes) -> str:
    """Bytes as `new String(bytes, UTF_8)` reads them: each malformed part becomes one U+FFFD."""
    return _without_surrogates(data).decode("utf-8", "replace")


def decode_in_pieces(data: bytes) -> Iterable[str]:
    """As `decode`, in pieces, so that a large text is never in memory at once."""
    return (decode(data),) if len(data) <= TEXT_PIECE_BYTES else _pieces(data)


def _pieces(data: bytes) -> Iterator[str]:
    data = _without_surrogates(data)
    at = 0
    while at < len(data):
        end = min(at + TEXT_PIECE_BYTES, len(data))
        # A character is cut at its first byte, never within.
        while end < len(data) and end > at + TEXT_PIECE_BYTES - 4 and data[end] & 0xC0 == 0x80:
            end -= 1
        yield data[at:end].decode("utf-8", "replace")
        at = end


def _without_surrogates(data: bytes) -> bytes:
    # Java treats an encoded surrogate as one malformed part, Python as two or three.
    return _SURROGATE.sub(b"\xef\xbf\xbd", data) if b"\xed" in data else data


def normal_path(path: str) -> str:
    """A path normalized as by `java.io.File`: no doubled slashes, none at the end."""
    path = re.sub("/+", "/", path)
    return path.rstrip("/") or path[:1]


def split(text: str, separator: str) -> list[str]:
    """`String.split`: without trailing empty parts; one part if there is no separator."""
    parts = text.split(separator)
    if len(parts) > 1:
        while parts and not parts[-1]:
            parts.pop()
    return parts


def string_hash(text: str) -> int:
    """`String.hashCode`."""
    code = 0
    encoded = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(encoded), 2):
        code = 31 * code + (encoded[at] << 8 | encoded[at + 1]) & 0xFFFFFFFF
    return int32(code)


MIN_HASH_TABLE_SIZE = 16


def grown_hash_table(size: int, count: int) -> int:
    """The slots of a Scala hash table of `size` slots after the next element is added to its `count` elements."""
    return size * 2 if count + 1 >= size * 3 // 4 else size


def scala_hash_order(hashes: Sequence[int], table_size: int) -> list[int]:
    """The iteration order of a `scala.collection.mutable.HashMap` or `HashSet`.

    Takes the hash codes in order of insertion, returns their indexes in that list. A bucket is kept sorted by hash.
    """
    spread = [int32(code ^ (code & 0xFFFFFFFF) >> 16) for code in hashes]
    return sorted(range(len(hashes)), key=lambda place: (spread[place] & table_size - 1, spread[place]))
