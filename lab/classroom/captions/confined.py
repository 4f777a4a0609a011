"""Sets limits for its own process and becomes another command: `python -I confined.py CPU_S FILE_BYTES COMMAND ...`.

Standard library only: it runs without the lab's packages.
"""

import os
import resource
import sys

NICENESS = 10
"""A running class has priority."""
CANNOT_START = 127


def main(cpu_s: str, file_bytes: str, *command: str) -> None:
    """Does not return."""
    for what, limit in (
        (resource.RLIMIT_CPU, int(cpu_s)),
        (resource.RLIMIT_FSIZE, int(file_bytes)),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (limit, limit))
    os.nice(NICENESS)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(error.strerror or "")
        sys.exit(CANNOT_START)


if __name__ == "__main__":
    main(*sys.argv[1:])
