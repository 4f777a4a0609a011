"""Spoilt frames are refused with a sentence or read; nothing else happens, and nothing much is allocated for them."""

import random
import tracemalloc

import pytest

from broker_core.wire.errors import WireError
from broker_core.wire.framing import FrameSplitter, decode_request, decode_response, encode_request, encode_response
from tests.wire_messages import kinds, random_message

MUTATIONS = 100_000
ROUNDS_A_SEED = 20
TELLING_BYTES = (0, 1, 2, 3, 0x7F, 0x80, 0xFE, 0xFF)
ABSURD_NUMBERS = (b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\xff", b"\x00\x01\x00\x00", b"\x7f\xff")
#: An object of an array may be told in two bytes; ours takes a list entry, a struct and what stands in it.
MOST_MEMORY_A_BYTE = 400
MOST_MEMORY_A_FRAME = 100_000


def spoil(rng: random.Random, frame: bytes) -> bytes:
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


@pytest.mark.soak
def test_no_spoilt_frame_does_harm(rounds):
    rng = random.Random(9)
    all_kinds = list(kinds())
    read = refused = 0
    tracemalloc.start()
    for number in range(rounds(MUTATIONS) // ROUNDS_A_SEED):
        kind = all_kinds[number % len(all_kinds)]
        message = random_message(rng, kind)
        if kind.is_request:
            frame = encode_request(kind.api, kind.version, message, client_id="spoiler")[4:]
        else:
            frame = encode_response(kind.api, kind.version, message, correlation_id=1)[4:]
        for _ in range(ROUNDS_A_SEED):
            spoilt = spoil(rng, frame)
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            schema, version = kind.schema, kind.version
            try:
                if kind.is_request:
                    header, value = decode_request(spoilt)
                    schema, version = header.api.request, header.api_version
                else:
                    _, value = decode_response(kind.api, kind.version, spoilt)
            except WireError as error:
                refused += 1
                value = None
                assert str(error)
            _, peak = tracemalloc.get_traced_memory()
            assert peak - before < MOST_MEMORY_A_FRAME + MOST_MEMORY_A_BYTE * len(spoilt), (kind, spoilt.hex())
            if value is not None:
                read += 1
                data = schema.encode(version, value)
                assert schema.encode(version, schema.decode(version, data)) == data, (kind, spoilt.hex())
    tracemalloc.stop()
    assert min(read, refused) > (read + refused) / 10


def test_a_splitter_holds_what_came_and_not_what_was_claimed():
    splitter = FrameSplitter()
    tracemalloc.start()
    assert splitter.feed(b"\x06\x00\x00\x00" + bytes(1000)) == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MOST_MEMORY_A_FRAME
