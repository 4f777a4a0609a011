"""The iteration order and text of Java's and Scala's collections, which Kafka's messages and tools depend on."""

import math
import re
import struct
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import TypeVar

from broker_core.partitions import parse_requested

Key = TypeVar("Key")

MAX_SMALL_SCALA_SET = 4
"""Immutable Scala sets of at most this size keep insertion order."""
BITS_OF_HASH = 32
_SCALA_MIXER = 0x9E3775CD
CLASSES_WITHOUT_ARGUMENTS = ("java.lang.Object", "java.lang.String")
"""Classes of Java that a tool can instantiate, although it can use none of them as a plug-in."""
JAVA_CLASSES = (*CLASSES_WITHOUT_ARGUMENTS, "java.lang.Integer", "java.lang.Long")
"""Classes of Java that a tool finds."""


def string_code(text: str) -> int:
    """`String.hashCode`, as an unsigned number."""
    code = 0
    encoded = text.encode("utf-16-be")
    for at in range(0, len(encoded), 2):
        code = (31 * code + int.from_bytes(encoded[at : at + 2], "big")) & 0xFFFFFFFF
    return code


def signed(code: int) -> int:
    """A 32-bit hash as a Java int."""
    return code - (1 << 32) if code >> 31 else code


def partition_code(partition: str) -> int:
    """`TopicPartition.hashCode` of "orders-0"."""
    topic, number = parse_requested(partition)
    return ((31 + number) * 31 + string_code(topic)) & 0xFFFFFFFF


