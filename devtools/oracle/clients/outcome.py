"""The outcome of one part of the conformance run."""

import shutil
from dataclasses import dataclass, field


class ToolMissing(Exception):
    """A part needs a program that is not on this machine; the message names it and says how to get it."""


@dataclass
class Outcome:
    """How many cases of a part passed, failed or did not apply; `faults` describes the failures, `missing` the cases
    that were not run because a program is not on this machine.
    """

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    faults: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def judge(self, fault: str) -> None:
        """Counts one more case: it passed if `fault` is empty."""
        if fault:
            self.failed += 1
            self.faults.append(fault)
        else:
            self.passed += 1


def tool(name: str, why: str) -> str:
    """The path of an executable. Raises ToolMissing."""
    path = shutil.which(name)
    if path is None:
        raise ToolMissing(
            f"There is no `{name}` on the PATH. It was expected for {why}. Install it, or leave that out."
        )
    return path
