"""A consumer of the lab that is a member of a group (`KafkaConsumer.subscribe`).

It polls without a pause. If all its assignors are cooperative it keeps its partitions during a rebalance.
"""

from typing import Any

from broker_core.clients.consumer.group_consumer_settings import GroupConsumerSettings, Work
from broker_core.clients.consumer.member_offsets import CommittingMember
from broker_core.config_defs.patterns import bounded_pattern
from broker_core.errors import Errors
from broker_core.events.group import AssignmentPlanned
from broker_core.groups.assignors import Assignor, GroupMemberInfo, OwnAssignor, make_assignor
from broker_core.groups.assignors.own import flaws_of
from broker_core.groups.consumer_protocol import (
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from broker_core.partitions import topic_of
from broker_core.sim.kernel import Kernel
from broker_core.texts import text
from broker_core.topics import INTERNAL_TOPICS
from broker_core.wire.messages import JoinGroupResponse, MetadataRequest

CLOSE_TIMEOUT_US = 10_000_000


class GroupConsumer(CommittingMember):
    """A member of a group that reads its assigned partitions (`ConsumerCoordinator`)."""

    def __init__(self, kernel: Kernel, name: str, settings: GroupConsumerSettings, bootstrap: tuple[str, ...]) -> None:
        super().__init__(kernel, name, settings, bootstrap)
        own = dict(settings.own_assignors)
        self._assignors: dict[str, Assignor] = {name: make_assignor(name, own) for name in settings.assignors}
        self._topics: tuple[str, ...] = ()
        self._counts: dict[str, int] = {}
        #: The topics of the other members; only the leader needs them.
        self._others_topics: tuple[str, ...] = ()
        self._leads = False
        self._sync_waits: tuple[JoinGroupResponse, int] | None = None
        self._metadata_waits = False
        self._metadata_in_flight = False
        self._metadata_again = False
        #: Why it rejoins when it has new metadata, and the epoch of that decision.
        self._rejoin_waits: tuple[str, int] | None = None

    @property
    def is_cooperative(self) -> bool:
        """Whether all its assignors are cooperative: then it keeps its partitions while it rejoins."""
        return all(assignor.is_cooperative for assignor in self._assignors.values())

    @property
    def may_fetch(self) -> bool:
        """Whether its application waits for records."""
        return not (self.is_over or self.state == "closing" or self.work.is_busy)

    # Start and close.

    def begin(self) -> None:
        """Starts: metadata first, then the group."""
        self._change("finding the coordinator", text("reason.subscribed", topics=", ".join(self.settings.topics)).code)
        self._request_metadata()
        self._timer(self.settings.metadata_max_age_ms, "metadata_age")
        if self.settings.enable_auto_commit:
            self._timer(self.settings.auto_commit_interval_ms, "auto_commit")

    def close(self) -> None:
        """`KafkaConsumer.close`: commits, and leaves the group unless it is a static member. A consumer whose poll has
        thrown an exception does the same.
        """
        if self.state in ("closing", "closed"):
            return
        self._change("closing", "reason.close_called")
        self.kernel.timer(self.name, self.kernel.now_us + CLOSE_TIMEOUT_US, "close_due")
        if not (self.settings.enable_auto_commit and self._commit("close")):
            self._leave()

    # Metadata.

    def request_metadata_later(self) -> None:
        """Requests metadata after a pause, once for all partitions that need it."""
        if not (self._metadata_waits or self._metadata_in_flight):
            self._metadata_waits = True
            self.later("metadata")

    def _request_metadata(self) -> None:
        """Requests metadata now, or as soon as the response in flight has arrived
        (`Metadata.newMetadataRequestAndVersion`).
        """
        if self._metadata_in_flight:
            self._metadata_again = True
            return
        self._metadata_in_flight = True
        own = self.settings.topics
        topics = None if self.settings.is_pattern else tuple(dict.fromkeys((*own, *self._others_topics)))
        node = self.metadata.node_for_request()
        create = topics is not None and self.settings.allow_auto_create_topics
        self.send_request(node, "Metadata", MetadataRequest(topics, create), "metadata", "Metadata")

    def _on_metadata(self, body: Any) -> None:
        self._metadata_in_flight = False
        self.metadata.update(body)
        if self._metadata_again:
            self._metadata_again = False
            self._request_metadata()
        known = {name for name, _, error in body.topics if error is Errors.NONE}
        invalid = [name for name, _, error in body.topics if error is Errors.INVALID_TOPIC_EXCEPTION]
        if invalid:
            self._change("failed", f"InvalidTopicException: Invalid topics: [{', '.join(invalid)}]")
            return
        if self.settings.is_pattern:
            patterns = [bounded_pattern(topic) for topic in self.settings.topics]
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
                self.request_metadata_later()
            elif self._coordinator is None:
                self._find_coordinator()
        elif self.state == "syncing" and self._sync_waits is not None:
            (joined, epoch), self._sync_waits = self._sync_waits, None
            if epoch == self._epoch:
                self._sync(self._plan(joined))
        elif self.state == "stable":
            why = self._why_rejoin_waited()
            if why or has_changed or (counts_changed and self._leads):
                super()._rejoin(why or "reason.topics_changed")
            else:
                self._fetcher.fetch_all()
        is_missing = not self.settings.is_pattern and any(topic not in known for topic in watched)
        if self.state != "finding the coordinator" and (is_missing or not all(counts.values())):
            self.request_metadata_later()

    # Joining.

    def _rejoin(self, why: str) -> None:
        """A pattern is resolved to the existing topics when a member joins: metadata is requested first, so that a new
        topic costs one rebalance (`ConsumerCoordinator.poll`).
        """
        if not self.settings.is_pattern or self.state != "stable" or self.work.is_busy:
            super()._rejoin(why)
        elif self._rejoin_waits is None or self._rejoin_waits[1] != self._epoch:
            self._rejoin_waits = (why, self._epoch)
            self._request_metadata()

    def _why_rejoin_waited(self) -> str:
        """Why it rejoins now that it has the requested metadata; empty if it does not."""
        if self._rejoin_waits is None or self._metadata_in_flight:
            return ""
        (why, epoch), self._rejoin_waits = self._rejoin_waits, None
        return why if epoch == self._epoch else ""

    def _protocols(self) -> tuple[tuple[str, bytes], ...]:
        owned = self.owned if self.is_cooperative else ()
        generation_id = self.generation_id if owned else -1
        return tuple(
            (
                name,
                encode_subscription(Subscription(self._topics, assignor.user_data(self.owned), owned, generation_id)),
            )
            for name, assignor in self._assignors.items()
        )

    def _joined_as(self, joined: JoinGroupResponse) -> None:
        # Only the leader, which has assigned the partitions, watches their number.
        self._leads = joined.leader == self.member_id
        self._request_group_metadata(joined)
        if any(topic not in self.metadata.partition_counts for topic in self._others_topics):
            self._sync_waits = (joined, self._epoch)
            self._request_metadata()
        else:
            self._sync(self._plan(joined))

    def _request_group_metadata(self, joined: JoinGroupResponse) -> None:
        """The leader of a group requests the metadata of all its topics (`updateGroupSubscription`)."""
        subscribed = {
            topic for _, _, metadata in joined.members for topic in decode_subscription(metadata).topics
        }.difference(self._topics)
        self._others_topics = tuple(sorted(subscribed))
        self._counts = {topic: count for topic, count in self._counts.items() if topic in self._topics} | {
            topic: self.metadata.partition_counts[topic]
            for topic in self._others_topics
            if topic in self.metadata.partition_counts
        }

    def _plan(self, joined: JoinGroupResponse) -> tuple[tuple[str, bytes], ...]:
        """(member, assignment) for all members, if it leads the group."""
        if joined.leader != self.member_id or joined.skip_assignment:
            return ()
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
        return tuple((member_id, encode_assignment(names)) for member_id, names in plan.items())

    def _all_counts(self, members: list[GroupMemberInfo]) -> dict[str, int]:
        """Partition counts known to this leader, including topics of other members."""
        topics = {topic for member in members for topic in member.subscription.topics}
        return {topic: self.metadata.partition_counts.get(topic, 0) for topic in sorted(topics)}

    def _take_assignment(self, assignment: bytes) -> None:
        assigned = decode_assignment(assignment)
        topics = self.settings.topics
        strange = [name for name in assigned if topic_of(name) not in topics]
        if strange and not self.settings.is_pattern:
            self._change("joining", text("reason.not_subscribed", topics=", ".join(strange)).code)
            self.later("join")
            return
        revoked = tuple(name for name in self.owned if name not in assigned)
        self._own(assigned, revoked)
        self._assignors[self._protocol].on_assignment(assigned, self.generation_id)
        self._change("stable", f"reason.assigned?n={len(assigned)}")
        if revoked and self.is_cooperative:
            self._rejoin(text("reason.revoked", partitions=", ".join(revoked)).code)
            return
        self._look_up_committed()
        self._fetcher.fetch_all()

    # The application's work.

    def poll_returned(self) -> None:
        """Called when a poll has returned, perhaps with records: the next one is due within max.poll.interval.ms."""
        super().poll_returned()
        if self.work.is_busy:
            self._timer(self.settings.max_poll_interval_ms, "poll_due", self.work.poll)

    def _poll_again(self) -> None:
        """The records are processed: commits, rejoins, or detects that it is no longer a member."""
        work, self.work = self.work, Work(poll=self.work.poll)
        if self.state == "left":
            self._lost("reason.polled_again")
        elif work.lost_for:
            self._lost(work.lost_for)
        elif work.rejoins_for:
            self._rejoin(work.rejoins_for)
        elif self.state == "stable":
            if work.commits:
                self._commit("interval")
            self._fetcher.fetch_all()

    # The node interface.

    def on_response(self, api: str, body: Any, context: Any) -> None:
        """A broker answers."""
        what, node, data = context
        if what == "fetch":
            self._fetcher.request_failed(what, node, data)
        if self.is_over:
            return
        if what == "left":
            return
        if what == "commit":
            self._commit_answered(body, *data)
        elif what == "leave":
            self._change("closed", "reason.left_group")
        elif self.state == "closing":
            return
        elif what == "metadata":
            self._on_metadata(body)
        elif what == "find":
            self._coordinator_found(body)
        elif what == "join":
            self._joined(body, data)
        elif what == "sync":
            self._synced(body, data)
        elif what == "heartbeat":
            self._heartbeat_answered(body, data)
        elif what == "offsets":
            self._on_committed(body)
        elif what == "reset":
            self._fetcher.reset_answered(body)
        else:
            self._fetcher.fetched(body, data)

    def on_disconnect(self, api: str, context: Any, why: str) -> None:
        """Called when the broker has closed the connection, or did not respond in time."""
        what, node, data = context
        self.metadata.unreachable(node)
        self._fetcher.request_failed(what, node, data)
        if what == "metadata":
            self._metadata_in_flight = False
        if self.is_over:
            return
        if what == "fetch":
            self.read_replicas.disconnected(data)
        if what in ("fetch", "reset", "metadata"):
            self.request_metadata_later()
        elif what == "left":
            self._coordinator_lost()
        elif what == "find":
            self.later("find")
        elif what == "leave":
            self._change("closed", "reason.coordinator_lost")
        else:
            if node == self._coordinator:
                self._coordinator_lost()
            if what == "commit":
                self._commit_answered(None, *data)
            elif what == "join" and data == self._epoch:
                self.later("join")
            elif what == "sync" and data == self._epoch:
                self._join("reason.coordinator_lost")

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
            self._request_metadata()
        elif name == "commit again" and data == self._epoch:
            self._commit_again()
        elif name == "close_due":
            self._change("closed", "reason.leave_timed_out")
        elif self.state != "closing":
            self._on_pause_over(name, data)

    def _on_pause_over(self, name: str, data: Any) -> None:
        if name == "processed":
            self._poll_again()
        elif name == "poll_due":
            self._poll_late(data)
        elif name == "metadata":
            self._metadata_waits = False
            self._request_metadata()
        elif name == "find":
            if self._coordinator is None:
                self._find_coordinator()
        elif name == "offsets":
            self._look_up_committed()
        elif name == "commit":
            if self.commit_answer is None and not self.commit():
                self.later("commit")
        elif name == "join" and data == self._epoch and self.state == "joining":
            self._send_join()