def case_class_code(partition: str) -> int:
    """`hashCode` of "orders-0" as Scala's case class `TopicAndPartition`: MurmurHash3 of its fields."""
    topic, number = parse_requested(partition)
    code = 0xCAFEBABE
    for field in (string_code(topic), number & 0xFFFFFFFF):
        mixed = _rotated(field * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF
        code = _rotated(code ^ mixed, 13) * 5 + 0xE6546B64 & 0xFFFFFFFF
    code ^= 2
    code = (code ^ code >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    code = (code ^ code >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return code ^ code >> 16


def _rotated(code: int, left: int) -> int:
    return (code << left | code >> BITS_OF_HASH - left) & 0xFFFFFFFF


def hash_map_order(
    keys: Sequence[str], initial_capacity: int = 16, code: Callable[[str], int] = string_code
) -> list[str]:
    """The iteration order of a `java.util.HashMap` to which keys were added in this order."""
    capacity = 1
    while capacity < initial_capacity or len(keys) > capacity * 3 // 4:
        capacity *= 2

    def bucket(key: str) -> int:
        hashed = code(key)
        return (hashed ^ hashed >> 16) & (capacity - 1)

    return sorted(keys, key=bucket)


def concurrent_map_order(alone: Sequence[Key], together: Sequence[Key], code: Callable[[Key], int]) -> list[Key]:
    """The iteration order of a `ConcurrentHashMap` to which keys were added one by one, and then others all at once,
    for which it makes more room than they need.
    """
    count = len(alone) + len(together)
    room = 1
    while together and room < len(together) + len(together) // 2 + 1:
        room *= 2
    capacity = 16
    while count >= capacity * 3 // 4 or room > capacity * 3 // 4:
        capacity *= 2

    def place(key: Key) -> int:
        hashed = code(key)
        return (hashed ^ hashed >> 16) & (capacity - 1)

    return sorted([*alone, *together], key=place)


def long_code(number: int) -> int:
    """`Long.hashCode`, as an unsigned number."""
    return (number ^ (number & (1 << 64) - 1) >> 32) & 0xFFFFFFFF


def scala_hash_set_order(keys: Iterable[str], code: Callable[[str], int] = string_code) -> list[str]:
    """The iteration order of a `scala.collection.mutable.HashSet`, which does not depend on the order of insertion."""
    listed = list(keys)
    capacity = 16
    while len(listed) * 4 >= capacity * 3:
        capacity *= 2

    def place(key: str) -> tuple[int, int]:
        hashed = code(key)
        improved = hashed ^ hashed >> 16
        return improved & (capacity - 1), signed(improved)

    return sorted(listed, key=place)


def old_scala_map_order(keys: Iterable[str], code: Callable[[str], int] = string_code) -> list[str]:
    """The iteration order of a `scala.collection.mutable.HashMap` before Scala 2.13, to which keys were added in this
    order: by falling places, and of those at the same place the last one first.
    """
    table: list[list[str]] = [[] for _ in range(16)]
    for count, key in enumerate(dict.fromkeys(keys), 1):
        table[_old_place(code(key), len(table))].insert(0, key)
        if count > len(table) * 3 // 4:
            larger: list[list[str]] = [[] for _ in range(2 * len(table))]
            for moved in (each for place in reversed(table) for each in place):
                larger[_old_place(code(moved), len(larger))].insert(0, moved)
            table = larger
    return [key for place in reversed(table) for key in place]


def old_scala_set_order(keys: Iterable[str], code: Callable[[str], int] = string_code) -> list[str]:
    """As `scala_set_order`, before Scala 2.13, whose maps iterate over what is below a place when they are there."""
    unique = list(dict.fromkeys(keys))
    if len(unique) <= MAX_SMALL_SCALA_SET:
        return unique
    return sorted(unique, key=lambda key: [_improved(code(key)) >> shift & 31 for shift in range(0, BITS_OF_HASH, 5)])


def _old_place(code: int, size: int) -> int:
    """The place of a hash in such a map: the highest bits of the hash, mixed and rotated by 4."""
    mixed = code * _SCALA_MIXER & 0xFFFFFFFF
    mixed = int.from_bytes(mixed.to_bytes(4, "big"), "little") * _SCALA_MIXER & 0xFFFFFFFF
    rotated = (mixed >> 4 | mixed << 28) & 0xFFFFFFFF
    return rotated >> BITS_OF_HASH - size.bit_length() + 1


def long_map_order(keys: Iterable[int]) -> list[int]:
    """The iteration order of a `scala.collection.mutable.LongMap` of numbers from 0 on, after it has been copied."""
    listed = list(keys)
    for room in (16, len(listed), len(listed)):
        listed = _long_map_order(listed, room)
    return listed


def _long_map_order(keys: list[int], room: int) -> list[int]:
    """The order of one to which keys were added in this order. `room`: that for which it was created."""
    table = [0] * max(8, 1 << max(room - 1, 0).bit_length())
    for count, key in enumerate(filter(None, keys), 1):
        table[_free_place(table, key)] = key
        if count * 2 > len(table) - 1:
            moved = [each for each in table if each]
            table = [0] * (2 * len(table))
            for each in moved:
                table[_free_place(table, each)] = each
    return [*(key for key in keys if not key), *filter(None, table)]


def _free_place(table: list[int], key: int) -> int:
    """The place where a `LongMap` puts a key that it does not contain."""
    code = (key ^ key >> 32) & 0xFFFFFFFF
    code = (code ^ code >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    place = (code ^ code >> 13) & (len(table) - 1)
    tried = 0
    while table[place]:
        tried += 1
        place = (place + 2 * (tried + 1) * tried - 3) & (len(table) - 1)
    return place


def scala_map_place(key: str) -> int:
    """The place of a string in an immutable Scala map, which iterates by the low bits of the improved hashes."""
    return _improved(string_code(key)) & 31


def scala_set_order(keys: Iterable[str], code: Callable[[str], int] = string_code) -> list[str]:
    """The order in which an immutable Scala set or map gives back what was put in this order, each once."""
    unique = list(dict.fromkeys(keys))
    if len(unique) <= MAX_SMALL_SCALA_SET:
        return unique
    return scala_trie_order(unique, code)


def scala_trie_order(keys: Iterable[str], code: Callable[[str], int] = string_code) -> list[str]:
    """The same of one that is a `scala.collection.immutable.HashMap`, however small."""
    return _trie_order([(_improved(code(key)), key) for key in dict.fromkeys(keys)], 0)


def _trie_order(keys: list[tuple[int, str]], shift: int) -> list[str]:
    """The keys of a node of the trie behind such a set: those that are alone at their place, then those below."""
    if shift >= BITS_OF_HASH:
        return [key for _, key in keys]
    places: dict[int, list[tuple[int, str]]] = {}
    for code, key in keys:
        places.setdefault(code >> shift & 31, []).append((code, key))
    nodes = [places[place] for place in sorted(places)]
    below = [key for node in nodes if len(node) > 1 for key in _trie_order(node, shift + 5)]
    return [node[0][1] for node in nodes if len(node) == 1] + below


def _improved(code: int) -> int:
    mask = 0xFFFFFFFF
    code = (code + ~(code << 9)) & mask
    code ^= code >> 14
    code = (code + (code << 4)) & mask
    return code ^ code >> 10


def scala_set(names: Iterable[str]) -> str:
    """`Set(a, b)` of the contents of a `java.util.Properties`."""
    return f"Set({', '.join(hash_map_order(list(names)))})"


_WHOLE_NUMBER = re.compile(r"([+-]?)0*(\d{1,19})")
"""The most digits that may fit into 64 bits: Python itself refuses to parse thousands of digits. They may be digits of
any script.
"""
_LAST_OF_ONE_UNIT = "\uffff"
"""Java looks at units of UTF-16: a digit that takes two of them is none."""


def parse_integer(text: str, bits: int = 32) -> int | None:
    """`Integer.parseInt`, or that of a number of this many bits; None if it is not a number."""
    read = _WHOLE_NUMBER.fullmatch(text)
    number = int(read[1] + read[2]) if read and max(text) <= _LAST_OF_ONE_UNIT else None
    return number if number is not None and -(1 << bits - 1) <= number < 1 << bits - 1 else None


def split(text: str, separator: str) -> list[str]:
    """`String.split`: without trailing empty parts; an empty string is one empty part."""
    parts = text.split(separator)
    while text and parts and not parts[-1]:
        parts.pop()
    return parts


_DECIMAL = re.compile(r"([+-]?)(NaN|Infinity|((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?)")
_HEXADECIMAL = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?")


def parse_double(text: str) -> float | None:
    """`Double.parseDouble`, which accepts suffixes (0.5f), NaN and Infinity; None for an invalid number."""
    if decimal := _DECIMAL.fullmatch(text):
        return float(decimal[1] + (decimal[3] or decimal[2]))
    hexadecimal = _HEXADECIMAL.fullmatch(text)
    try:
        return float.fromhex(hexadecimal[1]) if hexadecimal else None
    except OverflowError:
        return -math.inf if text.startswith("-") else math.inf


def java_float(value: float) -> str:
    """`Float.toString` of a number of 32 bits: the fewest digits that distinguish it from adjacent numbers."""
    digits = (f"{value:.{count}g}" for count in range(1, 10))
    return java_double(float(next((text for text in digits if _as_float(text) == value), value)))


def _as_float(text: str) -> float:
    """The number of 32 bits next to the text."""
    try:
        number: float = struct.unpack(">f", struct.pack(">f", float(text)))[0]
    except OverflowError:
        return math.inf
    return number


def java_double(value: float) -> str:
    """`Double.toString`: 12.5, 1000000.0, 1.0E7, 1.7976931348623157E308."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(float(value))
    if not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    first, *rest = map(str, digits)
    return f"{'-' if sign else ''}{first}.{''.join(rest) or '0'}E{exponent + len(rest)}"
