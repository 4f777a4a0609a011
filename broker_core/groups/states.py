"""The states of a group (`kafka.coordinator.group.GroupState`)."""

from enum import StrEnum


class GroupState(StrEnum):
    """Each state with what it means; from which it may be entered says `VALID_PREVIOUS_STATES`."""

    EMPTY = "Empty"
    """No members, perhaps offsets. A join begins a rebalance; the last offset's expiry ends the group."""
    PREPARING_REBALANCE = "PreparingRebalance"
    """Waits for all members to join; those that do not come in time are removed."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """All have joined: waits for the leader's assignment. A join, a leave or an expiry begins anew."""
    STABLE = "Stable"
    """Everybody has an assignment. A join, a leave or an expiry begins a rebalance."""
    DEAD = "Dead"
    """The group is removed, or another broker coordinates it."""


VALID_PREVIOUS_STATES: dict[GroupState, tuple[GroupState, ...]] = {
    GroupState.EMPTY: (GroupState.PREPARING_REBALANCE,),
    GroupState.PREPARING_REBALANCE: (GroupState.EMPTY, GroupState.COMPLETING_REBALANCE, GroupState.STABLE),
    GroupState.COMPLETING_REBALANCE: (GroupState.PREPARING_REBALANCE,),
    GroupState.STABLE: (GroupState.COMPLETING_REBALANCE,),
    GroupState.DEAD: tuple(GroupState),
}

CAN_REBALANCE = frozenset({GroupState.STABLE, GroupState.COMPLETING_REBALANCE, GroupState.EMPTY})
