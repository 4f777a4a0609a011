"""Converts record batches, valid and broken, to and from the plain trees of the recorded cases."""

import gzip
import struct
from typing import Any

import google_crc32c

from broker_core.records.varint import encode_varlong as encode_varint

Tree = Any

FIELDS = (
    ("base_offset", "q"),
    ("length", "i"),
    ("leader_epoch", "i"),
    ("magic", "b"),
    ("crc", "I"),
    ("attributes", "h"),
    ("last_delta", "i"),
    ("base_ts", "q"),
    ("max_ts", "q"),
    ("pid", "q"),
    ("epoch", "h"),
    ("seq", "i"),
    ("count", "i"),
)
HEADER = struct.Struct(">" + "".join(form for _, form in FIELDS))
CRC_FROM = 21
MAGIC_AT = 16
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
FLAGS = ((8, "append_time"), (16, "txn"), (32, "control"), (64, "delete_horizon"))
KNOWN_ATTRIBUTES = 0x7F
FIRST_TIMESTAMP = 1_700_000_000_000
LONG_VALUE = 64


def encode_batches(described: Tree) -> bytes:
    """One batch, or a list of them."""
    if isinstance(described, list):
        return b"".join(encode_batches(each) for each in described)
    if "hex" in described:
        return bytes.fromhex(described["hex"])
    first_timestamp = described.get("ts", FIRST_TIMESTAMP)
    records = [each if isinstance(each, dict) else {"v": each} for each in described.get("records", ["a"])]
    if "value_size" in described:
        records = [{"v": "x" * described["value_size"]}]
    timestamps = [record.get("ts", first_timestamp + at) for at, record in enumerate(records)]
    body = b"".join(
        _record(record, timestamp - first_timestamp, at)
        for at, (record, timestamp) in enumerate(zip(records, timestamps, strict=True))
    )
    compression = CODECS.index(described.get("compression", "none"))
    if compression:
        assert CODECS[compression] == "gzip"
        body = gzip.compress(body, mtime=0)
    header = {
        "base_offset": described.get("base_offset", 0),
        "length": HEADER.size - 12 + len(body),
        "leader_epoch": -1,
        "magic": 2,
        "crc": 0,
        "attributes": compression | sum(bit for bit, name in FLAGS if described.get(name)),
        "last_delta": len(records) - 1,
        "base_ts": first_timestamp,
        "max_ts": max([first_timestamp, *timestamps]),
        "pid": described.get("pid", -1),
        "epoch": described.get("epoch", -1),
        "seq": described.get("seq", -1),
        "count": len(records),
        **described.get("set_valid", {}),
    }
    header["crc"] = google_crc32c.value(HEADER.pack(*header.values())[CRC_FROM:] + body)
    if described.get("crc") == "bad":
        header["crc"] ^= 1
    data = HEADER.pack(*{**header, **described.get("set", {})}.values()) + body
    return data[: len(data) - described.get("cut", 0)]


def _record(record: Tree, timestamp_delta: int, at: int) -> bytes:
    headers = record.get("h", [])
    rest = b"".join(
        [
            b"\0",
            encode_varint(timestamp_delta),
            encode_varint(record.get("delta", at)),
            _text(record.get("k")),
            _text(record.get("v")),
            encode_varint(len(headers)),
            *(_text(part) for header in headers for part in header),
        ]
    )
    return encode_varint(len(rest)) + rest


def _text(value: Tree) -> bytes:
    if value is None:
        return encode_varint(-1)
    data = bytes.fromhex(value["hex"]) if isinstance(value, dict) else value.encode()
    return encode_varint(len(data)) + data


def decode_batches(data: bytes) -> list[Tree]:
    """All batches, and messages of the older formats as they are; of one that is cut off, how many bytes there are."""
    found: list[Tree] = []
    while data:
        size = struct.unpack_from(">i", data, 8)[0] + 12 if len(data) >= 12 else len(data) + 1
        if size <= len(data) and size > MAGIC_AT and data[MAGIC_AT] < 2:
            found.append({"message": data[:size].hex()})
            data = data[size:]
            continue
        if size > len(data) or size < HEADER.size:
            return [*found, {"partial": len(data)}]
        found.append(_decode_batch(data[:size]))
        data = data[size:]
    return found


def _decode_batch(data: bytes) -> Tree:
    described = dict(zip((name for name, _ in FIELDS), HEADER.unpack_from(data), strict=True))
    attributes = described.pop("attributes")
    described["crc"] = "ok" if described["crc"] == google_crc32c.value(data[CRC_FROM:]) else "bad"
    described["codec"] = CODECS[attributes & 7]
    described["flags"] = [name for bit, name in FLAGS if attributes & bit]
    if attributes & ~KNOWN_ATTRIBUTES:
        described["unused_bits"] = attributes & ~KNOWN_ATTRIBUTES
    body = data[HEADER.size :]
    if described["codec"] != "none":
        # how small it gets is the compressor's own affair
        del described["length"]
        body = gzip.decompress(body) if described["codec"] == "gzip" else b""
    described["records"] = _Records(body, described["base_ts"]).decode()
    return described


class _Records:
    """A cursor over the records of one batch."""

    def __init__(self, data: bytes, first_timestamp: int) -> None:
        self._data = data
        self._at = 0
        self._first_timestamp = first_timestamp

    def decode(self) -> list[Tree]:
        records = []
        while self._at < len(self._data):
            self._number()
            self._at += 1
            record = {
                "ts": self._first_timestamp + self._number(),
                "delta": self._number(),
                "k": self._text(),
                "v": self._text(),
            }
            headers = [[self._text(), self._text()] for _ in range(self._number())]
            records.append(record | ({"h": headers} if headers else {}))
        return records

    def _number(self) -> int:
        value = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)

    def _text(self) -> Tree:
        size = self._number()
        if size < 0:
            return None
        data = self._data[self._at : self._at + size]
        self._at += size
        if size > LONG_VALUE and len(set(data)) == 1:
            return {"repeated": chr(data[0]), "times": size}
        text = data.decode("ascii", "replace")
        return text if text.isprintable() else {"hex": data.hex()}
