"""`manage.py dump_log FILE...`: what `kafka-dump-log.sh` prints of the files of a log, without lab and without Java."""

import os
import sys
from collections.abc import Sequence
from typing import Any, TextIO

from django.core.management.base import BaseCommand

from broker_core.log.dump import LocalFiles, Thrown, dump
from broker_core.shell.grammar.parser import OptionError, ParsedOptions, usage_lines
from broker_core.shell.java.errors import KAFKA_VERSION, ToolUsageError, VersionRequested, check_help
from broker_core.shell.tools.kafka.dump_log import ABOUT, OPTIONS, dump_options, files_of

INTERRUPTED = 130
_SHORT_FORM = "manage.py dump_log FILE... is short for --deep-iteration --print-data-log --files FILE,..."


class Command(BaseCommand):
    """With --files it behaves as the original.

    Files without --files are dumped with all their records; then standard output ends with a line that begins with
    EXCEPTION where the original would die of one.
    """

    help = "Print what is in the files of a log, as kafka-dump-log.sh does."
    requires_system_checks = ()

    def run_from_argv(self, argv: list[str]) -> None:
        """The options are the original's, and so are the complaints about them."""
        sys.exit(run(argv[2:], sys.stdout, sys.stderr))

    def handle(self, *args: Any, **options: Any) -> None:
        sys.exit(run(args, sys.stdout, sys.stderr))


def run(arguments: Sequence[str], out: TextIO, err: TextIO) -> int:
    """Dumps; returns the exit code."""
    for stream in (out, err):
        if hasattr(stream, "reconfigure"):
            # Java prints UTF-8 here, and names of files may hold any byte.
            stream.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")
    try:
        code = _run(arguments, out, err)
        out.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has closed the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        err.write(f"The dump could not be written: {error.strerror}. Choose another place for it.\n")
        return 1


def _run(arguments: Sequence[str], out: TextIO, err: TextIO) -> int:
    options = ParsedOptions(OPTIONS)
    try:
        options.parse(arguments)
        check_help(options, f"{ABOUT}\n{_SHORT_FORM}")
        is_short = bool(options.operands) and "files" not in options
        paths = options.operands if is_short else files_of(options)
        wanted = dump_options(options)
        if is_short:
            wanted = wanted._replace(print_data_log=True)
    except VersionRequested:
        out.write(f"{KAFKA_VERSION}\n")
        return 0
    except ToolUsageError as error:
        err.writelines(f"{line}\n" for line in (str(error), *usage_lines(OPTIONS)))
        return 1
    except OptionError as error:
        return _die(err, [f"{error.java_class}: {error.message}", *(f"Caused by: {each}" for each in error.causes)])

    line_ended = True
    try:
        for text in dump(paths, wanted, LocalFiles(), lambda line: _complain(out, err, line)):
            out.write(text)
            line_ended = text.endswith("\n") if text else line_ended
    except OptionError as error:
        out.flush()
        return _die(err, [f"{error.java_class}: {error.message}", *(f"Caused by: {each}" for each in error.causes)])
    except Thrown as thrown:
        if is_short:
            out.write(f"{'' if line_ended else chr(10)}EXCEPTION {thrown.java_class}: {thrown.message or 'null'}\n")
            out.flush()
        else:
            out.flush()
            _die(err, thrown.stack_trace)
        err.write(f"{thrown.sentence}\n")
        return 1
    return 0


def _complain(out: TextIO, err: TextIO, line: str) -> None:
    out.flush()
    err.write(f"{line}\n")


def _die(err: TextIO, trace: Sequence[str]) -> int:
    first, *causes = trace
    err.writelines(f"{line}\n" for line in (f'Exception in thread "main" {first}', *causes))
    return 1
