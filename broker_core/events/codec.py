"""Events to bytes and back: JSON arrays, `[at_us, node, cause_seq, [kind, field, ...]]`.

The sequence number is not in the bytes: it is the offset of the record that holds them.
"""

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Any

import msgspec

from broker_core.events import KINDS, Envelope, Event

_AnyEvent: Any = reduce(or_, KINDS.values())
_encode = msgspec.json.Encoder().encode
_decoder: msgspec.json.Decoder[tuple[int, str, int, Event]] = msgspec.json.Decoder(tuple[int, str, int, _AnyEvent])


def encode(envelope: Envelope) -> bytes:
    """The bytes of one event as recordings hold them."""
    return _encode(envelope[1:])


def encode_all(envelopes: Iterable[Envelope]) -> list[bytes]:
    """The bytes of each event, in order."""
    return [_encode(envelope[1:]) for envelope in envelopes]


def decode(seq: int, data: bytes) -> Envelope:
    """The envelope with sequence number `seq`. Raises `msgspec.ValidationError` when `data` is no event of this
    version.
    """
    at_us, node, cause_seq, event = _decoder.decode(data)
    return (seq, at_us, node, cause_seq, event)
