"""Draws what producers with ids do, beside all else that a schedule holds: they number their batches, and some begin
and end transactions. They have a stream of their own, as members of groups have.
"""

from broker_core.sim.rng import RandomStream
from devtools.sim.draw_members import Drawing

WITH_TRANSACTIONS_PERCENT = 25
MAX_PRODUCERS = 4
MAX_TRANSACTIONS = 5
TRANSACTION_CONFIG = {
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}


def draw_transactions(drawing: Drawing) -> None:
    """In some seeds a few producers have ids; two of them may share a transactional id, and fence each other."""
    stream = RandomStream(drawing.seed, "transactions")
    if stream.below(100) >= WITH_TRANSACTIONS_PERCENT or not drawing.topic_names:
        return
    drawing.configure_brokers(TRANSACTION_CONFIG)
    for number in range(stream.between(1, MAX_PRODUCERS)):
        partition = f"{drawing.topic_names[stream.below(len(drawing.topic_names))]}-0"
        at_ms = stream.between(0, drawing.now_ms)
        if stream.below(100) < 40:
            drawing.type_at(at_ms, f"producer open n{number} --idempotence true --timeout 6000")
            drawing.type_at(at_ms + 1, f"producer stream n{number} {partition} {stream.between(1, 8)}")
        else:
            _draw_transactional(drawing, stream, f"x{number}", partition, at_ms)


def _draw_transactional(drawing: Drawing, stream: RandomStream, name: str, partition: str, at_ms: int) -> None:
    timeout_ms = (2_000, 5_000, 60_000)[stream.below(3)]
    line = f"producer open {name} --transactional-id tx{stream.below(2)} --timeout 6000"
    drawing.type_at(at_ms, f"{line} --transaction-timeout {timeout_ms}")
    at_ms += stream.between(1_000, 4_000)
    for _ in range(stream.between(1, MAX_TRANSACTIONS)):
        drawing.type_at(at_ms, f"producer begin {name}")
        drawing.type_at(at_ms + 1, f"producer burst {name} {partition} {stream.between(1, 20)}")
        at_ms += stream.between(1, 1_500)
        drawing.type_at(at_ms, f"producer {('commit', 'commit', 'abort')[stream.below(3)]} {name}")
        at_ms += stream.between(1, 2_500)
    if stream.below(100) < 50:
        drawing.type_at(at_ms, f"producer {('close', 'drop')[stream.below(2)]} {name}")
