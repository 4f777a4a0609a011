"""--reset-offsets of kafka-consumer-groups.sh (`ConsumerGroupCommand.resetOffsets`, KIP-122)."""

import re
from calendar import monthrange
from datetime import date

from broker_core.config_defs.java_text import hash_map_order, partition_code, split
from broker_core.config_defs.keys import LONG_MAX
from broker_core.errors import Errors
from broker_core.partitions import TopicPartition, partition_name, sorted_partitions, topic_of
from broker_core.shell.admin.group_admin import (
    committed_offsets,
    describe_group,
    list_groups,
    list_offsets,
    query_coordinator,
)
from broker_core.shell.admin.requests import Asking, metadata
from broker_core.shell.grammar.parser import ParsedOptions
from broker_core.shell.grammar.process import Process
from broker_core.shell.java.errors import (
    EXECUTION_EXCEPTION,
    NAMELESS_TOPIC,
    JavaException,
    ToolUsageError,
    is_int,
    parse_int,
)
from broker_core.shell.tools.kafka.consumer_groups_plan import RUNTIME_EXCEPTION, Plan, plan_from_file
from broker_core.shell.tools.kafka.topics_describe import described_order
from broker_core.wire.messages import OffsetCommitRequest

SCENARIOS = (
    "to-offset",
    "to-datetime",
    "by-duration",
    "to-earliest",
    "to-latest",
    "to-current",
    "shift-by",
    "from-file",
)
_LISTED = "[to-offset], [to-current], [to-datetime], [from-file], [by-duration], [to-earliest], [to-latest], [shift-by]"
_DURATION = re.compile(
    r"([+-])?P(?:([+-]?\d+)D)?(?:T(?=[-+\d])(?:([+-]?\d+)H)?(?:([+-]?\d+)M)?(?:([+-]?\d+)(?:[.,](\d{0,9}))?S)?)?",
    re.IGNORECASE,
)
_MAX_INSTANT_S = 31_556_889_864_403_199
"""The last second that Java can represent."""
_DATE_TIME = re.compile(
    r"[ \t]*(\d+)-[ \t]*(\d+)-[ \t]*(\d+)T[ \t]*(\d+):[ \t]*(\d+):[ \t]*(\d+)\.[ \t]*(\d+)"
    r"[ \t]*(?:Z|([+-])([01]\d|2[0-3])(?::(\d\d))?)"
)
"""The part of a text that a `SimpleDateFormat` reads: blanks are allowed before each number, and anything after the
zone.
"""
EARLIEST, LATEST = -2, -1


def reset_offsets(process: Process, options: ParsedOptions) -> Asking[None]:
    """Plans, and with --execute commits, the offsets of groups without members."""
    if "all-groups" in options:
        rows = yield from list_groups(process)
        groups = [name for name, _, _ in rows]
    else:
        groups = options.values("group")
    plans: dict[str, Plan] = {}
    # In the iteration order of a HashMap created with this capacity.
    for group in hash_map_order(list(dict.fromkeys(groups)), len(set(groups))):
        try:
            described = yield from describe_group(process, group)
        except JavaException as error:
            raise error.wrapped_in(RUNTIME_EXCEPTION) from None
        if described.state not in ("Empty", "Dead"):
            process.out("")
            process.out(
                f"Error: Assignments can only be reset if the group '{group}' is inactive, but the current state is "
                f"{described.state}."
            )
            plans[group] = {}
            continue
        partitions = yield from _partitions(process, options, group)
        plan = yield from _plan(process, options, group, partitions)
        plans[group] = plan
        if "execute" in options and plan:
            rows_to_commit = tuple((name, offset, -1, "") for name, offset in plan.items())
            yield from _commit(process, group, rows_to_commit)
    _print(process, options, plans)


