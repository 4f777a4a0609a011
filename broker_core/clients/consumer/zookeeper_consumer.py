"""A consumer of before 0.9, a member of a group without a coordinator (`ZookeeperConsumerConnector` of 0.8.2).

It registers in ZooKeeper and watches the other registrations. Whenever a consumer joins or leaves, or partitions are
added, each member rebalances by itself, at about the same time: it commits, releases what it owns, computes its share,
and claims it. If another member still owns a part of it, it releases all and retries later.
"""

from typing import Any

from broker_core.clients.consumer.group_consumer_settings import GroupConsumerSettings, Work
from broker_core.clients.consumer.group_fetcher import UNKNOWN_POSITION
from broker_core.clients.consumer.group_member import GroupMember
from broker_core.clients.consumer.zookeeper_group import UnequalSubscriptions, ZookeeperGroup
from broker_core.clients.metadata import backoff_us
from broker_core.events.group import ConsumerAssigned
from broker_core.partitions import sorted_partitions
from broker_core.sim.kernel import Kernel
from broker_core.sim.zookeeper import ZK_NODE, ZooKeeper
from broker_core.texts import message_of, text
from broker_core.wire.messages import MetadataRequest
from broker_core.zk.store import SessionExpired

REBALANCE_RETRIES = 4
REBALANCE_BACKOFF_MS = 2_000
START_RETRY_MS = 100


