"""`manage.py dump_log FILE...`: what `kafka-dump-log.sh` prints of the files of a log, without lab and without Java."""

import os
import sys
from collections.abc import Sequence
from typing import Any, TextIO

from django.core.management.base import BaseCommand

from broker_core.dump_log import dump_log

INTERRUPTED = 130
_SHORT_FORM = "manage.py dump_log FILE... is short for --deep-iteration --print-data-log --files FILE,..."


class Command(BaseCommand):
    """See `broker_core.dump_log`."""

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
        code = dump_log(arguments, out, err, short_form=_SHORT_FORM)
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
