"""What `manage.py lab` and `manage.py dev` print."""

import re
import subprocess


def printed_address(process: subprocess.Popen[str]) -> str:
    """Waits until a lab prints the address at which it answers. The standard output must be a pipe. Raises
    AssertionError with all that was printed when the process ends before that.
    """
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        found = re.search(r"(http://\S+)", line)
        if found:
            return found[1]
    raise AssertionError("the lab ended: " + "".join(lines))
