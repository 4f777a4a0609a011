"""The invariants, checked after each event. The checker sees events only, so it cannot share a bug with the engine.

Names are those of the semantics of replication (Kafka's TLA+ models and the lab's own list, docs/INVARIANTS.md).
"""

from broker_core.sim.invariants import (  # noqa: F401  (each fills the table of rules)
    client_rules,
    epoch_rules,
    file_rules,
    group_rules,
    leader_rules,
    log_rules,
    producer_rules,
    watermark_rules,
    zookeeper_rules,
)
from broker_core.sim.invariants.catalogue import INVARIANTS, REPLICATION
from broker_core.sim.invariants.checker import Checker

__all__ = ["INVARIANTS", "REPLICATION", "Checker"]
