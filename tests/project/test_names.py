"""Names of brokers, partitions and replicas are built and parsed in `broker_core.partitions` alone."""

import re

import pytest

from tests.support.paths import ROOT

#: how a part of such a name is taken out, or such a name is put together
BY_HAND = re.compile(r"""r?partition\("@"\)|split\("@"\)|rpartition\("-"\)|(?<![\w.\\-])b\{|@b\{|removeprefix\("b"\)""")
#: file -> lines that match but handle another kind of name
OTHER_NAMES = {
    "broker_core/groups/assignors/own.py": ['topic, _, number = place.rpartition("-")'],  # rules: orders-*, orders-0..3
    "broker_core/shell/admin/zookeeper_groups.py": [  # a thread of a consumer
        'member = znodes.text_of(cluster, f"{root}/owners/{topic}/{number}").rpartition("-")[0]'
    ],
    "broker_core/shell/tools/lab/group_consumer.py": [  # a position, orders-0@120
        'partition, at, offset = words[0].rpartition("@") if len(words) == 1 else ("", "", "")'
    ],
    "lab/analytics/build/unit.py": ['f"b{job.number:06d}-{job.attempt}-{_next(job, table)}",'],  # a build of tables
    "lab/exercises/places.py": ['group, _, partition = reference.partition("@")'],  # a group and a partition
    "lab/web/alone/program.py": [  # a vendored package
        'chosen = sorted(one for one in folders if one.partition("@")[0] in _PACKAGES)'
    ],
}


def by_hand(source: str) -> list[str]:
    return [line.strip() for line in source.splitlines() if BY_HAND.search(line)]


def test_names_are_built_and_parsed_in_one_module() -> None:
    found = {}
    for package in ("broker_core", "lab"):
        for path in sorted((ROOT / package).rglob("*.py")):
            file = path.relative_to(ROOT).as_posix()
            if file != "broker_core/partitions.py" and (lines := by_hand(path.read_text())):
                found[file] = lines
    assert found == OTHER_NAMES


@pytest.mark.parametrize(
    "line",
    [
        'topic, _, number = name.rpartition("-")',
        'partition = event.replica.partition("@")[0]',
        'partition, node = name.split("@")',
        'node = f"b{broker_id}"',
        'replica = f"{partition}@b{broker_id}"',
        'broker_id = int(node.removeprefix("b"))',
    ],
)
def test_names_built_by_hand_are_noticed(line) -> None:
    assert by_hand(line) == [line]
