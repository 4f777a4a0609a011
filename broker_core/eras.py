"""Eras: named sets of documented behaviours. An era has one choice for each behaviour that Kafka has changed over time.

Only what the core does is listed here. Code asks the era of its cluster for the behaviour, never for a version.
"""

from typing import Literal

import msgspec

IsrChange = Literal["alter_partition", "zookeeper"]
Truncation = Literal["FETCH"]
LeaderEpochAssignedAt = Literal["become_leader"]


class Era(msgspec.Struct, frozen=True, kw_only=True):
    """One choice for each behaviour.

    Attributes:
        isr_change: how a leader records a change of its ISR. "alter_partition": it asks the controller (KIP-497,
        since 2.7).
            "zookeeper": it writes the state znode itself and tells the controller by /isr_change_notification.
        truncation: where a follower cuts its log. "FETCH": where the answer to its fetch says that the logs part
        (since 2.7).
        high_watermark_needs_min_isr: whether the high watermark stands still while the ISR is smaller than
            min.insync.replicas (since 3.7).
        leader_epoch_assigned_at: when a leader writes the start of its epoch into its epoch cache (KAFKA-7415: on
        becoming
            leader; before 2.0.1 with its first record).
        leader_recovery_state: whether an unclean election leaves the partition marked as recovering (KIP-704, since
        3.2).
    """

    name: str
    isr_change: IsrChange
    truncation: Truncation = "FETCH"
    high_watermark_needs_min_isr: bool = True
    leader_epoch_assigned_at: LeaderEpochAssignedAt = "become_leader"
    leader_recovery_state: bool = True


DEFAULT_ERA = "3.9"

ERAS: dict[str, Era] = {
    "3.9": Era(name="3.9", isr_change="alter_partition"),
    # 3.9 in all but one thing: leaders write the ISR to ZooKeeper, as with an inter.broker.protocol.version up to 2.6.
    "3.9-zk-isr": Era(name="3.9-zk-isr", isr_change="zookeeper"),
}
"""The eras that the core implements, by name."""
