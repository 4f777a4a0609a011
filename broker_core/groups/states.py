"""The states of a group (`kafka.coordinator.group.GroupState`)."""

from enum import StrEnum


class GroupState(StrEnum):
    """The states of a group, with the action and the transitions out of each.

    `VALID_PREVIOUS_STATES` holds the transitions as data; the page and docs/STATE_CHARTS.md are drawn from it.
    """

    EMPTY = "Empty"
    """The group has no members; it may have committed offsets.

    Action: offsets expire after offsets.retention.minutes.
    Transitions: PreparingRebalance when a member joins; Dead when the last offset has expired, the group is deleted,
    or its coordinator moves to another broker.
    """
    PREPARING_REBALANCE = "PreparingRebalance"
    """The group waits for all known members to rejoin.

    Action: JoinGroup is held until all members have rejoined or the rebalance timeout has passed; members that miss
    it are removed. Heartbeats are answered REBALANCE_IN_PROGRESS.
    Transitions: CompletingRebalance when the members have joined; Empty when no members are left; Dead when the
    coordinator moves.
    """
    COMPLETING_REBALANCE = "CompletingRebalance"
    """All members have joined; the group waits for the leader's assignment.

    Action: SyncGroup of the other members is held until the leader's SyncGroup brings the assignment.
    Transitions: Stable when the assignment is stored; PreparingRebalance when a member joins, leaves or its session
    times out; Dead when the coordinator moves.
    """
    STABLE = "Stable"
    """Every member has an assignment.

    Action: offsets are committed in the current generation.
    Transitions: PreparingRebalance when a member joins, leaves or its session times out; Dead when the coordinator
    moves.
    """
    DEAD = "Dead"
    """The group has been removed, or another broker coordinates it.

    Action: requests are answered UNKNOWN_MEMBER_ID or COORDINATOR_NOT_AVAILABLE.
    Transitions: none.
    """


VALID_PREVIOUS_STATES: dict[GroupState, tuple[GroupState, ...]] = {
    GroupState.EMPTY: (GroupState.PREPARING_REBALANCE,),
    GroupState.PREPARING_REBALANCE: (GroupState.EMPTY, GroupState.COMPLETING_REBALANCE, GroupState.STABLE),
    GroupState.COMPLETING_REBALANCE: (GroupState.PREPARING_REBALANCE,),
    GroupState.STABLE: (GroupState.COMPLETING_REBALANCE,),
    GroupState.DEAD: tuple(GroupState),
}

CAN_REBALANCE = frozenset({GroupState.STABLE, GroupState.COMPLETING_REBALANCE, GroupState.EMPTY})
