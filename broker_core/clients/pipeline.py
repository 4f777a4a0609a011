"""A client of the lab that reads a topic, writes another and commits, in a loop: one process with a consumer, which is
a member of a group, and a producer.

The order of writing and committing decides what a failure costs: commit first loses records, write first repeats them,
and a transaction does neither (`KafkaProducer.sendOffsetsToTransaction`; KIP-98, KIP-447).
"""

from typing import Any, Literal

import msgspec

from broker_core.clients.consumer.group_consumer import GroupConsumer
from broker_core.clients.consumer.group_consumer_settings import GroupConsumerSettings
from broker_core.clients.producer.producer import Producer
from broker_core.clients.producer.producer_settings import ProducerSettings
from broker_core.clients.producer.states import ProducerState
from broker_core.clients.producer.transactional_offsets import GroupMetadata, TransactionalOffsets
from broker_core.events.group import PipelineStageChanged
from broker_core.records.record import Record
from broker_core.sim.kernel import Kernel, Subjects, applies

Order = Literal["commit-first", "write-first", "transaction"]
ORDERS: tuple[Order, ...] = ("commit-first", "write-first", "transaction")
TICK_TIMER = "pipeline"
TICK_MS = 1


class PipelineSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`source` and `target` are topics; `member` and `producer` the settings of its two clients."""

    source: str
    target: str
    order: Order
    member: GroupConsumerSettings
    producer: ProducerSettings


def producer_name(name: str) -> str:
    """The name of a pipeline's producer node."""
    return f"{name}-producer"


