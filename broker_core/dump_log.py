"""kafka-dump-log.sh as a program of its own: on files of this machine, without a cluster."""

from collections.abc import Sequence
from typing import TextIO

from broker_core.log.dump import LocalFiles, Thrown, dump
from broker_core.shell.grammar.parser import OptionError, ParsedOptions, usage_lines
from broker_core.shell.java.errors import KAFKA_VERSION, ToolUsageError, VersionRequested, check_help
from broker_core.shell.tools.kafka.dump_log import ABOUT, OPTIONS, dump_options, files_of


def dump_log(arguments: Sequence[str], out: TextIO, err: TextIO, *, short_form: str) -> int:
    """Dumps; returns the exit code. Behaves as the original if `--files` is given.

    Files without `--files` are dumped with all their records; then standard output ends with a line that begins with
    EXCEPTION where the original would die of one. `short_form`: the sentence of the help that says so.
    """
    options = ParsedOptions(OPTIONS)
    try:
        options.parse(arguments)
        check_help(options, f"{ABOUT}\n{short_form}")
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
        return _die(err, _trace(error))

    line_ended = True
    try:
        for text in dump(paths, wanted, LocalFiles(), lambda line: _complain(out, err, line)):
            out.write(text)
            line_ended = text.endswith("\n") if text else line_ended
    except OptionError as error:
        out.flush()
        return _die(err, _trace(error))
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


def _trace(error: OptionError) -> list[str]:
    return [f"{error.java_class}: {error.message}", *(f"Caused by: {each}" for each in error.causes)]


def _complain(out: TextIO, err: TextIO, line: str) -> None:
    out.flush()
    err.write(f"{line}\n")


def _die(err: TextIO, trace: Sequence[str]) -> int:
    first, *causes = trace
    err.writelines(f"{line}\n" for line in (f'Exception in thread "main" {first}', *causes))
    return 1
