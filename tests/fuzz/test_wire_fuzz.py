"""Damaged frames are refused with a message or read; nothing else happens, and little memory is allocated for them."""

import random
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from broker_core.wire.codec import Schema
from broker_core.wire.errors import WireError
from broker_core.wire.framing import FrameSplitter, decode_request, decode_response, encode_request, encode_response
from broker_core.wire.schemas import SCHEMAS
from tests.support.wire_messages import ABSURD_NUMBERS, Kind, damage, kinds, random_message

MUTATIONS = 100_000
ROUNDS_A_SEED = 20
#: An object of an array may take two bytes; ours takes a list entry, a struct and its contents.
MAX_MEMORY_PER_BYTE = 400
#: Key, version, correlation id and no client id.
HEADER_BYTES = 10
MAX_MEMORY_PER_FRAME = 100_000


def read(kind: Kind, frame: bytes) -> tuple[Schema, int, Any]:
    """What the frame holds, and as what it was read: a damaged header may name another message."""
    if not kind.is_request:
        return kind.schema, kind.version, decode_response(kind.api, kind.version, frame)[1]
    header, value = decode_request(frame)
    return header.api.request, header.api_version, value


@pytest.mark.soak
def test_corrupt_frames_do_no_harm(rounds) -> None:
    rng = random.Random(9)
    all_kinds = list(kinds())
    count_read = count_refused = 0
    for number in range(rounds(MUTATIONS) // ROUNDS_A_SEED):
        kind = all_kinds[number % len(all_kinds)]
        message = random_message(rng, kind)
        if kind.is_request:
            frame = encode_request(kind.api, kind.version, message, client_id="spoiler")[4:]
        else:
            frame = encode_response(kind.api, kind.version, message, correlation_id=1)[4:]
        for _ in range(ROUNDS_A_SEED):
            damaged = damage(rng, frame)
            try:
                schema, version, value = read(kind, damaged)
            except WireError as error:
                count_refused += 1
                assert str(error)
                continue
            count_read += 1
            if value is not None:
                try:
                    data = schema.encode(version, value)
                except WireError:
                    # Bytes that are not UTF-8 grow when they are replaced, here beyond the longest string.
                    assert "\ufffd" in str(value), (kind, damaged.hex())
                    continue
                assert schema.encode(version, schema.decode(version, data)) == data, (kind, damaged.hex())
    assert min(count_read, count_refused) > (count_read + count_refused) / 10


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.parametrize("number", ABSURD_NUMBERS)
def test_huge_numbers_do_not_cause_huge_allocations(number: bytes, traced: None) -> None:
    rng = random.Random(10)
    for api in SCHEMAS.values():
        kind = Kind(api, api.request, rng.randint(api.oldest_version, api.latest_version))
        frame = encode_request(api, kind.version, random_message(rng, kind))[4:]
        read(kind, frame)  # which makes the decoder of this version
        places = range(HEADER_BYTES, len(frame))
        for at in rng.sample(places, k=min(20, len(places))):
            damaged = frame[:at] + number + frame[at + len(number) :]
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            with suppress(WireError):
                read(kind, damaged)
            _, peak = tracemalloc.get_traced_memory()
            assert peak - before < MAX_MEMORY_PER_FRAME + MAX_MEMORY_PER_BYTE * len(damaged), (kind, damaged.hex())


def test_splitter_buffers_received_bytes_not_the_claimed_length(traced: None) -> None:
    splitter = FrameSplitter()
    assert splitter.feed(b"\x06\x00\x00\x00" + bytes(1000)) == []
    _, peak = tracemalloc.get_traced_memory()
    assert peak < MAX_MEMORY_PER_FRAME
