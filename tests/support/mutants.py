"""Wrong cores: for each invariant one planted bug that it must catch. `make mutants` prints which were caught, and
where.

A mutant replaces a function of the core while one short script runs. The scripts are those of `SCRIPTS`; the core as it
is comes through all of them without an alarm.
"""

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple
from unittest.mock import patch

import msgspec

from broker_core.broker.logs.log_directory import LogDirectory
from broker_core.broker.replicas import fetches
from broker_core.broker.replicas.appends import Produces
from broker_core.broker.replicas.fetches import Fetches
from broker_core.broker.replicas.replica_manager import ReplicaManager
from broker_core.controller import election
from broker_core.controller.context import LeaderAndIsr
from broker_core.controller.election import ElectionResult
from broker_core.controller.kafka_zk_client import KafkaZkClient
from broker_core.errors import Errors
from broker_core.events.replica import HighWatermarkAdvanced
from broker_core.groups.assignors.sticky import CooperativeStickyAssignor, StickyAssignor
from broker_core.groups.facts import Groups
from broker_core.log import UnifiedLog
from broker_core.log.index.offset_index import OffsetIndex
from broker_core.log.leader_epoch_cache import LeaderEpochCache
from broker_core.log.local_log import LocalLog
from broker_core.log.producers.producer_state import ProducerStateManager
from broker_core.log.producers.transactions import UnstableTransactions
from broker_core.replication import partition as partition_module
from broker_core.replication.partition import Partition
from broker_core.replication.replica_fetcher import ReplicaFetcher
from broker_core.run import Run, RunConfig
from broker_core.sim.disk import SimulatedDisk
from broker_core.sim.invariants import INVARIANTS
from broker_core.zk.memory_store import MemoryStore

BROKER_CONFIG = {
    "zookeeper.session.timeout.ms": "3000",
    "replica.lag.time.max.ms": "1500",
    "controlled.shutdown.enable": "false",
    "auto.leader.rebalance.enable": "false",
}
CREATE = (
    "kafka-topics.sh --create --topic t --replica-assignment 1:2:3"
    " --config segment.bytes=2000 --config index.interval.bytes=200"
)

#: name -> (line, how many ms pass then)
SCRIPTS: dict[str, tuple[tuple[str, int], ...]] = {
    # a follower lags, leaves the ISR and comes back; the leader, which is the controller, dies and comes back
    "life": (
        (CREATE, 500),
        ("producer open p --acks all", 10),
        ("consumer follow c t-0 --from earliest", 10),
        ("producer stream p t-0 20", 1_000),
        ("broker freeze 3", 2_500),
        ("broker thaw 3", 1_500),
        ("broker kill 1", 4_500),
        ("broker start 1", 2_500),
    ),
    # the leader is suspended with records that it alone has, and the new one writes others at their offsets
    "parting": (
        (CREATE, 500),
        ("producer open p --acks 1", 10),
        ("producer stream p t-0 40", 1_000),
        ("hold fetch 2 1", 0),
        ("hold fetch 3 1", 400),
        ("broker freeze 1", 0),
        ("release fetch 2 1", 0),
        ("release fetch 3 1", 4_500),
        ("producer open q --acks all", 10),
        ("producer stream q t-0 40", 1_000),
        ("broker thaw 1", 1_500),
    ),
    # the only member of the ISR dies while another one is alive that lacks records
    "last one": (
        (CREATE, 500),
        ("producer open p --acks 1", 10),
        ("broker kill 3", 3_500),
        ("hold fetch 2 1", 0),
        ("producer stream p t-0 20", 2_700),
        ("broker kill 1", 4_500),
    ),
    # the leader of a partition with one replica is suspended: what was sent before is sent again, and arrives twice
    "twice": (
        ("kafka-topics.sh --create --topic s --replica-assignment 1", 500),
        ("producer open i --idempotence true", 10),
        ("producer send i s-0 a:1", 500),
        ("broker freeze 1", 0),
        ("producer stream i s-0 2", 7_000),
        ("broker thaw 1", 4_000),
    ),
    # a transaction commits while a follower does not fetch
    "transaction": (
        (CREATE, 500),
        ("producer open t --transactional-id x", 5_000),
        ("producer begin t", 10),
        ("producer send t t-0 a:1", 300),
        ("hold fetch 2 1", 0),
        ("hold fetch 3 1", 700),
        ("producer commit t", 700),
        ("release fetch 2 1", 0),
        ("release fetch 3 1", 2_000),
    ),
    # two consumers share a topic, one after the other
    "members": (
        ("kafka-topics.sh --create --topic t --partitions 4 --replication-factor 3", 500),
        ("consumer start c --group g --topic t --assignor cooperative-sticky", 5_000),
        ("consumer start d --group g --topic t --assignor cooperative-sticky", 5_000),
    ),
}


