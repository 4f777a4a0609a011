"""Which guarantee may be given away by what, and how an explanation reads.

A row of the table is an invariant; what is not listed for it never explains its violation. Kinds of explanation:

- `unclean`: a leader was elected from outside of the ISR, because that was allowed;
- `lost tail`: a machine lost its power, or a damaged file was cut, and with it records that were not fsynced;
- `split epoch`: the leader that lost it led on in the same epoch, which then has two histories: a follower that copied
  the one finds that its epoch reaches farther in the other, cuts nothing, and goes on with that;
- `HW`, `KIP101`, `KIP279`: how followers of the era cut their logs;
- `stale log`: before there were topic ids, the log of a deleted topic served the next one of its name;
- `stale leader`: and who led the one might write itself down in ZooKeeper as leader of the other;
- `early join`: before 2.0.1 a replica joined the ISR that had not reached the start of the leader's epoch (KAFKA-7128);
- `missed epoch`: a leader that had not heard of another one's epoch led again, and still counted what its followers had
  held before that (`Partition.makeLeader` forgets it only in who has not led);
- `late fetch`: before 2.1 a fetch did not say which leader epoch it was meant for (KIP-320): one that came late told a
  leader of what its follower had held before its log was cut or made anew;
- `kept epoch`: before 3.0 a truncation at the log's end kept the leader epochs that begin there (KAFKA-10706); the
  first record of an older epoch takes them away, and with them the beginning of its own;
- `refused append`: an append that no segment can hold is refused after the epoch cache was told of its epochs, and each
  attempt tells them anew;
- `own assignor`: a group's leader went through rules of a learner's own, whose plan nobody checks;
- `foreign`: somebody outside of the cluster wrote what only brokers may write.
"""

import msgspec

from broker_core.texts import Text

UNCLEAN = "unclean"
LOST_TAIL = "lost tail"
SPLIT_EPOCH = "split epoch"
STALE_LOG = "stale log"
STALE_LEADER = "stale leader"
EARLY_JOIN = "early join"
MISSED_EPOCH = "missed epoch"
LATE_FETCH = "late fetch"
KEPT_EPOCH = "kept epoch"
REFUSED_APPEND = "refused append"
OWN_ASSIGNOR = "own assignor"
FOREIGN = "foreign"
MODES = ("HW", "KIP101", "KIP279")

_CHOSEN = (UNCLEAN, LOST_TAIL, STALE_LOG, FOREIGN)
_JOINED = (EARLY_JOIN, MISSED_EPOCH, LATE_FETCH)
# A leader whose epoch cache is wrong leaves followers what they have to cut.
_LEFT = (KEPT_EPOCH, "KIP101")

#: invariant -> what may explain that it is broken
MAY_BREAK: dict[str, tuple[str, ...]] = {
    "I-ORDER": (),
    # A follower that took too little away goes on with what its leader wrote in an earlier epoch.
    "I-LOGMONO": (SPLIT_EPOCH, "KIP101"),
    "I-EPOCHCACHE": (SPLIT_EPOCH, REFUSED_APPEND, *_LEFT, STALE_LOG, FOREIGN),
    "I-EPOCHMONO": (STALE_LEADER, FOREIGN),
    "I-ONELEADER": (FOREIGN,),
    "I-CTRL": (STALE_LEADER, FOREIGN),
    "I-LEADERINISR": (STALE_LEADER, FOREIGN),
    "I-ZKVER": (FOREIGN,),
    # A leader that lost its tail together with the controller leads on in the same epoch and writes it anew.
    "I-LOGMATCH": (LOST_TAIL, "HW", *_LEFT, STALE_LOG, FOREIGN),
    "I-WEAKISR": (*_CHOSEN, MISSED_EPOCH, LATE_FETCH, KEPT_EPOCH, *MODES),
    "I-STRONGISR": (*_CHOSEN, *_JOINED, KEPT_EPOCH, *MODES),
    "I-COMMIT": (*_CHOSEN, *_JOINED, "HW", *_LEFT),
    "I-COMPLETE": (*_CHOSEN, *_JOINED, "HW", *_LEFT),
    "I-HWLEAD": (),
    "I-HWFOLL": _CHOSEN,
    "I-NOTRUNCBELOWHW": (*_CHOSEN, *_JOINED, "HW", *_LEFT),
    "I-EXPAND": (LOST_TAIL, STALE_LOG, LATE_FETCH, FOREIGN),
    "I-MINISR": (),
    "I-CONSUME": (),
    # A log that parted from its leader's may go on with what does not follow.
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
"""The nine without which there is no replicated log; the others speak of files, clients and ZooKeeper around it."""


def message(id: str, **values: object) -> Text:
    """A message of the checker: what is wrong, or what explains it."""
    return Text(id, {name: value if isinstance(value, int) else str(value) for name, value in values.items()})


class Explanation(msgspec.Struct, frozen=True):
    """Why a guarantee does not hold any more. `seq`: the event to look at, 0 = the era as a whole. `setting`: what gave
    it away, as one would write it down.
    """

    kind: str
    words: Text
    setting: str
    seq: int = 0


_MODE_WORDS = {
    "HW": "cause.truncation_hw",
    "KIP101": "cause.truncation_kip101",
    "KIP279": "cause.truncation_kip279",
}


def explain_by_mode(truncation: str, era: str) -> Explanation | None:
    """What the way of truncation of an era explains; None where it keeps all guarantees."""
    words = _MODE_WORDS.get(truncation)
    if words is None:
        return None
    return Explanation(truncation, message(words, era=era), f"era={era} (truncation {truncation})")
