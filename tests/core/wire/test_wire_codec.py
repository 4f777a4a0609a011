"""Our bytes of Kafka's messages are those of two other implementations, and mean the same, in every version.

kio is made from Kafka 4's tables and has no version that Kafka 4 dropped; kafka-python has no message that only brokers
send. Versions that neither supports are compared with what Kafka's own classes wrote.
"""

import dataclasses
import datetime
import io
import json
import random
import re
import uuid
from base64 import b64encode
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import walk_packages
from typing import Any

import kafka.protocol
import msgspec
import pytest
from kafka.protocol.api_message import ApiMessage
from kio.serial import entity_reader, entity_writer

from broker_core.wire.notation import ZERO_UUID
from broker_core.wire.primitives import uuid_text
from broker_core.wire.schemas import BY_NAME, SCHEMAS
from tests.support.paths import DATA
from tests.support.wire_messages import Kind, kinds, random_message

#: What Kafka 3.9.1 in ZooKeeper mode answers to ApiVersions: the greatest version of each key, the least being 0.
OFFERED = dict(
    enumerate((11, 17, 9, 12, 7, 4, 8, 3, 9, 9, 6, 9, 4, 5, 5, 5, 5, 1, 4, 7, 6, 2, 5, 4, 5, 4, 4, 1, 4, 3, 3, 3, 4, 2))
)
OFFERED |= dict(enumerate((2, 4, 2, 3, 3, 2, 2, 3, 2, 2, 1, 0, 0, 0, 1, 1, 0, 0), start=34))
OFFERED |= {56: 3, 57: 1, 58: 0, 60: 1, 61: 0, 65: 0, 66: 1, 67: 0, 68: 0, 69: 0}
RECORDED = DATA / "wire/messages-3.9.1.tsv"
#: Neither of the two supports an older version than this. They do not support the first four at all: only brokers send
#: them.
KNOWN_FROM = {
    "LeaderAndIsr": 8,
    "StopReplica": 5,
    "UpdateMetadata": 9,
    "ControlledShutdown": 4,
    "AlterPartition": 2,
    **{f"{verb}DelegationToken": 1 for verb in ("Create", "Renew", "Expire", "Describe")},
}


def module_of(kind: Kind) -> str:
    """`join_group` of JoinGroup, as kio names its modules."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in kind.api.name)[1:]


@cache
def kio_type(kind: Kind) -> Any:
    version = f"kio.schema.{module_of(kind)}.v{kind.version}"
    if find_spec(f"kio.schema.{module_of(kind)}") is None or find_spec(version) is None:
        return None
    return getattr(import_module(f"{version}.{'request' if kind.is_request else 'response'}"), kind.schema.name)


@cache
def kafka_python_types() -> dict[str, Any]:
    """By name."""
    for module in walk_packages(kafka.protocol.__path__, "kafka.protocol."):
        if ".old" not in module.name:
            import_module(module.name)
    types: dict[str, Any] = {}
    waiting: list[Any] = [ApiMessage]
    while waiting:
        found = waiting.pop().__subclasses__()
        waiting += found
        types |= {each.__name__: each for each in found}
    return types


def plain(value: Any) -> Any:
    """Converts values of kio and kafka-python to ours."""
    match value:
        case datetime.timedelta():
            return round(value / datetime.timedelta(milliseconds=1))
        case datetime.datetime():
            return round(
                (value - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) / datetime.timedelta(milliseconds=1)
            )
        case uuid.UUID():
            return uuid_text(value.bytes)
        case bool() | float() | str() | None:
            return value
        case int():
            return int(value)
        case bytes() | memoryview():
            return bytes(value)
        case list() | tuple():
            return [plain(each) for each in value]
        case dict():
            return {name: plain(each) for name, each in value.items()}
    assert dataclasses.is_dataclass(value)
    return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}


def as_told(kind: Kind, value: Any) -> Any:
    """A message of ours as kio represents it: durations and times without their unit, no id for the uuid of zeros."""
    if isinstance(value, list):
        return [as_told(kind, each) for each in value]
    if not isinstance(value, msgspec.Struct):
        return None if value == ZERO_UUID else value
    described = kind.schema.structs[type(value).__name__]
    return {
        field.name.removesuffix("_ms"): as_told(kind, getattr(value, field.name))
        for field in described.fields
        if field.is_in(kind.version)
    }


def as_kafkas_json(kind: Kind, value: Any) -> Any:
    """A message of ours as Kafka's JSON converter writes it: no records, no tagged fields at their default."""
    if isinstance(value, list):
        return [as_kafkas_json(kind, each) for each in value]
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if not isinstance(value, msgspec.Struct):
        return value
    tree = {}
    for field in kind.schema.structs[type(value).__name__].fields:
        part = getattr(value, field.name)
        if field.is_in(kind.version) and (field.tag is None or part != getattr(type(value)(), field.name)):
            name = re.sub("_(.)", lambda match: match[1].upper(), field.name)
            tree[name] = as_kafkas_json(kind, b"" if field.type == "records" and part else part)
    return tree


def test_every_api_offered_in_3_9_has_a_schema() -> None:
    assert {key: api.latest_version for key, api in SCHEMAS.items()} == OFFERED
    assert all(api.oldest_version == 0 for api in SCHEMAS.values())


@pytest.mark.soak
def test_random_messages_decode_alike_in_kio_and_kafka_python(rounds) -> None:
    """Each message goes to both and back; 10,000 of them, and at least one of each version."""
    rng = random.Random(6)
    all_kinds = list(kinds())
    known: set[Kind] = set()
    for number in range(max(rounds(10_000), len(all_kinds))):
        kind = all_kinds[number % len(all_kinds)]
        schema, version = kind.schema, kind.version
        message = random_message(rng, kind)
        data = schema.encode(version, message)
        assert schema.decode(version, data) == message, kind
        assert schema.decode(version, memoryview(b"header" + data + b"more"), len(b"header")) == message, kind

        if kio := kio_type(kind):
            known.add(kind)
            theirs, end = entity_reader(kio)(data, 0)
            assert end == len(data), kind
            assert plain(theirs) == as_told(kind, message), kind
            buffer = io.BytesIO()
            entity_writer(kio)(buffer, theirs)
            assert schema.decode(version, buffer.getvalue()) == message, kind
            assert buffer.getvalue() == data, kind

        if kafka_python := kafka_python_types().get(schema.name):
            # kafka-python reads an ApiVersions answer with an error as version 0, whatever was asked.
            if schema.name == "ApiVersionsResponse" and message.error_code != 0:
                continue
            known.add(kind)
            theirs = kafka_python.decode(data, version=version)
            theirs._header = None
            assert bytes(theirs.encode(version=version)) == data, kind

    assert all((kind in known) == (kind.version >= KNOWN_FROM.get(kind.api.name, 0)) for kind in all_kinds)


def test_kafkas_own_classes_read_and_wrote_the_same() -> None:
    """Recorded from kafka-clients 3.9.1: API, message, version, its bytes, its fields in the JSON of its converter."""
    rows = [line.split("\t") for line in RECORDED.read_text().splitlines()]
    seen = set()
    for api_name, name, version, data_text, fields in rows:
        api = BY_NAME[api_name]
        kind = Kind(api, api.request if name == api.request.name else api.response, int(version))
        seen.add(kind)
        data = bytes.fromhex(data_text)
        message = kind.schema.decode(kind.version, data)
        assert as_kafkas_json(kind, message) == json.loads(fields), kind
        assert kind.schema.encode(kind.version, message) == data, kind
    assert seen == set(kinds())
