"""A consumer of the lab that is a member of a group (`KafkaConsumer.subscribe`, `ConsumerCoordinator`, `Fetcher`).

It polls without pause. Finding the coordinator, joining, syncing and heartbeats are those of the classic protocol; with
an assignor that is cooperative (and only those configured), it keeps what it owns while a rebalance runs.
"""

import re
from typing import Any

from broker_core.clients.exceptions import exception_class, exception_message
from broker_core.clients.group_consumer_settings import GroupConsumerSettings, Work
from broker_core.clients.group_fetcher import UNKNOWN_POSITION
from broker_core.clients.group_member import GroupMember
from broker_core.clients.metadata import backoff_us
from broker_core.errors import Errors, KafkaError
from broker_core.events.group import AssignmentPlanned, ConsumerAssigned
from broker_core.groups.assignors import Assignor, GroupMemberInfo, OwnAssignor, make_assignor
from broker_core.groups.assignors.own import flaws_of
from broker_core.groups.consumer_protocol import (
    PROTOCOL_TYPE,
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    sorted_partitions,
    split_partition,
)
from broker_core.sim.kernel import Kernel
from broker_core.wire.messages import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)

JOIN_TIMEOUT_LAPSE_MS = 5_000
CLOSE_TIMEOUT_US = 10_000_000
INTERNAL_TOPICS = ("__consumer_offsets", "__transaction_state")

_COORDINATOR_MOVED = frozenset({Errors.NOT_COORDINATOR, Errors.COORDINATOR_NOT_AVAILABLE})
_LOST_MEMBERSHIP = frozenset({Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION})
_FATAL = frozenset(
    {
        Errors.FENCED_INSTANCE_ID,
        Errors.INCONSISTENT_GROUP_PROTOCOL,
        Errors.INVALID_SESSION_TIMEOUT,
        Errors.INVALID_GROUP_ID,
        Errors.GROUP_MAX_SIZE_REACHED,
    }
)


