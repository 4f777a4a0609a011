"""Consumer groups: the coordinator of the classic protocol, and the assignors that a group's leader runs.

The hash of a group's id chooses a partition of `__consumer_offsets`; the broker that leads it coordinates the group. A
rebalance has two phases. In the first, the coordinator waits for JoinGroup of all members, at most for the rebalance
timeout; members that are missing then are removed. It starts a new generation and returns the list of members to one of
them, the leader. In the second, the leader computes the assignment with an assignor and sends it with its SyncGroup;
every member receives its part in the response to its own. The coordinator does not read assignments.

A member is removed when it leaves or when no heartbeat arrives within its session timeout; both start a rebalance, of
which the others learn from the response to their heartbeats. Requests of an older generation are refused. Groups and
commits are records of the partition, written before a response depends on them; a new coordinator replays the log.

`coordinator.py`        the entry point: one method for each request
`joining.py`, `membership.py`, `rebalance.py`, `removals.py`  decide about members
`offset_commits.py`, `transactional_commits.py`  decide about offsets
`facts.py`              emits the events of groups; `apply.py` alone changes the state, `classic_group.py`
`states.py`             the states of a group and their transitions
`group_log.py`, `offset_log.py`, `offsets.py`, `loading.py`  the records, written and replayed
`waiting.py`, `answers.py`  delayed requests and their responses
`assignors/`, `consumer_protocol.py`  what a group's leader computes, and the metadata of members
`preview.py`            the assignment of each assignor for a group as it is now
`zookeeper_offsets.py`  offsets before there were coordinators
`host.py`               what the coordinator needs of its broker
"""
