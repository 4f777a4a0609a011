"""What must hold after each event. The checker sees events only, so it cannot share a mistake with the engine.

Names are those of the semantics of replication (Kafka's TLA+ models and the lab's own list, docs/INVARIANTS.md).
"""

from broker_core.sim.invariants.checker import CHECKED, Checker

__all__ = ["CHECKED", "Checker"]
