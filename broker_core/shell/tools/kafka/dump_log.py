"""kafka-dump-log.sh (`kafka.tools.DumpLogSegments`)."""

from collections.abc import Sequence

from broker_core.config_defs import INT_MAX
from broker_core.log.dump import (
    DEFAULT_DECODER,
    DEFAULT_MAX_MESSAGE_SIZE,
    DiskFiles,
    DumpOptions,
    Thrown,
    dump,
    split,
)
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.parser import Option, OptionError, ParsedOptions
from broker_core.shell.grammar.process import Process, Running, Sleep
from broker_core.shell.grammar.registry import Command
from broker_core.shell.java.errors import HELP, VERSION, ToolUsageError, check_help, check_required, print_usage
from broker_core.texts import text

ABOUT = (
    "This tool helps to parse a log file and dump its contents to the console, useful for debugging a seemingly "
    "corrupt log segment."
)
_DECODERS = "|".join(f"org.apache.kafka.tools.api.{kind}Decoder" for kind in ("String", "Integer", "Long", "Default"))
_LINES_AT_ONCE = 500

OPTIONS = (
    Option("cluster-metadata-decoder", "Read the records as those of KRaft's metadata log."),
    Option("deep-iteration", "Look at each record of a batch; so does --print-data-log."),
    Option(
        "files",
        "REQUIRED: The files, with commas between, as in broker-1/orders-0/00000000000000000000.log.",
        "file1, file2, ...",
        values="log files",
    ),
    HELP,
    Option("index-sanity-check", "Only check whether an index can be used, as a broker may do when it starts."),
    Option(
        "key-decoder-class",
        f"The class that reads keys. (default: {DEFAULT_DECODER})",
        "class",
        optional=True,
        values=_DECODERS,
    ),
    Option(
        "max-bytes",
        f"Read only the batches that end within so many bytes of a log. (default: {INT_MAX})",
        "size",
        "Integer",
    ),
    Option(
        "max-message-size",
        f"How large the batch that an index points at may be. (default: {DEFAULT_MAX_MESSAGE_SIZE})",
        "size",
        "Integer",
    ),
    Option("offsets-decoder", "Read the records as those of __consumer_offsets."),
    Option("print-data-log", "Print keys and values, too; set by every decoder."),
    Option("remote-log-metadata-decoder", "Read the records as those of __remote_log_metadata."),
    Option("skip-record-metadata", "Leave out what is not key or value."),
    Option("transaction-log-decoder", "Read the records as those of __transaction_state."),
    Option(
        "value-decoder-class",
        f"The class that reads values. (default: {DEFAULT_DECODER})",
        "class",
        optional=True,
        values=_DECODERS,
    ),
    Option("verify-index-only", "Hold the entries of an index against the log without printing them."),
    VERSION,
)
_RECORDS = ("offsets", "transaction-log", "cluster-metadata", "remote-log-metadata")


def dump_options(options: ParsedOptions) -> DumpOptions:
    """The options of the dump. Raises OptionError for a decoder that is given twice."""

    def size(name: str, default: int) -> int:
        number = options.integer(name)
        return default if number is None else number

    decoder_options = ("key-decoder-class", "value-decoder-class", *(f"{kind}-decoder" for kind in _RECORDS))
    return DumpOptions(
        print_data_log="print-data-log" in options or any(name in options for name in decoder_options),
        deep_iteration="deep-iteration" in options,
        index_sanity_check="index-sanity-check" in options,
        verify_index_only="verify-index-only" in options,
        skip_record_metadata="skip-record-metadata" in options,
        decoder=next((kind for kind in _RECORDS if f"{kind}-decoder" in options), ""),
        key_decoder_class=_class(options.value("key-decoder-class")),
        value_decoder_class=_class(options.value("value-decoder-class")),
        max_message_size=lambda: size("max-message-size", DEFAULT_MAX_MESSAGE_SIZE),
        max_bytes=lambda: size("max-bytes", INT_MAX),
    )


def _class(given: str | None) -> str:
    return DEFAULT_DECODER if given is None else given


def files_of(options: ParsedOptions) -> list[str]:
    """The files of --files. Raises OptionError if it is given twice, ToolUsageError if it is missing."""
    check_required(options, "files")
    return split(options.value("files") or "", ",")


def _run(process: Process, arguments: list[str]) -> Running:
    options = ParsedOptions(OPTIONS)
    try:
        options.parse(arguments)
        if not arguments:
            raise ToolUsageError(ABOUT)
        check_help(options, ABOUT)
        first_offsets = process.cluster.era.log.index_rule == "append start"
        wanted = dump_options(options)._replace(first_offsets=first_offsets)
        return (yield from _dump(process, files_of(options), wanted))
    except ToolUsageError as error:
        return print_usage(process, error, OPTIONS)
    except OptionError as error:
        return _died(
            process, [f"{error.java_class}: {error.message}", *(f"Caused by: {each}" for each in error.causes)]
        )
    except Thrown as thrown:
        return _died(process, thrown.stack_trace)


def _died(process: Process, trace: Sequence[str]) -> int:
    for line in trace:
        process.err(line)
    return 1


def _dump(process: Process, paths: Sequence[str], options: DumpOptions) -> Running:
    held = ""
    try:
        for text in dump(paths, options, DiskFiles(process.cluster.disk, _folders(process.cluster)), process.err):
            *lines, held = (held + text).split("\n")
            for line in lines:
                process.out(line)
            if len(process.printed) >= _LINES_AT_ONCE:
                yield Sleep(0)
    finally:
        if held:
            process.out(held)
    return 0


def _folders(cluster: ClusterApi) -> dict[str, str]:
    """The names of the brokers' log directories in transcripts."""
    return {f"<dir-{broker_id}>": cluster.log_directory(broker_id) for broker_id in cluster.broker_ids}


COMMAND = Command(
    "kafka-dump-log.sh",
    text("help.kafka_dump_log"),
    (
        ("kafka-dump-log.sh --files broker-1/T-P/FILE.log", text("help.kafka_dump_log_segment")),
        ("kafka-dump-log.sh --files broker-1/T-P/FILE.log --print-data-log", text("help.kafka_dump_log_records")),
        ("kafka-dump-log.sh --files broker-1/T-P/FILE.index", text("help.kafka_dump_log_index")),
    ),
    _run,
    OPTIONS,
)
