"""The output of `kafka-dump-log.sh` for the files of a log (`kafka.tools.DumpLogSegments` of Kafka 3.9.1).

Files are read in pieces: the memory of a dump does not depend on the size of a file, and every dump terminates.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from broker_core.config_defs import INT_MAX
from broker_core.log.dump import index_files, log_file, state_files
from broker_core.log.dump.decoders import (
    Parser,
    class_parser,
    parse_group_record,
    parse_transaction_record,
)
from broker_core.log.dump.files import DiskFiles, Files, LocalFiles
from broker_core.log.dump.findings import Findings
from broker_core.log.dump.index_files import IndexChecks
from broker_core.log.dump.java import Thrown, normal_path, split
from broker_core.log.dump.log_file import LogDump
from broker_core.log.dump.metadata_frames import CLUSTER_TYPES, REMOTE_TYPES, metadata_parser

__all__ = [
    "DEFAULT_DECODER",
    "DEFAULT_MAX_MESSAGE_SIZE",
    "DUMPED_SUFFIXES",
    "DiskFiles",
    "DumpOptions",
    "Files",
    "LocalFiles",
    "Thrown",
    "dump",
    "split",
]

DUMPED_SUFFIXES = (
    log_file.SUFFIX,
    index_files.OFFSET_INDEX_SUFFIX,
    index_files.TIME_INDEX_SUFFIX,
    state_files.TRANSACTION_INDEX_SUFFIX,
    state_files.SNAPSHOT_SUFFIX,
    log_file.SNAPSHOT_SUFFIX,
)
"""The files that the tool reads."""
DEFAULT_MAX_MESSAGE_SIZE = 5 * 1024 * 1024
DEFAULT_DECODER = "org.apache.kafka.tools.api.StringDecoder"


class DumpOptions(NamedTuple):
    """The options of the tool. The sizes are parsed at their first use, so an invalid one fails there."""

    print_data_log: bool = False
    deep_iteration: bool = False
    index_sanity_check: bool = False
    verify_index_only: bool = False
    skip_record_metadata: bool = False
    decoder: str = ""
    """The type of the records: `offsets`, `transaction-log`, `cluster-metadata`, `remote-log-metadata`, or none."""
    key_decoder_class: str = DEFAULT_DECODER
    value_decoder_class: str = DEFAULT_DECODER
    max_message_size: Callable[[], int] = lambda: DEFAULT_MAX_MESSAGE_SIZE
    max_bytes: Callable[[], int] = lambda: INT_MAX
    first_offsets: bool = False
    """Whether entries of a `.index` hold first offsets, as those of brokers before 2.0 do."""


def dump(paths: Sequence[str], options: DumpOptions, files: Files, complain: Callable[[str], None]) -> Iterator[str]:
    """Yields standard output in pieces of any length; passes lines of standard error to `complain`.

    Raises Thrown where the tool dies of an exception, after yielding what it has printed before.
    """
    findings = Findings()
    for path in map(normal_path, paths):
        yield f"Dumping {path}\n"
        try:
            yield from _dump_file(path, options, files, complain, findings)
        except Thrown as thrown:
            raise thrown.at(path) from None
    for line in findings.lines():
        complain(line)


def _dump_file(
    path: str, options: DumpOptions, files: Files, complain: Callable[[str], None], findings: Findings
) -> Iterator[str]:
    name = path.rpartition("/")[2]
    _, dot, suffix = name.rpartition(".")
    suffix = dot + suffix
    if not dot:
        rule = "the name must have a suffix, such as .log, .index, .timeindex, .txnindex or .snapshot"
        message = f"begin -1, end {len(name)}, length {len(name)}"
        raise Thrown("java.lang.StringIndexOutOfBoundsException", message, rule)
    if suffix in (log_file.SUFFIX, log_file.SNAPSHOT_SUFFIX):
        parser, printed = _parser(options)
        yield from (f"{line}\n" for line in printed)
        log_dump = LogDump(
            parser if options.print_data_log else None,
            deep=options.deep_iteration or options.print_data_log,
            skip_record_metadata=options.skip_record_metadata,
            max_bytes=options.max_bytes(),
            gaps=findings.gaps,
        )
        yield from log_dump.lines(files, path)
    elif suffix in (index_files.OFFSET_INDEX_SUFFIX, index_files.TIME_INDEX_SUFFIX):
        is_time_index = suffix == index_files.TIME_INDEX_SUFFIX
        checks = IndexChecks(
            options.index_sanity_check,
            options.verify_index_only,
            DEFAULT_MAX_MESSAGE_SIZE if is_time_index else options.max_message_size(),
            findings,
            options.first_offsets,
        )
        dump_index = index_files.dump_time_index if is_time_index else index_files.dump_offset_index
        yield from dump_index(files, path, checks)
    elif suffix == state_files.SNAPSHOT_SUFFIX:
        yield from state_files.dump_producer_snapshot(files, path, complain)
    elif suffix == state_files.TRANSACTION_INDEX_SUFFIX:
        yield from state_files.dump_transaction_index(files, path)
    else:
        complain(f"Ignoring unknown file {path}")


def _parser(options: DumpOptions) -> tuple[Parser, list[str]]:
    if options.decoder == "offsets":
        return parse_group_record, []
    if options.decoder == "transaction-log":
        return parse_transaction_record, []
    if options.decoder == "cluster-metadata":
        return metadata_parser("", CLUSTER_TYPES, copies_value=False), []
    if options.decoder == "remote-log-metadata":
        return metadata_parser("offset ", REMOTE_TYPES, copies_value=True), []
    return class_parser(options.key_decoder_class, options.value_decoder_class)