class Mutant(NamedTuple):
    """A planted bug: the attributes it replaces, and the script in which it shows."""

    invariant: str
    name: str
    script: str
    replaced: tuple[tuple[Any, str, Any], ...]


class Caught(NamedTuple):
    """Where an invariant fired first."""

    seq: int
    at_us: int
    subject: str
    detail: str


def play(script: str, *, until: str = "", era: str = "3.9") -> list[tuple[str, Caught]]:
    """The alarms that nothing explains, with their invariants, up to the first of `until`."""
    run = Run(RunConfig(seed=3, era=era, broker_config=BROKER_CONFIG), disk=SimulatedDisk(), zk=MemoryStore())
    run.advance(500_000)
    found: list[tuple[str, Caught]] = []
    for line, pause_ms in SCRIPTS[script]:
        run.submit(line, "script")
        due_us = run.now_us + pause_ms * 1_000
        while run.now_us < due_us:
            run.advance(due_us, max_events=500)
            alarms = [(seq, alarm) for seq, alarm in run.view["alarms"].items() if not alarm["explained_by"]]
            run.take()
            found = [
                (alarm["invariant"], Caught(int(seq), alarm["at_us"], alarm["subject"], alarm["detail"]))
                for seq, alarm in alarms
            ]
            if any(invariant == until for invariant, _ in found):
                return found
    return found


def hunt(mutant: Mutant) -> Caught | None:
    """Where the mutant was caught by its invariant; None when it survived."""
    with ExitStack() as stack:
        for target, attribute, replacement in mutant.replaced:
            stack.enter_context(patch.object(target, attribute, replacement))
        try:
            found = play(mutant.script, until=mutant.invariant)
        except Exception as error:
            raise RuntimeError(f"the mutant {mutant.name!r} broke the engine before it was caught") from error
    return next((caught for invariant, caught in found if invariant == mutant.invariant), None)


# the bugs

_take = ReplicaFetcher._take
_append_as_leader = UnifiedLog.append_as_leader
_assign = LeaderEpochCache.assign
_update_states = KafkaZkClient.update_partition_states
_commit_isr = Partition.commit_isr
_make_leader = Partition.make_leader
_truncate_to = Partition.truncate_to
_update_follower = Partition.update_follower
_roll = LocalLog.roll
_write = LogDirectory.write
_read = Fetches._read


def _advance(partition: Partition, to_offset: int) -> None:
    if to_offset > partition.high_watermark:
        event = HighWatermarkAdvanced(replica=partition.key, from_offset=partition.high_watermark, to_offset=to_offset)
        partition.kernel.emit(event, partition.node)


def _takes_watermark_first(self: ReplicaFetcher, partition: Partition, state: Any, answer: Any) -> None:
    _advance(partition, answer.high_watermark)
    _take(self, partition, state, answer)


def _counts_epochs_down(self: UnifiedLog, data: bytes, leader_epoch: int, *rest: Any) -> Any:
    return _append_as_leader(self, data, 100 - leader_epoch, *rest)


def _begins_late(self: LeaderEpochCache, epoch: int, start_offset: int) -> bool:
    return _assign(self, epoch, start_offset + 1)


def _keeps_epoch(self: LeaderAndIsr, leader: int, isr: tuple[int, ...], *, recovering: bool = False) -> LeaderAndIsr:
    return msgspec.structs.replace(self, leader=leader, isr=isr)


def _all_lead(self: Partition, state: Any) -> None:
    _make_leader(self, state)


