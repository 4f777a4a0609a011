"""Variable-length integers of Kafka's record format (`org.apache.kafka.common.utils.ByteUtils`).

A signed number is zigzag-encoded, so that small negative numbers stay short, and written seven bits a byte, low group
first, with the high bit set on every byte but the last. A varint holds 32 bits in at most 5 bytes, a varlong 64 bits in
at most 10.
"""

from collections.abc import Callable

from broker_core.records.faults import RecordFault
from broker_core.texts import text

VARINT_MAX_BYTES = 5
VARLONG_MAX_BYTES = 10


class VarintError(RecordFault):
    """The data ends within a variable-length integer."""


class VarintTooLong(VarintError):
    """A variable-length integer has more bytes than its type allows."""


def encode_varlong(value: int) -> bytes:
    """The bytes of a number of up to 64 bits; a varint of the same number has the same bytes."""
    if 0 <= value < _REMEMBERED:
        return _ENCODED[value]
    return _encode(value)


def _encode(value: int) -> bytes:
    rest = (value << 1) ^ (value >> 63)
    encoded = bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)


def _decode(data: bytes, position: int, max_bytes: int, mask: int) -> tuple[int, int]:
    end = min(len(data), position + max_bytes)
    shift = rest = 0
    for at in range(position, end):
        byte = data[at]
        rest |= (byte & 0x7F) << shift
        if byte < 0x80:
            # The last byte holds more bits than the number; Java drops those.
            rest &= mask
            return (rest >> 1) ^ -(rest & 1), at + 1
        shift += 7
    if end < position + max_bytes:
        raise _cut_off(position)
    raise VarintTooLong(text("fault.varint_too_long", position=position, max=max_bytes))


def _cut_off(position: int) -> VarintError:
    return VarintError(text("fault.varint_cut_off", position=position))


def _decoder(max_bytes: int, mask: int) -> Callable[[bytes, int], tuple[int, int]]:
    """Decodes numbers of at most this number of bytes, and the bits of `mask`."""

    def decode(data: bytes, position: int) -> tuple[int, int]:
        try:
            rest = data[position]
            if rest < 0x80:
                return (rest >> 1) ^ -(rest & 1), position + 1
            byte = data[position + 1]
            if byte < 0x80:
                rest += (byte << 7) - 0x80
                return (rest >> 1) ^ -(rest & 1), position + 2
        except IndexError:
            raise _cut_off(position) from None
        return _decode(data, position, max_bytes, mask)

    return decode


decode_varint = _decoder(VARINT_MAX_BYTES, 0xFFFFFFFF)
"""The number at `position` and the position after it. Raises VarintError, VarintTooLong beyond 5 bytes."""
decode_varlong = _decoder(VARLONG_MAX_BYTES, 0xFFFFFFFFFFFFFFFF)
"""The number at `position` and the position after it. Raises VarintError, VarintTooLong beyond 10 bytes."""


# Lengths and offset deltas are nearly always small.
_REMEMBERED = 2048
_ENCODED = [_encode(value) for value in range(_REMEMBERED)]
