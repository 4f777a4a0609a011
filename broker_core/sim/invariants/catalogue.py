"""The known causes of violations of each invariant, and the texts of explanations.

A row of the table is an invariant; a cause that is not listed for it never explains its violation. Kinds of
explanation:

- `unclean`: a leader was elected from outside of the ISR, because unclean election was enabled;
- `lost tail`: records that were not fsynced were lost in a power loss or the repair of a damaged file;
- `split epoch`: the leader that lost its tail continued in the same epoch, which then has two histories: a follower
that copied the first one finds that the epoch ends later in the second, truncates nothing, and continues with that;
- `HW`, `KIP101`, `KIP279`: how followers of the era truncate their logs;
- `stale log`: before topic ids, the log of a deleted topic was reused by the next topic of its name;
- `stale leader`: before topic ids, a leader of the deleted topic could register as leader of the new one;
- `early join`: before 2.0.1 a replica could join the ISR before the start of the leader's epoch (KAFKA-7128);
- `missed epoch`: a leader that had not been notified of another leader's epoch led again, and still used the old log
end offsets of its followers (`Partition.makeLeader` resets them only on a replica that was not leader);
- `late fetch`: before 2.1 a fetch did not carry the leader epoch (KIP-320): a delayed one reported the log end offset
that its follower had before its log was truncated or recreated;
- `kept epoch`: before 3.0 a truncation at the log's end kept the leader epochs that begin there (KAFKA-10706); the
first record of an older epoch removes them, and with them the start of its own;
- `compacted epoch`: a leader that copied a compacted log lacks the epochs whose records were all superseded; a replica
whose newest epoch is one of them truncates to the epoch before it, and fetches what is left of the log;
- `refused append`: an append that no segment can hold is rejected after its epochs were added to the cache, and each
attempt adds them again;
- `own assignor`: a group's leader used a custom assignor, whose assignment is not validated;
- `foreign`: an external client wrote znodes that only brokers may write.
"""

import msgspec

from broker_core.texts import Text, text

UNCLEAN = "unclean"
LOST_TAIL = "lost tail"
SPLIT_EPOCH = "split epoch"
STALE_LOG = "stale log"
STALE_LEADER = "stale leader"
EARLY_JOIN = "early join"
MISSED_EPOCH = "missed epoch"
LATE_FETCH = "late fetch"
KEPT_EPOCH = "kept epoch"
COMPACTED_EPOCH = "compacted epoch"
REFUSED_APPEND = "refused append"
OWN_ASSIGNOR = "own assignor"
FOREIGN = "foreign"
MODES = ("HW", "KIP101", "KIP279")

_CHOSEN = (UNCLEAN, LOST_TAIL, STALE_LOG, FOREIGN)
_JOINED = (EARLY_JOIN, MISSED_EPOCH, LATE_FETCH)
# Because of a leader's wrong epoch cache, followers keep records that they have to truncate.
_LEFT = (KEPT_EPOCH, "KIP101")

#: invariant -> the causes that may explain its violation
MAY_BREAK: dict[str, tuple[str, ...]] = {
    "I-ORDER": (),
    # A follower that truncated too little appends records of an earlier epoch from its leader.
    "I-LOGMONO": (SPLIT_EPOCH, "KIP101"),
    "I-EPOCHCACHE": (SPLIT_EPOCH, REFUSED_APPEND, *_LEFT, STALE_LOG, FOREIGN),
    "I-EPOCHMONO": (STALE_LEADER, FOREIGN),
    "I-ONELEADER": (FOREIGN,),
    "I-CTRL": (STALE_LEADER, FOREIGN),
    "I-LEADERINISR": (STALE_LEADER, FOREIGN),
    "I-ZKVER": (FOREIGN,),
    # A leader that lost its tail together with the controller continues in the same epoch and rewrites it.
    "I-LOGMATCH": (LOST_TAIL, "HW", *_LEFT, STALE_LOG, FOREIGN),
    "I-WEAKISR": (*_CHOSEN, MISSED_EPOCH, LATE_FETCH, KEPT_EPOCH, *MODES),
    "I-STRONGISR": (*_CHOSEN, *_JOINED, KEPT_EPOCH, *MODES),
    "I-COMMIT": (*_CHOSEN, *_JOINED, "HW", *_LEFT),
    "I-COMPLETE": (*_CHOSEN, *_JOINED, "HW", *_LEFT),
    "I-HWLEAD": (),
    "I-HWFOLL": _CHOSEN,
    "I-NOTRUNCBELOWHW": (*_CHOSEN, *_JOINED, COMPACTED_EPOCH, "HW", *_LEFT),
    "I-EXPAND": (LOST_TAIL, STALE_LOG, LATE_FETCH, FOREIGN),
    "I-MINISR": (),
    "I-CONSUME": (),
    # A log that diverged from its leader's may append records that do not follow its own.
    "I-SEQ": (*_CHOSEN, "HW", *_LEFT),
    "I-LSO": (),
    "I-GROUP": (*_CHOSEN, OWN_ASSIGNOR, "HW", *_LEFT),
    "I-COOP": (OWN_ASSIGNOR,),
    "I-INDEX": (),
    "I-SEGNAME": (),
    "I-CKPT": (),
}

INVARIANTS = tuple(MAY_BREAK)
REPLICATION = (
    "I-ORDER",
    "I-LOGMONO",
    "I-EPOCHMONO",
    "I-ONELEADER",
    "I-LEADERINISR",
    "I-HWLEAD",
    "I-HWFOLL",
    "I-COMMIT",
    "I-WEAKISR",
)
"""The nine invariants of the replicated log; the others are about files, clients and ZooKeeper."""


def message(id: str, **values: object) -> Text:
    """A message of the checker: what is wrong, or what explains it."""
    return Text(id, {name: value if isinstance(value, int) else str(value) for name, value in values.items()})


class Explanation(msgspec.Struct, frozen=True):
    """The cause of a violation. `seq`: the event to look at, 0 = the era as a whole. `setting`: the setting that allows
    it, as written in a configuration, or what else does.
    """

    kind: str
    words: Text
    setting: Text | str
    seq: int = 0


_MODE_WORDS = {
    "HW": "cause.truncation_hw",
    "KIP101": "cause.truncation_kip101",
    "KIP279": "cause.truncation_kip279",
}


def explain_by_mode(truncation: str, era: str) -> Explanation | None:
    """The explanation by an era's truncation; None if it keeps all guarantees."""
    words = _MODE_WORDS.get(truncation)
    if words is None:
        return None
    return Explanation(truncation, message(words, era=era), text("setting.truncation", era=era, how=truncation))
