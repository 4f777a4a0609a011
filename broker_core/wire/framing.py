"""Frames and headers of messages on a TCP connection.

A frame is four bytes of length, a header, a message. The version of the header depends on the API and version
(KIP-482, org.apache.kafka.common.protocol.ApiKeys#requestHeaderVersion).
"""

import struct
from typing import Any, Literal

import msgspec

from broker_core.texts import text
from broker_core.wire.codec import Api
from broker_core.wire.errors import WireError
from broker_core.wire.primitives import skip_ordered_tags, skip_tags
from broker_core.wire.schemas import SCHEMAS

API_VERSIONS = 18
_CONTROLLED_SHUTDOWN = 7
_LENGTH = struct.Struct(">i")
_FIXED_HEADER = struct.Struct(">hhi")

_NO_TAGS = b"\0"
_CRUMB_BYTES = 4096


class RequestHeader(msgspec.Struct, frozen=True, gc=False):
    """`api_version` is one that the API offers; for ApiVersions it may be any: see `is_offered`."""

    api: Api
    api_version: int
    correlation_id: int
    client_id: str | None = None

    @property
    def is_offered(self) -> bool:
        """False for an unknown version of ApiVersions, answered in version 0 with UNSUPPORTED_VERSION (KIP-35)."""
        return self.api.offers(self.api_version)


def request_header_version(api: Api, version: int) -> int:
    if api.key == _CONTROLLED_SHUTDOWN and version == 0:
        return 0  # without a client id
    return 2 if api.request.is_flexible(version) else 1


def response_header_version(api: Api, version: int) -> int:
    """Always 0 for ApiVersions: a client must be able to read the response before it knows the broker's versions."""
    return 1 if api.key != API_VERSIONS and api.response.is_flexible(version) else 0


Tags = Literal["any order", "in order", "none"]
"""The tagged fields that a broker reads: unknown ones in any order or in that of their tags, or none (before 2.4)."""


def decode_request_header(frame: bytes | memoryview, tags: Tags = "any order") -> tuple[RequestHeader, int]:
    """The header of a request (a frame without its length) and where the message starts.

    Raises WireError, on which a broker closes the connection, if the header is malformed or the API or its version is
    not supported.
    """
    try:
        key, version, correlation_id = _FIXED_HEADER.unpack_from(frame, 0)
        api = SCHEMAS.get(key)
        if api is None:
            raise WireError(text("wire.unknown_key", key=key))
        if not api.offers(version) and key != API_VERSIONS:
            raise WireError(
                text(
                    "wire.not_offered",
                    api=api.name,
                    version=version,
                    least=api.oldest_version,
                    greatest=api.latest_version,
                )
            )
        at = _FIXED_HEADER.size
        client_id = None
        # Also in flexible headers the length of the client id has two bytes.
        header_version = request_header_version(api, version)
        if header_version > 0:
            (length,) = struct.unpack_from(">h", frame, at)
            at += 2
            if length >= 0:
                client_id = str(frame[at : at + length], "utf-8", "replace")
                at += length
        if header_version > 1 and tags != "none":
            at = (skip_tags if tags == "any order" else skip_ordered_tags)(frame, at)
    except (struct.error, IndexError):
        raise WireError(text("wire.request_header", size=len(frame))) from None
    if at > len(frame):
        raise WireError(text("wire.request_header", size=len(frame)))
    return RequestHeader(api, version, correlation_id, client_id), at


def decode_request(frame: bytes | memoryview, tags: Tags = "any order") -> tuple[RequestHeader, Any]:
    """Header and message; the message is None if the version is not offered (`is_offered`) or has tagged fields that
    are not read. Raises WireError.
    """
    header, at = decode_request_header(frame, tags)
    has_tags = request_header_version(header.api, header.api_version) > 1
    if not header.is_offered or (has_tags and tags == "none"):
        return header, None
    return header, header.api.request.decode(header.api_version, frame, at, orders_tags=tags == "in order")


