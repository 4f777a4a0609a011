"""The parts of a message that are more than fixed numbers: variable lengths and uuids."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import lru_cache

from broker_core.texts import text
from broker_core.wire.errors import WireError
from broker_core.wire.notation import ZERO_UUID

#: Unsigned varints of one byte, by value.
SHORT_VARINTS = tuple(bytes([value]) for value in range(128))
#: The longest string, in bytes, in flexible versions too, where the format would allow more.
MAX_STRING_BYTES = 0x7FFF
_MAX_SHIFT = 28
_MAX_VARINT = 0x7FFFFFFF


def read_varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """An unsigned varint and its end position (org.apache.kafka.common.utils.ByteUtils). As in Java, one with the
    highest of 32 bits set is a negative number.
    """
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= 0xFFFFFFFF
            return (value if value <= _MAX_VARINT else value - (1 << 32)), at
        shift += 7
        if shift > _MAX_SHIFT:
            raise WireError(text("wire.varint"))


def write_varint(value: int) -> bytes:
    if value < 128:
        return SHORT_VARINTS[value]
    out = bytearray()
    while value > 127:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_string_length(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """The length of a string plus one, and the end position. WireError: longer than Kafka allows."""
    value, at = read_varint(data, at)
    if value > MAX_STRING_BYTES + 1:
        raise WireError(text("wire.string", size=value - 1, max=MAX_STRING_BYTES))
    return value, at


def write_string_length(value: int) -> bytes:
    """The encoded length of a string plus one. WireError: longer than Kafka allows."""
    if value > MAX_STRING_BYTES + 1:
        raise WireError(text("wire.string", size=value - 1, max=MAX_STRING_BYTES))
    return write_varint(value)


def read_tag(data: bytes | memoryview, at: int) -> tuple[int, int, int]:
    """Tag and size of a tagged field (KIP-482), and the position of its bytes."""
    tag, at = read_varint(data, at)
    size, at = read_varint(data, at)
    if size < 0:
        raise WireError(text("wire.tagged_field", size=size))
    return tag, size, at


def skip_tags(data: bytes | memoryview, at: int) -> int:
    """The end position of the tagged fields that start at `at`: a count, then tag, size and bytes of each."""
    count, at = read_varint(data, at)
    for _ in range(count):
        _, size, at = read_tag(data, at)
        at += size
    return at


def skip_ordered_tags(data: bytes | memoryview, at: int) -> int:
    """The same where each tag must be greater than the one before, as in Kafka until 2.4. Raises WireError."""
    count, at = read_varint(data, at)
    before = -1
    for _ in range(count):
        tag, size, at = read_tag(data, at)
        if tag <= before:
            raise WireError(text("wire.tag_order", tag=tag, before=before))
        before = tag
        at += size
    return at


@lru_cache(maxsize=4096)
def uuid_text(raw: bytes) -> str:
    """Kafka's text of 16 bytes: 22 characters of URL-safe base64."""
    return urlsafe_b64encode(raw)[:22].decode()


@lru_cache(maxsize=4096)
def uuid_bytes(written: str) -> bytes:
    """The 16 bytes of Kafka's text. WireError: another length or other characters."""
    try:
        raw = urlsafe_b64decode(written + "==")
    except ValueError:
        raw = b""
    if len(raw) != 16:
        raise WireError(text("wire.uuid", uuid=repr(written), example=ZERO_UUID))
    return raw