def _claims_same_epoch(self: KafkaZkClient, broker_id: int) -> tuple[int, int]:
    _, version = _register(self, broker_id)
    return 1, version


_register = KafkaZkClient.register_controller


def _isr_without_leader(assignment: Any, isr: Any, live: Any, unclean_allowed: bool) -> ElectionResult | None:
    choice = _offline(assignment, isr, live, unclean_allowed)
    if choice is None:
        return None
    return choice._replace(isr=tuple(member for member in choice.isr if member != choice.leader))


_offline = election.offline


def _counts_version_twice(self: Partition, isr: tuple[int, ...], partition_epoch: int) -> bool:
    return _commit_isr(self, isr, partition_epoch + 1)


def _cuts_too_much(self: Partition, offset: int, why: str) -> None:
    _truncate_to(self, max(0, offset - 3), why)


def _believes_anything(self: Partition, broker_id: int, fetch_offset: int, *rest: int) -> bool:
    return _update_follower(self, broker_id, self.log.log_end_offset, *rest)


def _shrinks_alone(self: ReplicaManager, partition: Partition, change: Any) -> None:
    partition.commit_isr(change.proposed_isr, partition.partition_epoch)


def _leads_from_watermark(self: Partition, state: Any) -> None:
    self.truncate_to(self.high_watermark, "a leader begins at its high watermark")
    _make_leader(self, state)


def _first_live(assignment: Any, isr: Any, live: Any, unclean_allowed: bool) -> ElectionResult | None:
    return next((ElectionResult(replica, (replica,)) for replica in assignment if replica in live), None)


def _forgets_followers(*arguments: Any) -> int:
    return int(arguments[0])


def _runs_ahead(self: Partition, leader_high_watermark: int) -> None:
    _advance(self, self.log.log_end_offset)


def _anybody_joins(self: Partition, broker_id: int) -> bool:
    return not hasattr(self.isr_state, "proposed_isr") and broker_id not in self.isr


def _answers_at_once(self: Produces, message: Any, timeout_ms: int, required: Any, answers: Any) -> None:
    self._respond(message, answers)


def _shows_all(self: Fetches, requested: Any, body: Any, left: int, min_one_message: bool) -> Any:
    answer = _read(self, requested, body, left, min_one_message)
    partition = self._partitions.get(requested.partition)
    if body.replica_id >= 0 or partition is None or answer.error is not Errors.NONE:
        return answer
    return msgspec.structs.replace(answer, records=partition.log.read(requested.fetch_offset, left).data)


def _takes_all(self: ProducerStateManager, header: Any, is_client: bool = True) -> None:
    return None


def _keeps_generation(self: Groups, group: Any, state: Any, why: str, *, protocol: Any, leader: Any, **_: Any) -> None:
    self._transition(group, state, why, group.generation_id, protocol, leader, 0)


def _keeps_entries(self: OffsetIndex, offset: int) -> tuple[()]:
    return ()


def _names_one_less(self: LocalLog, new_base_offset: int, now_ms: int) -> Any:
    return _roll(self, new_base_offset - 1, now_ms)


def _writes_one_more(self: LogDirectory, file: str, entries: dict[str, int]) -> None:
    _write(self, file, {name: offset + 1 for name, offset in entries.items()})


def _nothing_parts(*arguments: Any) -> bool:
    return False


def _one(
    invariant: str, name: str, script: str, target: Any, attribute: str, replacement: Callable[..., Any]
) -> Mutant:
    return Mutant(invariant, name, script, ((target, attribute, replacement),))


