"""Messages of the wire as plain trees, and trees that are equal in every run, as the recorded cases hold them."""

import base64
import json
import re
import uuid
from typing import Any

from broker_core.errors import Errors
from broker_core.wire.codec import Schema
from broker_core.wire.notation import ZERO_UUID, Field
from tests.support.kit_batches import decode_batches, encode_batches

Tree = Any

NO_UUID = str(uuid.UUID(int=0))
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
BROKER_FIELDS = (
    "node_id",
    "leader_id",
    "broker_id",
    "controller_id",
    "replica_nodes",
    "isr_nodes",
    "offline_replicas",
    "replicas",
    "adding_replicas",
    "removing_replicas",
    "preferred_read_replica",
)
WITHOUT_ORDER = ("isr_nodes", "offline_replicas")
HIDDEN = {"cluster_id": "<cluster>", "port": "<port>", "host": "<host>", "log_dir": "<dir>"}
DRAWN = ("producer_id", "pid", "session_id")
SORTED_BY = (
    "api_key",
    "name",
    "topic",
    "topic_name",
    "resource_name",
    "group_id",
    "key",
    "partition_index",
    "partition",
    "index",
)
DAY_MS = 86_400_000
GREATEST_LONG = str(2**63 - 1)


def _name(field: Field) -> str:
    """What the cases call a field: durations have no unit there."""
    return field.name.removesuffix("_ms")


def encode(schema: Schema, version: int, tree: Tree, struct: str = "") -> Any:
    """A value of a schema; omitted fields are at their default."""
    value = schema.types[struct or schema.name]()
    names = {_name(field): field for field in schema.structs[struct or schema.name].fields if field.is_in(version)}
    assert set(tree) <= set(names), f"{schema.name} v{version} has no {set(tree) - set(names)}"
    for name, part in tree.items():
        field = names[name]
        if part is not None and field.is_array:
            part = [_encode_one(schema, version, field, each) for each in part]
        elif part is not None:
            part = _encode_one(schema, version, field, part)
        setattr(value, field.name, part)
    return value


def _encode_one(schema: Schema, version: int, field: Field, tree: Tree) -> Any:
    if field.struct is not None:
        return encode(schema, version, tree, field.struct.name)
    if field.type == "uuid":
        return base64.urlsafe_b64encode(uuid.UUID(tree).bytes).decode().rstrip("=")
    if field.type == "bytes":
        return bytes.fromhex(tree)
    if field.type == "records":
        return encode_batches(tree)
    return str(tree) if field.type == "string" else tree


def decode(schema: Schema, version: int, value: Any, struct: str = "") -> Tree:
    """A response as a tree. Tagged fields are there when they were sent: when they are not at their default."""
    tree = {}
    default = schema.types[struct or schema.name]()
    for field in schema.structs[struct or schema.name].fields:
        part = getattr(value, field.name)
        if not field.is_in(version) or (field.tag is not None and part == getattr(default, field.name)):
            continue
        if field.is_array and part is not None:
            tree[_name(field)] = [_decode_one(schema, version, field, each) for each in part]
        else:
            tree[_name(field)] = _decode_one(schema, version, field, part)
    return tree


def _decode_one(schema: Schema, version: int, field: Field, value: Any) -> Tree:
    if value is None:
        return None
    if field.struct is not None:
        return decode(schema, version, value, field.struct.name)
    if field.type == "uuid":
        return NO_UUID if value == ZERO_UUID else str(uuid.UUID(bytes=base64.urlsafe_b64decode(value + "==")))
    if field.type == "bytes":
        return bytes(value).hex()
    if field.type == "records":
        return decode_batches(bytes(value))
    return Errors.of(value).name if field.name.endswith("error_code") else value


class Steadying:
    """Replaces what differs from run to run by names: those that a case captured, its run's, its brokers'."""

    def __init__(self, run: str, brokers: list[int], *, in_order: bool = False) -> None:
        self.run = run
        self._in_order = in_order
        self.brokers = brokers
        self.now_ms = 0
        self.captured: dict[str, tuple[str, Tree]] = {}

    def steady(self, value: Tree, key: str = "", masked: frozenset[str] = frozenset()) -> Tree:
        """The tree as the cases hold it."""
        if key in masked:
            return "<any>"
        if isinstance(value, dict):
            return {name: self.steady(part, name, masked) for name, part in value.items()}
        if isinstance(value, list):
            return self._list([self.steady(part, key, masked) for part in value], key)
        if value is None or isinstance(value, bool | float):
            return value
        for name, (field, captured) in self.captured.items():
            if field == key and captured == value:
                return f"${{{name}}}"
        return self._number(value, key) if isinstance(value, int) else self._text(value, key)

    def _list(self, parts: list[Tree], key: str) -> list[Tree]:
        if self._in_order:
            return parts
        if key in WITHOUT_ORDER:
            return sorted(parts)
        if parts and isinstance(parts[0], dict) and key not in ("records", "h"):
            parts.sort(
                key=lambda part: (
                    [str(part.get(name, "")).rjust(9) for name in SORTED_BY],
                    json.dumps(part, sort_keys=True),
                )
            )
        return parts

    def _number(self, value: int, key: str) -> Tree:
        if key in BROKER_FIELDS and value >= 0:
            known = key != "controller_id" and value in self.brokers
            return f"${{b{self.brokers.index(value)}}}" if known else "<broker>"
        if key in HIDDEN:
            return HIDDEN[key]
        if key in DRAWN and value > 0:
            return f"<{key}>"
        return "<now>" if abs(value - self.now_ms) < DAY_MS else value

    def _text(self, value: str, key: str) -> str:
        if key in HIDDEN:
            return HIDDEN[key] if value else value
        for name, (_, captured) in self.captured.items():
            if isinstance(captured, str) and captured:
                value = value.replace(captured, f"${{{name}}}")
        value = value.replace(self.run, "${run}")
        value = UUID.sub(lambda found: found[0] if found[0] == NO_UUID else "<uuid>", value)
        value = re.sub(r"-?\d{19}", lambda found: found[0] if found[0] == GREATEST_LONG else "<far>", value)
        return re.sub(
            r"\d{13}", lambda found: "<now>" if abs(int(found[0]) - self.now_ms) < DAY_MS else found[0], value
        )