class Pipeline(GroupConsumer):
    """The consumer of a pipeline, which drives its producer between two polls.

    `stage` and the counters are changed only by events. Stages: "reading" (it polls, or processes records),
    "committing", "writing", "sending offsets" (with the transaction), "ending" (EndTxn) and "aborting". `handled`:
    records whose cycle is complete; `rewinds`: how often it returned to the committed offsets.
    """

    def __init__(
        self, kernel: Kernel, name: str, settings: PipelineSettings, bootstrap: tuple[str, ...], producer: Producer
    ) -> None:
        super().__init__(kernel, name, settings.member, bootstrap)
        self.pipeline = settings
        self.producer = producer
        self.stage = "reading"
        self.stage_reason = ""
        self.in_hand = 0
        self.handled = 0
        self.rewinds = 0
        self.stops = False
        self._batch: list[Record] = []
        self._sequences: list[int] = []
        self._is_handed = False
        self._is_asked = False
        self._offsets: TransactionalOffsets | None = None

    @property
    def _is_transactional(self) -> bool:
        return self.pipeline.order == "transaction"

    @property
    def may_fetch(self) -> bool:
        """Whether its application polls; a transactional producer must have its id first."""
        return super().may_fetch and (not self._is_transactional or self.producer.transactions.has_ids)

    def description(self) -> dict[str, object]:
        """This consumer as shown in the view, with its stage."""
        stage = {
            "state": self.stage,
            "why": self.stage_reason,
            "in_hand": self.in_hand,
            "handled": self.handled,
            "rewinds": self.rewinds,
        }
        return {**super().description(), "pipeline": stage}

    def begin(self) -> None:
        """Starts both clients."""
        self._enter("reading")
        super().begin()
        if self._is_transactional:
            self.producer.transactions.begin()
            self._timer(TICK_MS, TICK_TIMER)

    def stop(self) -> None:
        """Closes it cleanly, after the current cycle."""
        self.stops = True
        if not self.work.is_busy:
            self.close()

    def _enter(self, stage: str, why: str = "", *, handled: int = 0, rewinds: bool = False) -> None:
        in_hand = len(self._batch)
        self.kernel.emit(
            PipelineStageChanged(
                client=self.name, state=stage, in_hand=in_hand, why=why, handled=handled, rewinds=rewinds
            ),
            self.name,
        )

    # The cycle.

    def on_timer(self, name: str, data: Any) -> None:
        """The records are processed, or the progress of the cycle is due to be checked; otherwise as for a member."""
        if self.is_over:
            return
        if name == "processed":
            self._begin_cycle()
        elif name == TICK_TIMER:
            self._look()
        else:
            super().on_timer(name, data)

    def _begin_cycle(self) -> None:
        self._batch = [record for _, record in self.take_output()]
        self._is_handed = self._is_asked = False
        if self._is_transactional:
            self.producer.transactions.begin_transaction()
        self._enter("committing" if self.pipeline.order == "commit-first" else "writing")
        self._look()

    def _look(self) -> None:
        """Does what is possible now, and checks again later while it waits."""
        if self.stage == "reading":
            self._await_id()
            return
        step = {
            "committing": self._look_at_commit,
            "writing": self._look_at_records,
            "sending offsets": self._look_at_offsets,
            "ending": self._look_at_end,
            "aborting": self._look_at_abort,
        }[self.stage]
        before = self.stage
        step()
        if self.is_over or self.stage == "reading":
            return
        if self.stage != before:
            self._look()
        else:
            self._timer(TICK_MS, TICK_TIMER)

    def _await_id(self) -> None:
        manager = self.producer.transactions
        if manager.state is ProducerState.FATAL_ERROR:
            self.give_up(": ".join(manager.error or ("KafkaException", "")))
        elif manager.has_ids:
            self._fetcher.fetch_all()
        else:
            self._timer(TICK_MS, TICK_TIMER)

    def _look_at_commit(self) -> None:
        if not self._is_asked:
            self._is_asked = self.commit()
        elif self.commit_answer == "":
            if self.pipeline.order == "commit-first":
                self._enter("writing")
            else:
                self._done()
        elif self.commit_answer is not None:
            self._rewind(self.commit_answer)

    def _look_at_records(self) -> None:
        if self.producer.transactions.is_broken:
            self._abort()
        elif not self._is_handed:
            self._hand_over()
        elif not self.producer.has_unsent:
            outcomes = [self.producer.take_result(sequence) for sequence in self._sequences]
            failures = [each for each in outcomes if each is not None and each.exception]
            if failures and self._is_transactional:
                self._abort()
            elif failures:
                self._rewind(f"{failures[0].exception}: {failures[0].message}")
            elif self._is_transactional:
                self._send_offsets()
            elif self.pipeline.order == "write-first":
                self._enter("committing")
            else:
                self._done()

    def _hand_over(self) -> None:
        target = self.pipeline.target
        if target not in self.producer.metadata.partition_counts:
            if not self.producer.requests_metadata:
                self.producer.request_metadata_of(target)
            return
        handed = [
            self.producer.send(target, each.key, each.value, is_topic=True, keep_result=True, now=False)
            for each in self._batch
        ]
        self._sequences = [each.sequence for each in handed]
        self._is_handed = True
        self.producer.flush()

    # The transaction.

    def _send_offsets(self) -> None:
        group = GroupMetadata(
            self.settings.group_id, self.generation_id, self.member_id, self.settings.group_instance_id
        )
        rows = tuple((name, offset) for name, (offset, _) in sorted(self.positions.items()) if offset >= 0)
        self._offsets = TransactionalOffsets(group, rows)
        self._enter("sending offsets")
        self.producer.transactions.send_offsets(self._offsets)

    def _look_at_offsets(self) -> None:
        if self.producer.transactions.is_broken:
            self._abort()
        elif self._offsets is not None and self._offsets.is_done:
            self._enter("ending")
            self.producer.end_transaction(commits=True)

    def _look_at_end(self) -> None:
        manager = self.producer.transactions
        if manager.is_broken:
            self._abort()
        elif manager.state is ProducerState.READY:
            self._done()

    def _abort(self) -> None:
        manager = self.producer.transactions
        why = ": ".join(manager.error or ("KafkaException", ""))
        if manager.state is ProducerState.FATAL_ERROR:
            self.give_up(why)
            return
        self._enter("aborting", why)
        self.producer.end_transaction(commits=False)

    def _look_at_abort(self) -> None:
        manager = self.producer.transactions
        if manager.state is ProducerState.FATAL_ERROR:
            self.give_up(": ".join(manager.error or ("KafkaException", "")))
        elif manager.state is ProducerState.READY:
            self._rewind(self.stage_reason)

    # The end.

    def _done(self) -> None:
        handled, self._batch = len(self._batch), []
        self._enter("reading", handled=handled)
        self._next()

    def _rewind(self, why: str) -> None:
        """Reads the records since the last commit again, as a new process would."""
        self._batch = []
        self._enter("reading", why, rewinds=True)
        for name in self.owned:
            self.positions.pop(name, None)
        self._next()
        if self.state == "stable" and not self.stops:
            self._look_up_committed()

    def _next(self) -> None:
        self._poll_again()
        if self.stops:
            self.close()


@applies(PipelineStageChanged)
def _stage_changed(subjects: Subjects, event: PipelineStageChanged, at_us: int) -> None:
    pipeline: Pipeline = subjects[event.client]
    pipeline.stage = event.state
    pipeline.stage_reason = event.why
    pipeline.in_hand = event.in_hand
    pipeline.handled += event.handled
    pipeline.rewinds += event.rewinds
