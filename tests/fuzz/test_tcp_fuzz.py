"""Whatever a client sends, the broker responds or closes the connection; the run continues."""

import random

import pytest

from broker_core.broker.translation import TRANSLATIONS
from tests.support.tcp_conversation import SECOND_US, ask, create, started
from tests.support.wire_messages import SLOW_APIS, damage, kinds, random_request

REQUESTS = 10_000


@pytest.mark.soak
def test_random_requests_do_not_stop_a_run(rounds) -> None:
    rng = random.Random(12)
    run = started()
    create(run, run.connect(0, "127.0.0.1"), "orders")
    names = TRANSLATIONS.keys() - SLOW_APIS
    requested = [kind for kind in kinds() if kind.is_request and kind.api.name in names]
    for number in range(max(rounds(REQUESTS), len(requested))):
        kind = requested[number % len(requested)]
        frame = random_request(rng, kind)
        connection = run.connect(rng.randrange(3), "127.0.0.1")
        run.frame(connection, damage(rng, frame) if rng.random() < 0.5 else frame)
        run.advance(run.now_us + 10_000)
        run.disconnect(connection)
    run.advance(run.now_us + SECOND_US)
    run.take_outputs()
    # Which brokers it names is what the last UpdateMetadata said, and that may have been one of these.
    assert ask(run, run.connect(0, "127.0.0.1"), "Metadata", 9, topics=[]).cluster_id
