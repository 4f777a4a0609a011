"""Events to bytes and back: JSON arrays, `[at_us, node, cause_seq, [kind, field, ...]]`.

The sequence number is not in the bytes: it is the offset of the record that holds them.
"""

from collections.abc import Iterable
from functools import reduce
from operator import itemgetter, or_
from typing import Any

import msgspec

from broker_core.events import KINDS, Envelope, Event

_AnyEvent: Any = reduce(or_, KINDS.values())
_encoder = msgspec.json.Encoder()
_without_seq = itemgetter(slice(1, None))
_decoder: msgspec.json.Decoder[tuple[int, str, int, Event]] = msgspec.json.Decoder(tuple[int, str, int, _AnyEvent])


def encode(envelope: Envelope) -> bytes:
    """The bytes of one event as recordings hold them."""
    return _encoder.encode(envelope[1:])


def encode_all(envelopes: Iterable[Envelope]) -> list[bytes]:
    """The bytes of each event, in order."""
    # All at once costs much less than one by one; there is no line break within JSON on one line.
    return _encoder.encode_lines(map(_without_seq, envelopes)).split(b"\n")[:-1]


def decode(seq: int, data: bytes) -> Envelope:
    """The envelope with sequence number `seq`. Raises `msgspec.ValidationError` when `data` is not an event of this
    version.
    """
    at_us, node, cause_seq, event = _decoder.decode(data)
    return (seq, at_us, node, cause_seq, event)


def encode_with_patch(seq: int, record: bytes, patch: Any) -> bytes:
    """An event as pages receive it: `[seq, at_us, node, cause_seq, [kind, ...], patch]`, from its recorded bytes."""
    return b"[%d,%b,%b]" % (seq, record[1:-1], _encoder.encode(patch))
