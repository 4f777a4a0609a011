"""group and coordinator: a summary of a group, and its coordinator."""

from collections.abc import Iterable

from broker_core.config_defs import BROKER_CONFIGS
from broker_core.groups.consumer_protocol import decode_assignment
from broker_core.groups.offsets import partition_for
from broker_core.partitions import TopicPartition, partition_name
from broker_core.shell.admin.group_admin import describe_group
from broker_core.shell.admin.zookeeper_groups import old_group
from broker_core.shell.grammar.process import Process, Running
from broker_core.shell.grammar.registry import Command, UsageError, not_understood
from broker_core.shell.java.errors import JavaException
from broker_core.texts import text
from broker_core.topics import OFFSETS_TOPIC
from broker_core.wire.messages import DescribedGroupMember

NUM_PARTITIONS = "offsets.topic.num.partitions"


def _group(process: Process, arguments: list[str]) -> Running:
    if len(arguments) != 2 or arguments[0] != "describe":
        raise not_understood("group", arguments)
    return _describe(process, arguments[1])


def _describe(process: Process, name: str) -> Running:
    if not process.cluster.era.coordinates_consumers:
        _print_old(process, name)
        return 0
    try:
        group = yield from describe_group(process, name)
    except JavaException:
        process.out("[no coordinator]")
        return 0
    process.out(f"group {name}: {group.state} {group.protocol or 'none'}")
    for member in sorted(group.members, key=lambda member: (member.client_id, member.member_id)):
        process.out(f"  {member.client_id}: {assigned_text(member) or 'nothing'}")
    return 0


def _print_old(process: Process, name: str) -> None:
    """As above, for a group before 0.9: each of its members has its own assignor."""
    group = old_group(process.cluster, name)
    process.out(f"group {name}: {group.state} none")
    for member, owned in group.members.items():
        process.out(f"  {member}: {_by_topic(owned) or 'nothing'}")


def assigned_text(member: DescribedGroupMember) -> str:
    """`orders[0,1] audit[2]`."""
    return _by_topic(decode_assignment(member.assignment))


def _by_topic(partitions: Iterable[str]) -> str:
    by_topic: dict[str, list[str]] = {}
    for topic, number in map(TopicPartition.parse, partitions):
        by_topic.setdefault(topic, []).append(str(number))
    return " ".join(f"{topic}[{','.join(numbers)}]" for topic, numbers in by_topic.items())


def _coordinator(process: Process, arguments: list[str]) -> Running:
    if len(arguments) != 1:
        raise UsageError(text("shell.coordinator_group_missing"))
    return _partition(process, arguments[0])


def _partition(process: Process, name: str) -> Running:
    text = process.cluster.broker_config.get(NUM_PARTITIONS, str(BROKER_CONFIGS[NUM_PARTITIONS].default))
    process.out(partition_name(OFFSETS_TOPIC, partition_for(name, int(text))))
    yield from ()
    return 0


COMMANDS = (
    Command("group", text("help.group"), (("group describe G", text("help.group_describe")),), _group),
    Command(
        "coordinator",
        text("help.coordinator"),
        (("coordinator G", text("help.coordinator_of")),),
        _coordinator,
    ),
)
