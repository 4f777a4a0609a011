"""A vocabulary: the kinds of events that one log holds, their families, their bytes and the hash of all that.

The core's is `broker_core.events.envelope.CORE`. Each other log whose records are events has its own.
"""

import json
from collections.abc import Callable, Iterable
from functools import cached_property, reduce
from hashlib import sha256
from inspect import cleandoc
from operator import itemgetter, or_
from types import GenericAlias
from typing import Any, Generic, TypeVar

import msgspec

HASH_LENGTH = 12

C = TypeVar("C", int, str)
E = TypeVar("E", bound=type["Event"])

_encoder = msgspec.json.Encoder()
_without_seq = itemgetter(slice(1, None))


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False, array_like=True, tag=True):
    """Base of all kinds. Encodes as an array whose first element is the kind's name, the rest its fields in order.

    Fields hold primitives and tuples of primitives only, so that an event can be hashed, compared and replayed.
    """


class Vocabulary(Generic[C]):
    """Kinds of events, and the codec of their envelopes `(seq, at_us, node, cause, event)`.

    The bytes of an event are a JSON array, `[at_us, node, cause, [kind, field, ...]]`. The sequence number is not in
    the bytes: it is the offset of the record that holds them.

    Attributes:
        kinds: each kind by its name, in the order of their registration.
    """

    def __init__(self, title: str, cause: type[C]) -> None:
        """`title`: that of the JSON schema; `cause`: the type of the field of that name in an envelope."""
        self.title = title
        self.kinds: dict[str, type[Event]] = {}
        self._cause: type[C] = cause
        self._families: dict[type[Event], str] = {}

    def kind(self, family: str) -> Callable[[E], E]:
        """Registers an event class under its family."""

        def register(cls: E) -> E:
            if cls.__name__ in self.kinds:
                raise ValueError(f"event kind {cls.__name__} is registered twice")
            self.kinds[cls.__name__] = cls
            self._families[cls] = family
            return cls

        return register

    def family_of(self, cls: type[Event]) -> str:
        """The family of an event class."""
        return self._families[cls]

    def families(self) -> dict[str, list[str]]:
        """Families in the order of their registration, each with its kinds in the order of theirs."""
        families: dict[str, list[str]] = {}
        for name, kind in self.kinds.items():
            families.setdefault(self._families[kind], []).append(name)
        return families

    def encode(self, envelope: tuple[int, int, str, C, Event]) -> bytes:
        """The bytes of one event as logs hold them."""
        return _encoder.encode(envelope[1:])

    def encode_all(self, envelopes: Iterable[tuple[int, int, str, C, Event]]) -> list[bytes]:
        """The bytes of each event, in order."""
        # All at once costs much less than one by one; there is no line break within JSON on one line. A list, because
        # msgspec never releases an iterator.
        return _encoder.encode_lines(list(map(_without_seq, envelopes))).split(b"\n")[:-1]

    def decode(self, seq: int, data: bytes) -> tuple[int, int, str, C, Event]:
        """The envelope with sequence number `seq`. Raises `msgspec.ValidationError` when `data` is not an event of
        this version.
        """
        at_us, node, cause, event = self._decoder.decode(data)
        return (seq, at_us, node, cause, event)

    @cached_property
    def _decoder(self) -> msgspec.json.Decoder[tuple[int, str, C, Event]]:
        any_event: Any = reduce(or_, self.kinds.values())
        shape: Any = GenericAlias(tuple, (int, str, self._cause, any_event))
        return msgspec.json.Decoder(shape)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """JSON schema of an event on the wire: an array of the kind's name and its fields in order, one definition a
        kind. Each definition carries its family as `x-family`.
        """
        _, definitions = msgspec.json.schema_components(self.kinds.values(), ref_template="#/$defs/{name}")
        for name, kind in self.kinds.items():
            if "description" in definitions[name]:
                # Python 3.13 keeps no indentation of a docstring, those before it do.
                definitions[name]["description"] = cleandoc(definitions[name]["description"])
            definitions[name] |= {"x-family": self._families[kind], "x-fields": list(kind.__struct_fields__)}
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": self.title,
            "anyOf": [{"$ref": f"#/$defs/{name}"} for name in sorted(self.kinds)],
            "$defs": definitions,
        }

    @cached_property
    def hash(self) -> str:
        """The first 12 hex digits of the SHA-256 of the canonical schema: what `hello` and `welcome` compare."""
        canonical = json.dumps(self.schema, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return sha256(canonical.encode()).hexdigest()[:HASH_LENGTH]


def encode_with_patch(seq: int, record: bytes, patch: Any) -> bytes:
    """An event as pages receive it: `[seq, at_us, node, cause, [kind, ...], patch]`, from its recorded bytes."""
    return b"[%d,%b,%b]" % (seq, record[1:-1], _encoder.encode(patch))