def encode_request(
    api: Api, version: int, value: Any, *, correlation_id: int = 0, client_id: str | None = None
) -> bytes:
    """A whole frame with its length. Raises WireError when the version cannot represent it."""
    parts = [_FIXED_HEADER.pack(api.key, version, correlation_id)]
    header_version = request_header_version(api, version)
    if header_version > 0:
        name = None if client_id is None else client_id.encode()
        parts.append(struct.pack(">h", -1) if name is None else struct.pack(">h", len(name)) + name)
    if header_version > 1:
        parts.append(_NO_TAGS)
    api.request.encode_into(version, value, parts)
    return encode_frame(parts)


def encode_response(api: Api, version: int, value: Any, *, correlation_id: int) -> bytes:
    """A whole frame with its length. Raises WireError when the version cannot represent it."""
    parts = [_LENGTH.pack(correlation_id)]
    if response_header_version(api, version) > 0:
        parts.append(_NO_TAGS)
    api.response.encode_into(version, value, parts)
    return encode_frame(parts)


def decode_response(api: Api, version: int, frame: bytes | memoryview) -> tuple[int, Any]:
    """Correlation id and message of a frame without its length. Raises WireError."""
    if len(frame) < _LENGTH.size:
        raise WireError(text("wire.response_header", size=len(frame)))
    (correlation_id,) = _LENGTH.unpack_from(frame, 0)
    at = _LENGTH.size
    if response_header_version(api, version) > 0:
        try:
            at = skip_tags(frame, at)
        except IndexError:
            raise WireError(text("wire.response_header", size=len(frame))) from None
    return correlation_id, api.response.decode(version, frame, at)


def encode_frame(parts: list[bytes]) -> bytes:
    """The pieces, prefixed by their length."""
    return b"".join([_LENGTH.pack(sum(map(len, parts))), *parts])


class FrameSplitter:
    """Splits a stream of bytes into frames (without their lengths). `most_bytes` is socket.request.max.bytes.

    `fault`: an invalid length, negative or above the limit. Nothing after it can be parsed; the frames before it are
    valid, and a broker answers them before it closes the connection. `held_bytes`: the received bytes of an incomplete
    frame.
    """

    def __init__(self, most_bytes: int = 104_857_600) -> None:
        self.fault: WireError | None = None
        self._max_bytes = most_bytes
        #: the incomplete frame: its bytes, and the number of missing bytes
        self._pieces: list[bytes | bytearray] = []
        self._missing = 0
        self.held_bytes = 0
        #: the bytes of an incomplete length
        self._start = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The frames that `data` completes. Holds only received bytes: memory is not allocated by the stated length."""
        frames: list[bytes] = []
        if self.fault is not None:
            return frames
        if self._missing > len(data):
            self._hold(data)
            return frames
        at, end = self._missing, len(data)
        if self._missing:
            frames.append(b"".join((*self._pieces, memoryview(data)[:at])))
            self._pieces, self._missing, self.held_bytes = [], 0, 0
        elif self._start:
            data = self._start + data
            end = len(data)
            self._start = b""
        while end - at >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(data, at)
            at += _LENGTH.size
            if not 0 <= length <= self._max_bytes:
                self.fault = WireError(text("wire.frame_length", length=length, max=self._max_bytes))
                return frames
            frame = data[at : at + length]
            at += length
            if at > end:
                self._pieces, self._missing, self.held_bytes = [frame], at - end, len(frame)
                return frames
            frames.append(frame)
        self._start = data[at:]
        return frames

    def _hold(self, data: bytes) -> None:
        """Buffers bytes of an incomplete frame. Small pieces are joined, because each has an overhead."""
        self._missing -= len(data)
        self.held_bytes += len(data)
        if len(data) > _CRUMB_BYTES:
            self._pieces.append(data)
            return
        last = self._pieces[-1]
        if not isinstance(last, bytearray):
            last = bytearray()
            self._pieces.append(last)
        last += data
