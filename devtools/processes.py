"""Processes of this machine, from /proc: what they use, and those that another one has started."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")


class ProcessUse:
    """Processor time and memory of a process."""

    def __init__(self, pid: int) -> None:
        self._folder = PROC / str(pid)

    def cpu_s(self) -> float:
        """Seconds of a core since it began, of all its threads."""
        return _read(self._folder).cpu_s

    def is_running(self) -> bool:
        """Whether the process has not ended. One that has is still listed until its parent has waited for it."""
        try:
            return _read(self._folder).state not in "ZX"
        except FileNotFoundError:
            return False

    def rss_mb(self) -> float:
        """Resident memory in MiB; NaN of a process that has ended."""
        with suppress(FileNotFoundError, ProcessLookupError):
            for line in (self._folder / "status").read_text().splitlines():
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) / 1024
        return float("nan")


class Process(NamedTuple):
    """A process at one instant.

    Attributes:
        name: of its program, 15 characters at most.
        state: one letter; Z of one that has ended and that its parent has not waited for.
        cpu_s: seconds of a core since it began, of all its threads.
        waited_cpu_s: the same of the children that it has waited for.
    """

    pid: int
    parent: int
    name: str
    state: str
    cpu_s: float
    waited_cpu_s: float


def threads_cpu_s(pid: int) -> list[float]:
    """Seconds of a core that each thread of a process has used."""
    return [_read(folder).cpu_s for folder in (PROC / str(pid) / "task").iterdir()]


def process_tree(pid: int) -> list[Process]:
    """A process and all that are below it, each after its parent. Empty where the system has no /proc."""
    processes: dict[int, Process] = {}
    children: dict[int, list[int]] = {}
    for found in _listed():
        processes[found.pid] = found
        children.setdefault(found.parent, []).append(found.pid)
    tree = [pid]
    for each in tree:
        tree += children.get(each, ())
    return [processes[each] for each in tree if each in processes]


def _listed() -> Iterator[Process]:
    for folder in PROC.glob("[0-9]*"):
        # It may have ended since.
        with suppress(OSError):
            yield _read(folder)


def _read(folder: Path) -> Process:
    head, _, rest = (folder / "stat").read_text().rpartition(")")
    fields = rest.split()
    ticks = os.sysconf("SC_CLK_TCK")
    own, waited = (sum(map(int, fields[at : at + 2])) / ticks for at in (11, 13))
    return Process(int(folder.name), int(fields[1]), head.partition("(")[2], fields[0], own, waited)
