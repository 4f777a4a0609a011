"""The output of commands that check content: a line for each thing that is checked."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor

from django.core.management.base import OutputWrapper


def check_each(out: OutputWrapper, names: Sequence[str], faults_of: Callable[[str], list[str]]) -> int:
    """Prints `ok NAME`, or `FAIL NAME` and the faults. Returns how many have faults. `faults_of` is a function of a
    module: it is called in several processes, as the things have nothing to do with each other.
    """
    wrong = 0
    with ProcessPoolExecutor(min(os.cpu_count() or 1, max(len(names), 1))) as pool:
        for name, faults in zip(names, pool.map(faults_of, names), strict=True):
            out.write(f"{'FAIL' if faults else 'ok'} {name}")
            for fault in faults:
                out.write(f"  {fault}")
            wrong += bool(faults)
    return wrong