MUTANTS = (
    _one(
        "I-ORDER",
        "a follower takes over the high watermark before it has the records",
        "life",
        ReplicaFetcher,
        "_take",
        _takes_watermark_first,
    ),
    _one("I-LOGMONO", "leader epochs are counted down", "life", UnifiedLog, "append_as_leader", _counts_epochs_down),
    _one("I-EPOCHCACHE", "an epoch begins one offset late", "life", LeaderEpochCache, "assign", _begins_late),
    _one("I-EPOCHMONO", "an election keeps the leader epoch", "life", LeaderAndIsr, "next", _keeps_epoch),
    _one("I-ONELEADER", "every replica leads", "life", Partition, "make_follower", _all_lead),
    _one(
        "I-CTRL",
        "a controller keeps the epoch of the one before",
        "life",
        KafkaZkClient,
        "register_controller",
        _claims_same_epoch,
    ),
    _one("I-LEADERINISR", "the new ISR lacks the leader", "life", election, "offline", _isr_without_leader),
    _one(
        "I-ZKVER",
        "a leader counts the partition epoch on by itself",
        "life",
        Partition,
        "commit_isr",
        _counts_version_twice,
    ),
    _one("I-LOGMATCH", "a leader does not see that logs part", "parting", fetches, "may_diverge", _nothing_parts),
    _one(
        "I-WEAKISR",
        "a leader believes that every follower has everything",
        "life",
        Partition,
        "update_follower",
        _believes_anything,
    ),
    _one(
        "I-STRONGISR",
        "a leader changes its ISR without ZooKeeper",
        "life",
        ReplicaManager,
        "propose_isr_change",
        _shrinks_alone,
    ),
    _one(
        "I-COMMIT",
        "a new leader begins at its own high watermark",
        "life",
        Partition,
        "make_leader",
        _leads_from_watermark,
    ),
    _one("I-COMPLETE", "any live replica is elected", "last one", election, "offline", _first_live),
    _one("I-HWLEAD", "a leader does not wait for followers", "life", partition_module, "candidate", _forgets_followers),
    _one(
        "I-HWFOLL",
        "a follower's high watermark is its log's end",
        "life",
        Partition,
        "update_follower_high_watermark",
        _runs_ahead,
    ),
    _one(
        "I-NOTRUNCBELOWHW", "a follower cuts more than it has to", "parting", Partition, "truncate_to", _cuts_too_much
    ),
    _one("I-EXPAND", "whoever fetches joins the ISR", "life", Partition, "replica_to_add", _anybody_joins),
    _one("I-MINISR", "acks=all is answered at once", "life", Produces, "_wait_for_commit", _answers_at_once),
    _one("I-SEQ", "a leader does not look at sequence numbers", "twice", ProducerStateManager, "validate", _takes_all),
    _one(
        "I-LSO",
        "a marker counts before it is replicated",
        "transaction",
        UnstableTransactions,
        "first_unstable_offset",
        UnstableTransactions.first_undecided_offset,
    ),
    _one("I-GROUP", "a generation keeps its number", "members", Groups, "new_generation", _keeps_generation),
    _one(
        "I-COOP",
        "what is taken from one member is given to another at once",
        "members",
        CooperativeStickyAssignor,
        "assign",
        StickyAssignor.assign,
    ),
    _one("I-CONSUME", "consumers are shown the whole log", "life", Fetches, "_read", _shows_all),
    _one("I-INDEX", "a truncation forgets the index", "parting", OffsetIndex, "truncate_to", _keeps_entries),
    _one("I-SEGNAME", "a segment is named by the last offset before it", "life", LocalLog, "roll", _names_one_less),
    _one("I-CKPT", "checkpoints count one too many", "life", LogDirectory, "write", _writes_one_more),
)


def main() -> int:
    """Prints the table; 1 when a mutant survived or an invariant has none."""
    began = time.perf_counter()
    survivors = [invariant for invariant in INVARIANTS if invariant not in {mutant.invariant for mutant in MUTANTS}]
    print(f"{'invariant':<18}{'caught at':>10}{'time':>12}  mutant")
    for mutant in MUTANTS:
        caught = hunt(mutant)
        if caught is None:
            survivors.append(mutant.invariant)
            where, at = "SURVIVED", ""
        else:
            where, at = f"#{caught.seq}", f"{caught.at_us / 1e6:.3f} s"
        print(f"{mutant.invariant:<18}{where:>10}{at:>12}  {mutant.name}", flush=True)
        if caught is not None:
            print(f"{'':<42}{caught.subject}: {caught.detail}")
    print(f"{len(MUTANTS)} mutants, seed 3, {time.perf_counter() - began:.0f} s")
    if survivors:
        print(f"not caught: {', '.join(survivors)}", file=sys.stderr)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
