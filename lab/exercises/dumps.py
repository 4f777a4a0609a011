"""What a learner has read with `kafka-dump-log.sh`, found in the console of the view.

The view counts the entries of an index but does not contain them; content may ask about an index that the learner has
dumped.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from broker_core.partitions import broker_node, replica_name
from broker_core.view.tree import View

TOOL = "kafka-dump-log.sh"
_FILE = re.compile(r"(?:.*/)?broker-(\d+)/([A-Za-z0-9._-]+-\d+)/(\d{20})\.(log|index|timeindex)")
_ENTRY = re.compile(r"offset: (\d+) position: (\d+)")
_DUMPING = "Dumping "


class Dump(NamedTuple):
    """One dumped file. `entries`: (offset, position) of an offset index, in its order."""

    replica: str
    segment: int
    kind: str
    entries: list[tuple[int, int]]


def dumps(view: View) -> Iterator[Dump]:
    """The files dumped since the set-up, newest command first."""
    for command in reversed(list(view["console"].values())):
        if command["source"] == "exercise":
            return
        if command["line"].split()[:1] == [TOOL] and command["exit_code"] == 0:
            yield from _of(command["line"], command["output"])


def _of(line: str, output: list[str]) -> Iterator[Dump]:
    named = [path for word in line.split() for path in word.removeprefix("--files=").split(",")]
    entries: dict[str, list[tuple[int, int]]] = {}
    path = ""
    for printed in output:
        if printed.startswith(_DUMPING):
            path = printed.removeprefix(_DUMPING)
        elif entry := _ENTRY.fullmatch(printed):
            entries.setdefault(path, []).append((int(entry[1]), int(entry[2])))
    for path in named:
        if file := _FILE.fullmatch(path):
            yield Dump(replica_name(file[2], broker_node(int(file[1]))), int(file[3]), file[4], entries.get(path, []))


def floor_segment(segments: dict[str, Any], offset: int) -> int:
    """The segment that holds an offset: the last that begins at or below it; -1 if there is none."""
    return max((int(base) for base in segments if int(base) <= offset), default=-1)


def file_name(segment: int, kind: str) -> str:
    """Its name in the folder: `00000000000000002490.index`."""
    return f"{segment:020d}.{kind}"
