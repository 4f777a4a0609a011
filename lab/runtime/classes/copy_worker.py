"""The process that completes the copy of a lab that was shown: that takes a minute after a long class, and in the
server it would delay all pages.

    python -m lab.runtime.classes.copy_worker RUN BRANCH FOLDER

It runs with a lower priority than the lab, and ends when its standard input is closed.
"""

import os
import sys
from pathlib import Path

from lab.runtime.processes.standard_input import end_with_stdin

NICE = 10


def main() -> None:
    """Completes the copy that is named on the command line."""
    run, branch, folder = sys.argv[1:]
    os.nice(NICE)
    end_with_stdin(lambda: os._exit(1))

    import django

    django.setup()
    from lab.recordings.folder import BranchFolder
    from lab.runtime.classes.shown_labs import complete

    complete(BranchFolder(run, branch, Path(folder)))


if __name__ == "__main__":
    main()
