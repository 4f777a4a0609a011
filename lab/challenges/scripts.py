"""Scripts of entries: the allowed lines, and the number of faults they use."""

from collections.abc import Collection

from lab.exercises.loader import lines_of
from lab.texts.refusal import Refusal

MAX_LINES = 60
MAX_LINE = 300
FREE = frozenset({"sleep", "wait", "producer send", "release fetch", "link restore", "broker start", "broker thaw"})
"""What any script may have, and counts as no fault."""
FAULTS = frozenset(
    {
        "hold fetch",
        "link cut",
        "link latency",
        "link loss",
        "link reorder",
        "disk slow",
        "disk fsync",
        "broker kill",
        "broker stop",
        "broker freeze",
        "broker powerloss",
        "session expire",
    }
)
MEMBER_FAULTS = frozenset({"consumer freeze", "consumer kill"})


def command_of(line: str) -> str:
    """The command and verb of a line: `broker kill`; one word for `sleep` and `wait`, Kafka's tools and `file`."""
    words = line.split()
    if words[0] in ("sleep", "wait", "file") or words[0].endswith(".sh"):
        return words[0]
    return " ".join(words[:2])


def script_lines(field: str, script: str, allowed: Collection[str]) -> list[str]:
    """The lines of a script without comments. Raises Refusal for a line that is not allowed."""
    lines = list(lines_of(script))
    if not lines:
        raise Refusal("refusal.entry_empty", field=field)
    if len(lines) > MAX_LINES:
        raise Refusal("refusal.entry_too_long", field=field, lines=len(lines), max=MAX_LINES)
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE:
            raise Refusal("refusal.entry_line_too_long", field=field, line=number, length=len(line), max=MAX_LINE)
        if command_of(line) not in allowed:
            commands = ", ".join(sorted(allowed))
            raise Refusal(
                "refusal.entry_line", field=field, line=number, command=command_of(line)[:40], commands=commands
            )
    return lines


def fault_count(lines: Collection[str]) -> int:
    """Number of faults that a script uses; reverting one does not count."""
    return sum(1 for line in lines if _is_fault(line))


def _is_fault(line: str) -> bool:
    takes_back = command_of(line) in ("link latency", "link loss", "link reorder", "disk slow", "disk fsync")
    if takes_back and line.rstrip(" &").removesuffix("--one-way").split()[-1] == "0":
        return False
    return command_of(line) in FAULTS | MEMBER_FAULTS
