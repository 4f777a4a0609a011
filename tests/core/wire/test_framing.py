"""Frames and headers, byte by byte; an invalid frame is refused with a message."""

import pytest

from broker_core.wire.errors import WireError
from broker_core.wire.framing import (
    FrameSplitter,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)
from broker_core.wire.schemas import BY_NAME


def test_request_of_an_old_and_of_a_flexible_version() -> None:
    metadata = BY_NAME["Metadata"]
    old = encode_request(metadata, 1, metadata.request.type(topics=None), correlation_id=7, client_id="me")
    assert old.hex(" ") == "00 00 00 10 00 03 00 01 00 00 00 07 00 02 6d 65 ff ff ff ff"
    topic = metadata.request.MetadataRequestTopic(name="a")
    new = encode_request(metadata, 12, metadata.request.type(topics=[topic]), correlation_id=-1)
    assert new.hex(" ", -4) == ("00000022 0003000c ffffffff ffff0002 00000000 00000000 00000000 00000000 02610001 0000")
    header, request = decode_request(new[4:])
    assert (header.api.name, header.api_version, header.correlation_id, header.client_id) == ("Metadata", 12, -1, None)
    assert request.topics == [topic]


def test_answer_to_api_versions_always_has_the_oldest_header() -> None:
    api = BY_NAME["ApiVersions"]
    answer = api.response.type(api_keys=[api.response.ApiVersion(18, 0, 4)])
    frame = encode_response(api, 3, answer, correlation_id=9)
    assert frame.hex(" ", -4) == "00000013 00000009 00000200 12000000 04000000 000000"
    heartbeat = BY_NAME["Heartbeat"]
    frame = encode_response(heartbeat, 4, heartbeat.response.type(error_code=25), correlation_id=9)
    assert frame.hex(" ") == "00 00 00 0c 00 00 00 09 00 00 00 00 00 00 19 00"
    assert decode_response(heartbeat, 4, frame[4:]) == (9, heartbeat.response.type(error_code=25))


def test_future_version_of_api_versions_is_distinguished() -> None:
    api = BY_NAME["ApiVersions"]
    frame = bytearray(encode_request(api, 3, api.request.type(), correlation_id=5, client_id="new")[4:])
    frame[2:4] = b"\x00\x63"
    header, request = decode_request(bytes(frame))
    assert not header.is_offered and request is None
    assert (header.correlation_id, header.client_id) == (5, "new")


@pytest.mark.parametrize(
    ("frame", "what"),
    [
        ("", "a request header in 0 bytes"),
        ("0003", "a request header in 2 bytes"),
        ("03e7 0000 00000001 ffff", "no API has the key 999"),
        ("0003 0063 00000001 ffff", "Metadata v99 is not offered; offered are v0 to v12"),
        ("0003 ffff 00000001 ffff", "Metadata v-1 is not offered"),
        ("0003 0001 00000001 0005 6d65", "a request header in 12 bytes"),
        ("0003 0009 00000001 ffff 05", "a request header in 11 bytes"),
        ("0003 0005 00000001 ffff 7fffffff", "MetadataRequest v5: topics of 2147483647 entries in 0 bytes"),
        ("0003 0005 00000001 ffff 00000001 ffff", "MetadataRequest v5: name is null"),
        ("0003 0005 00000001 ffff 00000001 0001", "MetadataRequest v5: the bytes end before the message does"),
        ("0003 0009 00000001 ffff 00 ffffffffff0f", "MetadataRequest v9: a varint of more than five bytes"),
        ("0003 0009 00000001 ffff 00 01 000000 01 05 ffffffff0f", "MetadataRequest v9: a tagged field of -1 bytes"),
        ("0003 0009 00000001 ffff 00 02 818002", "MetadataRequest v9: a string of 32768 bytes; at most 32767 are"),
    ],
)
def test_malformed_request_is_refused_with_a_message(frame: str, what: str) -> None:
    with pytest.raises(WireError, match=what):
        decode_request(bytes.fromhex(frame))


def test_bytes_that_are_not_utf_8_are_replaced_as_java_does() -> None:
    header, request = decode_request(bytes.fromhex("0003 0001 00000001 0002 ff65 00000001 0003 61c3ff"))
    assert header.client_id == "\ufffde"
    assert request.topics[0].name == "a\ufffd\ufffd"


def test_trailing_bytes_and_unknown_tagged_fields_are_skipped() -> None:
    _, request = decode_request(bytes.fromhex("0003 0005 00000001 ffff 00000000 00 00"))
    assert request.topics == []
    _, request = decode_request(bytes.fromhex("0003 0009 00000001 ffff 00 ffffffff0f 000000 ffffffff0f"))
    assert request.topics is None  # a length of -2, and tagged fields of the number -1
    tagged_header = "0003 0009 00000001 ffff 01 05 02 abcd"
    _, request = decode_request(bytes.fromhex(tagged_header + "01 01 00 00 01 63 02 6869"))
    assert request.topics == []


def test_stream_is_split_into_frames_at_any_chunk_boundary() -> None:
    stream = b"".join(len(body).to_bytes(4, "big") + body for body in (b"abc", b"", b"x" * 300, b"z"))
    for size in (1, 2, 3, 5, 7, 100, 1000):
        splitter = FrameSplitter()
        frames = [frame for at in range(0, len(stream), size) for frame in splitter.feed(stream[at : at + size])]
        assert frames == [b"abc", b"", b"x" * 300, b"z"]


@pytest.mark.parametrize("length", [-1, -(2**31), 101, 2**31 - 1])
def test_invalid_length_ends_the_stream_after_earlier_frames(length: int) -> None:
    splitter = FrameSplitter(most_bytes=100)
    assert splitter.feed(b"\0\0\0\1a" + length.to_bytes(4, "big", signed=True) + b"b") == [b"a"]
    assert str(splitter.fault) == f"a frame of {length} bytes; expected 0 to 100"
    assert splitter.feed(b"\0\0\0\1c") == []


def test_unsupported_field_is_an_error_in_requests_and_dropped_in_responses() -> None:
    produce = BY_NAME["Produce"]
    with pytest.raises(WireError, match="ProduceRequest v2 cannot be sent: this version has no transactional_id"):
        produce.request.encode(2, produce.request.type(transactional_id="t"))
    with pytest.raises(WireError, match="topic_data is null"):
        produce.request.encode(2, produce.request.type(topic_data=None))
    with pytest.raises(WireError, match="a string of 32768 bytes; at most 32767 are allowed"):
        produce.request.encode(9, produce.request.type(transactional_id="x" * 32768))
    with pytest.raises(WireError, match="ProduceRequest v3 cannot be sent: "):
        produce.request.encode(3, produce.request.type(acks=40_000))
    assert produce.response.encode(0, produce.response.type(throttle_time_ms=5)) == bytes(4)
