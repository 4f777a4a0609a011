"""Random values of Kafka's messages, for tests that compare codecs or damage bytes."""

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from broker_core.wire.codec import Api, Schema
from broker_core.wire.framing import encode_request
from broker_core.wire.notation import ZERO_UUID, Field, Struct
from broker_core.wire.primitives import uuid_text
from broker_core.wire.schemas import SCHEMAS

BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
#: Around the borders of one and two bytes of a compact length.
LENGTHS = (0, 1, 5, 125, 126, 127, 128, 300)
#: Fields that kio treats as an error code, a duration or a time cannot have arbitrary numbers.
ERROR_CODES = (-1, 0, 1, 35, 79)
MAX_MS = 1 << 30
MAX_REQUEST_BYTES = 5_000
SLOW_APIS = {"CreateTopics", "CreatePartitions"}
"""With random values these create thousands of partitions."""
TELLING_BYTES = (0, 1, 2, 3, 0x7F, 0x80, 0xFE, 0xFF)
ABSURD_NUMBERS = (b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\xff", b"\x00\x01\x00\x00", b"\x7f\xff")


class Kind(NamedTuple):
    """A message in one of its versions."""

    api: Api
    schema: Schema
    version: int

    @property
    def is_request(self) -> bool:
        return self.schema is self.api.request


def kinds() -> Iterator[Kind]:
    """Every message in every version that a broker offers."""
    for api in SCHEMAS.values():
        for version in range(api.oldest_version, api.latest_version + 1):
            yield Kind(api, api.request, version)
            yield Kind(api, api.response, version)


def random_message(rng: random.Random, kind: Kind) -> Any:
    return _struct(rng, kind, next(iter(kind.schema.structs.values())))


def random_request(rng: random.Random, kind: Kind) -> bytes:
    """The frame of a request with random values, without its length: shorter than MAX_REQUEST_BYTES."""
    while True:
        frame = encode_request(kind.api, kind.version, random_message(rng, kind), client_id="spoiler")[4:]
        if len(frame) < MAX_REQUEST_BYTES:
            return frame


def _struct(rng: random.Random, kind: Kind, described: Struct) -> Any:
    values = {
        field.name: _field(rng, kind, field)
        for field in described.fields
        if field.is_in(kind.version) and (field.tag is None or rng.random() < 0.5)
    }
    return kind.schema.types[described.name](**values)


def _field(rng: random.Random, kind: Kind, field: Field) -> Any:
    if field.is_nullable_in(kind.version) and rng.random() < 0.2:
        return None
    if not field.is_array:
        return _one(rng, kind, field)
    count = rng.choice((0, 1, 2, 3) if field.struct else (0, 1, 2, 130))
    return [_one(rng, kind, field) for _ in range(count)]


def _one(rng: random.Random, kind: Kind, field: Field) -> Any:
    if field.struct:
        return _struct(rng, kind, field.struct)
    match field.type:
        case "bool":
            return rng.random() < 0.5
        case "string":
            return "".join(rng.choices("azé語🐘", k=rng.choice(LENGTHS)))
        case "bytes" | "records":
            return rng.randbytes(rng.choice((*LENGTHS, 20_000)))
        case "uuid":
            return rng.choice((ZERO_UUID, uuid_text(rng.randbytes(16))))
        case "float64":
            return rng.choice((0.0, -1.5, 1e300))
        case "uint16":
            return rng.randrange(1 << 16)
    if field.name.endswith("error_code"):
        return rng.choice(ERROR_CODES)
    if field.name.endswith("_ms"):
        return rng.randrange(MAX_MS)
    oldest_version = -1 << BITS[field.type] - 1
    return rng.choice((0, 1, -1, oldest_version, -oldest_version - 1, rng.randrange(oldest_version, -oldest_version)))


def damage(rng: random.Random, frame: bytes) -> bytes:
    """A frame of which some bytes were changed, added or taken away."""
    data = bytearray(frame)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(6):
            case 0:
                data[at : at + 1] = bytes([rng.choice(TELLING_BYTES)])
            case 1:
                data[at : at + 1] = rng.randbytes(1)
            case 2:
                number = rng.choice(ABSURD_NUMBERS)
                data[at : at + len(number)] = number
            case 3:
                del data[at:]
            case 4:
                data[at:at] = rng.randbytes(rng.choice((1, 2, 4)))
            case 5:
                del data[at : at + rng.choice((1, 2, 4))]
    return bytes(data)