class ZookeeperConsumer(GroupMember):
    """The counterpart of `GroupConsumer`, which has a coordinator. `member_id` is its name in `/consumers/GROUP/ids`;
    there are no generations.
    """

    def __init__(
        self,
        kernel: Kernel,
        name: str,
        settings: GroupConsumerSettings,
        bootstrap: tuple[str, ...],
        zookeeper: ZooKeeper,
        start_wall_ms: int,
    ) -> None:
        super().__init__(kernel, name, settings, bootstrap)
        self.member_id = f"{settings.group_id}_{name}"
        self._zookeeper = zookeeper
        self._start_wall_ms = start_wall_ms
        self._group: ZookeeperGroup | None = None
        #: The offsets known to be written, so that they are not written again.
        self._written: dict[str, int] = {}
        self._tries = 0
        self._triggered = False
        #: Whether a response, or the end of a pause before a request, is awaited.
        self._metadata_due = False

    @property
    def may_fetch(self) -> bool:
        """Whether the application is waiting for records."""
        return self.state == "stable" and not self.work.is_busy

    # Start and close.

    def begin(self) -> None:
        """Registers, and takes its share. ZooKeeper must have expired an earlier process of this name first."""
        if self._zookeeper.has_session(self.name) or not self._reaches_zookeeper:
            self._timer(START_RETRY_MS, "start")
            return
        if self.settings.enable_auto_commit:
            self._timer(self.settings.auto_commit_interval_ms, "auto_commit")
        self._change("registering", text("reason.subscribed", topics=", ".join(self.settings.topics)).code)
        self._register()

    def _register(self) -> None:
        session = self._zookeeper.connect(self.name, self.settings.session_timeout_ms * 1_000)
        group = self._group = ZookeeperGroup(session, self.settings.group_id, self.member_id)
        group.register(self.settings.topics, self._start_wall_ms + self.kernel.now_us // 1_000)
        group.watch_members()
        for topic in self.settings.topics:
            group.watch_topic(topic)
        self._request_metadata()
        self._rebalance("reason.registered")

    @property
    def _reaches_zookeeper(self) -> bool:
        return self.kernel.connected(self.name, ZK_NODE)

    def contact_restored(self) -> None:
        """ZooKeeper is reachable again: with the same session, or after a timeout with a new one, as a new member."""
        if self._group is None or self.is_over or not self._reaches_zookeeper:
            return
        self._zookeeper.found_contact(self.name)
        if self._zookeeper.has_session(self.name):
            if self._triggered:
                self._trigger("reason.zookeeper_reached")
            return
        self._written.clear()
        self._own(())
        self._change("registering", "reason.session_expired")
        self._register()

    def close(self) -> None:
        """`shutdown`: commits and closes its session, which deletes its znodes."""
        if self.is_over:
            return
        if self.settings.enable_auto_commit:
            self._commit()
        self._own(())
        self._change("closed", "reason.close_called")
        if self._reaches_zookeeper:
            self._zookeeper.close(self.name)
        else:
            self._zookeeper.lost_contact(self.name)

    def contact_lost(self) -> None:
        """The process is stopped or suspended: ZooKeeper notices when the session times out."""
        if not self.is_over:
            self._zookeeper.lost_contact(self.name)

    def request_metadata_later(self) -> None:
        """Requests metadata after a pause, unless a request is pending."""
        if not self._metadata_due:
            self._metadata_due = True
            self._attempts += 1
            self.kernel.timer(self.name, self.kernel.now_us + backoff_us(self._attempts), "metadata")

    def _request_metadata(self) -> None:
        self._metadata_due = True
        request = MetadataRequest(tuple(sorted(self.settings.topics)))
        self.send_request(self.metadata.node_for_request(), "Metadata", request, "metadata", "Metadata")

    # Rebalancing.

    def _trigger(self, why: str) -> None:
        """Rebalances after a change, or once more after the current rebalance."""
        self._triggered = True
        if self.state in ("stable", "rebalance failed") and self._reaches_zookeeper:
            self._rebalance(why)

    def _rebalance(self, why: str) -> None:
        """The first try (`syncedRebalance`)."""
        self._tries = 0
        self._triggered = False
        self._try(why)

    def _try(self, why: str) -> None:
        group = self._group
        if group is None:
            return
        self._change("rebalancing", text("reason.attempt", why=message_of(why), attempt=self._tries).code)
        try:
            conflict = self._take_share(group)
        except SessionExpired:
            return
        except UnequalSubscriptions:
            conflict = "roundrobin is allowed only if all consumers in the group subscribe to the same topics"
        if not conflict:
            self._change("stable", f"reason.owned?n={len(self.owned)}" if group.brokers() else "reason.no_broker")
            if self._triggered:
                self._rebalance("reason.changed_meanwhile")
            else:
                self._fetcher.fetch_all()
            return
        self._tries += 1
        if self._tries >= REBALANCE_RETRIES:
            # it continues without partitions until something changes
            failed = f"{self.member_id} can't rebalance after {REBALANCE_RETRIES} retries"
            self._change("rebalance failed", f"ConsumerRebalanceFailedException: {failed}")
            return
        self._change("rebalancing", conflict)
        self._timer(REBALANCE_BACKOFF_MS, "rebalance")

    def _take_share(self, group: ZookeeperGroup) -> str:
        """One attempt (`rebalance`); returns what prevented it, nothing after a success."""
        if not group.brokers():
            group.watch_brokers()
            return ""
        if self.settings.enable_auto_commit:
            self._commit()
        group.release(self.owned)
        self._own(())
        share = group.share(self.settings.assignors[0], self.settings.topics)
        positions = {name: group.offset(name) for name in share}
        owned_by_another = group.own(share)
        if owned_by_another:
            return f"reason.still_owned?partition={owned_by_another}"
        self._own(tuple(sorted_partitions(share)))
        self._written |= positions
        for name, offset in positions.items():
            self.positions[name] = (offset if offset >= 0 else UNKNOWN_POSITION, -1)
        return ""

    def _own(self, partitions: tuple[str, ...]) -> None:
        revoked = tuple(name for name in self.owned if name not in partitions)
        if partitions != self.owned:
            self.kernel.emit(ConsumerAssigned(client=self.name, partitions=partitions, revoked=revoked), self.name)

    def commit(self) -> bool:
        """`ConsumerConnector.commitOffsets`."""
        self.commit_answer = None
        if self._group is None or not self._reaches_zookeeper or not self._zookeeper.has_session(self.name):
            return False
        self._commit()
        self.commit_answer = ""
        return True

    def _commit(self) -> None:
        """Writes the positions that have changed (`commitOffsetToZooKeeper`)."""
        if self._group is None or not self._reaches_zookeeper or not self._zookeeper.has_session(self.name):
            return
        for name in self.owned:
            offset, _ = self.positions.get(name, (UNKNOWN_POSITION, -1))
            if offset >= 0 and self._written.get(name) != offset:
                self._group.write_offset(name, offset)
                self._written[name] = offset

    # The node interface.

    def on_response(self, api: str, body: Any, context: Any) -> None:
        """A broker answers."""
        what, node, data = context
        if what == "fetch":
            self._fetcher.request_failed(what, node, data)
        if self.is_over:
            return
        if what == "metadata":
            self._metadata_due = False
            self.metadata.update(body)
            self._fetcher.fetch_all()
        elif what == "reset":
            self._fetcher.reset_answered(body)
        elif what == "fetch":
            self._fetcher.fetched(body, data)

    def on_disconnect(self, api: str, context: Any, why: str) -> None:
        """Called when the broker has closed the connection, or did not respond in time."""
        what, node, data = context
        self.metadata.unreachable(node)
        self._fetcher.request_failed(what, node, data)
        if what == "metadata":
            self._metadata_due = False
        if not self.is_over:
            self.request_metadata_later()

    def on_timer(self, name: str, data: Any) -> None:
        """Pauses and intervals."""
        if self.is_over:
            return
        if name == "start":
            self.begin()
        elif name == "auto_commit":
            self._timer(self.settings.auto_commit_interval_ms, "auto_commit")
            self._commit()
        elif name == "rebalance":
            if self._reaches_zookeeper:
                self._try("reason.retry")
            else:
                self._timer(REBALANCE_BACKOFF_MS, "rebalance")
        elif name == "processed":
            self.work = Work(poll=self.work.poll)
            self._fetcher.fetch_all()
        elif name == "metadata":
            self._request_metadata()

    def on_watch(self, kind: str, path: str) -> None:
        """Called when a member joined or left, or a topic has changed."""
        group = self._group
        if self.is_over or group is None:
            return
        try:
            if path.startswith(group.root):
                group.watch_members()
                self._trigger("reason.members_changed")
            elif path.startswith("/brokers/topics/"):
                group.watch_topic(path.rpartition("/")[2])
                self._request_metadata()
                self._trigger("reason.partitions_changed")
            else:
                self._trigger("reason.brokers_changed")
        except SessionExpired:
            return
