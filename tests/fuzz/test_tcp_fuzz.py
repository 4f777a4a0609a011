"""Whatever a client sends, the broker answers or hangs up; the run goes on."""

import random

import pytest

from broker_core.broker.translation import TRANSLATIONS
from broker_core.wire.framing import encode_request
from tests.support.tcp_conversation import SECOND_US, ask, create, started
from tests.support.wire_messages import Kind, kinds, random_message, spoil

REQUESTS = 10_000
#: They may ask for thousands of partitions and get them, which takes its time.
SLOW = {"CreateTopics", "CreatePartitions"}


@pytest.mark.soak
def test_random_requests_do_not_stop_a_run(rounds) -> None:
    rng = random.Random(12)
    run = started()
    create(run, run.connect(0, "127.0.0.1"), "orders")
    names = TRANSLATIONS.keys() - SLOW
    requested = [kind for kind in kinds() if kind.is_request and kind.api.name in names]
    for number in range(max(rounds(REQUESTS), len(requested))):
        kind = requested[number % len(requested)]
        frame = request(rng, kind)
        connection = run.connect(rng.randrange(3), "127.0.0.1")
        run.frame(connection, spoil(rng, frame) if rng.random() < 0.5 else frame)
        run.advance(run.now_us + 10_000)
        run.disconnect(connection)
    run.advance(run.now_us + SECOND_US)
    run.take_outputs()
    assert ask(run, run.connect(0, "127.0.0.1"), "Metadata", 9, topics=[]).brokers


def request(rng: random.Random, kind: Kind) -> bytes:
    """A request with whatever in its fields, but a small one."""
    while True:
        frame = encode_request(kind.api, kind.version, random_message(rng, kind), client_id="spoiler")[4:]
        if len(frame) < 5_000:
            return frame
