"""Replication: leaders, followers, the high watermark and the ISR.

The controller makes one replica of a partition the leader, in a new leader epoch. The leader appends what producers
send, and each batch carries its epoch. Followers fetch from the leader: the offset from which a follower fetches says
that it has everything below, and nothing else does. The high watermark is the smallest log end offset in the ISR;
replicas that are about to join count already, so that a member never lacks a committed record. Consumers read below the
high watermark, and acks=all waits until it passes the last record.

A leader removes a follower that was not caught up for replica.lag.time.max.ms from the ISR, and adds one that has
reached the high watermark in the leader's epoch. It proposes the change and uses the larger of both sets until the
controller (AlterPartition) or ZooKeeper has confirmed it; a refused proposal leaves the ISR as it was.

A new follower may have records that the new leader lacks. Where it truncates depends on the era: at its own high
watermark; at the end of its last epoch according to the leader (KIP-101), repeated until both have the same epoch
(KIP-279); or during the fetch, when the response names a diverging epoch (KIP-595).

`partition.py`          a replica: what it decides as leader or follower, and the events of that
`local_replica.py`      its state and a leader's view of followers, which only applied events change
`replica_log.py`        its log: appends, truncations, rolls, deletions, with their events
`replica_fetcher.py`    the follower's loop: fetch, append, high watermark, truncate
`truncation.py`         the rules for where to truncate; `high_watermark.py` and `isr.py` those of the leader. Pure
`purgatory.py`          requests that wait for a condition, such as acks=all
`compaction.py`         cleaning of a replica's log
`quota.py`              throttled replicas (KIP-73)
"""
