"""Variable-length integers of Kafka's record format (`org.apache.kafka.common.utils.ByteUtils`).

A signed number is zigzag-encoded, so that small negative numbers stay short, and written seven bits a byte, low group
first, with the high bit set on every byte but the last. A varint holds 32 bits in at most 5 bytes, a varlong 64 bits in
at most 10.
"""

VARINT_MAX_BYTES = 5
VARLONG_MAX_BYTES = 10


def encode_varlong(value: int) -> bytes:
    """The bytes of a number of up to 64 bits; a varint of the same number has the same bytes."""
    if -64 <= value < 64:
        return _ONE_BYTE[value]
    rest = (value << 1) ^ (value >> 63)
    encoded = bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)


def decode_varint(data: bytes, position: int) -> tuple[int, int]:
    """The number at `position` and the position after it. Raises ValueError beyond 5 bytes or at the end of `data`."""
    return _decode(data, position, VARINT_MAX_BYTES)


def decode_varlong(data: bytes, position: int) -> tuple[int, int]:
    """The number at `position` and the position after it. Raises ValueError beyond 10 bytes or at the end of `data`."""
    return _decode(data, position, VARLONG_MAX_BYTES)


def _decode(data: bytes, position: int, max_bytes: int) -> tuple[int, int]:
    end = min(len(data), position + max_bytes)
    shift = rest = 0
    while position < end:
        byte = data[position]
        position += 1
        rest |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (rest >> 1) ^ -(rest & 1), position
        shift += 7
    raise ValueError(f"the variable-length integer before byte {position} does not end within {max_bytes} bytes")


# Indexed by -64 .. 63: a list of 128 whose negative indexes are the negative numbers.
_ONE_BYTE = [bytes([value << 1]) for value in range(64)] + [bytes([(-value << 1) - 1]) for value in range(-64, 0)]
