"""kafka-consumer-groups.sh --describe (`ConsumerGroupCommand.describeGroups`)."""

from broker_core.groups.consumer_protocol import decode_assignment
from broker_core.partitions import TopicPartition, sorted_partitions
from broker_core.shell.admin.group_admin import committed_offsets, describe_group, find_coordinator, list_offsets
from broker_core.shell.admin.requests import Asking
from broker_core.shell.grammar.parser import ParsedOptions
from broker_core.shell.grammar.process import Process
from broker_core.wire.messages import DescribedGroup, DescribedGroupMember

MISSING = "-"


def describe_groups(process: Process, options: ParsedOptions, names: list[str]) -> Asking[None]:
    """Prints the groups: their offsets, or their states or members as the options say."""
    follows_table = False
    for name in names:
        group = yield from describe_group(process, name)
        if group.state == "Dead":
            if not follows_table:
                process.out("")
            process.out(f"Error: Consumer group '{name}' does not exist.")
            follows_table = False
            if "members" in options:
                _print_members(process, group, is_verbose="verbose" in options)
            continue
        if "state" in options:
            coordinator = yield from find_coordinator(process, name)
            _print_state(process, group, coordinator or 0)
            continue
        if group.state == "Empty":
            process.err(f"Consumer group '{name}' has no active members.")
        elif group.state != "Stable":
            process.err(f"Warning: Consumer group '{name}' is rebalancing.")
        if "members" in options:
            _print_members(process, group, is_verbose="verbose" in options)
        else:
            follows_table = (yield from _print_offsets(process, group, follows_table=follows_table)) or follows_table


def _print_state(process: Process, group: DescribedGroup, broker_id: int) -> None:
    if group.state == "Empty":
        process.err(f"Consumer group '{group.group_id}' has no active members.")
    elif group.state != "Stable":
        process.err(f"Warning: Consumer group '{group.group_id}' is rebalancing.")
    coordinator = f"127.0.0.1:{process.cluster.broker_port(broker_id)}  ({broker_id})"
    width = max(25, len(coordinator))
    process.out("")
    process.out(f"{'GROUP':<{width}} {'COORDINATOR (ID)':<25} {'ASSIGNMENT-STRATEGY':<20} {'STATE':<15} #MEMBERS")
    process.out(
        f"{group.group_id:<{width}} {coordinator:<25} {group.protocol:<20} {group.state:<15} {len(group.members)}"
    )


def _print_members(process: Process, group: DescribedGroup, *, is_verbose: bool) -> None:
    has_instances = any(member.group_instance_id for member in group.members)
    header = ["GROUP", "CONSUMER-ID", *(["GROUP-INSTANCE-ID"] if has_instances else []), "HOST", "CLIENT-ID"]
    rows = []
    for member in group.members:
        instance = [member.group_instance_id or ""] if has_instances else []
        rows.append([group.group_id, member.member_id, *instance, member.client_host, member.client_id])
    least = [15, 15, *([17] if has_instances else []), 15, 15]
    widths = [max(least[at], *(len(row[at]) for row in [header, *rows])) for at in range(len(header))]
    tails = [f"{'#PARTITIONS':<15} " + ("ASSIGNMENT" if is_verbose else "")]
    for member in group.members:
        partitions = decode_assignment(member.assignment)
        tails.append(f"{len(partitions):<15} " + (_assignment_text(partitions) if is_verbose else ""))
    process.out("")
    for row, tail in zip([header, *rows], tails, strict=True):
        process.out(" ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) + " " + tail)


def _assignment_text(partitions: tuple[str, ...]) -> str:
    by_topic: dict[str, list[str]] = {}
    for topic, number in map(TopicPartition.parse, partitions):
        by_topic.setdefault(topic, []).append(str(number))
    return ", ".join(sorted(f"({','.join(numbers)})" for numbers in by_topic.values())) or MISSING


def _print_offsets(process: Process, group: DescribedGroup, *, follows_table: bool) -> Asking[bool]:
    """Prints a table; returns whether it did. Its last line has no line feed, so what follows has no blank line before
    it.
    """
    committed = yield from committed_offsets(process, group.group_id)
    owners: dict[str, DescribedGroupMember] = {}
    for member in group.members:
        owners |= dict.fromkeys(decode_assignment(member.assignment), member)
    names = sorted_partitions({**committed, **owners})
    ends = yield from list_offsets(process, names, -1)
    rows = []
    for name in names:
        topic, number = TopicPartition.parse(name)
        offset, end, owner = committed.get(name), ends.get(name), owners.get(name)
        lag = MISSING if offset is None or offset < 0 or end is None else str(end - offset)
        rows.append(
            [
                group.group_id,
                topic,
                str(number),
                MISSING if offset is None or offset < 0 else str(offset),
                MISSING if end is None else str(end),
                lag,
                MISSING if owner is None else owner.member_id,
                MISSING if owner is None else owner.client_host,
                MISSING if owner is None else owner.client_id,
            ]
        )
    if not rows:
        return False
    header = ["GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"]
    header += ["CONSUMER-ID", "HOST", "CLIENT-ID"]
    widths = [max(15, *(len(row[at]) for row in [header, *rows])) for at in range(len(header))]
    widths[2:6] = [10, 15, 15, 15]
    widths[8] = 0
    if not follows_table:
        process.out("")
    for row in [header, *rows]:
        process.out(" ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)))
    return True