def _wrapped(number: int) -> int:
    """A number wrapped to a Java long."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def _commit(process: Process, group: str, rows: tuple[tuple[str, int, int, str], ...]) -> Asking[None]:
    response = yield from query_coordinator(process, group, "OffsetCommit", OffsetCommitRequest(group, rows))
    for _, error in response.partitions:
        if error is not Errors.NONE:
            raise JavaException.in_future(error)


def _print(process: Process, options: ParsedOptions, plans: dict[str, Plan]) -> None:
    if "export" in options:
        for group, plan in plans.items():
            prefix = f"{group}," if len(plans) > 1 else ""
            for name in sorted_partitions(plan):
                topic, number = TopicPartition.parse(name)
                process.out(f"{prefix}{topic},{number},{plan[name]}")
        return
    if not plans:
        return
    cells = [("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET")]
    for group in sorted(plans):
        for name in sorted_partitions(plans[group]):
            topic, number = TopicPartition.parse(name)
            cells.append((group, topic, str(number), str(plans[group][name])))
    process.out("")
    process.out("".join(f"{a:<30} {b:<30} {c:<10} {d:<15}" for a, b, c, d in cells))


def _partitions(process: Process, options: ParsedOptions, group: str) -> Asking[list[str]]:
    """The partitions of the scope. Raises ToolUsageError without one, JavaException for an unknown topic."""
    if "all-topics" in options:
        committed = yield from committed_offsets(process, group)
        return sorted_partitions(committed)
    if "topic" in options:
        found: list[str] = []
        whole: list[str] = []
        for text in options.values("topic"):
            if ":" in text:
                found += partitions_in(text)
            else:
                whole.append(text)
        if "" in whole:
            raise NAMELESS_TOPIC.wrapped_in(EXECUTION_EXCEPTION).wrapped_in(RUNTIME_EXCEPTION)
        if whole:
            known = yield from metadata(process, tuple(whole), "describeTopics")
            for _, _, error in known.topics:
                if error is not Errors.NONE:
                    raise JavaException.in_future(error).wrapped_in(RUNTIME_EXCEPTION)
            for topic in described_order(whole):
                found += [row[0] for row in known.partitions if topic_of(row[0]) == topic]
        return found
    if "from-file" in options:
        return []
    raise ToolUsageError("One of the reset scopes should be defined: --all-topics, --topic.")


def partitions_in(text: str) -> list[str]:
    """The partitions of a topic with numbers, `orders:0,1`. Raises ToolUsageError."""
    words = split(text, ":")
    if len(words) != 2:
        raise ToolUsageError(f"Invalid topic arg '{text}', expected topic name and partitions")
    topic, numbers = words
    for number in split(numbers, ","):
        if not is_int(number):
            raise ToolUsageError(f"Invalid partition '{number}' specified in topic arg '{text}''")
    return [partition_name(topic, parse_int(number)) for number in split(numbers, ",")]


def _plan(process: Process, options: ParsedOptions, group: str, partitions: list[str]) -> Asking[Plan]:
    if "to-offset" in options:
        offset = options.integer("to-offset") or 0
        return (yield from _within(process, dict.fromkeys(partitions, offset)))
    if "to-earliest" in options:
        return (yield from list_offsets(process, partitions, EARLIEST))
    if "to-latest" in options:
        return (yield from list_offsets(process, partitions, LATEST))
    if "shift-by" in options:
        shift = options.integer("shift-by") or 0
        committed = yield from committed_offsets(process, group)
        for name in partitions:
            if name not in committed:
                raise ToolUsageError(
                    f"Cannot shift offset for partition {name} since there is no current committed offset"
                )
        return (yield from _within(process, {name: _wrapped(committed[name] + shift) for name in partitions}))
    if "to-datetime" in options:
        timestamp = parse_datetime(options.value("to-datetime") or "")
        return (yield from _at_time(process, partitions, timestamp))
    if "by-duration" in options:
        timestamp = process.wall_ms - parse_duration(options.value("by-duration") or "")
        return (yield from _at_time(process, partitions, timestamp))
    if "from-file" in options:
        is_single = len(options.values("group")) == 1
        wanted = plan_from_file(process, options.value("from-file") or "", group, is_single=is_single)
        return (yield from _within(process, wanted))
    if "to-current" in options:
        committed = yield from committed_offsets(process, group)
        rest = yield from list_offsets(process, [name for name in partitions if name not in committed], LATEST)
        return {name: committed.get(name, rest.get(name, 0)) for name in partitions}
    raise ToolUsageError(f"Option '[reset-offsets]' requires one of the following scenarios: [{_LISTED}]")


def _within(process: Process, wanted: Plan) -> Asking[Plan]:
    """Limits offsets to the ends of the logs; the tool logs a warning."""
    names = list(wanted)
    first = yield from list_offsets(process, names, EARLIEST)
    last = yield from list_offsets(process, names, LATEST)
    return {name: max(first.get(name, 0), min(last.get(name, 0), offset)) for name, offset in wanted.items()}


def _at_time(process: Process, partitions: list[str], timestamp: int) -> Asking[Plan]:
    found = yield from list_offsets(process, partitions, timestamp)
    late = [name for name in partitions if found.get(name, -1) < 0]
    for name in hash_map_order(late, code=partition_code):
        topic, number = TopicPartition.parse(name)
        process.out("")
        process.out(f"Warn: Partition {number} from topic {topic} is empty. Falling back to latest known offset.")
    return found | (yield from list_offsets(process, late, LATEST))


def parse_datetime(text: str) -> int:
    """`Utils.getDateTime`: ms since 1970; without a zone UTC. Raises JavaException."""

    def wrong(why: str) -> JavaException:
        return JavaException("java.text.ParseException", why).wrapped_in(RUNTIME_EXCEPTION)

    if len(split(text, "T")) < 2:
        raise wrong("Error parsing timestamp. It does not contain a 'T' according to ISO8601 format")
    if not re.search("[+Z-]", text.split("T")[1]):
        text += "Z"
    match = _DATE_TIME.match(text)
    if match is None:
        raise wrong(f'Unparseable date: "{text}"')
    year, month, day, hour, minute, second, millis = (int(part) for part in match.groups()[:7])
    sign, hours, minutes = -1 if match[8] == "-" else 1, int(match[9] or 0), int(match[10] or 0)
    offset_min = sign * (hours * 60 + minutes)
    in_range = (
        year >= 1
        and 1 <= month <= 12
        and 1 <= day <= monthrange(2_000 + year % 400, month)[1]
        and hour <= 23
        and minute <= 59
        and second <= 59
        and millis <= 999
        and minutes <= 59
        and -13 * 60 <= offset_min <= 14 * 60
    )
    if not in_range:
        raise wrong(f'Unparseable date: "{text}"')
    # The calendar repeats after 400 years of 146097 days, and Python's ends long before Java's.
    days = (year // 400 - 5) * 146_097 + date(2_000 + year % 400, month, day).toordinal() - date(1970, 1, 1).toordinal()
    return (((days * 24 + hour) * 60 + minute - offset_min) * 60 + second) * 1_000 + millis


_LONG_OVERFLOW = "java.lang.ArithmeticException: long overflow"


def _overflow(text: str) -> str:
    """The exception of `Long.parseLong` for a number that is too large: it names the first digit that is too much."""
    fitting = [at for at in range(1, len(text)) if -LONG_MAX - 1 <= int(text[: at + 1]) <= LONG_MAX]
    return f'java.lang.NumberFormatException: Error at index {fitting[-1] + 1} in: "{text}"'


def parse_duration(text: str) -> int:
    """`Duration.parse`: ms. Raises JavaException."""
    no_duration = JavaException("java.time.format.DateTimeParseException", "Text cannot be parsed to a Duration")
    match = _DURATION.fullmatch(text)
    if match is None or not any(match.groups()[1:]):
        raise no_duration
    total = 0
    for at, (name, length) in enumerate((("days", 86_400), ("hours", 3_600), ("minutes", 60), ("seconds", 1)), 2):
        number = int(match[at] or 0)
        cause = _overflow(match[at]) if not -LONG_MAX - 1 <= number <= LONG_MAX else _LONG_OVERFLOW
        if not -LONG_MAX - 1 <= number * length <= LONG_MAX:
            raise JavaException(no_duration.java_class, f"{no_duration.message}: {name}", (cause,))
        total += number * length
    nanos = int((match[6] or "").ljust(9, "0")) * (-1 if (match[5] or "").startswith("-") else 1)
    if abs(total) > _MAX_INSTANT_S:
        raise JavaException("java.time.DateTimeException", "Instant exceeds minimum or maximum instant")
    return (-1 if match[1] == "-" else 1) * (total * 1_000 + nanos // 1_000_000)
