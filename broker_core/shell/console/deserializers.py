"""The deserializers of kafka-console-consumer.sh (`org.apache.kafka.common.serialization`), and the text of what they
return.
"""

import re
import struct
from collections.abc import Callable

from broker_core.config_defs.java_text import java_double, java_float
from broker_core.shell.console.console_unreadable import UnreadableRecord
from broker_core.shell.grammar.process import Process
from broker_core.shell.java.errors import ERRORS_PACKAGE, log_error, not_cast

Deserializer = Callable[[bytes], str]
_PACKAGE = "org.apache.kafka.common.serialization."
_LOGGER = "org.apache.kafka.tools.consumer.DefaultMessageFormatter"
_UUID = re.compile(r"[0-9a-fA-F]{1,8}(-[0-9a-fA-F]{1,4}){3}-[0-9a-fA-F]{1,12}")
_UUID_DIGITS = (8, 4, 4, 4, 12)
_NO_LIST_CLASS = (
    "org.apache.kafka.common.config.ConfigException: Not able to determine the list class because it was neither "
    "passed via the constructor nor set in the config."
)


def deserializer_of(process: Process, class_name: str | None) -> Deserializer:
    """The deserializer of a class; plain text for one that cannot be used, which is logged."""
    if class_name is None:
        return _utf8
    name = class_name.removeprefix(_PACKAGE)
    if name != class_name and name in _DESERIALIZERS:
        return _DESERIALIZERS[name]
    why = f"java.lang.ClassNotFoundException: {class_name}"
    if class_name == f"{_PACKAGE}ListDeserializer":
        why = _NO_LIST_CLASS
    elif (message := not_cast(class_name, f"{_PACKAGE}Deserializer")) is not None:
        why = f"java.lang.ClassCastException: {message}"
    log_error(process, [f"Unable to instantiate a deserializer from {class_name}"], _LOGGER)
    process.err(why)
    return _utf8


def _utf8(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _unreadable(message: str, *causes: str) -> UnreadableRecord:
    return UnreadableRecord(ERRORS_PACKAGE + "SerializationException", message, causes)


def _number(name: str, form: str, shown: Callable[[float], str] = str) -> Deserializer:
    size = struct.calcsize(form)

    def read(data: bytes) -> str:
        if len(data) != size:
            raise _unreadable(f"Size of data received by {name}Deserializer is not {size}")
        return shown(struct.unpack(form, data)[0])

    return read


def _boolean(data: bytes) -> str:
    (byte,) = struct.unpack(">b", data) if len(data) == 1 else (None,)
    if byte is None:
        raise _unreadable("Size of data received by BooleanDeserializer is not 1")
    if byte not in (0, 1):
        raise _unreadable(f"Unexpected byte received by BooleanDeserializer: {byte}")
    return "true" if byte else "false"


def _uuid(data: bytes) -> str:
    text = _utf8(data)
    if _UUID.fullmatch(text) is None:
        raise _unreadable(
            "Error parsing data into UUID", f"java.lang.IllegalArgumentException: Invalid UUID string: {text}"
        )
    parts = zip(text.lower().split("-"), _UUID_DIGITS, strict=True)
    return "-".join(part.zfill(digits) for part, digits in parts)


def _byte_buffer(data: bytes) -> str:
    return f"java.nio.HeapByteBuffer[pos=0 lim={len(data)} cap={len(data)}]"


def _byte_array(data: bytes) -> str:
    """`Object.toString`: the number in it is that of the object, so any will do."""
    return f"[B@{len(data):x}"


def _void(data: bytes) -> str:
    # The formatter passes what it would print for null.
    raise UnreadableRecord("java.lang.IllegalArgumentException", "Data should be null for a VoidDeserializer.")


def _bytes(data: bytes) -> str:
    """`Bytes.toString`: printable ASCII unchanged, everything else in hexadecimal."""
    return "".join(chr(byte) if 32 <= byte < 127 and byte != 92 else f"\\x{byte:02X}" for byte in data)


_DESERIALIZERS: dict[str, Deserializer] = {
    "StringDeserializer": _utf8,
    "LongDeserializer": _number("Long", ">q"),
    "IntegerDeserializer": _number("Integer", ">i"),
    "ShortDeserializer": _number("Short", ">h"),
    "FloatDeserializer": _number("", ">f", java_float),
    "DoubleDeserializer": _number("", ">d", java_double),
    "BooleanDeserializer": _boolean,
    "UUIDDeserializer": _uuid,
    "ByteArrayDeserializer": _byte_array,
    "ByteBufferDeserializer": _byte_buffer,
    "BytesDeserializer": _bytes,
    "VoidDeserializer": _void,
}
