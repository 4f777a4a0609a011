"""The shadow logs of the invariant checker, saved in a checkpoint and restored from it."""

import pickle

from broker_core.sim.invariants.shadow import History, ShadowBatch, ShadowLog, ShadowPartition


def batch(base: int, chain: int | None) -> ShadowBatch:
    """Three records of leader epoch 2."""
    return ShadowBatch(chain, hash((base,)), 2, 0, base * 10, 30, base)


def test_shadow_log_continues_from_a_checkpoint() -> None:
    log = ShadowLog(0)
    for base, chain in ((0, 1 << 62), (3, -5), (6, None)):
        log.append(base, base + 2, batch(base, chain))
    partition = ShadowPartition(committed=log, history=History({(2, 3): log.batches[1], (2, 6): log.batches[2]}))
    again = pickle.loads(pickle.dumps(partition, pickle.HIGHEST_PROTOCOL))
    assert again.history == partition.history
    found = again.committed
    for one in (log, found):
        one.append(9, 11, batch(9, 77))
        one.truncate(10)
    for name in ShadowLog.__slots__:
        assert getattr(found, name) == getattr(log, name), name
    assert found.batch_at(3) == (5, batch(3, -5))
    assert found.epoch_at(7) == 2
