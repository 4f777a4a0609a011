"""A journal that was recorded when events held prose is folded and shown as it was.

`tests/data/journals/prose.jsonl` is a run of era 0.10 in which all brokers lose their power.
"""

import re
from functools import cache

from broker_core.events import Envelope, codec
from broker_core.events.envelope import sentence
from broker_core.texts import LANGUAGES, render
from broker_core.view.fold import Fold
from broker_core.view.tree import View
from tests.support.paths import DATA

JOURNAL = DATA / "journals" / "prose.jsonl"


@cache
def journal() -> tuple[Envelope, ...]:
    return tuple(codec.decode(seq, line) for seq, line in enumerate(JOURNAL.read_bytes().splitlines(), 1))


def folded() -> View:
    fold = Fold()
    fold.fold_all(journal())
    return fold.view


def test_old_journal_reencodes_to_the_same_bytes() -> None:
    assert [codec.encode(envelope) for envelope in journal()] == JOURNAL.read_bytes().splitlines()


def test_batches_that_were_recorded_without_a_crc_have_0() -> None:
    line = b'[1,"b1",0,["LogOpened","t-0@b1","id",0,7,0,0,[],[[0,140,0,0]],[[0,3,1,0,0,70],[4,6,1,0,70,70,99]]]]'
    fold = Fold()
    fold.fold(codec.decode(1, line))
    assert fold.view["replicas"]["t-0@b1"]["tail"] == {"0": [3, 1, 0, 0, 70, 0], "4": [6, 1, 0, 70, 70, 99]}


def test_alarms_of_an_old_journal_have_both_languages() -> None:
    alarms = folded()["alarms"].values()
    assert [alarm["invariant"] for alarm in alarms] == ["I-COMPLETE", "I-COMMIT"]
    for alarm in alarms:
        assert render(alarm["detail"]) == alarm["detail"]
        assert alarm["explained_by"].startswith("the power loss of b3; in era 0.10")
        assert alarm["detail_zh"] and alarm["explained_by_zh"].startswith("b3 断电")


def test_every_event_of_an_old_journal_renders_in_both_languages() -> None:
    by_kind = {type(event).__name__: event for *_, event in journal()}
    assert len(by_kind) > 40
    said = {(name, language): sentence(event, language) for name, event in by_kind.items() for language in LANGUAGES}
    assert [key for key, one in said.items() if re.search(r"event\.|\{\w+\}", one)] == []
    assert "committed (below high watermark 6)" in said["InvariantViolated", "en"]
    assert "已提交（低于高水位 6）" in said["InvariantViolated", "zh-CN"]
    assert said["RpcDropped", "en"].endswith("connection refused")
    assert said["BrokerStopped", "zh-CN"].endswith("强制终止（SIGKILL）")
