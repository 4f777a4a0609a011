"""kafka-log-dirs.sh (`org.apache.kafka.tools.LogDirsCommand`)."""

import json
from typing import Any

from broker_core.config_defs.java_text import split
from broker_core.errors import Errors
from broker_core.partitions import topic_of
from broker_core.shell.admin.admin_client import COMMAND_CONFIG, open_admin_client
from broker_core.shell.admin.requests import Asking, metadata, query_broker, timed_out, until_ready
from broker_core.shell.grammar.parser import Option, OptionError, ParsedOptions
from broker_core.shell.grammar.process import Process, Running
from broker_core.shell.grammar.registry import Command
from broker_core.shell.java.errors import (
    EXECUTION_EXCEPTION,
    HELP,
    VERSION,
    JavaException,
    TerseException,
    ToolUsageError,
    check_help,
    check_required,
    parse_int,
    print_usage,
)
from broker_core.texts import text
from broker_core.wire.messages import DescribeLogDirsRequest, DescribeLogDirsResponse

OPTIONS = (
    Option("bootstrap-server", "The brokers to connect to; the lab adds those that are up.", "server(s) to use"),
    COMMAND_CONFIG,
    Option("broker-list", "Ids of brokers, with commas; all unless given.", "Broker list"),
    Option("describe", "Describe the log directories of the brokers."),
    HELP,
    VERSION,
    Option("topic-list", "Topics, with commas; all unless given.", "Topic list", values="topic"),
)


def _run(process: Process, arguments: list[str]) -> Running:
    options = ParsedOptions(OPTIONS)
    try:
        options.parse(arguments)
        check_help(options, "This tool helps to query log directory usage on the specified brokers.")
        check_required(options, "describe")
        open_admin_client(process, options)
        topics = [topic for topic in split(options.value("topic-list") or "", ",") if topic]
        brokers = yield from _brokers(process, options.value("broker-list") or "")
        process.out("Querying brokers for log directories information")
        described = yield from _described(process, brokers)
    except ToolUsageError as error:
        return print_usage(process, error, OPTIONS)
    except (OptionError, JavaException) as error:
        return _failed(process, JavaException.thrown(error))
    except TerseException as error:
        process.err(str(error))
        return 1
    process.out(f"Received log directory information from brokers {','.join(map(str, brokers))}")
    shown = [_shown(broker_id, response, topics) for broker_id, response in described.items()]
    process.out(json.dumps({"brokers": shown, "version": 1}, separators=(",", ":")))
    return 0


def _failed(process: Process, error: JavaException) -> int:
    for line in (error.message, *error.stack_trace()):
        process.err(line)
    return 1


def _brokers(process: Process, text: str) -> Asking[list[int]]:
    """The selected brokers, which must exist."""
    wanted = [parse_int(word) for word in (split(text, ",") if text else [])]
    known = yield from metadata(process, (), "describeCluster")
    live = sorted(known.brokers)
    absent = sorted(set(wanted) - set(live))
    if absent:
        raise TerseException(
            f"ERROR: The given brokers do not exist from --broker-list: {','.join(map(str, absent))}. "
            f"Current existent brokers: {','.join(map(str, live))}"
        )
    return sorted(set(wanted)) or live


def _described(process: Process, brokers: list[int]) -> Asking[dict[int, DescribeLogDirsResponse]]:
    described = {}
    for broker_id in brokers:
        deadline_us = process.now_us + process.api_timeout_us
        try:
            yield from until_ready(process, broker_id, deadline_us, "describeLogDirs")
            answer = yield from query_broker(
                process, broker_id, "DescribeLogDirs", DescribeLogDirsRequest(), deadline_us - process.now_us
            )
            if answer is None:
                raise timed_out("describeLogDirs")
        except JavaException as late:
            raise late.wrapped_in(EXECUTION_EXCEPTION) from None
        described[broker_id] = answer
    return described


def _shown(broker_id: int, response: DescribeLogDirsResponse, topics: list[str]) -> dict[str, Any]:
    return {
        "broker": broker_id,
        "logDirs": [
            {
                "partitions": [
                    {
                        "partition": each.partition,
                        "size": each.size,
                        "offsetLag": each.offset_lag,
                        "isFuture": each.is_future,
                    }
                    for each in described.replicas
                    if not topics or topic_of(each.partition) in topics
                ],
                "error": None if described.error is Errors.NONE else described.error.name,
                "logDir": described.log_dir,
            }
            for described in response.log_dirs
        ],
    }


COMMAND = Command(
    "kafka-log-dirs.sh",
    text("help.kafka_log_dirs"),
    (("kafka-log-dirs.sh --describe [--broker-list N,N] [--topic-list T,T]", text("help.kafka_log_dirs_describe")),),
    _run,
    OPTIONS,
)