class GroupConsumer(GroupMember):
    """A member of a group that a coordinator keeps."""

    def __init__(self, kernel: Kernel, name: str, settings: GroupConsumerSettings, bootstrap: tuple[str, ...]) -> None:
        super().__init__(kernel, name, settings, bootstrap)
        own = dict(settings.own_assignors)
        self._assignors: dict[str, Assignor] = {name: make_assignor(name, own) for name in settings.assignors}
        self._coordinator: str | None = None
        self._topics: tuple[str, ...] = ()
        self._counts: dict[str, int] = {}
        self._epoch = 0
        self._protocol = ""
        #: what others in the group subscribe to; only its leader looks after it
        self._others_topics: tuple[str, ...] = ()
        self._sync_waits: tuple[JoinGroupResponse, int] | None = None
        self._commits_before_join = False
        self._committing = False
        self._metadata_waits = False
        self._metadata_under_way = False
        self._metadata_again = False

    @property
    def is_cooperative(self) -> bool:
        """Whether all its assignors are; then it keeps its partitions while it joins."""
        return all(assignor.is_cooperative for assignor in self._assignors.values())

    @property
    def may_fetch(self) -> bool:
        """Whether its application waits for records."""
        return not (self.is_over or self.state == "closing" or self.work.is_busy)

    # its life

    def begin(self) -> None:
        """Starts: metadata first, then the group."""
        self._change("finding the coordinator", f"subscribed to {', '.join(self.settings.topics)}")
        self._ask_for_metadata()
        self._timer(self.settings.metadata_max_age_ms, "metadata_age")
        if self.settings.enable_auto_commit:
            self._timer(self.settings.auto_commit_interval_ms, "auto_commit")

    def close(self) -> None:
        """`KafkaConsumer.close`: commits, leaves the group unless it is a static member, and is over."""
        if self.is_over or self.state == "closing":
            return
        self._change("closing", "close was called")
        self.kernel.timer(self.name, self.kernel.now_us + CLOSE_TIMEOUT_US, "close_due")
        if not (self.settings.enable_auto_commit and self._commit("close")):
            self._leave()

    def _leave(self) -> None:
        dynamic = self.settings.group_instance_id is None
        if not dynamic or not self.member_id or self._coordinator is None:
            self._change("closed", "nothing is left to do")
            return
        request = LeaveGroupRequest(self.settings.group_id, ((self.member_id, None),))
        self.ask(self._coordinator, "LeaveGroup", request, "leave", f"LeaveGroup {self.settings.group_id}")

    def _fail(self, error: KafkaError) -> None:
        self.give_up(f"{exception_class(error)}: {exception_message(error)}")

    def _change(self, state: str, why: str) -> None:
        self._epoch += 1
        super()._change(state, why)

    def later(self, name: str) -> None:
        """Tries again after a pause; what has changed meanwhile makes it void."""
        self._attempts += 1
        self.kernel.timer(self.name, self.kernel.now_us + backoff_us(self._attempts), name, self._epoch)

    # metadata

    def wants_metadata(self) -> None:
        """Asks for metadata after a pause, however many partitions want them."""
        if not (self._metadata_waits or self._metadata_under_way):
            self._metadata_waits = True
            self.later("metadata")

    def _ask_for_metadata(self) -> None:
        """Asks now, or as soon as the answer is there that is under way (`Metadata.newMetadataRequestAndVersion`)."""
        if self._metadata_under_way:
            self._metadata_again = True
            return
        self._metadata_under_way = True
        own = self.settings.topics
        topics = None if self.settings.is_pattern else tuple(dict.fromkeys((*own, *self._others_topics)))
        node = self.metadata.node_to_ask()
        create = topics is not None and self.settings.allow_auto_create_topics
        self.ask(node, "Metadata", MetadataRequest(topics, create), "metadata", "Metadata")

    def _metadata_came(self, body: Any) -> None:
        self._metadata_under_way = False
        self.metadata.update(body)
        if self._metadata_again:
            self._metadata_again = False
            self._ask_for_metadata()
        known = {name for name, _, error in body.topics if error is Errors.NONE}
        invalid = [name for name, _, error in body.topics if error is Errors.INVALID_TOPIC_EXCEPTION]
        if invalid:
            self._change("failed", f"InvalidTopicException: Invalid topics: [{', '.join(invalid)}]")
            return
        if self.settings.is_pattern:
            patterns = [re.compile(topic) for topic in self.settings.topics]
            matching = {name for name in known if any(pattern.fullmatch(name) for pattern in patterns)}
            hidden = INTERNAL_TOPICS if self.settings.exclude_internal_topics else ()
            topics = tuple(sorted(matching.difference(hidden)))
        else:
            topics = tuple(sorted(self.settings.topics))
        watched = (*topics, *(topic for topic in self._others_topics if topic not in topics))
        counts = {topic: self.metadata.partition_counts.get(topic, 0) for topic in watched if topic in known}
        has_changed = topics != self._topics
        counts_changed = counts != self._counts
        self._topics, self._counts = topics, counts
        if self.state == "finding the coordinator":
            if not self.settings.is_pattern and any(topic not in known for topic in topics):
                self.wants_metadata()
            elif self._coordinator is None:
                self._find_coordinator()
        elif self.state == "syncing" and self._sync_waits is not None:
            (joined, epoch), self._sync_waits = self._sync_waits, None
            if epoch == self._epoch:
                self._send_sync(joined)
        elif self.state == "stable":
            if has_changed or counts_changed:
                self._rejoin("the topics have changed")
            else:
                self._fetcher.fetch_all()
        if self.state != "finding the coordinator" and any(not count for count in counts.values()):
            self.wants_metadata()

    # the coordinator

    def _find_coordinator(self) -> None:
        request = FindCoordinatorRequest(self.settings.group_id)
        label = f"FindCoordinator {self.settings.group_id}"
        self.ask(self.metadata.node_to_ask(), "FindCoordinator", request, "find", label)

    def _coordinator_found(self, response: FindCoordinatorResponse) -> None:
        if self.is_over:
            return
        if response.error is not Errors.NONE:
            if response.error in _FATAL:
                self._fail(response.error)
            else:
                self.later("find")
            return
        self._attempts = 0
        self._coordinator = f"b{response.node_id}"
        if self.state == "finding the coordinator":
            self._join("the coordinator is known")
        elif self.state == "stable":
            self._look_up_committed()

    def _coordinator_lost(self) -> None:
        if self._coordinator is not None:
            self._coordinator = None
            self.later("find")

    # joining

    def _rejoin(self, why: str) -> None:
        """Before it joins, a member commits; an eager one gives up all it owns. Only a poll does so."""
        if self.state != "stable":
            return
        if self.work.is_busy:
            self.work.rejoins_for = why
            return
        self._change("joining", why)
        if not (self.settings.enable_auto_commit and self._commit("before join")):
            self._prepared()

    def _prepared(self) -> None:
        if not self.is_cooperative:
            self._own((), self.owned)
        self._send_join()

    def _join(self, why: str) -> None:
        self._change("joining", why)
        self._send_join()

    def _lost(self, why: str) -> None:
        """It is no member any more: what it owned others may have by now (`onPartitionsLost`), it hears at a poll."""
        if self.work.is_busy:
            self.work.lost_for = why
            return
        self.member_id = ""
        self.generation_id = -1
        self._own((), self.owned)
        self._join(why)

    def _send_join(self) -> None:
        if self._coordinator is None:
            self.later("join")
            return
        settings = self.settings
        owned = self.owned if self.is_cooperative else ()
        protocols = tuple(
            (
                name,
                encode_subscription(
                    Subscription(
                        self._topics, assignor.user_data(self.owned), owned, self.generation_id if owned else -1
                    )
                ),
            )
            for name, assignor in self._assignors.items()
        )
        request = JoinGroupRequest(
            settings.group_id,
            settings.session_timeout_ms,
            settings.max_poll_interval_ms,
            self.member_id,
            settings.group_instance_id,
            PROTOCOL_TYPE,
            protocols,
        )
        timeout_ms = max(settings.request_timeout_ms, settings.max_poll_interval_ms + JOIN_TIMEOUT_LAPSE_MS)
        self.ask(
            self._coordinator, "JoinGroup", request, "join", f"JoinGroup {settings.group_id}", timeout_ms, self._epoch
        )

    def _joined(self, response: JoinGroupResponse, epoch: int) -> None:
        if self.state != "joining" or epoch != self._epoch:
            return
        error = response.error
        if error is Errors.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
            self._send_join()
        elif error in _FATAL:
            self._fail(error)
        elif error is Errors.UNKNOWN_MEMBER_ID:
            self._lost("the coordinator does not know it")
        elif error in _COORDINATOR_MOVED:
            self._coordinator_lost()
            self.later("join")
        elif error is not Errors.NONE:
            self.later("join")
        else:
            self._attempts = 0
            self.member_id = response.member_id
            self.generation_id = response.generation_id
            self._protocol = response.protocol_name or ""
            self._change("syncing", f"generation {response.generation_id}, assignor {self._protocol}")
            self._timer(self.settings.heartbeat_interval_ms, "heartbeat", (self.member_id, self.generation_id))
            self._look_after(response)
            if any(topic not in self.metadata.partition_counts for topic in self._others_topics):
                self._sync_waits = (response, self._epoch)
                self._ask_for_metadata()
            else:
                self._send_sync(response)

    def _look_after(self, joined: JoinGroupResponse) -> None:
        """The leader of a group asks for the metadata of all its topics (`updateGroupSubscription`)."""
        subscribed = {
            topic for _, _, metadata in joined.members for topic in decode_subscription(metadata).topics
        }.difference(self._topics)
        self._others_topics = tuple(sorted(subscribed))
        self._counts = {topic: count for topic, count in self._counts.items() if topic in self._topics} | {
            topic: self.metadata.partition_counts[topic]
            for topic in self._others_topics
            if topic in self.metadata.partition_counts
        }

    def _send_sync(self, joined: JoinGroupResponse) -> None:
        assignments: tuple[tuple[str, bytes], ...] = ()
        if joined.leader == self.member_id and not joined.skip_assignment:
            members = [
                GroupMemberInfo(member_id, instance, decode_subscription(metadata))
                for member_id, instance, metadata in joined.members
            ]
            assignor, counts = self._assignors[self._protocol], self._all_counts(members)
            plan = assignor.assign(counts, members)
            if isinstance(assignor, OwnAssignor):
                flaws = flaws_of(plan, counts, members)
                self.kernel.emit(
                    AssignmentPlanned(
                        client=self.name,
                        group=self.settings.group_id,
                        assignor=self._protocol,
                        generation_id=self.generation_id,
                        twice=flaws.twice,
                        nobody=flaws.nobody,
                        strangers=flaws.strangers,
                    ),
                    self.name,
                )
            assignments = tuple((member_id, encode_assignment(names)) for member_id, names in plan.items())
        request = SyncGroupRequest(
            self.settings.group_id,
            self.generation_id,
            self.member_id,
            self.settings.group_instance_id,
            PROTOCOL_TYPE,
            self._protocol,
            assignments,
        )
        if self._coordinator is None:
            self._join("the coordinator is gone")
            return
        timeout_ms = max(self.settings.request_timeout_ms, self.settings.max_poll_interval_ms + JOIN_TIMEOUT_LAPSE_MS)
        label = f"SyncGroup {self.settings.group_id}"
        self.ask(self._coordinator, "SyncGroup", request, "sync", label, timeout_ms, self._epoch)

    def _all_counts(self, members: list[GroupMemberInfo]) -> dict[str, int]:
        """Partition counts as this leader knows them, of the topics of other members, too."""
        topics = {topic for member in members for topic in member.subscription.topics}
        return {topic: self.metadata.partition_counts.get(topic, 0) for topic in sorted(topics)}

    def _synced(self, response: SyncGroupResponse, epoch: int) -> None:
        if self.state != "syncing" or epoch != self._epoch:
            return
        error = response.error
        if error in _FATAL:
            self._fail(error)
        elif error in _LOST_MEMBERSHIP:
            self._lost(error.name)
        elif error is not Errors.NONE:
            if error in _COORDINATOR_MOVED:
                self._coordinator_lost()
            self._join(error.name)
        else:
            self._take_assignment(decode_assignment(response.assignment))

    def _take_assignment(self, assigned: tuple[str, ...]) -> None:
        topics = self.settings.topics
        strange = [name for name in assigned if split_partition(name)[0] not in topics]
        if strange and not self.settings.is_pattern:
            self._change("joining", f"it does not subscribe to {', '.join(strange)}, which it was given")
            self.later("join")
            return
        revoked = tuple(name for name in self.owned if name not in assigned)
        self._own(assigned, revoked)
        self._assignors[self._protocol].on_assignment(assigned, self.generation_id)
        self._change("stable", f"{len(assigned)} partitions")
        if revoked and self.is_cooperative:
            self._rejoin("it gave up " + ", ".join(revoked))
            return
        self._look_up_committed()
        self._fetcher.fetch_all()

    def _own(self, partitions: tuple[str, ...], revoked: tuple[str, ...]) -> None:
        partitions = tuple(sorted_partitions(partitions))
        if partitions != self.owned or revoked:
            self.kernel.emit(ConsumerAssigned(client=self.name, partitions=partitions, revoked=revoked), self.name)

    # heartbeats

    def _send_heartbeat(self, membership: tuple[str, int]) -> None:
        if membership != (self.member_id, self.generation_id) or self.state not in ("joining", "syncing", "stable"):
            return
        self._timer(self.settings.heartbeat_interval_ms, "heartbeat", membership)
        if self._coordinator is None or self.state == "joining":
            return
        request = HeartbeatRequest(
            self.settings.group_id, self.generation_id, self.member_id, self.settings.group_instance_id
        )
        self.ask(self._coordinator, "Heartbeat", request, "heartbeat", "Heartbeat", data=membership)

    def _heartbeat_answered(self, response: HeartbeatResponse, membership: tuple[str, int]) -> None:
        error = response.error
        if error is Errors.NONE or membership != (self.member_id, self.generation_id) or self.state != "stable":
            return
        if error is Errors.REBALANCE_IN_PROGRESS:
            self._rejoin("the group rebalances")
        elif error in _FATAL:
            self._fail(error)
        elif error in _LOST_MEMBERSHIP:
            self._lost(error.name)
        elif error in _COORDINATOR_MOVED:
            self._coordinator_lost()

    # offsets

    def _commit(self, why: str) -> bool:
        """Commits the positions; False when there is nothing to commit, or nobody to commit to."""
        rows = tuple(
            (name, offset, epoch, "")
            for name in self.owned
            for offset, epoch in [self.positions.get(name, (UNKNOWN_POSITION, -1))]
            if offset >= 0
        )
        if not rows or self._coordinator is None:
            return False
        request = OffsetCommitRequest(
            self.settings.group_id, rows, self.generation_id, self.member_id, self.settings.group_instance_id
        )
        label = ", ".join(f"{name}@{offset}" for name, offset, *_ in rows[:3])
        data = (why, self._epoch)
        self.ask(self._coordinator, "OffsetCommit", request, "commit", f"OffsetCommit {label}", data=data)
        return True

    def _commit_answered(self, response: OffsetCommitResponse | None, why: str, epoch: int) -> None:
        if why == "close":
            if self.state == "closing":
                self._leave()
            return
        if epoch != self._epoch:
            return
        error = Errors.NONE
        if response is not None:
            error = next((each for _, each in response.partitions if each is not Errors.NONE), Errors.NONE)
        if error in _FATAL:
            self._fail(error)
        elif why == "before join":
            self._prepared()
        elif error is Errors.REBALANCE_IN_PROGRESS:
            self._rejoin("the group rebalances")
        elif error in _LOST_MEMBERSHIP and self.state == "stable":
            self._lost(error.name)
        elif error in _COORDINATOR_MOVED:
            self._coordinator_lost()

    def _look_up_committed(self) -> None:
        wanted = tuple(name for name in self.owned if name not in self.positions)
        if wanted and self._coordinator is not None:
            request = OffsetFetchRequest(self.settings.group_id, wanted, require_stable=True)
            label = f"OffsetFetch {self.settings.group_id}"
            self.ask(self._coordinator, "OffsetFetch", request, "offsets", label, data=wanted)

    def _committed_came(self, response: OffsetFetchResponse) -> None:
        if response.error is not Errors.NONE:
            if response.error in _COORDINATOR_MOVED:
                self._coordinator_lost()
            self.later("offsets")
            return
        if response.unstable:
            # a transaction is about to say where the group stands
            self.later("offsets")
        for name, offset, leader_epoch, _ in response.partitions:
            if name in response.unstable:
                continue
            if name in self.owned and name not in self.positions:
                self.positions[name] = (offset, leader_epoch)
        self._fetcher.fetch_all()

    # the application's work

    def poll_returned(self) -> None:
        """A poll has returned records, perhaps: the next one must come in time."""
        super().poll_returned()
        if self.work.is_busy:
            self._timer(self.settings.max_poll_interval_ms, "poll_due", self.work.poll)

    def _poll_late(self, poll: int) -> None:
        """`max.poll.interval.ms` is over: the heartbeat thread gives the membership up; a static member only falls
        silent (KIP-62).
        """
        if not self.work.is_busy or self.work.poll != poll or self.state != "stable":
            return
        member_id, self.member_id, self.generation_id = self.member_id, "", -1
        self._change("left", f"no poll within max.poll.interval.ms ({self.settings.max_poll_interval_ms} ms)")
        if self.settings.group_instance_id is None and self._coordinator is not None:
            request = LeaveGroupRequest(self.settings.group_id, ((member_id, None),))
            self.ask(self._coordinator, "LeaveGroup", request, "left", f"LeaveGroup {self.settings.group_id}")

    def _poll_again(self) -> None:
        """The records are processed: now it commits, rejoins, or finds out that it is no member any more."""
        work, self.work = self.work, Work(poll=self.work.poll)
        if self.state == "left":
            self._lost("it polls again")
        elif work.lost_for:
            self._lost(work.lost_for)
        elif work.rejoins_for:
            self._rejoin(work.rejoins_for)
        elif self.state == "stable":
            if work.commits:
                self._commit("interval")
            self._fetcher.fetch_all()

    # as a node

    def on_response(self, api: str, body: Any, context: Any) -> None:
        """A broker answers."""
        what, node, data = context
        if what == "fetch":
            self._fetcher.asked_in_vain(what, node, data)
        if self.is_over:
            return
        if what == "left":
            return
        if what == "commit":
            self._commit_answered(body, *data)
        elif what == "leave":
            self._change("closed", "it has left the group")
        elif self.state == "closing":
            return
        elif what == "metadata":
            self._metadata_came(body)
        elif what == "find":
            self._coordinator_found(body)
        elif what == "join":
            self._joined(body, data)
        elif what == "sync":
            self._synced(body, data)
        elif what == "heartbeat":
            self._heartbeat_answered(body, data)
        elif what == "offsets":
            self._committed_came(body)
        elif what == "reset":
            self._fetcher.reset_answered(body)
        else:
            self._fetcher.fetched(body, data)

    def on_disconnect(self, api: str, context: Any, why: str) -> None:
        """The broker is gone, or does not answer in time."""
        what, node, data = context
        self.metadata.unreachable(node)
        self._fetcher.asked_in_vain(what, node, data)
        if what == "metadata":
            self._metadata_under_way = False
        if self.is_over:
            return
        if what in ("fetch", "reset", "metadata"):
            self.wants_metadata()
        elif what == "left":
            self._coordinator_lost()
        elif what == "find":
            self.later("find")
        elif what == "leave":
            self._change("closed", "the coordinator is gone")
        else:
            if node == self._coordinator:
                self._coordinator_lost()
            if what == "commit":
                self._commit_answered(None, *data)
            elif what == "join" and data == self._epoch:
                self.later("join")
            elif what == "sync" and data == self._epoch:
                self._join("the coordinator is gone")

    def on_timer(self, name: str, data: Any) -> None:
        """Pauses, intervals and deadlines."""
        if self.is_over:
            return
        if name == "heartbeat":
            self._send_heartbeat(data)
        elif name == "auto_commit":
            self._timer(self.settings.auto_commit_interval_ms, "auto_commit")
            if self.work.is_busy:
                self.work.commits = True
            elif self.state == "stable":
                self._commit("interval")
        elif name == "metadata_age":
            self._timer(self.settings.metadata_max_age_ms, "metadata_age")
            self._ask_for_metadata()
        elif name == "close_due":
            self._change("closed", "it could not leave in time")
        elif self.state == "closing":
            return
        elif name == "processed":
            self._poll_again()
        elif name == "poll_due":
            self._poll_late(data)
        elif name == "metadata":
            self._metadata_waits = False
            self._ask_for_metadata()
        elif name == "find":
            if self._coordinator is None:
                self._find_coordinator()
        elif name == "offsets":
            self._look_up_committed()
        elif name == "join" and data == self._epoch and self.state == "joining":
            self._send_join()
